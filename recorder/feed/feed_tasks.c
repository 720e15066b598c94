/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The live tasks of the recording, and the spaces that they hold on to. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "recorder/feed/feed_priv.h"
#include <wetdbg/errors.h>

struct feed_space *feed_space_new(void)
{
    return calloc(1, sizeof(struct feed_space));
}

static void space_unref(struct feed_space *space)
{
    if (!space || --space->task_count)
        return;
    feed_vmas_fini(&space->vmas);
    free(space);
}

struct feed_task *feed_task_find(struct rep_feed *feed, int tid)
{
    for (size_t i = 0; i < feed->task_count; i++)
        if (feed->tasks[i].tid == tid)
            return &feed->tasks[i];
    return NULL;
}

void feed_task_enter_space(struct feed_task *task, struct feed_space *space)
{
    if (space)
        space->task_count++;
    space_unref(task->space);
    task->space = space;
}

int feed_task_add(struct rep_feed *feed, int tid, int tgid, struct feed_space *space,
                  struct feed_task **out)
{
    int err = wd_grow(feed->tasks, feed->task_capacity, feed->task_count + 1);
    if (err)
        return err;
    struct feed_task *task = &feed->tasks[feed->task_count++];
    *task = (struct feed_task){.tid = tid, .tgid = tgid, .slot = -1, .restarts = -1};
    feed_task_enter_space(task, space);
    *out = task;
    return 0;
}

void feed_task_remove(struct rep_feed *feed, struct feed_task *task)
{
    feed_task_drop_slot(feed, task);
    feed_task_enter_space(task, NULL);
    *task = feed->tasks[--feed->task_count];
}

int feed_task_take_slot(struct rep_feed *feed, struct feed_task *task)
{
    for (int slot = 0; slot < EVQ_TASKS_MAX; slot++) {
        if (feed->slots_used[slot / 64] >> slot % 64 & 1)
            continue;
        feed->slots_used[slot / 64] |= 1ull << slot % 64;
        task->slot = slot;
        return 0;
    }
    return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                       "more than %d tasks share the process's memory at once", EVQ_TASKS_MAX);
}

void feed_task_drop_slot(struct rep_feed *feed, struct feed_task *task)
{
    if (task->slot >= 0)
        feed->slots_used[task->slot / 64] &= ~(1ull << task->slot % 64);
    task->slot = -1;
}

void feed_tasks_fini(struct rep_feed *feed)
{
    while (feed->task_count)
        feed_task_remove(feed, &feed->tasks[feed->task_count - 1]);
    free(feed->tasks);
    feed->tasks = NULL;
    feed->task_capacity = 0;
    feed->target = NULL;
    memset(feed->slots_used, 0, sizeof(feed->slots_used));
}
