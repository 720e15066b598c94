/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/oracle_tasks.h"

#include <errno.h>
#include <stdlib.h>

void orc_tasks_fini(struct orc_tasks *tasks)
{
    for (size_t i = 0; i < tasks->count; i++)
        free(tasks->list[i]);
    free(tasks->list);
    *tasks = (struct orc_tasks){0};
}

struct orc_task *orc_tasks_find(const struct orc_tasks *tasks, int tid)
{
    for (size_t i = 0; i < tasks->count; i++)
        if (tasks->list[i]->tid == tid)
            return tasks->list[i];
    return NULL;
}

static int save(struct orc_child *child, struct orc_task *task)
{
    int err = orc_child_get_regs(child, &task->regs);

    task->xstate_bytes = sizeof(task->xstate);
    return err == 0 ? orc_child_get_xstate(child, task->xstate, &task->xstate_bytes) : err;
}

int orc_tasks_add(struct orc_tasks *tasks, struct orc_child *child, int tid, struct orc_task **out)
{
    struct orc_task *stale = orc_tasks_find(tasks, tid);
    struct orc_task **grown;
    struct orc_task *task;
    int err;

    if (stale)
        orc_tasks_remove(tasks, stale);
    grown = realloc(tasks->list, (tasks->count + 1) * sizeof(struct orc_task *));
    if (!grown)
        return -ENOMEM;
    tasks->list = grown;
    task = calloc(1, sizeof(*task));
    if (!task)
        return -ENOMEM;
    task->tid = tid;
    err = save(child, task);
    if (err != 0) {
        free(task);
        return err;
    }
    tasks->list[tasks->count++] = task;
    *out = task;
    return 0;
}

void orc_tasks_remove(struct orc_tasks *tasks, struct orc_task *task)
{
    for (size_t i = 0; i < tasks->count; i++) {
        if (tasks->list[i] == task) {
            tasks->list[i] = tasks->list[--tasks->count];
            break;
        }
    }
    if (tasks->current == task)
        tasks->current = NULL;
    free(task);
}

int orc_tasks_switch(struct orc_tasks *tasks, struct orc_child *child, struct orc_task *task)
{
    int err = 0;

    if (tasks->current == task)
        return 0;
    if (tasks->current)
        err = save(child, tasks->current);
    if (err == 0)
        err = orc_child_set_regs(child, &task->regs);
    if (err == 0)
        err = orc_child_set_xstate(child, task->xstate, task->xstate_bytes);
    if (err == 0)
        tasks->current = task;
    return err;
}
