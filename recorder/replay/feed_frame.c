/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One recorded frame into entries. The order inside an entry is the recording's: mappings, then
 * contents, then registers.
 *
 * Frames of other processes go the same way with the output switched off (conv->is_target is
 * false), which keeps the models of their spaces right.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "common/err.h"
#include "recorder/replay/feed_priv.h"

enum {
    SIGINFO_CODE = 8, /* offsets in siginfo_t */
    SIGINFO_ADDRESS = 16,
    SEGV_PKUERR_CODE = 4,
    RRCALL_COUNT = 13,
    ERESTART_RESTARTBLOCK = 516,
    ORIG_RAX_VETOED = -2,
};

#define MASK_CALL   (EVQ_MASK_GENERAL | EVQ_BIT(EVQ_EFLAGS) | EVQ_BIT(EVQ_ORIG_RAX))
#define MASK_SIGNAL (EVQ_MASK_GENERAL | EVQ_BIT(EVQ_EFLAGS))
#define MASK_RDTSC  (MASK_SIGNAL & ~(EVQ_BIT(EVQ_RAX) | EVQ_BIT(EVQ_RDX)))
#define MASK_CPUID  (MASK_RDTSC & ~(EVQ_BIT(EVQ_RBX) | EVQ_BIT(EVQ_RCX)))

static struct evq_entry head_of(const struct rep_conv *conv, const struct rep_task *task,
                                unsigned kind)
{
    return (struct evq_entry){
        .kind = (uint16_t)kind,
        .task = task->slot < 0 ? 0 : (uint32_t)task->slot,
        .frame = conv->frame->time,
    };
}

static int begin(struct rep_conv *conv, const struct evq_entry *head, bool with_regs)
{
    struct evq_regs regs;
    if (!conv->is_target)
        return 0;
    if (!with_regs)
        return rep_entry_begin(&conv->build, head, NULL);
    memcpy(&regs, &conv->frame->regs, sizeof(regs));
    return rep_entry_begin(&conv->build, head, &regs);
}

static int begin_ops(struct rep_conv *conv, const struct rep_task *task)
{
    struct evq_entry head = head_of(conv, task, EVQ_OPS);
    return begin(conv, &head, false);
}

/* An entry that only says something: the task's end, or the whole run's. */
static int say(struct rep_conv *conv, const struct rep_task *task, unsigned kind)
{
    struct evq_entry head = head_of(conv, task, kind);
    return begin(conv, &head, false);
}

/* ---------------------------------------------------------------- system calls: entry */

static const struct rrt_task_event *find_event(const struct rrt_frame *frame,
                                               enum rrt_task_kind kind)
{
    for (size_t i = 0; i < frame->task_count; i++)
        if (frame->tasks[i].kind == kind)
            return &frame->tasks[i];
    return NULL;
}

static const struct rrt_task_event *find_clone(const struct rrt_frame *frame)
{
    const struct rrt_task_event *event = find_event(frame, RRT_TASK_CLONE);
    bool is_own = event && event->parent_tid == frame->tid && event->tid != frame->tid;
    return is_own && !frame->syscall.failed_during_preparation ? event : NULL;
}

static int refuse_call(const struct rep_conv *conv)
{
    const struct rrt_frame *frame = conv->frame;
    int base = conv->feed->header->rrcall_base, number = frame->syscall.number;
    if (!conv->is_target)
        return 0;
    if (frame->syscall.arch != RRT_ARCH_X86_64)
        return rep_refuse(frame, "a 32-bit system call (int 0x80)");
    if (number >= base && number < base + RRCALL_COUNT)
        return rep_refuse(frame, "the recording uses syscall buffering; record with rr record -n");
    if (frame->syscall.state == RRT_SYSCALL_ENTERING_PTRACE)
        return rep_refuse(frame, "the process is traced by another recorded one");
    return 0;
}

