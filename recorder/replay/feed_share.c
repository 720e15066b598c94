/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory that somebody else writes is in no recording. The replay maps everything privately, so
 * an object mapped shared is refused where another mapping of it can be written: in another
 * process, or a second time in the same one.
 *
 * A mapping that another process only inherited is held against it not at once but when that
 * process ends without exec: nearly every child runs exec soon, and touches no such memory.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/err.h"
#include "recorder/replay/feed_priv.h"

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

/* The first later mapping of `space` that shows, and may write, what `mine` shows. */
static const struct feed_vma *find_writer(const struct feed_vmas *vmas, const struct feed_vma *mine)
{
    for (size_t i = 0; i < vmas->count; i++) {
        const struct feed_vma *vma = &vmas->list[i];
        if (vma != mine && is_candidate(vma) && vma->prot & PROT_WRITE && shows_same(vma, mine))
            return vma;
    }
    return NULL;
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

static int check_space(struct rep_feed *feed, const struct rrt_frame *frame,
                       const struct feed_vma *mine, const struct feed_task *task)
{
    const struct feed_vma *other = find_writer(&task->space->vmas, mine);
    if (!other)
        return 0;
    if (!(other->flags & FEED_VMA_INHERITED))
        return feed_refuse(frame, "%s is shared with process %d, which may write it",
                           name_of(feed, mine), task->tgid);
    if (!task->space->conflict_frame) {
        task->space->conflict_frame = frame->time;
        snprintf(task->space->conflict_name, sizeof(task->space->conflict_name), "%s",
                 name_of(feed, mine));
    }
    return 0;
}

int feed_share_check(struct rep_feed *feed, const struct rrt_frame *frame)
{
    int rc = 0;
    feed->shares_changed = false;
    for (size_t i = 0; feed->target && i < feed->target->vmas.count && !rc; i++) {
        const struct feed_vma *mine = &feed->target->vmas.list[i];
        if (!is_candidate(mine))
            continue;
        rc = check_alias(feed, frame, mine);
        for (size_t t = 0; t < feed->task_count && !rc; t++)
            if (feed->tasks[t].space && feed->tasks[t].space != feed->target)
                rc = check_space(feed, frame, mine, &feed->tasks[t]);
    }
    return rc;
}

int feed_share_space_gone(struct rep_feed *feed, const struct feed_space *space, uint64_t time)
{
    if (!space->conflict_frame || space == feed->target)
        return 0;
    return wd_fail(-WD_ERR_UNSUPPORTED,
                   "frame %llu: from here on %s is shared with a process that may write it, and "
                   "that ran no other program until frame %llu",
                   (unsigned long long)space->conflict_frame, space->conflict_name,
                   (unsigned long long)time);
}
