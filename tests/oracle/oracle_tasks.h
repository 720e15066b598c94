/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The recorded tasks that live in the replayed space: threads, and children by vfork until they run
 * a program. They take turns in the oracle's one child, as they did under rr, which runs one task
 * at a time: a task that does not run is its registers and its vector state.
 */
#ifndef TESTS_ORACLE_ORACLE_TASKS_H
#define TESTS_ORACLE_ORACLE_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#include "recorder/rr_trace/rr_trace.h"
#include "tests/oracle/oracle_child.h"

struct orc_task {
    int tid;
    bool is_process;           /* a vfork child: not of the replayed process */
    bool is_in_call;           /* entered a system call and has not left it */
    enum rrt_event event_kind; /* of its last applied frame */
    int call;                  /* number of the system call that was entered last */
    uint64_t call_args[3];     /* its rdi, rsi, rdx */
    /* While it does not run. */
    struct user_regs_struct regs;
    uint8_t xstate[ORC_XSTATE_MAX];
    size_t xstate_bytes;
};

/* All zero has none. */
struct orc_tasks {
    struct orc_task **list;
    size_t count;
    struct orc_task *current; /* whose state the child has; NULL: of one that ended */
};

void orc_tasks_fini(struct orc_tasks *tasks);

/* NULL if there is no such task. Good until its removal. */
struct orc_task *orc_tasks_find(const struct orc_tasks *tasks, int tid);

/* Adds one that begins with the child's state of now, in place of a stale one with that tid. */
int orc_tasks_add(struct orc_tasks *tasks, struct orc_child *child, int tid, struct orc_task **out);

void orc_tasks_remove(struct orc_tasks *tasks, struct orc_task *task);

/* Makes `task` the one whose state the child has. */
int orc_tasks_switch(struct orc_tasks *tasks, struct orc_child *child, struct orc_task *task);

#endif
