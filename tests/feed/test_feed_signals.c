/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where asynchronous events strike: signals, preemptions, ticks, frame by frame. */
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

/* ---------------------------------------------------------------- signals */

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
            stage_signal(stage, signals[i].number, signals[i].code, signals[i].deterministic);
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
    struct rrt_frame frame = stage_signal(stage, SIGSEGV, SEGV_MAPERR, true);
    assert_int_equal(stage_take(stage, &frame), 0);
    frame.time = ++stage->time;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage_entry(stage, 0)->kind, EVQ_PLACE);
}

static void fatal_delivery_is_marked(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = stage_signal(stage, SIGTERM, SI_USER, false);
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
    stage_assert_refused(stage_take(stage, &frame), "rseq");
}

static void restartable_sequence_ends_at_a_signal(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = with_rseq(stage_signal(stage, SIGUSR1, SI_TKILL, false));
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
    struct rrt_frame frame = stage_signal(stage, SIGUSR1, SI_TKILL, false);
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
    frame = stage_signal(stage, SIGUSR1, SI_TKILL, false);
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
    struct rrt_frame delivery = stage_signal(stage, SIGCHLD, 1, false);
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

static uint64_t limit_after(double seconds)
{
    struct stage *stage = stage_new();
    struct rrt_frame frame = stage_signal(stage, SIGUSR1, SI_TKILL, false);
    frame.monotonic_seconds = seconds;
    frame.regs.rip++;
    assert_int_equal(stage_take(stage, &frame), 0);
    uint64_t limit = place_of(stage, 0).limit;
    stage_free(stage);
    return limit;
}

/* The clock of a recording may say anything. */
static void search_has_a_limit_by_the_clock(void **state)
{
    (void)state;
    uint64_t least = limit_after(0);
    assert_true(least >= 1000000);
    assert_true(limit_after(1.5) >= 1500000000ull * 60); /* eight a cycle, and more than 6 GHz */
    assert_int_equal(limit_after(-7), least);
    assert_int_equal(limit_after(0.0 / 0.0), least);
    assert_true(limit_after(1e300) > limit_after(1.5));
    assert_true(limit_after(1e300) < INT64_MAX);
}

/* The place is looked for from the task's last entry on, whatever was dropped since. */
static void dropped_preemption_leaves_the_limit(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = stage_sched(stage, LEADER, NULL);
    frame.monotonic_seconds = 1.5;
    assert_int_equal(stage_take(stage, &frame), 0);
    frame = stage_signal(stage, SIGUSR1, SI_TKILL, false);
    frame.monotonic_seconds = 1.75;
    frame.regs.rip += 2;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(place_of(stage, 0).limit, limit_after(1.75));
}

/* A preemption that another thread followed is an entry itself. */
static void placed_preemption_begins_the_next_search(void **state)
{
    struct stage *stage = *state;
    struct rrt_regs regs = stage_thread(stage, LEADER, 101);
    struct rrt_frame frame = stage_sched(stage, 101, &regs);
    frame.monotonic_seconds = 1.5;
    assert_int_equal(stage_take(stage, &frame), 0);
    frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_clone);
    assert_int_equal(stage_take(stage, &frame), 0);
    frame = stage_sched(stage, 101, &regs);
    frame.monotonic_seconds = 1.75;
    frame.regs.rip += 2;
    assert_int_equal(stage_take(stage, &frame), 0);
    frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_read);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "PLACE: PLACE; SYSCALL_ENTER");
    assert_int_equal(place_of(stage, 0).limit, limit_after(0.25));
}