/* What a clone leaves in the new task's registers. */
static struct rrt_regs child_regs(const struct rrt_regs *parent, const struct rrt_task_event *event)
{
    struct rrt_regs regs = *parent;
    bool is_clone = parent->orig_rax == SYS_clone;
    regs.rax = 0;
    if (is_clone && parent->rsi)
        regs.rsp = parent->rsi;
    if (is_clone && event->clone_flags & CLONE_SETTLS)
        regs.fs_base = parent->r8;
    return regs;
}

/* rr gives each new task a scratch area: the frame's last mapping. */
static void note_scratch(const struct rrt_frame *frame, struct rep_task *task)
{
    if (!frame->mmap_count)
        return;
    const struct rrt_mmap *map = &frame->mmaps[frame->mmap_count - 1];
    bool is_rwx = map->prot == (PROT_READ | PROT_WRITE | PROT_EXEC);
    if (map->source != RRT_SOURCE_ZERO || !is_rwx)
        return;
    task->scratch_start = map->start;
    task->scratch_end = map->end;
}

static int add_child(struct rep_conv *conv, const struct rrt_task_event *event,
                     struct rep_space *space, struct rep_task **child)
{
    struct rep_feed *feed = conv->feed;
    const struct rep_task *parent = rep_task_find(feed, conv->frame->tid);
    int tgid = event->clone_flags & CLONE_THREAD && parent ? parent->tgid : event->tid;
    struct rep_task *stale = rep_task_find(feed, event->tid);
    if (stale) { /* its exit was not recorded, and the number was used again */
        if (conv->is_target && stale->space == feed->target)
            return rep_corrupt(conv->frame, "thread %d begins twice", event->tid);
        rep_task_remove(feed, stale);
    }
    int rc = rep_task_add(feed, event->tid, tgid, space, child);
    if (!rc)
        note_scratch(conv->frame, *child);
    return rc;
}

static int convert_shared_clone(struct rep_conv *conv, const struct rrt_task_event *event)
{
    struct rep_task *child;
    struct rrt_regs regs = child_regs(&conv->frame->regs, event);
    if (conv->is_target && !(event->clone_flags & CLONE_VFORK))
        return rep_refuse(conv->frame, "the program starts a second thread (%d)", event->tid);
    int rc = rep_op_all_maps(conv);
    if (!rc)
        rc = add_child(conv, event, conv->space, &child);
    if (!rc)
        rc = rep_op_all_writes(conv);
    if (!rc && conv->is_target)
        rc = rep_task_take_slot(conv->feed, child);
    if (!rc)
        rc = rep_op_task_new(conv, child->slot, &regs);
    return rc;
}

static bool is_followed(const struct rep_conv *conv, const struct rrt_task_event *event)
{
    const struct rep_feed *feed = conv->feed;
    if (!conv->is_target || feed->next_follow >= feed->plan.follow_count)
        return false;
    const struct rep_follow *follow = &feed->plan.follows[feed->next_follow];
    return follow->time == conv->frame->time && follow->tid == event->tid;
}

/* The parts of the parent's space that its child does not get. */
static int unmap_unforked(struct rep_conv *conv, const struct rep_vmas *parent)
{
    int rc = 0;
    for (size_t i = 0; i < parent->count && !rc; i++)
        if (parent->list[i].flags & REP_VMA_DONTFORK)
            rc = rep_op_unmap(conv, parent->list[i].start, parent->list[i].end);
    return rc;
}

/* The replay goes on as the child: in the parent's slot, with the parent's vector state. */
static int become_child(struct rep_conv *conv, const struct rrt_task_event *event)
{
    struct rep_feed *feed = conv->feed;
    struct rep_space *parent_space = feed->target;
    struct rrt_regs regs = child_regs(&conv->frame->regs, event);
    struct rep_task *parent = rep_task_find(feed, conv->frame->tid);
    struct rep_task *child = rep_task_find(feed, event->tid);
    conv->space = feed->target = child->space;
    child->slot = parent->slot;
    parent->slot = -1;
    feed->next_follow++;
    feed->shares_changed = true;
    int rc = unmap_unforked(conv, &parent_space->vmas);
    if (!rc)
        rc = rep_op_all_maps(conv);
    if (!rc)
        rc = rep_op_writes_of(conv, event->tid);
    if (!rc)
        rc = rep_op_regs(conv, &regs);
    for (size_t i = 0; i < feed->task_count && !rc; i++) {
        struct rep_task *task = &feed->tasks[i];
        if (task->slot < 0 || task->space == feed->target)
            continue;
        rc = say(conv, task, EVQ_TASK_EXIT); /* it stays behind */
        rep_task_drop_slot(feed, task);
    }
    return rc;
}

