/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two frames of a system call: its entry, which is compared, and its exit, which is not. */
#include <stdbool.h>
#include <sys/syscall.h>

#include "recorder/event/buffered.h"
#include "recorder/feed/feed_priv.h"
#include <wetdbg/errors.h>

enum {
    ORIG_RAX_VETOED = -2,
};

static const struct rrt_task_event *find_clone(const struct rrt_frame *frame)
{
    const struct rrt_task_event *event = feed_find_event(frame, RRT_TASK_CLONE);
    bool is_own = event && event->parent_tid == frame->tid && event->tid != frame->tid;
    return is_own && !frame->syscall.failed_during_preparation ? event : NULL;
}

int feed_refuse_call(const struct feed_conv *conv)
{
    const struct rrt_frame *frame = conv->frame;
    if (!conv->is_target)
        return 0;
    if (frame->syscall.arch != RRT_ARCH_X86_64)
        return feed_refuse(frame, "a 32-bit system call (int 0x80)");
    if (feed_buffer_is_own_call(conv))
        return feed_buffer_refuse_call(conv);
    if (frame->syscall.state == RRT_SYSCALL_ENTERING_PTRACE)
        return feed_refuse(frame, "the process is traced by another recorded one");
    return 0;
}

static bool is_last_of_group(const struct rep_feed *feed, const struct feed_task *task)
{
    for (size_t i = 0; i < feed->task_count; i++)
        if (feed->tasks[i].tgid == task->tgid && &feed->tasks[i] != task)
            return false;
    return true;
}

/* rr takes the scratch area back when the task asks to end: later mappings use its addresses. Where
 * calls are buffered it stays at the process's end: it has the stack that the call is made on, for
 * people who look there. */
static int release_scratch(struct feed_conv *conv, struct feed_task *task)
{
    int number = conv->frame->syscall.number;
    bool ends =
        number == SYS_exit || (number == SYS_exit_group && is_last_of_group(conv->feed, task));
    if (!ends || (number == SYS_exit_group && conv->is_target && conv->feed->is_buffered))
        return 0;
    int err = feed_op_unmap(conv, task->scratch_start, task->scratch_end);
    task->scratch_start = task->scratch_end = 0;
    return err ? err : feed_buffer_release(conv, task);
}

int feed_convert_entering(struct feed_conv *conv, struct feed_task *task)
{
    const struct rrt_frame *frame = conv->frame;
    struct evq_entry head = feed_head(conv, task, EVQ_SYSCALL_ENTER);
    head.number = frame->syscall.number;
    head.compare_mask = EVQ_MASK_CALL;
    /* The kernel may say which call it restarts where the program said restart_syscall. */
    if (frame->regs.orig_rax != (uint64_t)frame->syscall.number)
        head.compare_mask &= ~EVQ_BIT(EVQ_ORIG_RAX);
    feed_place_ticks(conv, task, &head);
    int err = feed_refuse_call(conv);
    if (!err)
        err = feed_buffer_entering(conv, task);
    if (!err)
        err = feed_begin(conv, &head, true);
    if (err)
        return err;
    task->stop = FEED_STOP_IN_CALL;
    const struct rrt_task_event *event = conv->space ? find_clone(frame) : NULL;
    if (event)
        return feed_convert_clone(conv, event);
    if (!conv->space)
        return 0;
    err = feed_op_all_maps(conv);
    if (!err)
        err = feed_op_all_writes(conv);
    return err ? err : release_scratch(conv, task);
}

/* A call that was interrupted, but by no signal that the task got: the kernel has made it again. */
int feed_restart_call(struct feed_conv *conv, struct feed_task *task)
{
    const struct rrt_frame *frame = conv->frame;
    struct rrt_regs *regs = &task->regs;
    if (task->stop != FEED_STOP_AT_EXIT || !feed_call_was_interrupted(regs) || !frame->has_regs ||
        feed_place_is_equal(&frame->regs, regs))
        return 0;
    bool has_block = regs->rax == (uint64_t)-FEED_ERESTART_RESTARTBLOCK;
    regs->rax = has_block ? SYS_restart_syscall : regs->orig_rax;
    regs->rip -= FEED_SYSCALL_BYTES;
    if (!conv->is_target)
        return 0;
    int err = feed_begin_ops(conv, task);
    return err ? err : feed_op_regs(conv, regs);
}

int feed_convert_exiting(struct feed_conv *conv, struct feed_task *task)
{
    const struct rrt_frame *frame = conv->frame;
    struct evq_entry head = feed_head(conv, task, EVQ_SYSCALL_EXIT);
    int number = frame->syscall.number;
    if (number == SYS_restart_syscall && task->restarts >= 0)
        number = task->restarts;
    if (feed_call_was_interrupted(&frame->regs))
        task->restarts = number;
    head.number = number;
    /* sigreturn goes back into the middle of code */
    task->stop = number == SYS_rt_sigreturn ? FEED_STOP_RUNNING : FEED_STOP_AT_EXIT;
    if (!conv->space)
        return 0;
    int err = feed_refuse_call(conv);
    if (!err)
        err = feed_begin(conv, &head, false);
    bool was_made = (int64_t)frame->regs.orig_rax != ORIG_RAX_VETOED &&
                    !frame->syscall.failed_during_preparation;
    if (!err && feed_buffer_is_own_call(conv))
        err = feed_buffer_exiting(conv, task);
    else if (!err && was_made)
        err = feed_call_apply(conv, number);
    if (!err)
        err = feed_op_all_writes(conv);
    if (!err && was_made)
        err = feed_call_capture(conv, number);
    if (!err)
        err = feed_op_xstate(conv);
    return err ? err : feed_op_regs(conv, &frame->regs);
}
