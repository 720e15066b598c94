/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single frames into entries, without a recording. */
#include <errno.h>
#include <linux/mman.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "common/err.h"
#include "tests/feed/feed_frames.h"
#include "tests/feed/feed_unit.h"

#define PAGE           ((uint64_t)FEED_PAGE)
#define VFORK          (CLONE_VM | CLONE_VFORK | SIGCHLD)
#define FAILED(number) ((uint64_t) - (number))

static int set_up(void **state)
{
    *state = stage_new();
    return 0;
}

static int tear_down(void **state)
{
    stage_free(*state);
    return 0;
}

static void assert_refused(int rc, const char *reason)
{
    assert_int_equal(rc, -WD_ERR_UNSUPPORTED);
    if (!strstr(wd_error_message(rc), reason) || !strstr(wd_error_message(rc), "frame "))
        fail_msg("%s", wd_error_message(rc));
}

static void assert_op(const struct evq_op *op, uint64_t a, uint64_t b)
{
    assert_non_null(op);
    assert_int_equal(op->a, a);
    assert_int_equal(op->b, b);
}

/* ---------------------------------------------------------------- exec and mappings */

static void exec_builds_everything_in_order(void **state)
{
    struct stage *stage = *state; /* has just taken it */
    assert_string_equal(stage_text(stage), "OPS: CLEAR_SPACE MAP MAP MAP MAP REGS");
    assert_int_equal(stage_entry(stage, 0)->task, 0);
    assert_int_equal(stage_op(stage_entry(stage, 0), 1)->c, PROT_READ | PROT_EXEC);
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
                     -WD_ERR_CORRUPT);
    assert_int_equal(stage_do_call(stage, LEADER, SYS_munmap, 0, HEAP, UINT64_MAX, 0),
                     -WD_ERR_CORRUPT);
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
    assert_int_equal(op->c, PROT_READ);
}

static void mremap_second_view_is_refused(void **state)
{
    struct stage *stage = *state;
    assert_refused(stage_do_call(stage, LEADER, SYS_mremap, 0x10000000, HEAP, 0, PAGE),
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
    assert_int_equal(op->c, 0x10000000);
    assert_int_equal(op->e, 1);
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
    assert_refused(stage_do_call(stage, LEADER, SYS_madvise, 0, CODE, PAGE, MADV_DONTNEED),
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
    static const uint8_t bytes[3 * FEED_PAGE];
    struct rrt_write write = {
        .addr = HEAP + 15 * PAGE, .size_bytes = sizeof(bytes), .size_is_conservative = true};
    struct rrt_frame frame = with_write(stage, &write, bytes);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_op(stage_op(stage_entry(stage, 0), 0), HEAP + 15 * PAGE, PAGE);
    write.size_is_conservative = false;
    frame.time = ++stage->time;
    assert_int_equal(stage_take(stage, &frame), -WD_ERR_CORRUPT);
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

static struct rrt_frame moved_sched(struct stage *stage, int tid, const struct rrt_regs *regs);

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
    frame = moved_sched(stage, LEADER, NULL);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(write_from_elsewhere(stage), 0);
    assert_string_equal(stage_text(stage), "PLACE: PLACE; OPS: WRITE");
    frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_read);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_ENTER");
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

static void trap_leaves_out_what_it_writes(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = stage_frame(stage, LEADER, RRT_EVENT_INSTRUCTION_TRAP);
    uint32_t rdtsc = EVQ_BIT(EVQ_RAX) | EVQ_BIT(EVQ_RDX);
    uint32_t cpuid = rdtsc | EVQ_BIT(EVQ_RBX) | EVQ_BIT(EVQ_RCX);
    uint32_t all = EVQ_MASK_GENERAL | EVQ_BIT(EVQ_EFLAGS);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage_entry(stage, 0)->compare_mask, all & ~rdtsc);
    stage->header.has_cpuid_faulting = true;
    frame.time = ++stage->time;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage_entry(stage, 0)->compare_mask, all & ~cpuid);
    assert_string_equal(stage_text(stage), "TRAP: REGS");
}

