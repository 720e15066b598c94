/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Buffers of system calls, frame by frame: what their records become, and what is damage. */
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/event/buffered.h"
#include "tests/feed/feed_frames.h"
#include "tests/feed/feed_stage.h"
#include "tests/feed/feed_unit.h"
#include <wetdbg/errors.h>

#define PAGE   ((uint64_t)WD_PAGE)
#define BUFFER 0x20000000ull
#define HEADER 30
#define ROOM   1024

/* What a FLUSH frame holds. */
static uint8_t buffer[ROOM];
static uint32_t buffer_bytes; /* of records */

static void buffer_begin(void)
{
    memset(buffer, 0, sizeof(buffer));
    buffer_bytes = 0;
}

static void buffer_add(uint16_t number, int64_t result, uint32_t data_bytes)
{
    uint32_t size = 16 + data_bytes;
    uint8_t *at = buffer + HEADER + buffer_bytes;
    memcpy(at, &result, sizeof(result));
    memcpy(at + 8, &number, sizeof(number));
    memcpy(at + 12, &size, sizeof(size));
    memset(at + 16, 'd', data_bytes);
    buffer_bytes += (size + 7) & ~7u;
    memcpy(buffer, &buffer_bytes, sizeof(buffer_bytes));
}

/* The frame of a task whose buffer has `bytes` bytes in all. */
static int flush(struct stage *stage, uint64_t bytes, const struct rrt_protect *protects,
                 size_t protect_count)
{
    struct rrt_write write = {
        .tid = LEADER, .addr = BUFFER, .size_bytes = bytes, .bytes = buffer, .stored_bytes = bytes};
    struct rrt_frame frame = stage_frame(stage, LEADER, RRT_EVENT_SYSCALLBUF_FLUSH);
    frame.writes = &write;
    frame.write_count = 1;
    frame.protects = protects;
    frame.protect_count = protect_count;
    return stage_take(stage, &frame);
}

static int flush_all(struct stage *stage)
{
    return flush(stage, HEADER + buffer_bytes, NULL, 0);
}

static int take(struct stage *stage, enum rrt_event event)
{
    struct rrt_frame frame = stage_frame(stage, LEADER, event);
    return stage_take(stage, &frame);
}

/* The program has its library, and its first task a buffer. */
static void has_buffer(struct stage *stage)
{
    struct rrt_mmap map = {.start = BUFFER,
                           .end = BUFFER + 16 * PAGE,
                           .prot = PROT_READ | PROT_WRITE,
                           .flags = MAP_SHARED,
                           .name = "buffer",
                           .backing = ""};
    stage->header.syscallbuf_fds_disabled_size = 1024;
    assert_int_equal(stage_do_call(stage, LEADER, 1000, 0, 0, 0, 0), 0);
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, 1001);
    frame.regs.rax = BUFFER;
    frame.mmaps = &map;
    frame.mmap_count = 1;
    assert_int_equal(stage_take(stage, &frame), 0);
    buffer_begin();
}

static void assert_damaged(int err, const char *reason)
{
    assert_int_equal(err, -WETDBG_ERR_CORRUPT);
    if (!strstr(wetdbg_error(err), reason) || !strstr(wetdbg_error(err), "frame "))
        fail_msg("%s", wetdbg_error(err));
}

static void record_is_a_call_without_registers(void **state)
{
    struct stage *stage = *state;
    has_buffer(stage);
    buffer_add(SYS_getpid, 77, 0);
    buffer_add(SYS_read, 5, 5);
    assert_int_equal(flush_all(stage), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_ENTER; SYSCALL_EXIT: REGS; SYSCALL_ENTER; "
                                           "SYSCALL_EXIT: WRITE REGS");
    for (size_t i = 0; i < 4; i++)
        assert_true(evq_is_open(stage_entry(stage, i)));
    assert_int_equal(stage_entry(stage, 0)->number, SYS_getpid);
    assert_int_equal(stage_entry(stage, 0)->code, 0);
    assert_int_equal(stage_entry(stage, 2)->code, 16);
    assert_int_equal(evq_entry_loads(stage_entry(stage, 1))->r[EVQ_RAX], 77);
    const struct evq_op *write = stage_op(stage_entry(stage, 3), 0);
    assert_int_equal(write->range.start, BUFFER + HEADER + 16 + 16);
    assert_int_equal(write->range.size, 5);
}

