/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single frames into entries, without a recording. */
#include <errno.h>
#include <linux/mman.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
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

static void assert_op(const struct evq_op *op, uint64_t a, uint64_t b)
{
    assert_non_null(op);
    assert_int_equal(op->range.start, a);
    assert_int_equal(op->range.size, b);
}

/* ---------------------------------------------------------------- exec and mappings */

static void exec_builds_everything_in_order(void **state)
{
    struct stage *stage = *state; /* has just taken it */
    assert_string_equal(stage_text(stage), "OPS: CLEAR_SPACE MAP MAP MAP MAP REGS");
    assert_int_equal(stage_entry(stage, 0)->task, 0);
    assert_int_equal(stage_op(stage_entry(stage, 0), 1)->protect.prot, PROT_READ | PROT_EXEC);
}

static void munmap_rounds_up_and_precedes_the_registers(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_do_call(stage, LEADER, SYS_munmap, 0, HEAP, PAGE + 1, 0), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: UNMAP REGS");
    assert_op(stage_op(stage_entry(stage, 0), 0), HEAP, 2 * PAGE);
}

static void munmap_that_failed_does_nothing(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_do_call(stage, LEADER, SYS_munmap, FAILED(EINVAL), HEAP, PAGE, 0), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: REGS");
}

static void munmap_of_nonsense_is_damage(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_do_call(stage, LEADER, SYS_munmap, 0, HEAP + 1, PAGE, 0),
                     -WETDBG_ERR_CORRUPT);
    assert_int_equal(stage_do_call(stage, LEADER, SYS_munmap, 0, HEAP, UINT64_MAX, 0),
                     -WETDBG_ERR_CORRUPT);
}

static void vetoed_call_only_loads_registers(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_munmap);
    frame.regs.orig_rax = (uint64_t)-2;
    frame.regs.rdi = HEAP;
    frame.regs.rsi = PAGE;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: REGS");
}

static void mprotect_that_ran_into_a_gap_did_the_first_part(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_do_call(stage, LEADER, SYS_mprotect, FAILED(ENOMEM), HEAP + 8 * PAGE,
                                   32 * PAGE, PROT_READ),
                     0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: PROTECT REGS");
    assert_op(stage_op(stage_entry(stage, 0), 0), HEAP + 8 * PAGE, 8 * PAGE);
}

static void mprotect_down_a_stack_takes_all_its_pieces(void **state)
{
    struct stage *stage = *state;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN;
    assert_int_equal(stage_map(stage, LEADER, STACK - 4 * PAGE, 4, 3, flags, 0), 0);
    assert_int_equal(stage_do_call(stage, LEADER, SYS_mprotect, 0, STACK + 2 * PAGE, PAGE,
                                   PROT_READ | PROT_GROWSDOWN),
                     0);
    const struct evq_op *op = stage_op(stage_entry(stage, 0), 0);
    assert_op(op, STACK - 4 * PAGE, 7 * PAGE);
    assert_int_equal(op->protect.prot, PROT_READ);
}

static void mremap_second_view_is_refused(void **state)
{
    struct stage *stage = *state;
    stage_assert_refused(stage_do_call(stage, LEADER, SYS_mremap, 0x10000000, HEAP, 0, PAGE),
                         "second time");
}

static void mremap_moves_and_keeps_if_asked(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_mremap);
    frame.regs.rax = 0x10000000;
    frame.regs.rdi = HEAP;
    frame.regs.rsi = frame.regs.rdx = PAGE;
    frame.regs.r10 = MREMAP_MAYMOVE | MREMAP_DONTUNMAP;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: REMAP REGS");
    const struct evq_op *op = stage_op(stage_entry(stage, 0), 0);
    assert_op(op, HEAP, PAGE);
    assert_int_equal(op->remap.to, 0x10000000);
    assert_int_equal(op->remap.stays, 1);
}

