/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads and processes, and what they do to the memory of others, frame by frame. */
#include <errno.h>
#include <linux/mman.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "recorder/event/ops.h"
#include "tests/feed/feed_frames.h"
#include "tests/feed/feed_stage.h"
#include "tests/feed/feed_unit.h"
#include <wetdbg/errors.h>

#define PAGE           ((uint64_t)WD_PAGE)
#define VFORK          (CLONE_VM | CLONE_VFORK | SIGCHLD)
#define FAILED(number) ((uint64_t) - (number))

static const uint8_t zeros8[8];

static void assert_op(const struct evq_op *op, uint64_t a, uint64_t b)
{
    assert_non_null(op);
    assert_int_equal(op->range.start, a);
    assert_int_equal(op->range.size, b);
}

/* ---------------------------------------------------------------- tasks */

static void thread_begins_in_a_slot_of_its_own(void **state)
{
    struct stage *stage = *state;
    struct rrt_regs regs = stage_thread(stage, LEADER, 101);
    assert_string_equal(stage_text(stage), "SYSCALL_ENTER: MAP TASK_NEW");
    const struct evq_op *op = stage_op(stage_entry(stage, 0), 1);
    assert_op(op, 1, 101);
    assert_memory_equal(op + 1, &regs, sizeof(regs));
    struct rrt_frame frame = stage_call(stage, 101, RRT_SYSCALL_ENTERING, SYS_exit);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_ENTER: UNMAP");
    assert_op(stage_op(stage_entry(stage, 0), 0), SCRATCH + 1024 * PAGE, 512 * PAGE);
    frame = stage_exit(stage, 101);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "TASK_EXIT");
    assert_false(stage->feed.has_ended);
}

static void ending_thread_leaves_its_words(void **state)
{
    struct stage *stage = *state;
    stage_thread(stage, LEADER, 101);
    struct rrt_write writes[2] = {
        {.tid = 101, .addr = HEAP, .size_bytes = 4, .stored_bytes = 4, .bytes = zeros8},
        {.tid = 101, .addr = HEAP + 64, .size_bytes = 4, .stored_bytes = 4, .bytes = zeros8}};
    struct rrt_frame frame = stage_exit(stage, 101);
    frame.writes = writes;
    frame.write_count = 2;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "OPS: WRITE WRITE; TASK_EXIT");
}

/* Only the last task of the group takes its scratch area with it. */
static void exit_group_ends_thread_by_thread(void **state)
{
    struct stage *stage = *state;
    stage_thread(stage, LEADER, 101);
    struct rrt_frame frame = stage_call(stage, 101, RRT_SYSCALL_ENTERING, SYS_exit_group);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_ENTER");
    frame = stage_exit(stage, 101);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "TASK_EXIT");
    frame = stage_exit(stage, LEADER);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "TASK_EXIT; END");
}

static void leader_tells_the_status(void **state)
{
    static const struct {
        int first, second, status;
    } rows[] = {{LEADER, 101, 0x700}, {101, LEADER, 0x700}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct stage *stage = stage_new();
        stage_thread(stage, LEADER, 101);
        int order[] = {rows[i].first, rows[i].second};
        for (size_t j = 0; j < 2; j++) {
            struct rrt_task_event event = {.tid = order[j],
                                           .kind = RRT_TASK_EXIT,
                                           .wait_status = order[j] == LEADER ? 0x700 : 0x300};
            struct rrt_frame frame = stage_exit(stage, order[j]);
            frame.tasks = &event;
            frame.task_count = 1;
            assert_int_equal(stage_take(stage, &frame), 0);
        }
        assert_int_equal(stage->feed.info.wait_status, rows[i].status);
        stage_free(stage);
    }
}

static void followed_fork_leaves_threads_and_their_scratch_behind(void **state)
{
    (void)state;
    struct stage *stage = stage_new_following(4, 102);
    stage_thread(stage, LEADER, 101);
    assert_int_equal(stage_clone(stage, LEADER, 102, SIGCHLD), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_ENTER: UNMAP MAP REGS; TASK_EXIT");
    assert_op(stage_op(stage_entry(stage, 0), 0), SCRATCH + 1024 * PAGE, 512 * PAGE);
    assert_int_equal(stage_entry(stage, 1)->task, 1);
    struct rrt_frame frame = stage_call(stage, 101, RRT_SYSCALL_ENTERING, SYS_read);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage->out.size_bytes, 0);
    stage_free(stage);
}