static void restarted_call_keeps_its_number(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_do_call(stage, LEADER, SYS_clock_nanosleep, FAILED(516), 0, 0, 0), 0);
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_restart_syscall);
    frame.regs.orig_rax = SYS_clock_nanosleep;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage_entry(stage, 0)->number, SYS_restart_syscall);
    assert_int_equal(stage_entry(stage, 0)->compare_mask & EVQ_BIT(EVQ_ORIG_RAX), 0);
    frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_restart_syscall);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage_entry(stage, 0)->number, SYS_clock_nanosleep);
}

/* ---------------------------------------------------------------- signals */

static struct rrt_frame signal_frame(struct stage *stage, int number, int code, bool deterministic)
{
    static uint8_t siginfo[RRT_SIGINFO_BYTES];
    uint64_t address = 0x1234;
    struct rrt_frame frame = stage_frame(stage, LEADER, RRT_EVENT_SIGNAL);
    memcpy(siginfo, &number, 4);
    memcpy(siginfo + 8, &code, 4);
    memcpy(siginfo + 16, &address, 8);
    frame.signal = (struct rrt_signal){.siginfo = siginfo,
                                       .number = number,
                                       .deterministic = deterministic,
                                       .disposition = RRT_DISPOSITION_USER_HANDLER};
    return frame;
}

static const struct {
    int number, code;
    bool deterministic;
    uint16_t kind;
} signals[] = {
    {SIGSEGV, SEGV_MAPERR, true, EVQ_FAULT}, {SIGFPE, FPE_INTDIV, true, EVQ_FAULT},
    {SIGILL, ILL_ILLOPN, true, EVQ_FAULT},   {SIGTRAP, SI_KERNEL, true, EVQ_FAULT},
    {SIGSEGV, SI_USER, false, EVQ_PLACE},    {SIGSEGV, SEGV_PKUERR, true, EVQ_PLACE},
    {SIGBUS, BUS_ADRERR, true, EVQ_PLACE},   {SIGSYS, 1, true, EVQ_PLACE},
    {SIGUSR1, SI_TKILL, false, EVQ_PLACE},
};

static void signals_are_faults_only_if_they_come_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct stage *stage = stage_new();
        struct rrt_frame frame =
            signal_frame(stage, signals[i].number, signals[i].code, signals[i].deterministic);
        assert_int_equal(stage_take(stage, &frame), 0);
        const struct evq_entry *entry = stage_entry(stage, 0);
        assert_int_equal(entry->kind, signals[i].kind);
        assert_int_equal(entry->number, signals[i].number);
        assert_int_equal(entry->code, signals[i].code);
        assert_int_equal(entry->address, 0x1234);
        assert_int_equal(!!(entry->flags & EVQ_FLAG_SIGINFO), entry->kind == EVQ_FAULT);
        stage_free(stage);
    }
}

static void second_signal_in_a_row_is_immediate(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = signal_frame(stage, SIGSEGV, SEGV_MAPERR, true);
    assert_int_equal(stage_take(stage, &frame), 0);
    frame.time = ++stage->time;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage_entry(stage, 0)->kind, EVQ_PLACE);
}

static void fatal_delivery_is_marked(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = signal_frame(stage, SIGTERM, SI_USER, false);
    frame.event = RRT_EVENT_SIGNAL_DELIVERY;
    frame.signal.disposition = RRT_DISPOSITION_FATAL;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "OPS: REGS");
    assert_true(stage_entry(stage, 0)->flags & EVQ_FLAG_FATAL);
    frame.time = ++stage->time;
    frame.signal.disposition = RRT_DISPOSITION_IGNORED;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_false(stage_entry(stage, 0)->flags & EVQ_FLAG_FATAL);
}

static const uint8_t zeros8[8];

static struct rrt_frame with_rseq(struct rrt_frame frame)
{
    static struct rrt_write write = {
        .tid = LEADER, .addr = HEAP, .size_bytes = 8, .stored_bytes = 8, .bytes = zeros8};
    frame.writes = &write;
    frame.write_count = 1;
    return frame;
}