static void madvise_discards_private_memory_only(void **state)
{
    struct stage *stage = *state;
    uint64_t start = HEAP + 14 * PAGE;
    assert_int_equal(stage_map(stage, LEADER, HEAP + 16 * PAGE, 2, 3, MAP_SHARED, 77), 0);
    assert_int_equal(stage_do_call(stage, LEADER, SYS_madvise, 0, start, 4 * PAGE, MADV_DONTNEED),
                     0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: DISCARD REGS");
    assert_op(stage_op(stage_entry(stage, 0), 0), start, 2 * PAGE);
    assert_int_equal(
        stage_do_call(stage, LEADER, SYS_madvise, 0, start + 2 * PAGE, PAGE, MADV_REMOVE), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: ZERO REGS");
}

static void madvise_back_to_unrecorded_file_is_refused(void **state)
{
    struct stage *stage = *state;
    stage_assert_refused(stage_do_call(stage, LEADER, SYS_madvise, 0, CODE, PAGE, MADV_DONTNEED),
                         "file's contents");
}

static void madvise_failure_counts_as_done_by_old_recorders_only(void **state)
{
    struct stage *stage = *state;
    uint64_t end = HEAP + 15 * PAGE;
    assert_int_equal(
        stage_do_call(stage, LEADER, SYS_madvise, FAILED(ENOMEM), end, 4 * PAGE, MADV_DONTNEED), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: DISCARD REGS");
    assert_op(stage_op(stage_entry(stage, 0), 0), end, PAGE);
    stage->header.syscallbuf_header_size_bytes = 32;
    assert_int_equal(
        stage_do_call(stage, LEADER, SYS_madvise, FAILED(ENOMEM), end, 4 * PAGE, MADV_DONTNEED), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: REGS");
}

static void shmdt_takes_every_part_of_the_segment(void **state)
{
    struct stage *stage = *state;
    uint64_t base = 0x20000000;
    assert_int_equal(stage_map(stage, LEADER, base, 5, 3, MAP_SHARED, 55), 0);
    assert_int_equal(stage_do_call(stage, LEADER, SYS_mprotect, 0, base + PAGE, PAGE, PROT_READ),
                     0);
    assert_int_equal(stage_do_call(stage, LEADER, SYS_munmap, 0, base + 3 * PAGE, PAGE, 0), 0);
    assert_int_equal(stage_do_call(stage, LEADER, SYS_shmdt, 0, base, 0, 0), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: UNMAP UNMAP UNMAP UNMAP REGS");
}

static void growth_maps_only_what_is_new(void **state)
{
    struct stage *stage = *state;
    struct rrt_mmap map = {.start = STACK - 2 * PAGE,
                           .end = STACK + 2 * PAGE,
                           .prot = 3,
                           .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN,
                           .name = "",
                           .backing = ""};
    struct rrt_frame frame = stage_frame(stage, LEADER, RRT_EVENT_GROW_MAP);
    frame.has_regs = false;
    frame.mmaps = &map;
    frame.mmap_count = 1;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "OPS: MAP");
    assert_op(stage_op(stage_entry(stage, 0), 0), STACK - 2 * PAGE, 2 * PAGE);
}

/* ---------------------------------------------------------------- contents */

static struct rrt_frame with_write(struct stage *stage, struct rrt_write *write,
                                   const uint8_t *bytes)
{
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_read);
    write->tid = LEADER;
    write->bytes = bytes;
    write->stored_bytes = write->size_bytes;
    for (size_t i = 0; i < write->hole_count; i++)
        write->stored_bytes -= write->holes[i].size_bytes;
    frame.writes = write;
    frame.write_count = 1;
    return frame;
}

static void holes_become_zeros_between_writes(void **state)
{
    struct stage *stage = *state;
    static const uint8_t bytes[] = "abcdefgh";
    const struct rrt_hole holes[] = {{0, 4}, {6, 10}, {20, 2}};
    struct rrt_write write = {.addr = HEAP, .size_bytes = 24, .holes = holes, .hole_count = 3};
    struct rrt_frame frame = with_write(stage, &write, bytes);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: ZERO WRITE ZERO WRITE ZERO WRITE REGS");
    const struct evq_entry *entry = stage_entry(stage, 0);
    assert_op(stage_op(entry, 0), HEAP, 4);
    assert_op(stage_op(entry, 1), HEAP + 4, 2);
    assert_op(stage_op(entry, 3), HEAP + 16, 4);
    assert_memory_equal(stage_op(entry, 3) + 1, "cdef", 4);
    assert_op(stage_op(entry, 5), HEAP + 22, 2);
    assert_memory_equal(stage_op(entry, 5) + 1, "gh", 2);
}

static void large_read_goes_before_its_exit(void **state)
{
    struct stage *stage = *state;
    uint64_t size = 9u << 20;
    uint8_t *bytes = calloc(1, size);
    assert_non_null(bytes);
    assert_int_equal(stage_map(stage, LEADER, 0x30000000, 2304, 3, MAP_PRIVATE | MAP_ANONYMOUS, 0),
                     0);
    struct rrt_write write = {.addr = 0x30000000, .size_bytes = size};
    struct rrt_frame frame = with_write(stage, &write, bytes);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "OPS: WRITE WRITE WRITE; OPS: WRITE WRITE WRITE; "
                                           "SYSCALL_EXIT: WRITE WRITE WRITE REGS");
    free(bytes);
}

static void conservative_record_stops_where_memory_does(void **state)
{
    struct stage *stage = *state;
    static const uint8_t bytes[3 * WD_PAGE];
    struct rrt_write write = {
        .addr = HEAP + 15 * PAGE, .size_bytes = sizeof(bytes), .size_is_conservative = true};
    struct rrt_frame frame = with_write(stage, &write, bytes);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_op(stage_op(stage_entry(stage, 0), 0), HEAP + 15 * PAGE, PAGE);
    write.size_is_conservative = false;
    frame.time = ++stage->time;
    assert_int_equal(stage_take(stage, &frame), -WETDBG_ERR_CORRUPT);
}

static void name_of_a_thread_is_captured(void **state)
{
    struct stage *stage = *state;
    uint64_t end = HEAP + 16 * PAGE;
    assert_int_equal(stage_do_call(stage, LEADER, SYS_prctl, 0, PR_SET_NAME, HEAP + 3, 0), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: CAPTURE REGS");
    assert_op(stage_op(stage_entry(stage, 0), 0), HEAP + 3, 16);
    assert_int_equal(stage_op(stage_entry(stage, 0), 0)->capture.tag, REP_CAPTURE_COMM);
    assert_int_equal(stage_do_call(stage, LEADER, SYS_prctl, 0, PR_SET_NAME, end - 5, 0), 0);
    assert_op(stage_op(stage_entry(stage, 0), 0), end - 5, 5);
    assert_int_equal(stage_do_call(stage, LEADER, SYS_prctl, 0, PR_GET_NAME, HEAP, 0), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: REGS");
    assert_int_equal(stage_do_call(stage, LEADER, SYS_prctl, FAILED(EFAULT), PR_SET_NAME, 8, 0), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: REGS");
    assert_int_equal(stage_do_call(stage, LEADER, SYS_prctl, 0, PR_SET_NAME, UINT64_MAX, 0), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: REGS");
}

static void write_of_an_array_of_buffers_is_captured(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_do_call(stage, LEADER, SYS_writev, 10, 1, HEAP + 64, 3), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: CAPTURE REGS");
    assert_op(stage_op(stage_entry(stage, 0), 0), HEAP + 64, 48);
    assert_int_equal(stage_do_call(stage, LEADER, SYS_sendmsg, 10, 1, HEAP, 0), 0);
    assert_op(stage_op(stage_entry(stage, 0), 0), HEAP, 56);
    assert_int_equal(stage_do_call(stage, LEADER, SYS_writev, FAILED(EBADF), 1, HEAP, 3), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: REGS");
}

/* ---------------------------------------------------------------- what is compared */

static void entry_compares_all_but_flags_that_do_not_count(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_read);
    assert_int_equal(stage_take(stage, &frame), 0);
    const struct evq_entry *entry = stage_entry(stage, 0);
    assert_int_equal(entry->kind, EVQ_SYSCALL_ENTER);
    assert_int_equal(entry->number, SYS_read);
    assert_int_equal(entry->compare_mask,
                     EVQ_MASK_GENERAL | EVQ_BIT(EVQ_EFLAGS) | EVQ_BIT(EVQ_ORIG_RAX));
}

/* What is left out are rax and rdx, whatever the instruction is; the agent knows the rest. */
static void trap_leaves_out_what_all_write(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = stage_frame(stage, LEADER, RRT_EVENT_INSTRUCTION_TRAP);
    uint32_t all = EVQ_MASK_GENERAL | EVQ_BIT(EVQ_EFLAGS);
    uint32_t compared = all & ~(EVQ_BIT(EVQ_RAX) | EVQ_BIT(EVQ_RDX));
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage_entry(stage, 0)->compare_mask, compared);
    stage->header.has_cpuid_faulting = true;
    frame.time = ++stage->time;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage_entry(stage, 0)->compare_mask, compared);
    assert_string_equal(stage_text(stage), "TRAP: REGS");
}

/* rr calls it restart_syscall, whichever way the kernel does it. */
static void interrupted_call_is_made_again_without_a_signal(void **state)
{
    static const struct {
        int code;
        uint64_t rax;
    } rows[] = {{512, SYS_futex}, {513, SYS_futex}, {514, SYS_futex}, {516, SYS_restart_syscall}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stage *stage = stage_new();
        assert_int_equal(stage_do_call(stage, LEADER, SYS_futex, FAILED(rows[i].code), 0, 0, 0), 0);
        struct rrt_frame sched = stage_frame(stage, LEADER, RRT_EVENT_SCHED);
        sched.regs.orig_rax = SYS_futex;
        sched.regs.rax = FAILED(rows[i].code);
        assert_int_equal(stage_take(stage, &sched), 0);
        assert_int_equal(stage->out.size_bytes, 0);
        struct rrt_frame frame =
            stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_restart_syscall);
        frame.regs.orig_rax = SYS_futex;
        assert_int_equal(stage_take(stage, &frame), 0);
        assert_string_equal(stage_text(stage), "OPS: REGS; SYSCALL_ENTER");
        const struct evq_regs *regs = evq_op_regs(stage_op(stage_entry(stage, 0), 0));
        assert_int_equal(regs->r[EVQ_RIP], frame.regs.rip - 2);
        assert_int_equal(regs->r[EVQ_RAX], rows[i].rax);
        frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_restart_syscall);
        assert_int_equal(stage_take(stage, &frame), 0);
        assert_int_equal(stage_entry(stage, 0)->number, SYS_futex);
        stage_free(stage);
    }
}

static void restarted_call_keeps_its_number(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_do_call(stage, LEADER, SYS_clock_nanosleep, FAILED(516), 0, 0, 0), 0);
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_restart_syscall);
    frame.regs.orig_rax = SYS_clock_nanosleep;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage_entry(stage, 1)->number, SYS_restart_syscall);
    assert_int_equal(stage_entry(stage, 1)->compare_mask & EVQ_BIT(EVQ_ORIG_RAX), 0);
    frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_restart_syscall);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage_entry(stage, 0)->number, SYS_clock_nanosleep);
}

