/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A new program: the task leaves its old space, and a new one is built from nothing. */
#include <errno.h>

#include "recorder/feed/feed_priv.h"
#include <wetdbg/errors.h>

/* A task of another process (by vfork) leaves the replayed space: its scratch area there goes, and
 * then it does. */
static int leave_target(struct feed_conv *conv, struct feed_task *task)
{
    struct rep_feed *feed = conv->feed;
    bool is_last = feed->target->task_count == 1;
    int err = 0;
    if (!is_last && task->scratch_start < task->scratch_end) {
        err = feed_begin_ops(conv, task);
        if (!err)
            err = feed_op_unmap(conv, task->scratch_start, task->scratch_end);
    }
    if (!err)
        err = feed_locals_leave(conv, task);
    if (!err)
        err = feed_say(conv, task, EVQ_TASK_EXIT);
    feed_task_drop_slot(feed, task);
    return err || !is_last ? err : feed_end_replay(conv);
}

/* Drops the tasks that an exec replaced. An exec by another thread than the first takes the first
 * one's id, and that one has ended before: the recording has the old task's end in this very
 * frame. */
static int drop_replaced_tasks(struct feed_conv *conv)
{
    const struct rrt_frame *frame = conv->frame;
    struct rep_feed *feed = conv->feed;
    int err = 0;
    for (size_t i = 0; i < frame->task_count && !err; i++) {
        const struct rrt_task_event *event = &frame->tasks[i];
        struct feed_task *task = feed_task_find(feed, event->tid);
        if (event->kind != RRT_TASK_EXIT || event->tid == frame->tid || !task)
            continue;
        if (feed->target && task->space == feed->target) {
            struct feed_conv ours = *conv;
            ours.space = feed->target;
            ours.is_target = true;
            err = feed_place_release(&ours);
            if (!err)
                err = leave_target(&ours, task);
            conv->build = ours.build;
        }
        feed_task_remove(feed, feed_task_find(feed, event->tid));
    }
    return err;
}

static int fill_new_space(struct feed_conv *conv, struct feed_task *task)
{
    const struct rrt_frame *frame = conv->frame;
    int err = feed_begin_ops(conv, task);
    if (!err)
        err = feed_op_clear(conv);
    if (!err)
        err = feed_op_all_maps(conv);
    if (!err) /* in other spaces rr's library notes descriptors that were closed */
        err = feed_op_all_writes(conv);
    if (!err)
        err = feed_buffer_program_began(conv, task);
    if (!err)
        err = feed_op_xstate(conv);
    return err ? err : feed_op_regs(conv, &frame->regs);
}

int feed_convert_exec(struct feed_conv *conv, struct feed_task *task)
{
    struct rep_feed *feed = conv->feed;
    const struct rrt_frame *frame = conv->frame;
    int err = conv->is_target ? leave_target(conv, task) : 0;
    if (!err && feed->is_scanning && task->space && task->space->task_count == 1)
        err = feed_share_space_gone(feed, task->space, frame);
    struct feed_space *space = err ? NULL : feed_space_new();
    if (!space)
        return err ? err : -ENOMEM;
    feed_task_enter_space(task, space);
    err = drop_replaced_tasks(conv);
    if (err)
        return err;
    task = feed_task_find(feed, frame->tid);
    feed_note_scratch(frame, task);
    task->stop = FEED_STOP_AT_EXIT;
    task->tick_shift = 0 - (uint64_t)frame->ticks;
    task->tgid = task->tid;
    conv->space = space;
    conv->is_target = !feed->has_ended && frame->time == feed->plan.start_time;
    if (!conv->is_target)
        return fill_new_space(conv, task);
    feed->target = space;
    if (task->is_traced)
        return feed_refuse(frame, "the process is traced by another recorded one");
    err = feed_task_take_slot(feed, task);
    return err ? err : fill_new_space(conv, task);
}