static int convert_fork(struct rep_conv *conv, const struct rrt_task_event *event)
{
    struct rep_task *child;
    struct rep_space *space = rep_space_new();
    if (!space)
        return -ENOMEM;
    int rc = rep_vmas_fork(&conv->space->vmas, &space->vmas);
    if (!rc)
        rc = add_child(conv, event, space, &child);
    if (rc) {
        rep_vmas_fini(&space->vmas);
        if (!space->task_count)
            free(space);
        return rc;
    }
    conv->feed->shares_changed = true;
    if (is_followed(conv, event))
        return become_child(conv, event);
    struct rep_conv other = {.feed = conv->feed, .frame = conv->frame, .space = space};
    rc = rep_op_all_maps(&other);
    return rc ? rc : rep_op_writes_of(conv, conv->frame->tid);
}

static bool is_last_of_group(const struct rep_feed *feed, const struct rep_task *task)
{
    for (size_t i = 0; i < feed->task_count; i++)
        if (feed->tasks[i].tgid == task->tgid && &feed->tasks[i] != task)
            return false;
    return true;
}

/* rr takes the scratch area back when the task asks to end: later mappings use its addresses. */
static int release_scratch(struct rep_conv *conv, const struct rep_task *task)
{
    int number = conv->frame->syscall.number;
    bool ends =
        number == SYS_exit || (number == SYS_exit_group && is_last_of_group(conv->feed, task));
    return ends ? rep_op_unmap(conv, task->scratch_start, task->scratch_end) : 0;
}

static int convert_entering(struct rep_conv *conv, struct rep_task *task)
{
    const struct rrt_frame *frame = conv->frame;
    struct evq_entry head = head_of(conv, task, EVQ_SYSCALL_ENTER);
    head.number = frame->syscall.number;
    head.compare_mask = MASK_CALL;
    /* The kernel may say which call it restarts where the program said restart_syscall. */
    if (frame->regs.orig_rax != (uint64_t)frame->syscall.number)
        head.compare_mask &= ~EVQ_BIT(EVQ_ORIG_RAX);
    int rc = refuse_call(conv);
    if (!rc)
        rc = begin(conv, &head, true);
    if (rc)
        return rc;
    task->stop = REP_STOP_IN_CALL;
    const struct rrt_task_event *event = conv->space ? find_clone(frame) : NULL;
    if (event)
        return event->clone_flags & CLONE_VM ? convert_shared_clone(conv, event)
                                             : convert_fork(conv, event);
    if (!conv->space)
        return 0;
    rc = rep_op_all_maps(conv);
    if (!rc)
        rc = rep_op_all_writes(conv);
    return rc ? rc : release_scratch(conv, task);
}

/* ---------------------------------------------------------------- system calls: exit */

static int convert_exiting(struct rep_conv *conv, struct rep_task *task)
{
    const struct rrt_frame *frame = conv->frame;
    struct evq_entry head = head_of(conv, task, EVQ_SYSCALL_EXIT);
    int number = frame->syscall.number;
    if (number == SYS_restart_syscall && task->restarts >= 0)
        number = task->restarts;
    if (frame->regs.rax == (uint64_t)-ERESTART_RESTARTBLOCK)
        task->restarts = number;
    head.number = number;
    task->stop = REP_STOP_AT_EXIT;
    if (!conv->space)
        return 0;
    int rc = refuse_call(conv);
    if (!rc)
        rc = begin(conv, &head, false);
    bool was_made = (int64_t)frame->regs.orig_rax != ORIG_RAX_VETOED &&
                    !frame->syscall.failed_during_preparation;
    if (!rc && was_made)
        rc = rep_call_apply(conv, number);
    if (!rc)
        rc = rep_op_all_writes(conv);
    if (!rc && was_made)
        rc = rep_call_capture(conv, number);
    if (!rc)
        rc = rep_op_xstate(conv);
    return rc ? rc : rep_op_regs(conv, &frame->regs);
}