/* ---------------------------------------------------------------- refusals */

static int runs(struct stage *stage, int tid)
{
    struct rrt_frame frame = stage_call(stage, tid, RRT_SYSCALL_ENTERING, SYS_getpid);
    return stage_take(stage, &frame);
}

static void shared_memory_that_another_may_have_written_is_refused(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_clone(stage, LEADER, 101, SIGCHLD), 0);
    assert_int_equal(stage_map(stage, LEADER, 0x20000000, 1, 3, MAP_SHARED, 55), 0);
    assert_int_equal(stage_map(stage, 101, 0x30000000, 1, PROT_READ, MAP_SHARED, 55), 0);
    assert_int_equal(runs(stage, 101), 0);
    assert_int_equal(runs(stage, LEADER), 0); /* the other one could only read */
    assert_int_equal(stage_do_call(stage, 101, SYS_mprotect, 0, 0x30000000, PAGE, 3), 0);
    assert_int_equal(runs(stage, LEADER), 0); /* it has not run since */
    assert_int_equal(runs(stage, 101), 0);
    stage_assert_refused(runs(stage, LEADER), "/some/file is shared with process 101");
}

static void writing_shared_memory_stays_after_it_is_unmapped(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_clone(stage, LEADER, 101, SIGCHLD), 0);
    assert_int_equal(stage_map(stage, LEADER, 0x20000000, 1, 3, MAP_SHARED, 55), 0);
    assert_int_equal(stage_map(stage, 101, 0x30000000, 1, 3, MAP_SHARED, 55), 0);
    assert_int_equal(stage_do_call(stage, 101, SYS_munmap, 0, 0x30000000, PAGE, 0), 0);
    assert_int_equal(runs(stage, 101), 0);
    stage_assert_refused(runs(stage, LEADER), "/some/file is shared with process 101");
}

