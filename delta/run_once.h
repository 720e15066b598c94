/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One program, run by a warden until it ends, or passes a limit, or the warden is told to stop. */
#ifndef DELTA_RUN_ONCE_H
#define DELTA_RUN_ONCE_H

#include <stdbool.h>

#include "delta/delta_report.h"

/*
 * What runs in the place of a program, in the process that would have become it: where it works,
 * with its input, its words and its environment. `program` is the path that would be executed.
 * Gives an exit status.
 */
struct dlt_stand_in {
    int (*run)(void *arg, const char *program, char *const argv[], char *const environment[]);
    void *arg;
};

struct dlt_command {
    const char *program; /* a path */
    char *const *argv, *const *environment;
    const char *directory;               /* where it works; NULL: here */
    const char *input, *output, *errors; /* names of files */
    const char *scratch;                 /* whose size counts */
    double timeout_s;
    uint64_t memory_bytes, disk_bytes;
    int priority;       /* nice value */
    uint64_t tasks_max; /* of this user, those of others of his programs with them */
    bool is_traced;     /* the place of a crash is wanted */
    const struct dlt_stand_in *stand_in; /* NULL: the program itself */
    int signals; /* a descriptor that signalfd() gave for SIGCHLD and SIGTERM, which are blocked */
};

/* Afterwards nothing of it runs any more. 0; -ECANCELED if SIGTERM came; errnos with sentences.
 * *place and *crash_signal, of traced ones, are of the first process that died of a signal that
 * dumps core, if any. */
int dlt_run_once(const struct dlt_command *command, struct dlt_how *how,
                 struct dlt_crash_place *place, int *crash_signal);

#endif