static void restartable_sequence_is_refused_in_preempted_code(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_do_call(stage, LEADER, SYS_getpid, 5, 0, 0, 0), 0);
    struct rrt_frame frame = with_rseq(stage_frame(stage, LEADER, RRT_EVENT_SCHED));
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "OPS: WRITE");
    assert_int_equal(stage_do_call(stage, LEADER, SYS_rt_sigreturn, 5, 0, 0, 0), 0);
    frame = with_rseq(stage_frame(stage, LEADER, RRT_EVENT_SCHED));
    assert_refused(stage_take(stage, &frame), "rseq");
}

static void restartable_sequence_ends_at_a_signal(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = with_rseq(signal_frame(stage, SIGUSR1, SI_TKILL, false));
    frame.regs.rip++;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "PLACE: PLACE WRITE");
}

/* ---------------------------------------------------------------- places */

static struct evq_place place_of(const struct stage *stage, size_t nth)
{
    struct evq_place place;
    const struct evq_entry *entry = stage_entry(stage, nth);
    assert_non_null(entry);
    assert_int_equal(entry->kind, EVQ_PLACE);
    memcpy(&place, stage_op(entry, 0) + 1, sizeof(place));
    return place;
}

/* Takes a signal in the state of the frame before, then `change`d. */
static uint64_t flags_of_signal(struct stage *stage, uint64_t more_rip)
{
    struct rrt_frame frame = signal_frame(stage, SIGUSR1, SI_TKILL, false);
    frame.regs.rip += more_rip;
    assert_int_equal(stage_take(stage, &frame), 0);
    return place_of(stage, 0).flags;
}

static void signal_at_the_last_event_is_here(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame;
    assert_int_equal(flags_of_signal(stage, 0), EVQ_PLACE_HERE); /* after the exec */
    assert_int_equal(flags_of_signal(stage, 0), EVQ_PLACE_HERE); /* after a signal */
    frame = signal_frame(stage, SIGUSR1, SI_TKILL, false);
    frame.event = RRT_EVENT_SIGNAL_HANDLER;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(flags_of_signal(stage, 0), EVQ_PLACE_HERE);
    frame = stage_frame(stage, LEADER, RRT_EVENT_INSTRUCTION_TRAP);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(flags_of_signal(stage, 0), EVQ_PLACE_HERE);
    assert_int_equal(place_of(stage, 0).limit, 0);
}

static void signal_elsewhere_is_searched(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(flags_of_signal(stage, 1), 0);
    assert_int_equal(stage_entry(stage, 0)->compare_mask, EVQ_MASK_GENERAL | EVQ_BIT(EVQ_EFLAGS));
    assert_int_equal(stage_do_call(stage, LEADER, SYS_read, 0, 0, 0, 0), 0);
    assert_int_equal(flags_of_signal(stage, 1), 0);
}

/* A loop may come back to where sigreturn left the task: then only digests tell. */
static void signal_after_sigreturn_is_searched(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_rt_sigreturn);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(flags_of_signal(stage, 0), 0);
}

static void ignored_signal_leaves_the_task_where_it_was(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame delivery = signal_frame(stage, SIGCHLD, 1, false);
    delivery.event = RRT_EVENT_SIGNAL_DELIVERY;
    delivery.signal.disposition = RRT_DISPOSITION_IGNORED;
    assert_int_equal(flags_of_signal(stage, 0), EVQ_PLACE_HERE);
    assert_int_equal(stage_take(stage, &delivery), 0);
    assert_int_equal(flags_of_signal(stage, 0), EVQ_PLACE_HERE);
    assert_int_equal(stage_take(stage, &delivery), 0);
    assert_int_equal(flags_of_signal(stage, 1), 0);
    delivery.regs.rip++;
    assert_int_equal(stage_take(stage, &delivery), 0);
    assert_int_equal(flags_of_signal(stage, 1), 0);
}

static void search_has_a_limit_by_the_clock(void **state)
{
    static const struct {
        double seconds;
        uint64_t limit;
    } rows[] = {{0, 2000000000},
                {1.5, 32000000000},
                {-7, 2000000000},
                {0.0 / 0.0, 2000000000},
                {1e300, 200000002000000000}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stage *stage = stage_new();
        struct rrt_frame frame = signal_frame(stage, SIGUSR1, SI_TKILL, false);
        frame.monotonic_seconds = rows[i].seconds;
        frame.regs.rip++;
        assert_int_equal(stage_take(stage, &frame), 0);
        assert_int_equal(place_of(stage, 0).limit, rows[i].limit);
        stage_free(stage);
    }
}