static void shared_memory_of_one_after_the_other_is_fine(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_clone(stage, LEADER, 101, SIGCHLD), 0);
    assert_int_equal(stage_map(stage, 101, 0x30000000, 1, 3, MAP_SHARED, 55), 0);
    assert_int_equal(runs(stage, 101), 0);
    assert_int_equal(stage_do_call(stage, 101, SYS_munmap, 0, 0x30000000, PAGE, 0), 0);
    assert_int_equal(stage_map(stage, LEADER, 0x20000000, 1, 3, MAP_SHARED, 55), 0);
    assert_int_equal(runs(stage, 101), 0);
    assert_int_equal(runs(stage, LEADER), 0);
    struct rrt_frame frame = stage_exit(stage, 101);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(runs(stage, LEADER), 0);
}

static void inherited_shared_memory_is_refused_when_the_child_stays(void **state)
{
    static const struct {
        bool child_runs, parent_runs_before, parent_runs_after, is_refused;
    } rows[] = {{false, true, true, false},
                {true, false, false, false},
                {true, true, false, true},
                {true, false, true, true}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stage *stage = stage_new();
        assert_int_equal(stage_map(stage, LEADER, 0x20000000, 1, 3, MAP_SHARED, 55), 0);
        assert_int_equal(stage_clone(stage, LEADER, 101, SIGCHLD), 0);
        if (rows[i].child_runs)
            assert_int_equal(runs(stage, 101), 0);
        if (rows[i].parent_runs_before)
            assert_int_equal(runs(stage, LEADER), 0);
        struct rrt_frame frame = stage_exit(stage, 101);
        int err = stage_take(stage, &frame);
        if (!err && rows[i].parent_runs_after)
            err = runs(stage, LEADER);
        if (rows[i].is_refused)
            stage_assert_refused(err, "/some/file is shared with process 101 (forked");
        else
            assert_int_equal(err, 0);
        stage_free(stage);
    }
}

