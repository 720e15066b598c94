/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The event loop. The recording's next frame says how the child has to stop; the child runs, and
 * where it stops its registers must be the recorded ones. Then the frame is applied and the next
 * one is fetched, so that one frame ahead is always known.
 */
#include "tests/oracle/oracle.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "tests/oracle/oracle_operands.h"
#include "tests/oracle/oracle_priv.h"
#include <wetdbg/errors.h>

#define CANONICAL_FLAGS UINT64_C(0x246)
#define ARRIVALS_MAX    5000000 /* some ten minutes */

#define ADDRESS_SIZE_PREFIX 0x67

/* ---------------------------------------------------------------- open and close */

static int begin(struct orc *orc)
{
    struct orc_task *first;
    int err = orc_tasks_add(&orc->tasks, &orc->child, orc->plan.pid, &first);

    if (err == 0)
        err = orc_frame_fetch(orc);
    if (err != 0)
        return err;
    if (!orc->has_next || orc->next.time != orc->plan.start_time)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "frame %" PRIu64 " is not of task %d",
                           orc->plan.start_time, orc->plan.pid);
    if (orc->next.event != RRT_EVENT_SYSCALL || orc->next.syscall.state != RRT_SYSCALL_EXITING ||
        !orc->next.has_regs)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "frame %" PRIu64 " is not the exit of an execve",
                           orc->plan.start_time);
    return orc_frame_apply_exec(orc);
}

/* Moves this thread to the child's processor: a step costs a third of what it costs across two. */
static void join_cpu(struct orc *orc)
{
    cpu_set_t set;

    if (orc->child.cpu < 0 || sched_getaffinity(0, sizeof(orc->own_cpus), &orc->own_cpus) != 0)
        return;
    CPU_ZERO(&set);
    CPU_SET(orc->child.cpu, &set);
    orc->is_bound = sched_setaffinity(0, sizeof(set), &set) == 0;
}

int orc_open(struct wetdbg_recording *trace, int pid, struct orc **out)
{
    const struct rrt_header *header = rrt_trace_header(trace);
    struct orc *orc = calloc(1, sizeof(*orc));
    int err;

    if (!orc)
        return -ENOMEM;
    orc->trace = trace;
    orc->space.child = &orc->child;
    orc->child.mem_fd = -1;
    orc->stops.lines_fd = -1;
    err = orc_scan(trace, pid, &orc->plan);
    if (err == 0)
        err = orc_stops_open(&orc->stops, trace);
    if (err == 0)
        err = orc_child_start(&orc->child, orc->plan.stub, header->bind_to_cpu,
                              header->has_cpuid_faulting);
    if (err == 0)
        join_cpu(orc);
    if (err == 0)
        err = begin(orc);
    if (err != 0) {
        orc_close(orc);
        return err;
    }
    snprintf(orc->maps_path, sizeof(orc->maps_path), "/proc/%d/maps", orc->child.pid);
    *out = orc;
    return 0;
}

void orc_close(struct orc *orc)
{
    if (!orc)
        return;
    if (orc->is_bound)
        sched_setaffinity(0, sizeof(orc->own_cpus), &orc->own_cpus);
    orc_tasks_fini(&orc->tasks);
    orc_stops_fini(&orc->stops);
    orc_space_fini(&orc->space);
    orc_child_end(&orc->child);
    free(orc);
}

/* ---------------------------------------------------------------- stops */

static int diverged(struct orc *orc, const struct user_regs_struct *regs, const char *what,
                    int number)
{
    if (!orc->has_next)
        return wetdbg_fail(-WETDBG_ERR_DIVERGED, "oracle: %s %d at %#llx after the last frame",
                           what, number, (unsigned long long)regs->rip);
    return wetdbg_fail(-WETDBG_ERR_DIVERGED,
                       "oracle: %s %d at %#llx, but frame %" PRIu64 " is %s at %#" PRIx64, what,
                       number, (unsigned long long)regs->rip, orc->next.time,
                       rrt_event_name(orc->next.event), orc->next.regs.rip);
}

static int take_syscall(struct orc *orc, struct user_regs_struct *regs)
{
    const int tid = orc->next.tid;
    int number = (int)regs->orig_rax;
    int err;

    if (!orc->has_next || orc->next.event != RRT_EVENT_SYSCALL)
        return diverged(orc, regs, "system call", number);
    regs->rax = (uint64_t)-ENOSYS;
    regs->rcx = UINT64_MAX;
    regs->r11 = CANONICAL_FLAGS;
    regs->eflags = CANONICAL_FLAGS;
    if (number != (int)orc->next.regs.orig_rax)
        return wetdbg_fail(
            -WETDBG_ERR_DIVERGED, "oracle: frame %" PRIu64 " at %#llx: call %d, recorded %d",
            orc->next.time, (unsigned long long)regs->rip, number, (int)orc->next.regs.orig_rax);
    err = orc_frame_compare(orc, regs, ORC_EFLAGS_COMPARED, ORC_TRAP_NONE);
    if (err == 0)
        err = orc_frame_apply(orc);
    if (err == 0 && orc->has_next && orc->next.tid == tid && orc->next.event == RRT_EVENT_SYSCALL &&
        orc->next.syscall.state == RRT_SYSCALL_EXITING)
        err = orc_frame_apply(orc);
    return err;
}

