/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a system call uses, as wants of a backward scan: slicer/syscalls.h with a call's arguments. */
#ifndef SLICER_SCAN_CALL_USES_H
#define SLICER_SCAN_CALL_USES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/event/queue.h"
#include "wet/intervals.h"

/* A task's call that is about to be passed. */
struct slc_call_args {
    bool is_known;
    int32_t number;
    uint64_t args[6];
};

void slc_call_note(struct slc_call_args *call, const struct evq_entry *enter);

struct slc_scan;
struct slc_task;
struct slc_want;

/*
 * Wants what the call at `time` used to make its result and what it wrote; with `is_whole` also what
 * it only passed on; with `has_sent` the addresses of that, of which another call delivered some. A call without a signature is taken to use all six arguments. The length of a
 * string may have to be read: slicer/scan/lengths.h. 0 or an error.
 */
int slc_call_want(struct slc_scan *scan, struct slc_task *task, wetdbg_time time, bool is_whole,
                  bool has_sent, struct slc_want *want);

#endif