static void exec_by_another_thread_takes_the_leaders_number(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = stage_exit(stage, LEADER);
    stage_thread(stage, LEADER, 101);
    frame.time = ++stage->time;
    assert_int_equal(stage_take(stage, &frame), 0);
    frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_execve);
    struct rrt_task_event events[] = {
        {.tid = LEADER, .kind = RRT_TASK_CLONE, .parent_tid = 101},
        {.tid = 101, .kind = RRT_TASK_EXIT},
        {.tid = 101, .kind = RRT_TASK_EXEC},
    };
    frame.tasks = events;
    frame.task_count = 3;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "TASK_EXIT; END");
    assert_null(feed_task_find(&stage->feed, 101));
    assert_non_null(feed_task_find(&stage->feed, LEADER));
}

static void vfork_children_use_a_slot_in_turn(void **state)
{
    struct stage *stage = *state;
    for (int child = 101; child < 301; child++) {
        assert_int_equal(stage_clone(stage, LEADER, child, VFORK), 0);
        assert_string_equal(stage_text(stage), "SYSCALL_ENTER: MAP TASK_NEW");
        const struct evq_op *op = stage_op(stage_entry(stage, 0), 1);
        const struct evq_regs *regs = evq_op_regs(op);
        assert_int_equal(op->task_new.task, 1);
        assert_int_equal(regs->r[EVQ_RAX], 0);
        assert_int_equal(regs->r[EVQ_RSP], HEAP + 0x1000);
        assert_int_equal(regs->r[EVQ_FS_BASE], 0);
        struct rrt_frame frame = stage_call(stage, child, RRT_SYSCALL_ENTERING, SYS_exit_group);
        assert_int_equal(stage_take(stage, &frame), 0);
        assert_string_equal(stage_text(stage), "SYSCALL_ENTER: UNMAP");
        assert_int_equal(stage_entry(stage, 0)->task, 1);
        frame = stage_exit(stage, child);
        assert_int_equal(stage_take(stage, &frame), 0);
        assert_string_equal(stage_text(stage), "TASK_EXIT");
    }
}

static void vfork_child_that_execs_leaves(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_clone(stage, LEADER, 101, VFORK), 0);
    assert_int_equal(stage_exec(stage, 101), 0);
    assert_string_equal(stage_text(stage), "OPS: UNMAP; TASK_EXIT");
    struct rrt_frame frame = stage_call(stage, 101, RRT_SYSCALL_ENTERING, SYS_exit_group);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage->out.size_bytes, 0); /* not ours any more */
}

/* As rr's library notes in all spaces that a descriptor is closed. */
static void exec_of_a_child_may_write_to_its_parent(void **state)
{
    static const struct {
        int flags;
        const char *says;
    } children[] = {{VFORK, "OPS: UNMAP; TASK_EXIT; OPS: WRITE"}, {SIGCHLD, "OPS: WRITE"}};
    struct stage *stage = *state;
    for (int i = 0; i < 2; i++) {
        int child = 101 + i;
        const struct rrt_mmap map = {.start = CODE, .end = CODE + PAGE, .prot = 5, .name = ""};
        const struct rrt_write writes[] = {
            {.tid = LEADER, .addr = HEAP, .size_bytes = 1, .bytes = (uint8_t *)"x", 1},
            {.tid = child, .addr = CODE, .size_bytes = 1, .bytes = (uint8_t *)"y", 1}};
        assert_int_equal(stage_clone(stage, LEADER, child, children[i].flags), 0);
        struct rrt_frame frame = stage_call(stage, child, RRT_SYSCALL_EXITING, SYS_execve);
        frame.mmaps = &map;
        frame.writes = writes;
        frame.mmap_count = 1;
        frame.write_count = 2;
        assert_int_equal(stage_take(stage, &frame), 0);
        assert_string_equal(stage_text(stage), children[i].says);
    }
}