static struct rrt_frame moved_sched(struct stage *stage, int tid, const struct rrt_regs *regs)
{
    struct rrt_frame frame = stage_frame(stage, tid, RRT_EVENT_SCHED);
    if (regs)
        frame.regs = *regs;
    frame.regs.rip += 7;
    frame.regs.rcx = 0x77;
    return frame;
}

static void preemption_of_the_only_task_gives_no_entry(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = moved_sched(stage, LEADER, NULL);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage->out.size_bytes, 0);
    frame = stage_call(stage, STRANGER, RRT_SYSCALL_ENTERING, SYS_read);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage->out.size_bytes, 0);
    frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_read);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_ENTER");
}

static void preemption_is_placed_when_another_thread_goes_on(void **state)
{
    struct stage *stage = *state;
    struct rrt_regs regs = stage_thread(stage, LEADER, 101);
    struct rrt_frame frame = moved_sched(stage, 101, &regs);
    uint64_t time = frame.time;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage->out.size_bytes, 0);
    frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_clone);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "PLACE: PLACE; SYSCALL_EXIT: REGS");
    const struct evq_entry *entry = stage_entry(stage, 0);
    const struct evq_regs *placed = (const struct evq_regs *)(entry + 1);
    assert_int_equal(entry->task, 1);
    assert_int_equal(entry->frame, time);
    assert_int_equal(entry->number, 0);
    assert_int_equal(entry->compare_mask, EVQ_MASK_GENERAL | EVQ_BIT(EVQ_EFLAGS));
    assert_int_equal(placed->r[EVQ_RIP], regs.rip + 7);
    assert_int_equal(placed->r[EVQ_RCX], 0x77);
    assert_int_equal(place_of(stage, 0).flags, 0);
    frame = stage_call(stage, 101, RRT_SYSCALL_ENTERING, SYS_read);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_ENTER");
}

static void preemption_at_the_last_event_needs_no_place(void **state)
{
    struct stage *stage = *state;
    struct rrt_regs regs = stage_thread(stage, LEADER, 101);
    struct rrt_frame frame = stage_frame(stage, 101, RRT_EVENT_SCHED);
    frame.regs = regs; /* the thread has not begun to run */
    assert_int_equal(stage_take(stage, &frame), 0);
    frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_clone);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "SYSCALL_EXIT: REGS");
}

static void killed_task_is_placed_where_it_died(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = moved_sched(stage, LEADER, NULL);
    assert_int_equal(stage_take(stage, &frame), 0);
    frame = stage_frame(stage, LEADER, RRT_EVENT_EXIT);
    frame.has_regs = false;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "PLACE: PLACE; TASK_EXIT; END");
}

/* rr writes SCHED for killed tasks that had not run since, or that were inside a call. */
static void killed_task_that_had_not_run_needs_no_place(void **state)
{
    struct stage *stage = *state;
    struct rrt_regs regs = stage_thread(stage, LEADER, 101);
    struct rrt_frame sched = moved_sched(stage, 101, &regs);
    assert_int_equal(stage_take(stage, &sched), 0);
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_exit_group);
    assert_int_equal(stage_take(stage, &frame), 0);
    sched.time = ++stage->time;
    assert_int_equal(stage_take(stage, &sched), 0);
    frame = moved_sched(stage, LEADER, NULL);
    assert_int_equal(stage_take(stage, &frame), 0);
    frame = stage_frame(stage, 101, RRT_EVENT_EXIT);
    frame.has_regs = false;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "TASK_EXIT");
    frame.tid = LEADER;
    frame.time = ++stage->time;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "TASK_EXIT; END");
}

static void preemption_at_the_end_of_the_recording_is_placed(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = moved_sched(stage, LEADER, NULL);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(feed_frame_finish(&stage->feed, &stage->out), 0);
    assert_string_equal(stage_text(stage), "PLACE: PLACE; END");
}