static void inherited_shared_memory_is_fine_when_the_child_runs_a_program(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_map(stage, LEADER, 0x20000000, 1, 3, MAP_SHARED, 55), 0);
    assert_int_equal(stage_clone(stage, LEADER, 101, SIGCHLD), 0);
    assert_int_equal(runs(stage, 101), 0);
    assert_int_equal(runs(stage, LEADER), 0);
    assert_int_equal(stage_exec(stage, 101), 0);
    assert_int_equal(runs(stage, 101), 0);
    assert_int_equal(runs(stage, LEADER), 0);
}

static void second_shared_view_is_refused(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_map(stage, LEADER, 0x20000000, 1, PROT_READ, MAP_SHARED, 55), 0);
    assert_int_equal(stage_map(stage, LEADER, 0x30000000, 1, PROT_READ, MAP_SHARED, 55), 0);
    stage_assert_refused(stage_do_call(stage, LEADER, SYS_mprotect, 0, 0x30000000, PAGE, 3),
                         "mapped shared both");
}

static void odd_calls_are_refused(void **state)
{
    struct stage *stage = *state;
    stage_assert_refused(stage_do_call(stage, LEADER, SYS_modify_ldt, 0, 0x11, HEAP, 16),
                         "modify_ldt");
    stage_assert_refused(stage_do_call(stage, LEADER, SYS_ptrace, 0, PTRACE_TRACEME, 0, 0),
                         "traced");
    assert_int_equal(stage_clone(stage, LEADER, 101, SIGCHLD), 0);
    stage_assert_refused(stage_do_call(stage, 101, SYS_ptrace, 0, PTRACE_ATTACH, LEADER, 0),
                         "traced");
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_read);
    frame.syscall.arch = RRT_ARCH_X86;
    stage_assert_refused(stage_take(stage, &frame), "int 0x80");
    frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING_PTRACE, SYS_read);
    stage_assert_refused(stage_take(stage, &frame), "traced");
}

