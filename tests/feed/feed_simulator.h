/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Applies queue entries to a make-believe address space, page by page, and looks for what no right
 * sequence of entries has: writes to nowhere, tasks that do not exist, calls from places without a
 * `syscall` instruction. It runs no code, so what the program itself writes is missing here.
 */
#ifndef TESTS_FEED_FEED_SIMULATOR_H
#define TESTS_FEED_FEED_SIMULATOR_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/feed/feed.h"

struct simulator;

struct simulator_counts {
    unsigned entries[EVQ_PAD + 1]; /* by kind */
    unsigned ops[EVQ_OP_PLACE + 1];
    unsigned instructions_checked; /* syscall, rdtsc and so on found where the entry said */
    unsigned tasks_at_once;
    unsigned places_searched, places_with_digests;
    uint64_t captured_tags;
    unsigned maps_compared; /* frames */
};

struct simulator *simulator_new(const struct rep_feed *feed);
void simulator_free(struct simulator *simulator);

/* NULL, or what is wrong with the entry: borrowed until the next call. */
const char *simulator_take(struct simulator *simulator, const struct evq_entry *entry);

/* The scratch areas of tasks that left the space: rr may have left them in it. */
const struct rep_range *simulator_left(const struct simulator *simulator, unsigned *count);

/* Compares what is mapped with what rr wrote down for the frame (rr record -C on-all-events), if it
 * did; but for what simulator_left() gives. NULL, or what differs. */
const char *simulator_compare_maps(struct simulator *simulator, const char *trace_dir,
                                   uint64_t frame);

const struct simulator_counts *simulator_counts(const struct simulator *simulator);

#endif