/* ---------------------------------------------------------------- ticks */

static int64_t ticks_of(const struct stage *stage, size_t nth)
{
    const struct evq_entry *entry = stage_entry(stage, nth);
    assert_non_null(entry);
    return entry->flags & EVQ_FLAG_TICKS ? (int64_t)entry->ticks : -1;
}

static void ticks_are_said_where_something_runs(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_read);
    frame.ticks = 700;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(ticks_of(stage, 0), -1); /* software ticks */
    stage->feed.has_ticks = true;
    frame.time = ++stage->time;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(ticks_of(stage, 0), 700);
    frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_read);
    frame.ticks = 700;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(ticks_of(stage, 0), -1);
    frame = stage_frame(stage, LEADER, RRT_EVENT_INSTRUCTION_TRAP);
    frame.ticks = 701;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(ticks_of(stage, 0), 701);
    frame = signal_frame(stage, SIGSEGV, SEGV_MAPERR, true);
    frame.ticks = 702;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage_entry(stage, 0)->kind, EVQ_FAULT);
    assert_int_equal(ticks_of(stage, 0), 702);
}

/* A thread counts from 0, and so does the agent; what an exec begins counts from there. */
static void ticks_count_from_the_start_of_each_task(void **state)
{
    struct stage *stage = *state;
    struct rrt_task_event exec = {.tid = LEADER, .kind = RRT_TASK_EXEC};
    stage->feed.has_ticks = true;
    stage->feed.target = NULL; /* the exec before was not the one */
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_execve);
    stage->feed.plan.start_time = frame.time;
    stage->feed.slots_used[0] = 0;
    frame.ticks = 5000;
    exec.time = frame.time;
    frame.tasks = &exec;
    frame.task_count = 1;
    assert_int_equal(stage_take(stage, &frame), 0);
    frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_read);
    frame.ticks = 5300;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(ticks_of(stage, 0), 300);
    struct rrt_regs regs = stage_thread(stage, LEADER, 101);
    frame = moved_sched(stage, 101, &regs);
    frame.ticks = 40;
    assert_int_equal(stage_take(stage, &frame), 0);
    frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_read);
    frame.ticks = 5301;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(ticks_of(stage, 0), 40);
    assert_int_equal(ticks_of(stage, 1), 301);
}

/* The recording starts again at 0 in the child, the agent's count goes on. */
static void ticks_go_on_in_a_followed_child(void **state)
{
    (void)state;
    struct stage *stage = stage_new_following(2, 101);
    stage->feed.has_ticks = true;
    feed_task_find(&stage->feed, LEADER)->tick_shift = (uint64_t)-50;
    struct rrt_frame frame;
    assert_int_equal(stage_clone_at(stage, LEADER, 101, SIGCHLD, 850), 0);
    assert_int_equal(ticks_of(stage, 0), 800);
    frame = stage_call(stage, 101, RRT_SYSCALL_ENTERING, SYS_read);
    frame.ticks = 9;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(ticks_of(stage, 0), 809);
    stage_free(stage);
}

/* ---------------------------------------------------------------- tasks */

static struct rrt_frame exit_frame(struct stage *stage, int tid)
{
    struct rrt_frame frame = stage_frame(stage, tid, RRT_EVENT_EXIT);
    frame.has_regs = false;
    return frame;
}

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
    frame = exit_frame(stage, 101);
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
    struct rrt_frame frame = exit_frame(stage, 101);
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
    frame = exit_frame(stage, 101);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "TASK_EXIT");
    frame = exit_frame(stage, LEADER);
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
            struct rrt_frame frame = exit_frame(stage, order[j]);
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
    struct rrt_frame frame = exit_frame(stage, LEADER);
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
        const struct evq_regs *regs = (const struct evq_regs *)(op + 1);
        assert_int_equal(op->a, 1);
        assert_int_equal(regs->r[EVQ_RAX], 0);
        assert_int_equal(regs->r[EVQ_RSP], HEAP + 0x1000);
        assert_int_equal(regs->r[EVQ_FS_BASE], 0);
        struct rrt_frame frame = stage_call(stage, child, RRT_SYSCALL_ENTERING, SYS_exit_group);
        assert_int_equal(stage_take(stage, &frame), 0);
        assert_string_equal(stage_text(stage), "SYSCALL_ENTER: UNMAP");
        assert_int_equal(stage_entry(stage, 0)->task, 1);
        frame = exit_frame(stage, child);
        assert_int_equal(stage_take(stage, &frame), 0);
        assert_string_equal(stage_text(stage), "TASK_EXIT");
    }
}