static const struct {
    uint8_t code[3];
    uint8_t length;
    enum orc_trap trap;
} traps[] = {
    {{0x0f, 0x31}, 2, ORC_TRAP_RDTSC},
    {{0x0f, 0x01, 0xf9}, 3, ORC_TRAP_RDTSCP},
    {{0x0f, 0xa2}, 2, ORC_TRAP_CPUID},
};

/* The trapping instruction at `pc`, and its length. */
static enum orc_trap trap_at(const struct orc *orc, uint64_t pc, unsigned *length)
{
    uint8_t code[sizeof(traps[0].code)];
    size_t got = orc_child_read(&orc->child, pc, code, sizeof(code));

    for (size_t i = 0; i < sizeof(traps) / sizeof(traps[0]); i++) {
        *length = traps[i].length;
        if (got >= *length && memcmp(code, traps[i].code, *length) == 0)
            return traps[i].trap;
    }
    return ORC_TRAP_NONE;
}

/* Where orc->next is a read of the time stamp counter, the address of that instruction; else 0. */
static uint64_t tsc_place(const struct orc *orc)
{
    if (!orc->has_next || orc->is_foreign || orc->next.event != RRT_EVENT_INSTRUCTION_TRAP)
        return 0;
    for (unsigned size = 2; size <= 3; size++) {
        unsigned length;
        enum orc_trap trap = trap_at(orc, orc->next.regs.rip - size, &length);
        if (length == size && (trap == ORC_TRAP_RDTSC || trap == ORC_TRAP_RDTSCP))
            return orc->next.regs.rip - size;
    }
    return 0;
}

/* Some machines take no notice of PR_SET_TSC: while the child runs to a recorded rdtsc, a hlt
 * stands in its place, which faults everywhere. */
int orc_resume(struct orc *orc, bool step, struct orc_stop *stop)
{
    static const uint8_t hlt = 0xf4, first = 0x0f;
    uint64_t place = tsc_place(orc);
    int err = place ? orc_child_write(&orc->child, place, &hlt, 1) : 0;

    if (err == 0)
        err = orc_child_resume(&orc->child, step, stop);
    if (err == 0 && place)
        err = orc_child_write(&orc->child, place, &first, 1);
    return err;
}

static int take_trap(struct orc *orc, struct user_regs_struct *regs, const siginfo_t *info)
{
    unsigned length;
    enum orc_trap trap = trap_at(orc, regs->rip, &length);
    int err;

    if (info->si_signo != SIGSEGV || trap == ORC_TRAP_NONE)
        return diverged(orc, regs, "signal", info->si_signo);
    regs->rip += length;
    err = orc_frame_compare(orc, regs, ORC_EFLAGS_COMPARED, trap);
    return err == 0 ? orc_frame_apply(orc) : err;
}

static int take_fault(struct orc *orc, const struct user_regs_struct *regs, const siginfo_t *info)
{
    siginfo_t recorded;
    int err;

    memcpy(&recorded, orc->next.signal.siginfo, sizeof(recorded));
    if (info->si_signo != orc->next.signal.number)
        return diverged(orc, regs, "signal", info->si_signo);
    if (info->si_code != recorded.si_code ||
        (info->si_signo == SIGSEGV && info->si_addr != recorded.si_addr))
        return wetdbg_fail(-WETDBG_ERR_DIVERGED,
                           "oracle: frame %" PRIu64 " at %#llx: signal %d, code %d, address %p; "
                           "recorded code %d, address %p",
                           orc->next.time, (unsigned long long)regs->rip, info->si_signo,
                           info->si_code, info->si_addr, recorded.si_code, recorded.si_addr);
    err = orc_frame_compare(orc, regs, ORC_EFLAGS_COMPARED, ORC_TRAP_NONE);
    return err == 0 ? orc_frame_apply(orc) : err;
}