/* Whoever comes to the call fills its entries in: then they are as those of any call. */
static void open_entries_are_filled(void **state)
{
    struct stage *stage = *state;
    struct evq_regs here = {.r = {0}};
    has_buffer(stage);
    buffer_add(SYS_madvise, 0, 0);
    buffer_add(SYS_writev, 3, 0);
    assert_int_equal(flush_all(stage), 0);
    here.r[EVQ_RIP] = evq_stub_rip(EVQ_STUB_UNTRACED);
    here.r[EVQ_RDI] = 3 * PAGE;
    here.r[EVQ_RSI] = PAGE + 1;
    here.r[EVQ_RDX] = MADV_DONTNEED;
    for (size_t i = 0; i < 4; i++) {
        struct evq_entry *entry = (struct evq_entry *)stage_entry(stage, i);
        if (i % 2)
            evq_fill_exit(entry, &here);
        else
            evq_fill_enter(entry, &here);
        assert_false(evq_is_open(entry));
    }
    const struct evq_op *discard = stage_op(stage_entry(stage, 1), 0);
    assert_int_equal(discard->range.start, 3 * PAGE);
    assert_int_equal(discard->range.size, 2 * PAGE);
    const struct evq_op *capture = stage_op(stage_entry(stage, 3), 0);
    assert_int_equal(capture->capture.start, PAGE + 1);
    assert_int_equal(capture->capture.size, MADV_DONTNEED * 16);
    assert_int_equal(evq_entry_loads(stage_entry(stage, 3))->r[EVQ_RAX], 3);
    assert_int_equal(evq_entry_loads(stage_entry(stage, 3))->r[EVQ_RCX], here.r[EVQ_RIP]);
}

static void mprotect_does_what_its_own_record_says(void **state)
{
    struct stage *stage = *state;
    const struct rrt_protect protects[] = {{HEAP, PAGE, PROT_READ}, {HEAP, 0, 0}};
    has_buffer(stage);
    buffer_add(SYS_mprotect, 0, 0);
    buffer_add(SYS_mprotect, -22, 0);
    assert_int_equal(flush(stage, HEADER + buffer_bytes, protects, 2), 0);
    assert_string_equal(stage_text(stage),
                        "SYSCALL_ENTER; SYSCALL_EXIT: PROTECT REGS; SYSCALL_ENTER; "
                        "SYSCALL_EXIT: REGS");
    assert_int_equal(take(stage, RRT_EVENT_SYSCALLBUF_RESET), 0);
    assert_damaged(flush(stage, HEADER + buffer_bytes, protects, 1), "more buffered calls");
    stage->feed.tasks[0].is_flushed = false;
    buffer_begin();
    assert_damaged(flush(stage, HEADER, protects, 1), "fewer buffered calls");
}

static void buffer_is_emptied_where_rr_did_so(void **state)
{
    struct stage *stage = *state;
    has_buffer(stage);
    assert_int_equal(flush_all(stage), 0);
    assert_int_equal(take(stage, RRT_EVENT_SYSCALLBUF_RESET), 0);
    assert_string_equal(stage_text(stage), "OPS: ZERO ZERO");
    assert_int_equal(take(stage, RRT_EVENT_SYSCALLBUF_ABORT_COMMIT), 0);
    assert_string_equal(stage_text(stage), "OPS: WRITE");
    assert_int_equal(take(stage, RRT_EVENT_SYSCALLBUF_RESET), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_ENTER; SYSCALL_EXIT: ZERO ZERO REGS");
    assert_int_equal(stage_entry(stage, 0)->number, EVQ_CALL_DISARMED);
}

static void library_is_asked_to_say_when_it_is_left(void **state)
{
    struct stage *stage = *state;
    has_buffer(stage);
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, 1002);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "OPS: WRITE; SYSCALL_ENTER");
    assert_int_equal(stage_op(stage_entry(stage, 0), 0)->range.start, BUFFER + 13);
}