/* ---------------------------------------------------------------- exec */

static bool is_exec(const struct rrt_frame *frame)
{
    return frame->event == RRT_EVENT_SYSCALL && frame->syscall.state == RRT_SYSCALL_EXITING &&
           (frame->syscall.number == SYS_execve || frame->syscall.number == SYS_execveat) &&
           !rep_call_failed(&frame->regs);
}

static int end_replay(struct rep_conv *conv)
{
    static const struct rep_task nobody = {.slot = 0};
    int rc = say(conv, &nobody, EVQ_END);
    conv->feed->has_ended = true;
    conv->feed->target = NULL;
    return rc;
}

/* A vfork child leaves the replayed space: its scratch area there goes, and then it does. */
static int leave_target(struct rep_conv *conv, struct rep_task *task)
{
    struct rep_feed *feed = conv->feed;
    bool is_last = feed->target->task_count == 1;
    int rc = 0;
    if (!is_last && task->scratch_start < task->scratch_end) {
        rc = begin_ops(conv, task);
        if (!rc)
            rc = rep_op_unmap(conv, task->scratch_start, task->scratch_end);
    }
    if (!rc)
        rc = say(conv, task, EVQ_TASK_EXIT);
    rep_task_drop_slot(feed, task);
    return rc || !is_last ? rc : end_replay(conv);
}

/* An exec by another thread than the first takes the first one's id: the recording then has the
 * old task's end in this very frame. */
static void drop_replaced_tasks(struct rep_feed *feed, const struct rrt_frame *frame)
{
    for (size_t i = 0; i < frame->task_count; i++) {
        const struct rrt_task_event *event = &frame->tasks[i];
        struct rep_task *task = rep_task_find(feed, event->tid);
        if (event->kind == RRT_TASK_EXIT && event->tid != frame->tid && task)
            rep_task_remove(feed, task);
    }
}

static int fill_new_space(struct rep_conv *conv, struct rep_task *task)
{
    const struct rrt_frame *frame = conv->frame;
    int rc = begin_ops(conv, task);
    if (!rc)
        rc = rep_op_clear(conv);
    if (!rc)
        rc = rep_op_all_maps(conv);
    for (size_t i = 0; i < frame->write_count && !rc; i++)
        rc = rep_op_write(conv, &frame->writes[i]);
    if (!rc)
        rc = rep_op_xstate(conv);
    return rc ? rc : rep_op_regs(conv, &frame->regs);
}

static int convert_exec(struct rep_conv *conv, struct rep_task *task)
{
    struct rep_feed *feed = conv->feed;
    const struct rrt_frame *frame = conv->frame;
    int rc = conv->is_target ? leave_target(conv, task) : 0;
    struct rep_space *space = rc ? NULL : rep_space_new();
    if (!space)
        return rc ? rc : -ENOMEM;
    rep_task_enter_space(task, space);
    int tid = task->tid;
    drop_replaced_tasks(feed, frame);
    task = rep_task_find(feed, tid);
    note_scratch(frame, task);
    task->stop = REP_STOP_AT_EXIT;
    task->tgid = tid;
    conv->space = space;
    conv->is_target = !feed->has_ended && frame->time == feed->plan.start_time;
    if (conv->is_target) {
        feed->target = space;
        rc = rep_task_take_slot(feed, task);
    }
    return rc ? rc : fill_new_space(conv, task);
}

