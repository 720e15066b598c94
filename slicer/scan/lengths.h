/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long the strings are that system calls read: paths. No recording tells, so the interval is
 * run to the call, and since calls with paths come in groups (a program that looks for its files),
 * those before it are read by the same run.
 */
#ifndef SLICER_SCAN_LENGTHS_H
#define SLICER_SCAN_LENGTHS_H

#include "wet/intervals.h"

struct slc_length {
    wetdbg_time time; /* of the call; 0: free */
    uint64_t address, bytes;
};

/* What is known of a run. Embedded in a session; all zero is empty. */
struct slc_lengths {
    struct slc_length *list; /* open addressing */
    size_t count, capacity;
};
void slc_lengths_fini(struct slc_lengths *lengths);

/*
 * The bytes of the string at an address before the instruction at `time`, which is in `interval`:
 * its zero included, or as many as can be read. 0, or an error of wetdbg_state_open().
 */
int slc_lengths_get(struct slc_lengths *lengths, struct wetdbg *wet,
                    const struct wet_interval *interval, wetdbg_time time, uint64_t address,
                    uint64_t *bytes);

#endif
