/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which bytes a slice is about where it comes through a system call: what the call delivered or
 * sent of what the slice follows. A call has many bytes and one instance; by these a chop tells
 * whether source and target meet in it.
 */
#ifndef SLICER_CALL_BYTES_H
#define SLICER_CALL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wet/intervals.h"

enum slc_call_bytes_kind {
    SLC_BYTES_MEMORY, /* `at` is an address: bytes that the call wrote there */
    SLC_BYTES_PLACE,  /* a place among all that calls sent: slicer/channels/channels.h */
    SLC_BYTES_RESULT, /* what it returned is wanted */
    /* all that it did is marked; or it is a criterion's, or wanted for something else of it */
    SLC_BYTES_ALL,
};

struct slc_call_run {
    wetdbg_time time; /* of the call */
    enum slc_call_bytes_kind kind;
    uint64_t at, size;
};

/*
 * Embedded by its holder; all zero is empty. Going forward, a call of which there is nothing uses
 * what the slice follows and hands nothing on. Going backward, nobody asked.
 */
struct slc_call_bytes {
    struct slc_call_run *list;
    size_t count, capacity;
    bool is_sorted;
};

void slc_call_bytes_fini(struct slc_call_bytes *bytes);

/* Adds a run; those that follow each other become one. 0 or -ENOMEM. */
int slc_call_bytes_add(struct slc_call_bytes *bytes, struct slc_call_run run);

/* Adds all of another one's, of the call at `time` if that is not 0. 0 or -ENOMEM. */
int slc_call_bytes_join(struct slc_call_bytes *bytes, const struct slc_call_bytes *other,
                        wetdbg_time time);

/* Sorts by time; to be called before those below. */
void slc_call_bytes_sort(struct slc_call_bytes *bytes);

/* The call after a time, and its runs; false: there is none. */
bool slc_call_bytes_next(const struct slc_call_bytes *bytes, wetdbg_time after,
                         const struct slc_call_run **runs, size_t *count);

/* Whether a forward and a backward slice, both of which have the call at a time, meet in it. */
bool slc_call_bytes_meet(const struct slc_call_bytes *forward,
                         const struct slc_call_bytes *backward, wetdbg_time time);

#endif