static void frames_without_their_registers_are_damage(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_read);
    frame.has_regs = false;
    assert_int_equal(stage_take(stage, &frame), -WETDBG_ERR_CORRUPT);
}

static void tasks_that_begin_twice_are_damage(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_clone(stage, LEADER, 101, VFORK), 0);
    assert_int_equal(stage_clone(stage, LEADER, 101, VFORK), -WETDBG_ERR_CORRUPT);
    assert_int_equal(stage_clone(stage, STRANGER, LEADER, SIGCHLD), 0); /* no space of its own */
}

/* ---------------------------------------------------------------- damage */

static uint64_t some_address(void)
{
    static const uint64_t places[] = {CODE, HEAP, STACK, SCRATCH, 0, 0x7ffffffff000, UINT64_MAX};
    uint64_t address = places[(size_t)random() % (sizeof(places) / sizeof(places[0]))];
    return random() % 8 ? address + (uint64_t)(random() % 24) * PAGE : address + 1;
}

static int some_tid(void)
{
    return random() % 3 ? LEADER + (int)(random() % 6) : LEADER;
}

static void randomize_regs(struct rrt_regs *regs)
{
    uint64_t *all[] = {&regs->rdi, &regs->rsi, &regs->rdx, &regs->r10, &regs->r8};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        *all[i] = random() % 2 ? some_address() : (uint64_t)random() % (16 * PAGE);
    if (random() % 3 == 0)
        regs->rdx = (uint64_t)random() % 32;
    regs->rax = random() % 4 ? (random() % 2 ? 0 : some_address()) : FAILED(random() % 520);
}

/* A frame that no recorder would write, of pieces that the decoder would let through. */
static int take_random_frame(struct stage *stage)
{
    static const int calls[] = {SYS_mmap,    SYS_munmap,     SYS_mprotect, SYS_mremap, SYS_brk,
                                SYS_madvise, SYS_shmdt,      SYS_clone,    SYS_vfork,  SYS_execve,
                                SYS_exit,    SYS_exit_group, SYS_ptrace,   SYS_writev, SYS_read};
    static const uint8_t bytes[4 * WD_PAGE];
    struct rrt_frame frame = stage_frame(stage, some_tid(), (enum rrt_event)(random() % 12));
    struct rrt_mmap maps[3];
    struct rrt_task_event events[2];
    struct rrt_write writes[2];
    static const int flags[] = {VFORK, SIGCHLD, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND};
    uint8_t siginfo[RRT_SIGINFO_BYTES] = {0};
    if (random() % 2)
        frame.event = RRT_EVENT_SYSCALL;
    frame.has_regs = random() % 32 != 0;
    frame.syscall.state = (enum rrt_syscall_state)(1 + random() % 2);
    frame.syscall.arch = RRT_ARCH_X86_64;
    frame.syscall.number = calls[(size_t)random() % (sizeof(calls) / sizeof(calls[0]))];
    frame.regs.orig_rax = (uint64_t)frame.syscall.number;
    randomize_regs(&frame.regs);
    siginfo[0] = (uint8_t)(1 + random() % 31);
    frame.signal.siginfo = siginfo;
    frame.signal.number = siginfo[0];
    frame.signal.deterministic = random() % 2;
    for (size_t i = 0; i < 3; i++) {
        uint64_t start = some_address() & ~(PAGE - 1);
        maps[i] = (struct rrt_mmap){
            .start = start,
            .end = start > UINT64_MAX - 9 * PAGE ? start : start + (uint64_t)(random() % 9) * PAGE,
            .prot = (int)(random() % 8),
            .flags = (int)(random() % 4) | (random() % 2 ? 0x100 : 0),
            .inode = (uint64_t)(random() % 3),
            .file_offset_bytes = (uint64_t)(random() % 3) * PAGE,
            .source = (enum rrt_mmap_source)(random() % 2),
            .name = "/f",
            .backing = ""};
    }
    for (size_t i = 0; i < 2; i++) {
        events[i] = (struct rrt_task_event){.tid = some_tid(),
                                            .kind = (enum rrt_task_kind)(random() % 4),
                                            .parent_tid = some_tid(),
                                            .clone_flags = flags[random() % 3]};
        writes[i] = (struct rrt_write){.tid = some_tid(),
                                       .addr = some_address(),
                                       .size_bytes = (uint64_t)random() % sizeof(bytes),
                                       .bytes = bytes,
                                       .size_is_conservative = random() % 2};
        writes[i].stored_bytes = writes[i].size_bytes;
        if (writes[i].addr > UINT64_MAX - sizeof(bytes))
            writes[i].addr = HEAP;
    }
    frame.mmaps = maps;
    frame.mmap_count = (size_t)random() % 4;
    frame.tasks = events;
    frame.task_count = random() % 3 ? 0 : (size_t)(1 + random() % 2);
    frame.writes = writes;
    frame.write_count = random() % 3 ? 0 : (size_t)(1 + random() % 2);
    return stage_take(stage, &frame);
}