static void patched_call_goes_on_where_it_stands(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = stage_frame(stage, LEADER, RRT_EVENT_PATCH_SYSCALL);
    frame.regs.rax = SYS_read;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_ENTER; SYSCALL_EXIT: REGS");
    assert_int_equal(stage_entry(stage, 0)->number, EVQ_CALL_PATCHED);
    const struct evq_regs *found = evq_entry_regs(stage_entry(stage, 0));
    assert_int_equal(found->r[EVQ_RIP], frame.regs.rip + 2);
    assert_int_equal(found->r[EVQ_ORIG_RAX], SYS_read);
    assert_int_equal(evq_entry_loads(stage_entry(stage, 1))->r[EVQ_RIP], frame.regs.rip);
}

static void patch_behind_a_call_changes_code_only(void **state)
{
    struct stage *stage = *state;
    has_buffer(stage);
    assert_int_equal(stage_do_call(stage, LEADER, SYS_getpid, 1, 0, 0, 0), 0);
    const struct rrt_write write = {
        .tid = LEADER, .addr = CODE + 8, .size_bytes = 7, .bytes = buffer, .stored_bytes = 7};
    struct rrt_frame frame = stage_frame(stage, LEADER, RRT_EVENT_PATCH_AFTER_SYSCALL);
    frame.writes = &write;
    frame.write_count = 1;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "OPS: WRITE");
}

static void patched_rdtsc_is_met_once_more(void **state)
{
    struct stage *stage = *state;
    has_buffer(stage);
    struct rrt_frame frame = stage_frame(stage, LEADER, RRT_EVENT_PATCH_TRAPPING_INSTRUCTION);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "TRAP: REGS");
    const struct evq_entry *entry = stage_entry(stage, 0);
    assert_int_equal(evq_entry_regs(entry)->r[EVQ_RIP], frame.regs.rip + 2);
    assert_int_equal(evq_entry_loads(entry)->r[EVQ_RIP], frame.regs.rip);
    assert_false(evq_is_open(entry));
}

static void buffered_rdtsc_is_filled(void **state)
{
    const struct evq_regs here = {.r = {[EVQ_RAX] = 1, [EVQ_RDX] = 2, [EVQ_RIP] = 3}};
    struct stage *stage = *state;
    has_buffer(stage);
    buffer_begin();
    buffer_add(1012, 5, 8);
    assert_int_equal(flush_all(stage), 0);
    assert_string_equal(stage_text(stage), "TRAP: REGS");
    struct evq_entry *entry = (struct evq_entry *)stage_entry(stage, 0);
    assert_true(evq_is_open(entry));
    evq_fill_trap(entry, &here);
    assert_false(evq_is_open(entry));
    assert_memory_equal(evq_entry_regs(entry), &here, sizeof(here));
    assert_int_equal(evq_entry_loads(entry)->r[EVQ_RAX], 0x64646464);
    assert_int_equal(evq_entry_loads(entry)->r[EVQ_RDX], 0x64646464);
    assert_int_equal(evq_entry_loads(entry)->r[EVQ_RIP], 3);
    stage->feed.tasks[0].is_flushed = false;
    buffer_begin();
    buffer_add(1012, 5, 7);
    assert_int_equal(flush_all(stage), -WETDBG_ERR_CORRUPT);
}

/* ---------------------------------------------------------------- threads */

enum { THREAD = 101 };

/* Any frame of a task, to which the library's page is moved before. */
static const char *go_on(struct stage *stage, int tid)
{
    struct rrt_frame frame = stage_call(stage, tid, RRT_SYSCALL_ENTERING, SYS_getpid);
    assert_int_equal(stage_take(stage, &frame), 0);
    return stage_text(stage);
}

/* A thread has run, and the first task after it. */
static void has_two_threads(struct stage *stage)
{
    has_buffer(stage);
    stage_thread(stage, LEADER, THREAD);
    assert_string_equal(go_on(stage, THREAD), "OPS: REMAP MAP WRITE; SYSCALL_ENTER");
    assert_string_equal(go_on(stage, LEADER), "OPS: REMAP REMAP; SYSCALL_ENTER");
}

