/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What each kind of frame does to the process: mappings first, then memory contents, then
 * registers. System calls are not executed; of those that change the address space the change is.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/oracle/oracle_priv.h"
#include <wetdbg/errors.h>

#define PAGE               UINT64_C(4096)
#define MADV_DONTNEED_LOCK 24
#define PROT_GROWS         (PROT_GROWSDOWN | PROT_GROWSUP)
#define XSTATE_BV_AT       512
#define XSTATE_MXCSR_AT    24
#define MXCSR_INITIAL      0x1f80u
#define FIP_AT             8
#define FIP_BYTES          16
#define SYSCALL_BYTES      2

/* ---------------------------------------------------------------- the cursor */

static bool is_ours(const struct orc *orc, int tid)
{
    return orc_tasks_find(&orc->tasks, tid) != NULL;
}

/* Another process's frame may write to our memory (process_vm_writev). */
static bool writes_to_us(const struct orc *orc, const struct rrt_frame *frame)
{
    for (size_t i = 0; i < frame->write_count; i++)
        if (frame->writes[i].size_bytes > 0 && is_ours(orc, frame->writes[i].tid))
            return true;
    return false;
}

/* The next frame that concerns the space. */
static int read_frame(struct orc *orc, struct rrt_frame *frame, bool *has_frame, bool *is_foreign)
{
    int err;

    *has_frame = false;
    if (orc->event >= orc->plan.end_time)
        return 0;
    while ((err = rrt_next(orc->trace, frame)) == 1) {
        if (frame->time > orc->plan.end_time)
            return 0;
        if (frame->time < orc->plan.start_time)
            continue;
        *is_foreign = !is_ours(orc, frame->tid);
        if (*is_foreign && !writes_to_us(orc, frame))
            continue;
        *has_frame = true;
        return 0;
    }
    return err;
}

/* A preemption, which is about to outlive the frame that it was read as. */
static int detach_preemption(struct rrt_frame *frame)
{
    for (size_t i = 0; i < frame->write_count; i++)
        if (frame->writes[i].size_bytes > 0)
            return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                               "frame %" PRIu64 ": an interrupted restartable sequence",
                               frame->time);
    frame->write_count = 0;
    frame->mmap_count = 0;
    frame->task_count = 0;
    frame->extra_regs_bytes = 0;
    return 0;
}

/* orc->next is a preemption: reads on. If its task goes on, or did not stand in its code, nobody
 * can see where it was, and *matters is false. */
static int look_ahead(struct orc *orc, bool *matters)
{
    const struct orc_task *task = orc_tasks_find(&orc->tasks, orc->next.tid);
    int err = orc_stops_take(&orc->stops, &orc->next, false, &orc->stop);

    if (err == 0)
        err = detach_preemption(&orc->next);
    if (err == 0)
        err = read_frame(orc, &orc->after, &orc->has_after, &orc->is_after_foreign);
    *matters = err == 0 && orc->has_after && !task->is_in_call &&
               (orc->is_after_foreign || orc->after.tid != orc->next.tid ||
                orc->after.event == RRT_EVENT_EXIT);
    return err;
}

static void take_after(struct orc *orc)
{
    orc->next = orc->after;
    orc->has_next = orc->has_after;
    orc->is_foreign = orc->is_after_foreign;
    orc->has_after = false;
}

static bool is_interrupted(uint64_t rax)
{
    switch (-(int64_t)rax) {
    case 512: /* ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND, ERESTART_RESTARTBLOCK */
    case 513:
    case 514:
    case 516:
        return true;
    default:
        return false;
    }
}

/* A call that was interrupted, though no signal came of it, is made again by the kernel: by the
 * same instruction, as the call that orc->next, its entry, says. */
static int restart_call(struct orc *orc)
{
    struct user_regs_struct regs;
    int err = orc_child_get_regs(&orc->child, &regs);

    if (err != 0 || orc->next.event != RRT_EVENT_SYSCALL ||
        orc->next.syscall.state != RRT_SYSCALL_ENTERING ||
        orc->tasks.current->event_kind != RRT_EVENT_SYSCALL || !is_interrupted(regs.rax) ||
        regs.rip != orc->next.regs.rip)
        return err;
    regs.rip -= SYSCALL_BYTES;
    regs.rax = orc->next.regs.orig_rax;
    return orc_child_set_regs(&orc->child, &regs);
}