/* ---------------------------------------------------------------- signals */

static void read_siginfo(const struct rrt_signal *sig, int32_t *code, uint64_t *address)
{
    memcpy(code, sig->siginfo + SIGINFO_CODE, sizeof(*code));
    memcpy(address, sig->siginfo + SIGINFO_ADDRESS, sizeof(*address));
}

/* Raised by an instruction, and again when that runs in the replay. Not so: SIGBUS (files end
 * elsewhere there), protection keys, seccomp's SIGSYS, and a fault of building a frame for the
 * signal before. */
static bool is_fault(const struct rrt_signal *sig, int32_t code, const struct rep_task *task)
{
    if (!sig->deterministic || task->stop == REP_STOP_SIGNAL)
        return false;
    if (sig->number == SIGSEGV)
        return code != SEGV_PKUERR_CODE;
    return sig->number == SIGILL || sig->number == SIGFPE || sig->number == SIGTRAP;
}

static void note_fatal(struct rep_conv *conv, const struct rep_task *task)
{
    struct rep_info *info = &conv->feed->info;
    const struct rrt_signal *sig = &conv->frame->signal;
    if (!conv->feed->is_scanning || task->tgid != info->pid ||
        sig->disposition != RRT_DISPOSITION_FATAL)
        return;
    info->fatal_signal = sig->number;
    info->fatal_frame = conv->frame->time;
    memcpy(info->fatal_siginfo, sig->siginfo, sizeof(info->fatal_siginfo));
}

/* Records with a preemption or a signal are how rr ends a restartable sequence: it also moved the
 * task, which is only excluded right after a system call. */
static int refuse_rseq(const struct rep_conv *conv, const struct rep_task *task)
{
    for (size_t i = 0; i < conv->frame->write_count; i++)
        if (conv->frame->writes[i].size_bytes && task->stop != REP_STOP_AT_EXIT)
            return rep_refuse(conv->frame, "a restartable sequence (rseq) was interrupted");
    return 0;
}

static int convert_signal(struct rep_conv *conv, struct rep_task *task)
{
    const struct rrt_signal *sig = &conv->frame->signal;
    int32_t code;
    int rc = 0;
    if (!conv->is_target)
        return 0;
    struct evq_entry head = head_of(conv, task, EVQ_SIGNAL_HERE);
    read_siginfo(sig, &code, &head.address);
    head.number = sig->number;
    head.code = code;
    head.compare_mask = MASK_SIGNAL;
    if (is_fault(sig, code, task)) {
        head.kind = EVQ_FAULT;
        head.flags = EVQ_FLAG_SIGINFO;
    }
    if (sig->number == SIGSEGV && head.address < REP_ADDRESS_END)
        rc = rep_tables_range(conv->feed, head.address, head.address + 1);
    note_fatal(conv, task);
    if (!rc)
        rc = refuse_rseq(conv, task);
    if (!rc)
        rc = begin(conv, &head, true);
    task->stop = REP_STOP_SIGNAL;
    return rc ? rc : rep_op_all_writes(conv);
}

static int convert_signal_result(struct rep_conv *conv, struct rep_task *task)
{
    struct evq_entry head = head_of(conv, task, EVQ_OPS);
    const struct rrt_signal *sig = &conv->frame->signal;
    if (!conv->space)
        return 0;
    head.number = sig->number;
    if (conv->frame->event == RRT_EVENT_SIGNAL_DELIVERY &&
        sig->disposition == RRT_DISPOSITION_FATAL)
        head.flags = EVQ_FLAG_FATAL;
    task->stop = REP_STOP_RUNNING;
    int rc = begin(conv, &head, false);
    if (!rc)
        rc = rep_op_all_maps(conv);
    if (!rc)
        rc = rep_op_all_writes(conv);
    if (!rc)
        rc = rep_op_xstate(conv);
    return rc ? rc : rep_op_regs(conv, &conv->frame->regs);
}

/* ---------------------------------------------------------------- the rest */

