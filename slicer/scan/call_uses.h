/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a system call uses: slicer/syscalls.h with a call's arguments. */
#ifndef SLICER_SCAN_CALL_USES_H
#define SLICER_SCAN_CALL_USES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/event/queue.h"
#include "wet/intervals.h"
#include <wetdbg/slice.h>

/* A task's call that is about to be passed. */
struct slc_call_args {
    bool is_known;
    int32_t number;
    uint64_t args[6];
};

void slc_call_note(struct slc_call_args *call, const struct evq_entry *enter);

struct slc_lengths;

/* What a call uses something for; each goes with those before it. */
enum slc_call_part {
    SLC_CALL_RESULT,  /* to make its result and what it writes */
    SLC_CALL_SENT_AT, /* to find what it only passes on */
    SLC_CALL_SENT,    /* it only passes it on */
};

/* Who asks what a call uses, and gets to know of each use. */
struct slc_call_user {
    struct wetdbg *wet;
    struct slc_lengths *lengths;
    const struct wet_interval *interval; /* that the call is in */
    wetdbg_time time;                    /* of the call */
    enum slc_call_part last;             /* that is asked for */
    /* A general register (enum ins_gpr), by value or as an address; the kernel never looks at
     * parts. */
    int (*use_register)(void *arg, enum slc_call_part part, unsigned gpr, enum wetdbg_edge edge);
    /* Bytes of memory, by value. */
    int (*use_bytes)(void *arg, enum slc_call_part part, uint64_t address, uint64_t bytes);
    void *arg;
};

/*
 * Tells what the call uses, up to the last part asked for. A call without a signature is taken to
 * use all six arguments; then *is_known is false. The length of a string may have to be read:
 * slicer/scan/lengths.h. 0, an error, or what a callback returned, which ends it.
 */
int slc_call_uses(const struct slc_call_args *call, const struct slc_call_user *user,
                  bool *is_known);

struct slc_scan;
struct slc_task;
struct slc_want;

enum slc_call_wants { SLC_CALL_WANTS_ALL, SLC_CALL_WANTS_REGISTERS, SLC_CALL_WANTS_BYTES };

/* Wants in a backward scan what slc_call_uses() tells of the task's call at `time`, or a part of
 * it. 0 or an error. */
int slc_call_want(struct slc_scan *scan, struct slc_task *task, wetdbg_time time,
                  enum slc_call_part last, enum slc_call_wants what, struct slc_want *want);

#endif