/* Makes the task of orc->next the current one. */
static int enter_task(struct orc *orc)
{
    int err =
        orc_tasks_switch(&orc->tasks, &orc->child, orc_tasks_find(&orc->tasks, orc->next.tid));

    return err == 0 ? restart_call(orc) : err;
}

static bool is_after_growth(const struct orc *orc)
{
    return orc_tasks_find(&orc->tasks, orc->next.tid)->event_kind == RRT_EVENT_GROW_MAP;
}

int orc_frame_fetch(struct orc *orc)
{
    bool matters = false;
    int err = 0;

    orc->stop = NULL;
    if (orc->has_after)
        take_after(orc);
    else
        err = read_frame(orc, &orc->next, &orc->has_next, &orc->is_foreign);
    while (err == 0 && orc->has_next && !orc->is_foreign && !matters &&
           orc->next.event == RRT_EVENT_SCHED) {
        err = look_ahead(orc, &matters);
        if (!matters)
            take_after(orc);
    }
    if (err != 0 || !orc->has_next || orc->is_foreign)
        return err;
    if (orc->next.event != RRT_EVENT_SCHED)
        err = orc_stops_take(&orc->stops, &orc->next, is_after_growth(orc), &orc->stop);
    return err == 0 ? enter_task(orc) : err;
}

bool orc_frame_is_immediate(const struct orc *orc)
{
    if (orc->is_foreign)
        return true;
    switch (orc->next.event) {
    case RRT_EVENT_SYSCALL:
        return orc->next.syscall.state == RRT_SYSCALL_EXITING;
    case RRT_EVENT_SIGNAL:
        /* a second fault while the kernel built the first one's frame */
        return orc->next.signal.deterministic && orc->tasks.current->event_kind == RRT_EVENT_SIGNAL;
    case RRT_EVENT_SIGNAL_HANDLER:
    case RRT_EVENT_SIGNAL_DELIVERY:
    case RRT_EVENT_GROW_MAP:
    case RRT_EVENT_EXIT:
        return true;
    default:
        return false;
    }
}

/* ---------------------------------------------------------------- comparing */

struct reg_name {
    const char *name;
    size_t at;        /* in struct rrt_regs and struct user_regs_struct alike */
    unsigned writers; /* of enum orc_trap: those that write it */
};

#define REG(name, writers)                                                                         \
    {                                                                                              \
#name, offsetof(struct rrt_regs, name), writers                                            \
    }
#define ALL_TRAPS (ORC_TRAP_RDTSC | ORC_TRAP_RDTSCP | ORC_TRAP_CPUID)
static const struct reg_name compared[] = {
    REG(rip, 0),
    REG(rsp, 0),
    REG(rax, ALL_TRAPS),
    REG(rbx, ORC_TRAP_CPUID),
    REG(rcx, ORC_TRAP_RDTSCP | ORC_TRAP_CPUID),
    REG(rdx, ALL_TRAPS),
    REG(rsi, 0),
    REG(rdi, 0),
    REG(rbp, 0),
    REG(r8, 0),
    REG(r9, 0),
    REG(r10, 0),
    REG(r11, 0),
    REG(r12, 0),
    REG(r13, 0),
    REG(r14, 0),
    REG(r15, 0),
    REG(fs_base, 0),
    REG(gs_base, 0),
};
#undef ALL_TRAPS
#undef REG

_Static_assert(sizeof(struct rrt_regs) == sizeof(struct user_regs_struct), "same layout");
_Static_assert(offsetof(struct rrt_regs, rsp) == offsetof(struct user_regs_struct, rsp),
               "same layout");

static uint64_t field(const void *regs, size_t at)
{
    uint64_t value;

    memcpy(&value, (const char *)regs + at, sizeof(value));
    return value;
}

static const struct reg_name *
find_difference(const struct orc *orc, const struct user_regs_struct *regs, enum orc_trap trap)
{
    for (size_t i = 0; i < sizeof(compared) / sizeof(compared[0]); i++) {
        if (compared[i].writers & trap)
            continue;
        if (field(regs, compared[i].at) != field(&orc->next.regs, compared[i].at))
            return &compared[i];
    }
    return NULL;
}

int orc_frame_compare(struct orc *orc, const struct user_regs_struct *regs, uint64_t eflags_mask,
                      enum orc_trap trap)
{
    const struct rrt_frame *frame = &orc->next;
    const struct reg_name *differs = find_difference(orc, regs, trap);

