/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory that somebody else writes is in no recording. The replay maps everything privately, so
 * an object mapped shared is refused where somebody else may have written it before the replayed
 * process went on: another process that has it mapped writably and ran, or a second mapping in the
 * same process.
 *
 * A mapping that another process only inherited is held against it not at once but when that
 * process ends without exec: nearly every child runs exec soon, and touches no such memory.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "recorder/feed/feed_priv.h"
#include <wetdbg/errors.h>

static bool is_candidate(const struct feed_vma *vma)
{
    return vma->flags & FEED_VMA_SHARED && !(vma->flags & FEED_VMA_RECORDER) && vma->inode;
}

static bool shows_same(const struct feed_vma *a, const struct feed_vma *b)
{
    return a->inode == b->inode && a->device == b->device &&
           a->offset < b->offset + (b->end - b->start) &&
           b->offset < a->offset + (a->end - a->start);
}

static const char *name_of(const struct rep_feed *feed, const struct feed_vma *vma)
{
    return vma->name < feed->tables.name_count ? feed->tables.names[vma->name] : "shared memory";
}

/* A mapping that shows, and may write, what `mine` shows: best one that was not inherited. */
static const struct feed_vma *find_writer(const struct feed_vmas *vmas, const struct feed_vma *mine)
{
    const struct feed_vma *found = NULL;
    for (size_t i = 0; i < vmas->count; i++) {
        const struct feed_vma *vma = &vmas->list[i];
        if (vma == mine || !is_candidate(vma) || !(vma->prot & PROT_WRITE) ||
            !shows_same(vma, mine))
            continue;
        if (!(vma->flags & FEED_VMA_INHERITED))
            return vma;
        found = vma;
    }
    return found;
}

static int check_alias(struct rep_feed *feed, const struct rrt_frame *frame,
                       const struct feed_vma *mine)
{
    const struct feed_vma *other = find_writer(&feed->target->vmas, mine);
    if (!other)
        return 0;
    return feed_refuse(frame, "%s is mapped shared both at %#llx and at %#llx", name_of(feed, mine),
                       (unsigned long long)mine->start, (unsigned long long)other->start);
}

static void note_conflict(struct rep_feed *feed, const struct rrt_frame *frame,
                          const struct feed_vma *mine, struct feed_space *space, int pid)
{
    struct feed_conflict *conflict = &space->conflict;
    const struct feed_vma *other = find_writer(&space->vmas, mine);
    if (!other)
        return;
    bool is_inherited = other->flags & FEED_VMA_INHERITED;
    space->is_conflicting = true;
    if (conflict->since && (is_inherited || !conflict->is_inherited))
        return;
    conflict->since = conflict->since ? conflict->since : frame->time;
    conflict->is_inherited = is_inherited;
    conflict->pid = pid;
    snprintf(conflict->name, sizeof(conflict->name), "%s", name_of(feed, mine));
}

/* What a space that is not shared any more has written stays written. */
static void end_conflict(struct rep_feed *feed, struct feed_space *space)
{
    if (space->conflict.ran && !feed->written.ran)
        feed->written = space->conflict;
    memset(&space->conflict, 0, sizeof(space->conflict));
}

int feed_share_check(struct rep_feed *feed, const struct rrt_frame *frame)
{
    int err = 0;
    feed->shares_changed = false;
    for (size_t t = 0; t < feed->task_count; t++)
        if (feed->tasks[t].space)
            feed->tasks[t].space->is_conflicting = false;
    for (size_t i = 0; feed->target && i < feed->target->vmas.count && !err; i++) {
        const struct feed_vma *mine = &feed->target->vmas.list[i];
        if (!is_candidate(mine))
            continue;
        err = check_alias(feed, frame, mine);
        for (size_t t = 0; t < feed->task_count && !err; t++)
            if (feed->tasks[t].space && feed->tasks[t].space != feed->target)
                note_conflict(feed, frame, mine, feed->tasks[t].space, feed->tasks[t].tgid);
    }
    for (size_t t = 0; t < feed->task_count; t++) {
        struct feed_space *space = feed->tasks[t].space;
        if (space && space->conflict.since && !space->is_conflicting)
            end_conflict(feed, space);
    }
    return err;
}

/* Whether code ran before this frame, or the kernel write for it? */
static bool has_run(const struct rrt_frame *frame)
{
    switch (frame->event) {
    case RRT_EVENT_SYSCALL:
        return frame->syscall.state != RRT_SYSCALL_EXITING || frame->write_count;
    case RRT_EVENT_INSTRUCTION_TRAP:
    case RRT_EVENT_SIGNAL:
    case RRT_EVENT_SCHED:
    case RRT_EVENT_GROW_MAP:
        return true;
    default:
        return false;
    }
}

static int refuse_conflict(const struct rrt_frame *frame, const struct feed_conflict *conflict)
{
    return feed_refuse(frame,
                       "%s is shared with process %d%s, which may have written it before frame "
                       "%llu",
                       conflict->name, conflict->pid,
                       conflict->is_inherited ? " (forked, and it ran no other program)" : "",
                       (unsigned long long)conflict->ran);
}

static int target_goes_on(struct rep_feed *feed, const struct rrt_frame *frame)
{
    if (feed->written.ran)
        return refuse_conflict(frame, &feed->written);
    for (size_t i = 0; i < feed->task_count; i++) {
        struct feed_space *space = feed->tasks[i].space;
        if (!space || !space->conflict.ran || space == feed->target)
            continue;
        if (!space->conflict.is_inherited)
            return refuse_conflict(frame, &space->conflict);
        space->conflict.target_went_on = true;
    }
    return 0;
}

int feed_share_note(struct rep_feed *feed, const struct rrt_frame *frame, struct feed_space *space)
{
    if (!feed->target || !space || !has_run(frame))
        return 0;
    if (space == feed->target)
        return target_goes_on(feed, frame);
    if (space->conflict.since)
        space->conflict.ran = frame->time;
    return 0;
}

int feed_share_space_gone(struct rep_feed *feed, struct feed_space *space,
                          const struct rrt_frame *frame)
{
    bool by_exec = frame->event == RRT_EVENT_SYSCALL;
    if (space == feed->target || !space->conflict.ran || (by_exec && space->conflict.is_inherited))
        return 0;
    if (space->conflict.target_went_on)
        return refuse_conflict(frame, &space->conflict);
    end_conflict(feed, space);
    return 0;
}