static void threads_have_pages_of_their_own(void **state)
{
    struct stage *stage = *state;
    has_buffer(stage);
    stage_thread(stage, LEADER, THREAD);
    go_on(stage, THREAD);
    uint64_t leaders = stage_op(stage_entry(stage, 0), 0)->remap.to;
    assert_int_equal(stage_entry(stage, 0)->task, stage_entry(stage, 1)->task);
    assert_string_equal(go_on(stage, THREAD), "SYSCALL_ENTER");
    go_on(stage, LEADER);
    const struct evq_op *away = stage_op(stage_entry(stage, 0), 0);
    const struct evq_op *back = stage_op(stage_entry(stage, 0), 1);
    assert_int_equal(away->remap.start, FEED_RECORDER_LOCALS);
    assert_int_equal(back->remap.to, FEED_RECORDER_LOCALS);
    assert_int_equal(back->remap.start, leaders);
    assert_int_not_equal(away->remap.to, leaders);
}

static void pages_of_threads_go_with_them(void **state)
{
    struct stage *stage = *state;
    has_two_threads(stage);
    struct rrt_frame frame = stage_exit(stage, THREAD); /* while its page is aside */
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "OPS: UNMAP; TASK_EXIT");
    stage_thread(stage, LEADER, THREAD); /* another one with that number */
    assert_string_equal(go_on(stage, THREAD), "OPS: REMAP MAP WRITE; SYSCALL_ENTER");
    frame = stage_exit(stage, THREAD); /* while it has the page */
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "TASK_EXIT");
    assert_string_equal(go_on(stage, LEADER), "OPS: UNMAP REMAP; SYSCALL_ENTER");
}

static void thread_that_ends_has_no_buffer_to_empty(void **state)
{
    struct stage *stage = *state;
    has_two_threads(stage);
    struct rrt_frame frame = stage_call(stage, THREAD, RRT_SYSCALL_ENTERING, SYS_exit);
    assert_int_equal(stage_take(stage, &frame), 0);
    frame = stage_frame(stage, THREAD, RRT_EVENT_SYSCALLBUF_RESET);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "");
}

/* rr empties the buffer of a task that waits for its turn: it has to be at its place by then. */
static void buffer_is_emptied_at_the_place_of_a_switch(void **state)
{
    struct stage *stage = *state;
    has_two_threads(stage);
    assert_int_equal(stage_do_call(stage, LEADER, SYS_getpid, 1, 0, 0, 0), 0);
    struct rrt_frame frame = stage_sched(stage, LEADER, NULL);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(take(stage, RRT_EVENT_SYSCALLBUF_RESET), 0);
    assert_string_equal(stage_text(stage), "PLACE: PLACE; OPS: ZERO ZERO");
}

/* ---------------------------------------------------------------- damage */

static void frames_without_a_buffer_are_damage(void **state)
{
    struct stage *stage = *state;
    buffer_begin();
    assert_damaged(flush_all(stage), "no buffer");
    assert_damaged(take(stage, RRT_EVENT_SYSCALLBUF_RESET), "no buffer");
    assert_damaged(take(stage, RRT_EVENT_SYSCALLBUF_ABORT_COMMIT), "no buffer");
    struct rrt_frame frame = stage_frame(stage, STRANGER, RRT_EVENT_SYSCALLBUF_FLUSH);
    assert_int_equal(stage_take(stage, &frame), 0);
}

static void records_that_were_cut_are_damage(void **state)
{
    for (uint32_t cut = 1; cut < HEADER + 40; cut++) {
        struct stage *stage = stage_new();
        has_buffer(stage);
        buffer_add(SYS_read, 24, 24);
        assert_damaged(flush(stage, HEADER + 40 - cut, NULL, 0), "buffer of system calls");
        stage_free(stage);
    }
    (void)state;
}