    if (differs)
        return wetdbg_fail(
            -WETDBG_ERR_DIVERGED,
            "oracle: frame %" PRIu64 " (%s) at %#llx: %s is %#" PRIx64 ", recorded %#" PRIx64,
            frame->time, rrt_event_name(frame->event), (unsigned long long)regs->rip, differs->name,
            field(regs, differs->at), field(&frame->regs, differs->at));
    if ((regs->eflags ^ frame->regs.eflags) & eflags_mask)
        return wetdbg_fail(-WETDBG_ERR_DIVERGED,
                           "oracle: frame %" PRIu64
                           " (%s) at %#llx: eflags %#llx, recorded %#" PRIx64,
                           frame->time, rrt_event_name(frame->event), (unsigned long long)regs->rip,
                           (unsigned long long)regs->eflags, frame->regs.eflags);
    return 0;
}

bool orc_frame_matches(const struct orc *orc, const struct user_regs_struct *regs)
{
    return !find_difference(orc, regs, ORC_TRAP_NONE) &&
           !((regs->eflags ^ orc->next.regs.eflags) & ORC_EFLAGS_COMPARED);
}

/* ---------------------------------------------------------------- registers */

static int load_regs(struct orc *orc)
{
    struct user_regs_struct regs;

    if (!orc->next.has_regs)
        return 0;
    memcpy(&regs, &orc->next.regs, sizeof(regs));
    return orc_child_set_regs(&orc->child, &regs);
}

/* The kernel takes MXCSR from an image only when it says that SSE state is there. */
static void claim_sse(uint8_t *image)
{
    uint32_t mxcsr;

    memcpy(&mxcsr, image + XSTATE_MXCSR_AT, sizeof(mxcsr));
    if (mxcsr == MXCSR_INITIAL || (image[XSTATE_BV_AT] & 2))
        return;
    memset(image + 160, 0, 256);
    image[XSTATE_BV_AT] |= 2;
}

static int load_xstate(struct orc *orc)
{
    uint8_t image[ORC_XSTATE_MAX];
    size_t size = sizeof(image);
    int err;

    if (orc->next.extra_regs_bytes == 0)
        return 0;
    err = orc_child_get_xstate(&orc->child, image, &size);
    if (err != 0)
        return err;
    if (size != orc->next.extra_regs_bytes || size < 576)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "frame %" PRIu64 ": %zu bytes of vector state, here %zu", orc->next.time,
                           orc->next.extra_regs_bytes, size);
    memcpy(image, orc->next.extra_regs, size);
    claim_sse(image);
    return orc_child_set_xstate(&orc->child, image, size);
}

/* rr forgets the x87 instruction and data pointers at each stop. */
static int clear_fip(struct orc *orc)
{
    static const uint8_t zeros[FIP_BYTES];
    uint8_t image[ORC_XSTATE_MAX];
    size_t size = sizeof(image);
    int err;

    if (!rrt_trace_header(orc->trace)->clears_fip_fdp || !orc->tasks.current || orc->is_foreign)
        return 0;
    err = orc_child_get_xstate(&orc->child, image, &size);
    if (err != 0 || size < 576 || !(image[XSTATE_BV_AT] & 1) ||
        memcmp(image + FIP_AT, zeros, FIP_BYTES) == 0)
        return err;
    memset(image + FIP_AT, 0, FIP_BYTES);
    return orc_child_set_xstate(&orc->child, image, size);
}

/* ---------------------------------------------------------------- memory */

static int apply_maps(struct orc *orc, size_t from)
{
    int err = 0;

    for (size_t i = from; err == 0 && i < orc->next.mmap_count; i++)
        err = orc_space_map(&orc->space, orc->trace, &orc->next.mmaps[i]);
    return err;
}

static int apply_writes(struct orc *orc)
{
    int err = 0;

    for (size_t i = 0; err == 0 && i < orc->next.write_count; i++)
        if (is_ours(orc, orc->next.writes[i].tid))
            err = orc_space_write(&orc->space, &orc->next.writes[i]);
    return err;
}

/* ---------------------------------------------------------------- system calls */

static int do_brk(struct orc *orc)
{
    const struct rrt_mmap *map;

    if (orc->next.mmap_count == 0)
        return 0;
    map = &orc->next.mmaps[0];
    if (map->start == map->end)
        return 0;
    if (map->prot == 0 && map->flags == 0)
        return orc_space_unmap(&orc->space, map->start, map->end - map->start);
    return apply_maps(orc, 0);
}