static void vfork_child_that_execs_leaves(void **state)
{
    struct stage *stage = *state;
    struct rrt_mmap map = {.start = CODE,
                           .end = CODE + PAGE,
                           .prot = 5,
                           .flags = MAP_PRIVATE,
                           .name = "",
                           .backing = ""};
    assert_int_equal(stage_clone(stage, LEADER, 101, VFORK), 0);
    struct rrt_frame frame = stage_call(stage, 101, RRT_SYSCALL_EXITING, SYS_execve);
    frame.mmaps = &map;
    frame.mmap_count = 1;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "OPS: UNMAP; TASK_EXIT");
    frame = stage_call(stage, 101, RRT_SYSCALL_ENTERING, SYS_exit_group);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage->out.size_bytes, 0); /* not ours any more */
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
    const struct evq_regs *regs = (const struct evq_regs *)(stage_op(entry, 2) + 1);
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
    struct rrt_frame frame = exit_frame(stage, LEADER);
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

/* ---------------------------------------------------------------- refusals */

static void shared_memory_that_another_maps_is_refused(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_clone(stage, LEADER, 101, SIGCHLD), 0);
    assert_int_equal(stage_map(stage, LEADER, 0x20000000, 1, 3, MAP_SHARED, 55), 0);
    assert_int_equal(stage_map(stage, 101, 0x30000000, 1, PROT_READ, MAP_SHARED, 55), 0);
    assert_refused(stage_do_call(stage, 101, SYS_mprotect, 0, 0x30000000, PAGE, 3),
                   "/some/file is shared with process 101");
}

static void inherited_shared_memory_is_refused_when_the_child_stays(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_map(stage, LEADER, 0x20000000, 1, 3, MAP_SHARED, 55), 0);
    assert_int_equal(stage_clone(stage, LEADER, 101, SIGCHLD), 0);
    struct rrt_frame frame = exit_frame(stage, 101);
    assert_refused(stage_take(stage, &frame), "/some/file");
}

static void second_shared_view_is_refused(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_map(stage, LEADER, 0x20000000, 1, PROT_READ, MAP_SHARED, 55), 0);
    assert_int_equal(stage_map(stage, LEADER, 0x30000000, 1, PROT_READ, MAP_SHARED, 55), 0);
    assert_refused(stage_do_call(stage, LEADER, SYS_mprotect, 0, 0x30000000, PAGE, 3),
                   "mapped shared both");
}

static void odd_frames_are_refused_here_and_ignored_elsewhere(void **state)
{
    static const enum rrt_event events[] = {
        RRT_EVENT_PATCH_SYSCALL,
        RRT_EVENT_SYSCALLBUF_ABORT_COMMIT,
        RRT_EVENT_SYSCALLBUF_RESET,
        RRT_EVENT_SYSCALLBUF_FLUSH,
        RRT_EVENT_PATCH_AFTER_SYSCALL,
        RRT_EVENT_PATCH_VSYSCALL,
        RRT_EVENT_PATCH_TRAPPING_INSTRUCTION,
    };
    struct stage *stage = *state;
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        struct rrt_frame frame = stage_frame(stage, STRANGER, events[i]);
        assert_int_equal(stage_take(stage, &frame), 0);
        frame = stage_frame(stage, LEADER, events[i]);
        assert_refused(stage_take(stage, &frame), "");
    }
}