static void records_of_a_wrong_size_are_damage(void **state)
{
    static const uint32_t sizes[] = {0, 1, 15, 17 + 24, 64, 0x7fffffff, 0xfffffff8, 0xffffffff};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct stage *stage = stage_new();
        has_buffer(stage);
        buffer_add(SYS_read, 24, 24);
        memcpy(buffer + HEADER + 12, &sizes[i], sizeof(sizes[i]));
        assert_damaged(flush_all(stage), "a record of");
        stage_free(stage);
    }
    (void)state;
}

/* A size that ends within the next record: what is read there is none. */
static void records_that_overlap_are_damage(void **state)
{
    struct stage *stage = *state;
    const uint32_t size = 24;
    has_buffer(stage);
    buffer_add(SYS_getpid, 1, 0);
    buffer_add(SYS_getpid, 1, 0);
    memcpy(buffer + HEADER + 12, &size, sizeof(size));
    assert_damaged(flush_all(stage), "within a record");
}

static void buffer_of_a_wrong_place_or_size_is_damage(void **state)
{
    struct stage *stage = *state;
    has_buffer(stage);
    stage->feed.tasks[0].buffer -= PAGE;
    assert_damaged(flush_all(stage), "does not hold");
    stage->feed.tasks[0].buffer += PAGE;
    stage->feed.tasks[0].is_flushed = false;
    stage->feed.tasks[0].buffer_end = BUFFER + HEADER - 1;
    assert_damaged(flush_all(stage), "does not hold");
    stage->feed.tasks[0].buffer_end = BUFFER + PAGE;
    assert_damaged(flush_all(stage), "not emptied");
    stage->feed.tasks[0].is_flushed = false;
    memcpy(buffer, &(uint32_t){1}, 4);
    assert_damaged(flush_all(stage), "its header says 1");
}

/* ---------------------------------------------------------------- refusals */

static void what_is_not_in_the_buffer_is_refused(void **state)
{
    struct stage *stage = *state;
    has_buffer(stage);
    buffer_add(SYS_read, 4096, 0);
    stage_assert_refused(flush_all(stage), "cloned_data");
    stage_assert_refused(take(stage, RRT_EVENT_PATCH_VSYSCALL), "instruction's place");
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, 1005);
    stage_assert_refused(stage_take(stage, &frame), "own call 1005");
}

static void library_that_makes_a_thread_is_refused(void **state)
{
    struct stage *stage = *state;
    const struct rrt_task_event event = {.tid = THREAD,
                                         .kind = RRT_TASK_CLONE,
                                         .parent_tid = LEADER,
                                         .clone_flags = CLONE_VM | CLONE_VFORK};
    has_buffer(stage);
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_clone);
    frame.regs.rip = evq_stub_rip(EVQ_STUB_TRACED);
    frame.tasks = &event;
    frame.task_count = 1;
    stage_assert_refused(stage_take(stage, &frame), "library made a thread");
}

static void later_libraries_are_refused(void **state)
{
    struct stage *stage = *state;
    stage->header.syscallbuf_fds_disabled_size = 16384;
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, 1000);
    stage_assert_refused(stage_take(stage, &frame), "5.7");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_set_up, stage_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(record_is_a_call_without_registers),
        TEST(open_entries_are_filled),
        TEST(mprotect_does_what_its_own_record_says),
        TEST(buffer_is_emptied_where_rr_did_so),
        TEST(library_is_asked_to_say_when_it_is_left),
        TEST(patched_call_goes_on_where_it_stands),
        TEST(patch_behind_a_call_changes_code_only),
        TEST(patched_rdtsc_is_met_once_more),
        TEST(buffered_rdtsc_is_filled),
        TEST(threads_have_pages_of_their_own),
        TEST(pages_of_threads_go_with_them),
        TEST(thread_that_ends_has_no_buffer_to_empty),
        TEST(buffer_is_emptied_at_the_place_of_a_switch),
        TEST(frames_without_a_buffer_are_damage),
        cmocka_unit_test(records_that_were_cut_are_damage),
        cmocka_unit_test(records_of_a_wrong_size_are_damage),
        TEST(records_that_overlap_are_damage),
        TEST(buffer_of_a_wrong_place_or_size_is_damage),
        TEST(what_is_not_in_the_buffer_is_refused),
        TEST(library_that_makes_a_thread_is_refused),
        TEST(later_libraries_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