static int do_mprotect(struct orc *orc, bool must)
{
    const uint64_t args[6] = {orc->tasks.current->call_args[0], orc->tasks.current->call_args[1],
                              orc->tasks.current->call_args[2]};
    int64_t result;

    if (args[2] & PROT_GROWS)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "frame %" PRIu64 ": mprotect that grows",
                           orc->next.time);
    if (must)
        return orc_child_must(&orc->child, "mprotect", SYS_mprotect, args, 0);
    return orc_child_syscall(&orc->child, SYS_mprotect, args, &result);
}

static int do_mremap(struct orc *orc)
{
    uint64_t to = orc->next.regs.rax;
    uint64_t args[6] = {orc->tasks.current->call_args[0],
                        (orc->tasks.current->call_args[1] + PAGE - 1) & ~(PAGE - 1),
                        (orc->tasks.current->call_args[2] + PAGE - 1) & ~(PAGE - 1), 0, 0};
    int err;

    if (to != args[0]) {
        args[3] = MREMAP_MAYMOVE | MREMAP_FIXED;
        args[4] = to;
    }
    err = orc_child_must(&orc->child, "mremap", SYS_mremap, args, to);
    /* the first record describes the whole mapping, the second one what was added */
    return err == 0 ? apply_maps(orc, 1) : err;
}

static int do_madvise(struct orc *orc)
{
    uint64_t args[6] = {orc->tasks.current->call_args[0], orc->tasks.current->call_args[1],
                        orc->tasks.current->call_args[2]};
    int64_t result;

    if (args[2] != MADV_DONTNEED && args[2] != MADV_REMOVE && args[2] != MADV_DONTNEED_LOCK)
        return 0;
    if (args[2] == MADV_DONTNEED_LOCK)
        args[2] = MADV_DONTNEED;
    return orc_child_syscall(&orc->child, SYS_madvise, args, &result);
}

static bool is_error(uint64_t rax)
{
    return rax > UINT64_MAX - 4095;
}

static int do_call(struct orc *orc)
{
    bool failed = is_error(orc->next.regs.rax);

    switch (orc->tasks.current->call) {
    case SYS_mprotect:
    case SYS_pkey_mprotect:
        return do_mprotect(orc, !failed);
    case SYS_madvise:
        return do_madvise(orc);
    default:
        break;
    }
    if (failed)
        return 0;
    switch (orc->tasks.current->call) {
    case SYS_brk:
        return do_brk(orc);
    case SYS_munmap:
        return orc_space_unmap(&orc->space, orc->tasks.current->call_args[0],
                               (orc->tasks.current->call_args[1] + PAGE - 1) & ~(PAGE - 1));
    case SYS_mremap:
        return do_mremap(orc);
    case SYS_shmdt:
        return orc_space_unmap(
            &orc->space, orc->tasks.current->call_args[0],
            orc_space_segment_end(&orc->space, orc->tasks.current->call_args[0]) -
                orc->tasks.current->call_args[0]);
    case SYS_execve:
    case SYS_execveat:
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "frame %" PRIu64 ": exec after the start",
                           orc->next.time);
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
        return 0; /* its mappings are the child's */
    default:
        return apply_maps(orc, 0);
    }
}

/* Begins a task where the kernel lets it: nothing recorded says so. `regs` are its parent's. */
static int begin_task(struct orc *orc, int flags, struct user_regs_struct *regs)
{
    uint64_t args[8] = {0}; /* struct clone_args: up to tls */
    uint64_t tls = regs->r8;

    regs->rax = 0;
    if (orc->next.syscall.number == SYS_clone && regs->rsi != 0)
        regs->rsp = regs->rsi;
    if (orc->next.syscall.number == SYS_clone3) {
        if (orc_child_read(&orc->child, regs->rdi, args, sizeof(args)) != sizeof(args))
            return wetdbg_fail(-EFAULT, "frame %" PRIu64 ": clone3 without arguments",
                               orc->next.time);
        tls = args[7];
        if (args[5] != 0)
            regs->rsp = args[5] + args[6];
    }
    if (flags & CLONE_SETTLS)
        regs->fs_base = tls;
    return 0;
}

/* Adds the task of a call that makes one in our space: rr maps it a scratch area, and the task
 * begins with a copy of its parent's state. */