int orc_take_stop(struct orc *orc, const struct orc_stop *stop)
{
    struct user_regs_struct regs;
    int err = orc_child_get_regs(&orc->child, &regs);

    if (err != 0)
        return err;
    if (stop->kind == ORC_STOP_SYSCALL)
        return take_syscall(orc, &regs);
    if (stop->kind != ORC_STOP_SIGNAL || !orc->has_next)
        return diverged(orc, &regs, "stop", (int)stop->kind);
    if (orc->next.event == RRT_EVENT_INSTRUCTION_TRAP)
        return take_trap(orc, &regs, &stop->info);
    if (orc->next.event == RRT_EVENT_SIGNAL && orc->next.signal.deterministic)
        return take_fault(orc, &regs, &stop->info);
    return diverged(orc, &regs, "signal", stop->info.si_signo);
}

/* ---------------------------------------------------------------- asynchronous events */

bool orc_next_is_asynchronous(const struct orc *orc)
{
    /* SIGBUS beyond the end of a file does not come here: our mappings do not end there */
    if (!orc->has_next || orc->is_foreign)
        return false;
    if (orc->next.event == RRT_EVENT_SCHED)
        return true;
    return orc->next.event == RRT_EVENT_SIGNAL &&
           (!orc->next.signal.deterministic || orc->next.signal.number == SIGBUS);
}

int orc_is_due(struct orc *orc, const struct user_regs_struct *regs, bool *is_due)
{
    *is_due = false;
    if (!orc_frame_matches(orc, regs))
        return 0;
    if (!orc->stop) {
        *is_due = true;
        return 0;
    }
    return orc_stops_check(&orc->stops, orc->stop, &orc->child, is_due);
}

/* Applies orc->next, if it happens where the child stands. */
static int take_due(struct orc *orc, bool *is_due)
{
    struct user_regs_struct regs;
    int err = 0;

    *is_due = orc_frame_is_immediate(orc);
    if (!*is_due && orc_next_is_asynchronous(orc)) {
        err = orc_child_get_regs(&orc->child, &regs);
        if (err == 0)
            err = orc_is_due(orc, &regs, is_due);
    }
    return err == 0 && *is_due ? orc_frame_apply(orc) : err;
}

int orc_settle(struct orc *orc)
{
    bool is_due = true;
    int err = 0;

    while (err == 0 && is_due && orc->has_next)
        err = take_due(orc, &is_due);
    return err;
}

/* Runs to one arrival at the asynchronous frame's rip, or past a rep instruction that is there. */
static int arrive(struct orc *orc, bool has_break, struct user_regs_struct *regs)
{
    bool is_there = has_break && regs->rip == orc->next.regs.rip;
    unsigned length = is_there ? orc_rep_length(orc, regs->rip) : 0;
    struct orc_stop stop;
    int err = 0;

    if (length > 0)
        err = orc_child_set_break(&orc->child, regs->rip + length);
    if (err == 0)
        err = orc_child_resume(&orc->child, !has_break, &stop);
    if (err == 0 && length > 0)
        err = orc_child_set_break(&orc->child, orc->next.regs.rip);
    if (err == 0)
        err = orc_child_get_regs(&orc->child, regs);
    if (err == 0 && stop.kind != (has_break ? ORC_STOP_BREAK : ORC_STOP_STEP))
        err = diverged(orc, regs, "stop", (int)stop.kind);
    return err;
}

/* Do the registers that a rep instruction leaves alone agree with the asynchronous frame's? */
static bool is_same_rep(const struct orc *orc, const struct user_regs_struct *regs)
{
    const struct rrt_regs *want = &orc->next.regs;

    return regs->rip == want->rip && regs->rsp == want->rsp && regs->rbp == want->rbp &&
           regs->rbx == want->rbx && regs->rdx == want->rdx && regs->r8 == want->r8 &&
           regs->r9 == want->r9 && regs->r10 == want->r10 && regs->r11 == want->r11 &&
           regs->r12 == want->r12 && regs->r13 == want->r13 && regs->r14 == want->r14 &&
           regs->r15 == want->r15 && regs->rcx > want->rcx;
}

unsigned orc_rep_length(struct orc *orc, uint64_t pc)
{
    uint8_t code[ORC_CODE_MAX];
    size_t got = orc_child_read(&orc->child, pc, code, sizeof(code));
    struct orc_decoded decoded;
    struct rrt_regs none = {0};

    if (!orc_code_is_rep(code, got) || code[0] == ADDRESS_SIZE_PREFIX)
        return 0;
    orc_decode(code, got, &none, NULL, NULL, &decoded);
    return decoded.is_rep ? decoded.length : 0;
}

/* The breakpoint does not stop between the turns of a rep instruction. Where the frame may lie
 * there, the instruction runs with a smaller count first, and then goes on with the rest. */