static void odd_calls_are_refused(void **state)
{
    struct stage *stage = *state;
    assert_refused(stage_do_call(stage, LEADER, SYS_modify_ldt, 0, 0x11, HEAP, 16), "modify_ldt");
    assert_refused(stage_do_call(stage, LEADER, SYS_ptrace, 0, PTRACE_TRACEME, 0, 0), "traced");
    assert_int_equal(stage_clone(stage, LEADER, 101, SIGCHLD), 0);
    assert_refused(stage_do_call(stage, 101, SYS_ptrace, 0, PTRACE_ATTACH, LEADER, 0), "traced");
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, 1001);
    assert_refused(stage_take(stage, &frame), "record -n");
    frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_read);
    frame.syscall.arch = RRT_ARCH_X86;
    assert_refused(stage_take(stage, &frame), "int 0x80");
    frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING_PTRACE, SYS_read);
    assert_refused(stage_take(stage, &frame), "traced");
}

static void frames_without_their_registers_are_damage(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_read);
    frame.has_regs = false;
    assert_int_equal(stage_take(stage, &frame), -WD_ERR_CORRUPT);
}

static void tasks_that_begin_twice_are_damage(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_clone(stage, LEADER, 101, VFORK), 0);
    assert_int_equal(stage_clone(stage, LEADER, 101, VFORK), -WD_ERR_CORRUPT);
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
    static const uint8_t bytes[4 * FEED_PAGE];
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
            int rc = take_random_frame(stage);
            taken += !rc;
            assert_true(rc <= 0);
            if (rc)
                break;
        }
        ended += stage->feed.has_ended;
        stage_free(stage);
    }
    assert_true(taken > 3000 && ended > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

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
        TEST(write_from_elsewhere_comes_where_tasks_stand),
        TEST(entry_compares_all_but_flags_that_do_not_count),
        TEST(trap_leaves_out_what_it_writes),
        TEST(restarted_call_keeps_its_number),
        cmocka_unit_test(signals_are_faults_only_if_they_come_again),
        TEST(second_signal_in_a_row_is_immediate),
        TEST(fatal_delivery_is_marked),
        TEST(restartable_sequence_is_refused_in_preempted_code),
        TEST(restartable_sequence_ends_at_a_signal),
        TEST(signal_at_the_last_event_is_here),
        TEST(signal_elsewhere_is_searched),
        TEST(signal_after_sigreturn_is_searched),
        TEST(ignored_signal_leaves_the_task_where_it_was),
        cmocka_unit_test(search_has_a_limit_by_the_clock),
        TEST(preemption_of_the_only_task_gives_no_entry),
        TEST(preemption_is_placed_when_another_thread_goes_on),
        TEST(preemption_at_the_last_event_needs_no_place),
        TEST(killed_task_is_placed_where_it_died),
        TEST(killed_task_that_had_not_run_needs_no_place),
        TEST(preemption_at_the_end_of_the_recording_is_placed),
        TEST(ticks_are_said_where_something_runs),
        TEST(ticks_count_from_the_start_of_each_task),
        cmocka_unit_test(ticks_go_on_in_a_followed_child),
        TEST(thread_begins_in_a_slot_of_its_own),
        TEST(ending_thread_leaves_its_words),
        TEST(exit_group_ends_thread_by_thread),
        cmocka_unit_test(leader_tells_the_status),
        cmocka_unit_test(followed_fork_leaves_threads_and_their_scratch_behind),
        TEST(exec_by_another_thread_takes_the_leaders_number),
        TEST(vfork_children_use_a_slot_in_turn),
        TEST(vfork_child_that_execs_leaves),
        TEST(fork_of_another_process_changes_nothing_here),
        cmocka_unit_test(followed_fork_goes_on_as_the_child),
        TEST(last_exit_is_the_end),
        TEST(recording_that_stops_has_an_end_too),
        TEST(shared_memory_that_another_maps_is_refused),
        TEST(inherited_shared_memory_is_refused_when_the_child_stays),
        TEST(second_shared_view_is_refused),
        TEST(odd_frames_are_refused_here_and_ignored_elsewhere),
        TEST(odd_calls_are_refused),
        TEST(frames_without_their_registers_are_damage),
        TEST(tasks_that_begin_twice_are_damage),
        cmocka_unit_test(frames_of_nonsense_give_errors_or_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