static int add_task(struct orc *orc, const struct rrt_task_event *event)
{
    struct orc_task *task;
    int err = apply_maps(orc, 0);

    if (err == 0)
        err = orc_tasks_add(&orc->tasks, &orc->child, event->tid, &task);
    if (err != 0)
        return err;
    task->is_process = !(event->clone_flags & CLONE_THREAD);
    task->event_kind = RRT_EVENT_SYSCALL;
    return begin_task(orc, event->clone_flags, &task->regs);
}

static int add_tasks(struct orc *orc)
{
    int err = 0;

    for (size_t i = 0; err == 0 && i < orc->next.task_count; i++) {
        const struct rrt_task_event *event = &orc->next.tasks[i];
        if (event->kind == RRT_TASK_CLONE && (event->clone_flags & CLONE_VM))
            err = add_task(orc, event);
    }
    return err;
}

static int enter_call(struct orc *orc)
{
    struct orc_task *task = orc->tasks.current;
    int err;

    if (orc->next.syscall.number != SYS_restart_syscall)
        task->call = orc->next.syscall.number;
    task->call_args[0] = orc->next.regs.rdi;
    task->call_args[1] = orc->next.regs.rsi;
    task->call_args[2] = orc->next.regs.rdx;
    task->is_in_call = true;
    err = load_regs(orc); /* rax, rcx, r11, eflags as rr leaves them */
    if (err == 0)
        err = add_tasks(orc);
    return err == 0 ? apply_writes(orc) : err;
}

/* A vfork child that runs a program leaves our space. */
static bool is_leaving(const struct orc *orc)
{
    const struct orc_task *task = orc->tasks.current;

    return task->is_process && !is_error(orc->next.regs.rax) &&
           (task->call == SYS_execve || task->call == SYS_execveat);
}

static int exit_call(struct orc *orc)
{
    int err;

    if (is_leaving(orc)) {
        orc_tasks_remove(&orc->tasks, orc->tasks.current);
        return 0;
    }
    orc->tasks.current->is_in_call = false;
    err = do_call(orc);
    if (err == 0)
        err = apply_writes(orc);
    if (err == 0)
        err = load_regs(orc);
    return err == 0 ? load_xstate(orc) : err;
}

/* Writes what the kernel does for a thread that ends: its id cleared, its robust mutexes marked. */
static int end_task(struct orc *orc)
{
    int err = apply_writes(orc);

    orc_tasks_remove(&orc->tasks, orc->tasks.current);
    return err;
}

/* ---------------------------------------------------------------- all kinds */

static int apply_plain(struct orc *orc)
{
    int err = apply_maps(orc, 0);

    if (err == 0)
        err = apply_writes(orc);
    if (err == 0)
        err = load_regs(orc);
    return err == 0 ? load_xstate(orc) : err;
}

static int apply_by_kind(struct orc *orc)
{
    if (orc->is_foreign)
        return apply_writes(orc);
    switch (orc->next.event) {
    case RRT_EVENT_SYSCALL:
        if (orc->next.syscall.state == RRT_SYSCALL_ENTERING)
            return enter_call(orc);
        if (orc->next.syscall.state == RRT_SYSCALL_EXITING)
            return exit_call(orc);
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "frame %" PRIu64 ": a traced task",
                           orc->next.time);
    case RRT_EVENT_SCHED:
        return 0;
    case RRT_EVENT_EXIT:
        return end_task(orc);
    default:
        return apply_plain(orc);
    }
}

static int finish_frame(struct orc *orc)
{
    if (orc->event_fn && !orc->is_foreign)
        orc->event_fn(orc->event_context, &orc->next, orc->instructions);
    orc->event = orc->next.time;
    if (orc->tasks.current && !orc->is_foreign)
        orc->tasks.current->event_kind = orc->next.event;
    return orc_frame_fetch(orc);
}

int orc_frame_apply(struct orc *orc)
{
    int err = apply_by_kind(orc);

    if (err == 0)
        err = clear_fip(orc);
    return err == 0 ? finish_frame(orc) : err;
}

int orc_frame_apply_exec(struct orc *orc)
{
    int err = apply_maps(orc, 0);

    if (err == 0)
        err =
            orc_space_fill_rr_page(&orc->space, orc->trace, orc->next.mmaps, orc->next.mmap_count);
    if (err == 0)
        err = apply_writes(orc);
    if (err == 0)
        err = load_regs(orc);
    if (err == 0)
        err = load_xstate(orc);
    return err == 0 ? finish_frame(orc) : err;
}