static void preemption_of_the_only_task_gives_no_entry(void **state)
{
    struct stage *stage = *state;
    struct rrt_frame frame = stage_sched(stage, LEADER, NULL);
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
    struct rrt_frame frame = stage_sched(stage, 101, &regs);
    uint64_t time = frame.time;
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_int_equal(stage->out.size_bytes, 0);
    frame = stage_call(stage, LEADER, RRT_SYSCALL_EXITING, SYS_clone);
    assert_int_equal(stage_take(stage, &frame), 0);
    assert_string_equal(stage_text(stage), "PLACE: PLACE; SYSCALL_EXIT: REGS");
    const struct evq_entry *entry = stage_entry(stage, 0);
    const struct evq_regs *placed = evq_entry_regs(entry);
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
    struct rrt_frame frame = stage_sched(stage, LEADER, NULL);
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
    struct rrt_frame sched = stage_sched(stage, 101, &regs);
    assert_int_equal(stage_take(stage, &sched), 0);
    struct rrt_frame frame = stage_call(stage, LEADER, RRT_SYSCALL_ENTERING, SYS_exit_group);
    assert_int_equal(stage_take(stage, &frame), 0);
    sched.time = ++stage->time;
    assert_int_equal(stage_take(stage, &sched), 0);
    frame = stage_sched(stage, LEADER, NULL);
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
    struct rrt_frame frame = stage_sched(stage, LEADER, NULL);
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
    frame = stage_signal(stage, SIGSEGV, SEGV_MAPERR, true);
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
    frame = stage_sched(stage, 101, &regs);
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

/* ---------------------------------------------------------------- stack frames of handlers */

/* What the kernel writes at rsp, for a handler that interrupts `regs`. */
static void fill_stack_frame(uint64_t *words, const struct rrt_regs *regs)
{
    const uint64_t saved[] = {regs->r8,  regs->r9,  regs->r10, regs->r11, regs->r12, regs->r13,
                              regs->r14, regs->r15, regs->rdi, regs->rsi, regs->rbp, regs->rbx,
                              regs->rdx, regs->rax, regs->rcx, regs->rsp, regs->rip, regs->eflags};
    memcpy(words + 6, saved, sizeof(saved));
}

/* A signal in the state `before`, and its handler's stack frame with `saved`: is that taken? The
 * two words before the registers are a hole, as recorders leave them out of zeros. */
static bool takes_handler(const struct rrt_regs *before, const struct rrt_regs *saved,
                          bool ends_sequence)
{
    static const struct rrt_hole hole = {32, 16};
    struct stage *stage = stage_new();
    uint64_t words[32] = {0}, stored[30];
    struct rrt_write write = {.tid = LEADER,
                              .addr = STACK + 0x400,
                              .size_bytes = sizeof(words),
                              .stored_bytes = sizeof(stored),
                              .bytes = (const uint8_t *)stored,
                              .holes = &hole,
                              .hole_count = 1};
    struct rrt_frame frame = stage_signal(stage, SIGUSR1, SI_TKILL, false);
    frame.regs = *before;
    if (ends_sequence)
        frame = with_rseq(frame);
    assert_int_equal(stage_take(stage, &frame), 0);
    frame = stage_signal(stage, SIGUSR1, SI_TKILL, false);
    frame.event = RRT_EVENT_SIGNAL_HANDLER;
    frame.regs.rsp = write.addr;
    fill_stack_frame(words, saved);
    memcpy(stored, words, 32);
    memcpy(stored + 4, words + 6, sizeof(stored) - 32);
    frame.writes = &write;
    frame.write_count = 1;
    int err = stage_take(stage, &frame);
    assert_true(!err || err == -WETDBG_ERR_CORRUPT);
    stage_free(stage);
    return !err;
}

static struct rrt_regs some_regs(void)
{
    return (struct rrt_regs){.r15 = 1,
                             .r14 = 2,
                             .r13 = 3,
                             .r12 = 4,
                             .rbp = 5,
                             .rbx = 6,
                             .r11 = 7,
                             .r10 = 8,
                             .r9 = 9,
                             .r8 = 10,
                             .rax = 11,
                             .rcx = 12,
                             .rdx = 13,
                             .rsi = 14,
                             .rdi = 15,
                             .orig_rax = UINT64_MAX,
                             .cs = 51,
                             .rip = CODE,
                             .rsp = STACK + 256,
                             .eflags = 0x246};
}

static void handler_saves_where_the_signal_arrived(void **state)
{
    static const unsigned saved[] = {EVQ_R8,  EVQ_R9,  EVQ_R10, EVQ_R11, EVQ_R12, EVQ_R13,
                                     EVQ_R14, EVQ_R15, EVQ_RDI, EVQ_RSI, EVQ_RBP, EVQ_RBX,
                                     EVQ_RDX, EVQ_RAX, EVQ_RCX, EVQ_RSP, EVQ_RIP, EVQ_EFLAGS};
    (void)state;
    struct rrt_regs before = some_regs(), other = before;
    assert_true(takes_handler(&before, &other, false));
    other.eflags |= 0x10100; /* not compared: RF, TF */
    assert_true(takes_handler(&before, &other, false));
    for (size_t i = 0; i < sizeof(saved) / sizeof(saved[0]); i++) {
        uint64_t regs[EVQ_REG_COUNT];
        memcpy(regs, &before, sizeof(regs));
        regs[saved[i]] ^= 4;
        memcpy(&other, regs, sizeof(other));
        if (takes_handler(&before, &other, false))
            fail_msg("register %u", saved[i]);
    }
}

static void handler_of_an_interrupted_call_may_save_its_restart(void **state)
{
    static const struct {
        int64_t result, saved_rax;
        int back;
        bool is_taken;
    } rows[] = {
        {-512, -512, 0, true}, {-512, -4, 0, true},  {-514, -4, 0, true},  {-516, -4, 0, true},
        {-512, 0, 2, true},    {-513, 0, 2, true},   {-516, 219, 2, true}, {-512, -5, 0, false},
        {-512, 0, 3, false},   {-515, -4, 0, false}, {-4, 0, 2, false},    {7, 0, 2, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rrt_regs before = some_regs(), saved;
        before.orig_rax = SYS_read;
        before.rax = (uint64_t)rows[i].result;
        saved = before;
        saved.rax = (uint64_t)rows[i].saved_rax;
        saved.rip -= (uint64_t)rows[i].back;
        if (takes_handler(&before, &saved, false) != rows[i].is_taken)
            fail_msg("row %zu", i);
    }
}

static void handler_may_save_the_end_of_a_restartable_sequence(void **state)
{
    (void)state;
    struct rrt_regs before = some_regs(), saved = before;
    saved.rip = CODE + 0x80;
    assert_false(takes_handler(&before, &saved, false));
    assert_true(takes_handler(&before, &saved, true));
    saved.rax++;
    assert_false(takes_handler(&before, &saved, true));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, stage_set_up, stage_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
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
        TEST(dropped_preemption_leaves_the_limit),
        TEST(placed_preemption_begins_the_next_search),
        TEST(preemption_of_the_only_task_gives_no_entry),
        TEST(preemption_is_placed_when_another_thread_goes_on),
        TEST(preemption_at_the_last_event_needs_no_place),
        TEST(killed_task_is_placed_where_it_died),
        TEST(killed_task_that_had_not_run_needs_no_place),
        TEST(preemption_at_the_end_of_the_recording_is_placed),
        TEST(ticks_are_said_where_something_runs),
        TEST(ticks_count_from_the_start_of_each_task),
        cmocka_unit_test(ticks_go_on_in_a_followed_child),
        cmocka_unit_test(handler_saves_where_the_signal_arrived),
        cmocka_unit_test(handler_of_an_interrupted_call_may_save_its_restart),
        cmocka_unit_test(handler_may_save_the_end_of_a_restartable_sequence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