static int convert_trap(struct rep_conv *conv, struct rep_task *task)
{
    struct evq_entry head = head_of(conv, task, EVQ_TRAP);
    head.compare_mask = conv->feed->header->has_cpuid_faulting ? MASK_CPUID : MASK_RDTSC;
    task->stop = REP_STOP_RUNNING;
    if (!conv->is_target)
        return 0;
    int rc = begin(conv, &head, true);
    if (!rc)
        rc = rep_op_all_writes(conv);
    return rc ? rc : rep_op_regs(conv, &conv->frame->regs);
}

static int convert_growth(struct rep_conv *conv, struct rep_task *task)
{
    if (!conv->space)
        return 0;
    int rc = begin_ops(conv, task);
    for (size_t i = 0; i < conv->frame->mmap_count && !rc; i++)
        rc = rep_op_map_holes(conv, &conv->frame->mmaps[i], "[stack]");
    return rc ? rc : rep_op_all_writes(conv);
}

/* One task at a time: where it was preempted does not matter. */
static int convert_sched(struct rep_conv *conv, struct rep_task *task)
{
    if (!conv->is_target)
        return 0;
    int rc = refuse_rseq(conv, task);
    if (!rc && conv->frame->write_count) {
        rc = begin_ops(conv, task);
        if (!rc)
            rc = rep_op_all_writes(conv);
    }
    if (task->stop == REP_STOP_AT_EXIT)
        task->stop = REP_STOP_RUNNING;
    return rc;
}

static void note_exit(struct rep_conv *conv, const struct rep_task *task)
{
    struct rep_info *info = &conv->feed->info;
    const struct rrt_task_event *event = find_event(conv->frame, RRT_TASK_EXIT);
    if (!conv->feed->is_scanning || !conv->is_target || task->tgid != info->pid || !event)
        return;
    info->has_wait_status = 1;
    info->wait_status = event->wait_status;
}

static int convert_exit(struct rep_conv *conv, struct rep_task *task)
{
    struct rep_feed *feed = conv->feed;
    bool is_last = conv->space && conv->space->task_count == 1;
    int rc = 0;
    if (conv->is_target && conv->frame->write_count) {
        rc = begin_ops(conv, task);
        if (!rc)
            rc = rep_op_all_writes(conv);
    }
    note_exit(conv, task);
    if (!rc && conv->is_target)
        rc = say(conv, task, EVQ_TASK_EXIT);
    if (!rc && is_last && feed->is_scanning)
        rc = rep_share_space_gone(feed, conv->space, conv->frame->time);
    rep_task_remove(feed, task);
    return rc || !is_last || !conv->is_target ? rc : end_replay(conv);
}

static int refuse_event(const struct rep_conv *conv)
{
    if (!conv->is_target)
        return 0;
    switch (conv->frame->event) {
    case RRT_EVENT_PATCH_AFTER_SYSCALL:
    case RRT_EVENT_PATCH_VSYSCALL:
    case RRT_EVENT_PATCH_TRAPPING_INSTRUCTION:
        return rep_refuse(conv->frame, "the recorder patched the program's code");
    default:
        return rep_refuse(conv->frame,
                          "the recording uses syscall buffering; record with rr record -n");
    }
}

static bool needs_regs(enum rrt_event event)
{
    switch (event) {
    case RRT_EVENT_SYSCALL:
    case RRT_EVENT_SIGNAL:
    case RRT_EVENT_SIGNAL_DELIVERY:
    case RRT_EVENT_SIGNAL_HANDLER:
    case RRT_EVENT_INSTRUCTION_TRAP:
        return true;
    default:
        return false;
    }
}

static int convert_syscall(struct rep_conv *conv, struct rep_task *task)
{
    if (is_exec(conv->frame))
        return convert_exec(conv, task);
    switch (conv->frame->syscall.state) {
    case RRT_SYSCALL_EXITING:
        return convert_exiting(conv, task);
    case RRT_SYSCALL_ENTERING:
        return convert_entering(conv, task);
    default:
        return refuse_call(conv);
    }
}

