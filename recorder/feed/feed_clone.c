/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * New tasks: threads, and by vfork processes, in the same space; by fork in a copy, which the
 * replay may follow.
 *
 * A new task exists from the entry of the parent's call on, and its first registers are nowhere
 * recorded.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "recorder/feed/feed_priv.h"
#include <wetdbg/errors.h>

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

static int add_child(struct feed_conv *conv, const struct rrt_task_event *event,
                     struct feed_space *space, struct feed_task **child)
{
    struct rep_feed *feed = conv->feed;
    const struct feed_task *parent = feed_task_find(feed, conv->frame->tid);
    int tgid = event->clone_flags & CLONE_THREAD && parent ? parent->tgid : event->tid;
    struct feed_task *stale = feed_task_find(feed, event->tid);
    if (stale) { /* its exit was not recorded, and the number was used again */
        if (feed->target && stale->space == feed->target)
            return feed_corrupt(conv->frame, "thread %d begins twice", event->tid);
        feed_task_remove(feed, stale);
    }
    int err = feed_task_add(feed, event->tid, tgid, space, child);
    if (err)
        return err;
    feed_note_scratch(conv->frame, *child);
    (*child)->stop = FEED_STOP_AT_EXIT;
    (*child)->regs = child_regs(&conv->frame->regs, event);
    (*child)->seconds = conv->frame->monotonic_seconds;
    return 0;
}

static int convert_shared_clone(struct feed_conv *conv, const struct rrt_task_event *event)
{
    struct feed_task *child;
    struct rrt_regs regs = child_regs(&conv->frame->regs, event);
    if (conv->is_target && conv->feed->is_buffered && feed_place_is_in_stub(&conv->frame->regs))
        return feed_refuse(conv->frame,
                           "rr's library made a thread, or a process that shares its memory, for "
                           "the program, which is not supported; record with wetdbg record, or rr "
                           "record -n");
    int err = feed_op_all_maps(conv);
    if (!err)
        err = add_child(conv, event, conv->space, &child);
    if (!err)
        err = feed_op_all_writes(conv);
    if (!err && conv->is_target)
        err = feed_task_take_slot(conv->feed, child);
    if (!err)
        err = feed_op_task_new(conv, child, &regs);
    return err;
}

static bool is_followed(const struct feed_conv *conv, const struct rrt_task_event *event)
{
    const struct rep_feed *feed = conv->feed;
    if (!conv->is_target || feed->next_follow >= feed->plan.follow_count)
        return false;
    const struct feed_follow *follow = &feed->plan.follows[feed->next_follow];
    return follow->time == conv->frame->time && follow->tid == event->tid;
}

/* The parts of the parent's space that its child does not get. */
static int unmap_unforked(struct feed_conv *conv, const struct feed_vmas *parent)
{
    int err = 0;
    for (size_t i = 0; i < parent->count && !err; i++)
        if (parent->list[i].flags & FEED_VMA_DONTFORK)
            err = feed_op_unmap(conv, parent->list[i].start, parent->list[i].end);
    return err;
}

/* rr takes away in the child what it had mapped for the other tasks of the parent's space. */
static int unmap_other_scratch(struct feed_conv *conv, const struct feed_space *parent_space)
{
    const struct rep_feed *feed = conv->feed;
    int err = 0;
    for (size_t i = 0; i < feed->task_count && !err; i++) {
        const struct feed_task *task = &feed->tasks[i];
        if (task->space == parent_space && task->tid != conv->frame->tid)
            err = feed_op_unmap(conv, task->scratch_start, task->scratch_end);
        if (task->space == parent_space && !err)
            err = feed_locals_unmap(conv, task);
    }
    return err;
}

/* The replay goes on as the child: in the parent's slot, with the parent's vector state. */
static int become_child(struct feed_conv *conv, const struct rrt_task_event *event)
{
    struct rep_feed *feed = conv->feed;
    struct feed_space *parent_space = feed->target;
    struct rrt_regs regs = child_regs(&conv->frame->regs, event);
    struct feed_task *parent = feed_task_find(feed, conv->frame->tid);
    struct feed_task *child = feed_task_find(feed, event->tid);
    conv->space = feed->target = child->space;
    child->slot = parent->slot;
    /* the agent goes on counting */
    child->tick_shift = (uint64_t)conv->frame->ticks + parent->tick_shift;
    parent->slot = -1;
    feed->next_follow++;
    feed->shares_changed = true;
    int err = unmap_unforked(conv, &parent_space->vmas);
    if (!err)
        err = unmap_other_scratch(conv, parent_space);
    for (size_t i = 0; i < conv->frame->mmap_count && !err; i++)
        if (!feed_buffer_keeps_locals(conv, &conv->frame->mmaps[i]))
            err = feed_op_map(conv, &conv->frame->mmaps[i], 0);
    if (!err)
        err = feed_buffer_child_began(conv, child);
    if (!err)
        err = feed_op_writes_of(conv, event->tid);
    if (!err)
        err = feed_op_regs(conv, &regs);
    for (size_t i = 0; i < feed->task_count && !err; i++) {
        struct feed_task *task = &feed->tasks[i];
        if (task->slot < 0 || task->space == feed->target)
            continue;
        err = feed_say(conv, task, EVQ_TASK_EXIT); /* it stays behind */
        feed_task_drop_slot(feed, task);
    }
    return err;
}

static int convert_fork(struct feed_conv *conv, const struct rrt_task_event *event)
{
    struct feed_task *child;
    struct feed_space *space = feed_space_new();
    if (!space)
        return -ENOMEM;
    int err = feed_vmas_fork(&conv->space->vmas, &space->vmas);
    if (!err)
        err = add_child(conv, event, space, &child);
    if (err) {
        feed_vmas_fini(&space->vmas);
        if (!space->task_count)
            free(space);
        return err;
    }
    conv->feed->shares_changed = true;
    if (is_followed(conv, event))
        return become_child(conv, event);
    struct feed_conv other = {.feed = conv->feed, .frame = conv->frame, .space = space};
    err = unmap_other_scratch(&other, conv->space);
    if (!err)
        err = feed_op_all_maps(&other);
    return err ? err : feed_op_writes_of(conv, conv->frame->tid);
}

/* The frame that makes a task: its entry is open, nothing of it has been applied. */
int feed_convert_clone(struct feed_conv *conv, const struct rrt_task_event *event)
{
    return event->clone_flags & CLONE_VM ? convert_shared_clone(conv, event)
                                         : convert_fork(conv, event);
}