static void fork_of_another_process_changes_nothing_here(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_clone(stage, LEADER, 101, SIGCHLD), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_ENTER");
    assert_int_equal(stage_do_call(stage, 101, SYS_munmap, 0, HEAP, PAGE, 0), 0);
    assert_int_equal(stage->out.size_bytes, 0);
    assert_int_equal(stage_do_call(stage, LEADER, SYS_munmap, 0, HEAP, PAGE, 0), 0);
}

static void followed_fork_goes_on_as_the_child(void **state)
{
    (void)state;
    struct stage *stage = stage_new_following(4, 101);
    assert_int_equal(stage_do_call(stage, LEADER, SYS_madvise, 0, HEAP, PAGE, MADV_DONTFORK), 0);
    assert_int_equal(stage_clone(stage, LEADER, 101, CLONE_SETTLS | SIGCHLD), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_ENTER: UNMAP MAP REGS");
    const struct evq_entry *entry = stage_entry(stage, 0);
    assert_op(stage_op(entry, 0), HEAP, PAGE);
    const struct evq_regs *regs = evq_op_regs(stage_op(entry, 2));
    assert_int_equal(regs->r[EVQ_RAX], 0);
    assert_int_equal(regs->r[EVQ_FS_BASE], HEAP + 0x2000);
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_clone);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage->out.size_bytes, 0); /* the parent is left behind */
    frame = stage_call(stage, 101, RRT_SYSCALL_ENTERING, SYS_getpid);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage_entry(stage, 0)->task, 0);
    stage_free(stage);
}

static void last_exit_is_the_end(void **state)
{
    struct stage *stage = *state;
    static const uint8_t zeros[4];
    struct rrt_write write = {
        .tid = LEADER, .addr = HEAP, .size_bytes = 4, .stored_bytes = 4, .bytes = zeros};
    struct rrt_frame frame = stage_exit(stage, LEADER);
    frame.writes = &write;
    frame.write_count = 1;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "OPS: WRITE; TASK_EXIT; END");
    assert_true(stage->feed.has_ended);
    assert_int_equal(stage_do_call(stage, STRANGER, SYS_getpid, 5, 0, 0, 0), 0);
    assert_int_equal(stage->out.size_bytes, 0);
}

static void recording_that_stops_has_an_end_too(void **state)
{
    struct stage *stage = *state;
    stage->out.size_bytes = 0;
    assert_int_equal(feed_frame_finish(&stage->feed, &stage->out), 0);
    assert_string_equal(stage_text(stage), "END");
}

/* ---------------------------------------------------------------- memory from elsewhere */

static int write_from_elsewhere(struct stage *stage)
{
    static const uint8_t byte;
    struct rrt_write write = {
        .tid = LEADER, .addr = HEAP, .size_bytes = 1, .stored_bytes = 1, .bytes = &byte};
    struct rrt_frame frame =
        stage_call(stage, STRANGER, RRT_SYSCALL_EXITING, SYS_process_vm_writev);
    frame.writes = &write;
    frame.write_count = 1;
    return stage_take(stage, &frame);
}

static void write_from_elsewhere_comes_where_tasks_stand(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_read);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(write_from_elsewhere(stage), 0);
    assert_string_equal(stage_text(stage), "OPS: WRITE");
    frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_read);
    assert_int_equal(stage_take(stage, &frame), 0);
    frame = stage_sched(stage, LEADER, NULL);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(write_from_elsewhere(stage), 0);
    assert_string_equal(stage_text(stage), "PLACE: PLACE; OPS: WRITE");
    frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_read);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_ENTER");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_set_up, stage_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(write_from_elsewhere_comes_where_tasks_stand),
        TEST(thread_begins_in_a_slot_of_its_own),
        TEST(ending_thread_leaves_its_words),
        TEST(exit_group_ends_thread_by_thread),
        cmocka_unit_test(leader_tells_the_status),
        cmocka_unit_test(followed_fork_leaves_threads_and_their_scratch_behind),
        TEST(exec_by_another_thread_takes_the_leaders_number),
        TEST(vfork_children_use_a_slot_in_turn),
        TEST(vfork_child_that_execs_leaves),
        TEST(exec_of_a_child_may_write_to_its_parent),
        TEST(fork_of_another_process_changes_nothing_here),
        cmocka_unit_test(followed_fork_goes_on_as_the_child),
        TEST(last_exit_is_the_end),
        TEST(recording_that_stops_has_an_end_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