static int convert_event(struct rep_conv *conv, struct rep_task *task)
{
    switch (conv->frame->event) {
    case RRT_EVENT_SYSCALL:
        return convert_syscall(conv, task);
    case RRT_EVENT_SIGNAL:
        return convert_signal(conv, task);
    case RRT_EVENT_SIGNAL_DELIVERY:
    case RRT_EVENT_SIGNAL_HANDLER:
        return convert_signal_result(conv, task);
    case RRT_EVENT_INSTRUCTION_TRAP:
        return convert_trap(conv, task);
    case RRT_EVENT_GROW_MAP:
        return convert_growth(conv, task);
    case RRT_EVENT_SCHED:
        return convert_sched(conv, task);
    case RRT_EVENT_EXIT:
        return convert_exit(conv, task);
    default:
        return refuse_event(conv);
    }
}

/* Another process's frame with records for the replayed memory (process_vm_writev, a write to a
 * file that is mapped here). They can be placed while our task is in, or just after, a call. */
static int convert_foreign_writes(struct rep_conv *conv)
{
    struct rep_feed *feed = conv->feed;
    for (size_t i = 0; i < conv->frame->write_count; i++) {
        const struct rrt_write *write = &conv->frame->writes[i];
        const struct rep_task *task = rep_task_find(feed, write->tid);
        if (!task || !write->size_bytes || task->space != feed->target)
            continue;
        if (task->stop == REP_STOP_RUNNING)
            return rep_refuse(conv->frame, "another process changes this one's memory while its "
                                           "code runs");
        struct rep_conv ours = *conv;
        ours.space = feed->target;
        ours.is_target = true;
        int rc = begin_ops(&ours, task);
        if (!rc)
            rc = rep_op_write(&ours, write);
        if (rc)
            return rc;
    }
    return 0;
}

static int refuse_detach(const struct rep_conv *conv)
{
    if (conv->is_target && find_event(conv->frame, RRT_TASK_DETACH))
        return rep_refuse(conv->frame, "the process was detached from the recording");
    return 0;
}

static void note_frame(struct rep_feed *feed, const struct rrt_frame *frame)
{
    feed->last_frame = frame->time;
    if (!feed->is_scanning)
        return;
    feed->info.end_frame = frame->time;
    feed->info.frame_count++;
}

int rep_frame_convert(struct rep_feed *feed, const struct rrt_frame *frame, struct wd_buf *out)
{
    int rc = 0;
    struct rep_task *task = rep_task_find(feed, frame->tid);
    if (!task)
        rc = rep_task_add(feed, frame->tid, frame->tid, NULL, &task);
    if (rc)
        return rc;
    struct rep_conv conv = {
        .feed = feed,
        .frame = frame,
        .space = task->space,
        .is_target = task->space && task->space == feed->target,
        .build = {.out = out},
    };
    bool was_target = conv.is_target;
    if (needs_regs(frame->event) && !frame->has_regs)
        return rep_corrupt(frame, "no registers");
    rc = refuse_detach(&conv);
    if (!rc)
        rc = convert_event(&conv, task);
    if (was_target || conv.is_target)
        note_frame(feed, frame);
    else if (!rc && feed->target)
        rc = convert_foreign_writes(&conv);
    if (!rc && feed->is_scanning && feed->shares_changed)
        rc = rep_share_check(feed, frame);
    return rc;
}

int rep_frame_finish(struct rep_feed *feed, struct wd_buf *out)
{
    struct rrt_frame none = {.time = feed->last_frame};
    struct rep_conv conv = {.feed = feed, .frame = &none, .is_target = true, .build = {.out = out}};
    int rc = 0;
    for (size_t i = 0; i < feed->task_count && !rc && feed->is_scanning; i++)
        if (feed->tasks[i].space)
            rc = rep_share_space_gone(feed, feed->tasks[i].space, feed->last_frame);
    return rc || feed->has_ended ? rc : end_replay(&conv);
}
