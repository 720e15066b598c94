/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a process is that is about to die of a signal, as people would say it. */
#ifndef DELTA_CRASH_PLACE_H
#define DELTA_CRASH_PLACE_H

#include <sys/types.h>

struct dlt_crash_place {
    char function[240]; /* "" if it cannot be told */
    char module[120];   /* the last part of its file's name */
};

/*
 * The innermost function of `tid`, a thread that stopped for us as its tracer, that is neither the
 * C library's nor made for aborting; the same for each run of the same program, wherever it was
 * loaded. Of a handler that raises the signal again it is the function that was interrupted; of a
 * stack that is full, a function of the recursion; of a call to nowhere, the caller. Where nothing
 * can be told, `function` is empty.
 */
void dlt_crash_place_find(pid_t tid, struct dlt_crash_place *place);

#endif