/* The feed may refuse, but neither crash (a sanitizer watches) nor give what the gate rejects. */
static void frames_of_nonsense_give_errors_or_entries(void **state)
{
    (void)state;
    unsigned taken = 0, ended = 0;
    srandom(3);
    for (int run = 0; run < 3000; run++) {
        struct stage *stage = stage_new();
        for (int i = 0; i < 60; i++) {
            int err = take_random_frame(stage);
            taken += !err;
            assert_true(err <= 0);
            if (err)
                break;
        }
        ended += stage->feed.has_ended;
        stage_free(stage);
    }
    assert_true(taken > 3000 && ended > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_set_up, stage_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(exec_builds_everything_in_order),
        TEST(munmap_rounds_up_and_precedes_the_registers),
        TEST(munmap_that_failed_does_nothing),
        TEST(munmap_of_nonsense_is_damage),
        TEST(vetoed_call_only_loads_registers),
        TEST(mprotect_that_ran_into_a_gap_did_the_first_part),
        TEST(mprotect_down_a_stack_takes_all_its_pieces),
        TEST(mremap_second_view_is_refused),
        TEST(mremap_moves_and_keeps_if_asked),
        TEST(madvise_discards_private_memory_only),
        TEST(madvise_back_to_unrecorded_file_is_refused),
        TEST(madvise_failure_counts_as_done_by_old_recorders_only),
        TEST(shmdt_takes_every_part_of_the_segment),
        TEST(growth_maps_only_what_is_new),
        TEST(holes_become_zeros_between_writes),
        TEST(large_read_goes_before_its_exit),
        TEST(conservative_record_stops_where_memory_does),
        TEST(write_of_an_array_of_buffers_is_captured),
        TEST(name_of_a_thread_is_captured),
        TEST(entry_compares_all_but_flags_that_do_not_count),
        TEST(trap_leaves_out_what_all_write),
        TEST(restarted_call_keeps_its_number),
        cmocka_unit_test(interrupted_call_is_made_again_without_a_signal),
        TEST(shared_memory_that_another_may_have_written_is_refused),
        TEST(writing_shared_memory_stays_after_it_is_unmapped),
        TEST(shared_memory_of_one_after_the_other_is_fine),
        cmocka_unit_test(inherited_shared_memory_is_refused_when_the_child_stays),
        TEST(inherited_shared_memory_is_fine_when_the_child_runs_a_program),
        TEST(second_shared_view_is_refused),
        TEST(odd_calls_are_refused),
        TEST(frames_without_their_registers_are_damage),
        TEST(tasks_that_begin_twice_are_damage),
        cmocka_unit_test(frames_of_nonsense_give_errors_or_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