int orc_run_into_rep(struct orc *orc, struct user_regs_struct *regs)
{
    unsigned length = is_same_rep(orc, regs) ? orc_rep_length(orc, regs->rip) : 0;
    uint64_t pc = regs->rip;
    struct orc_stop stop;
    int err;

    if (length == 0)
        return 0;
    regs->rcx -= orc->next.regs.rcx;
    err = orc_child_set_break(&orc->child, pc + length);
    if (err == 0)
        err = orc_child_set_regs(&orc->child, regs);
    if (err == 0)
        err = orc_child_resume(&orc->child, false, &stop);
    if (err == 0)
        err = orc_child_get_regs(&orc->child, regs);
    if (err == 0 && stop.kind != ORC_STOP_BREAK)
        err = diverged(orc, regs, "stop in a rep,", (int)stop.kind);
    if (err != 0)
        return err;
    if (regs->rcx == 0) /* else it found what it looked for, and is done */
        regs->rip = pc;
    regs->rcx += orc->next.regs.rcx;
    err = orc_child_set_regs(&orc->child, regs);
    return err == 0 ? orc_child_set_break(&orc->child, orc->next.regs.rip) : err;
}

/* Runs to the first place that is the asynchronous frame's. */
static int run_to_asynchronous(struct orc *orc)
{
    struct user_regs_struct regs;
    bool has_break = orc_child_set_break(&orc->child, orc->next.regs.rip) == 0;
    bool is_there = false;
    int err = orc_child_get_regs(&orc->child, &regs);

    if (err == 0 && has_break)
        err = orc_run_into_rep(orc, &regs);
    if (err == 0)
        err = orc_is_due(orc, &regs, &is_there);
    for (uint64_t i = 0; err == 0 && !is_there; i++) {
        err = i < ARRIVALS_MAX ? arrive(orc, has_break, &regs)
                               : wetdbg_fail(-WETDBG_ERR_DIVERGED,
                                             "oracle: the place of frame %" PRIu64 " was not found",
                                             orc->next.time);
        if (err == 0 && has_break)
            err = orc_run_into_rep(orc, &regs);
        if (err == 0)
            err = orc_is_due(orc, &regs, &is_there);
    }
    if (has_break)
        orc_child_set_break(&orc->child, 0);
    if (err != 0)
        return err;
    orc->ambiguous += orc->stop == NULL;
    return orc_frame_apply(orc);
}

/* ---------------------------------------------------------------- running */

/* Comes to the next event, by a native stretch if it does not happen at once, and applies it. */
static int advance(struct orc *orc)
{
    struct orc_stop stop;
    bool is_due;
    int err = take_due(orc, &is_due);

    if (err != 0 || is_due)
        return err;
    if (orc_next_is_asynchronous(orc))
        return run_to_asynchronous(orc);
    err = orc_resume(orc, false, &stop);
    return err == 0 ? orc_take_stop(orc, &stop) : err;
}

int orc_run_to_event(struct orc *orc, uint64_t time)
{
    while (orc->event < time && orc->has_next && orc->next.time <= time) {
        int err = advance(orc);
        orc->instructions = 0;
        if (err != 0)
            return err;
    }
    if (orc->event < time && !orc->has_next)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "the process ended at frame %" PRIu64 ", before %" PRIu64, orc->event,
                           time);
    return 0;
}

int orc_run_to_end(struct orc *orc)
{
    while (orc->has_next) {
        int err = advance(orc);
        orc->instructions = 0;
        if (err != 0)
            return err;
    }
    return 0;
}

/* ---------------------------------------------------------------- questions */

bool orc_is_at_end(const struct orc *orc)
{
    return !orc->has_next;
}

uint64_t orc_event(const struct orc *orc)
{
    return orc->event;
}

uint64_t orc_instruction_count(const struct orc *orc)
{
    return orc->instructions;
}

void orc_set_event_fn(struct orc *orc, orc_event_fn event, void *context)
{
    orc->event_fn = event;
    orc->event_context = context;
}

int orc_registers(struct orc *orc, struct rrt_regs *regs)
{
    struct user_regs_struct got;
    int err = orc_child_get_regs(&orc->child, &got);

    if (err == 0)
        memcpy(regs, &got, sizeof(*regs));
    return err;
}

int orc_vector_state(struct orc *orc, uint8_t *image, size_t *size_bytes)
{
    return orc_child_get_xstate(&orc->child, image, size_bytes);
}

size_t orc_read_memory(struct orc *orc, uint64_t address, void *bytes, size_t count)
{
    return orc_child_read(&orc->child, address, bytes, count);
}

const char *orc_maps_path(const struct orc *orc)
{
    return orc->maps_path;
}

uint64_t orc_own_page(const struct orc *orc)
{
    return orc->plan.stub;
}

unsigned orc_ambiguous_count(const struct orc *orc)
{
    return orc->ambiguous;
}
