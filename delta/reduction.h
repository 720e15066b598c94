/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What ddmin and its hierarchical form share: a row of items, all of which together fail; some are
 * taken away for good, while what is left still fails.
 */
#ifndef DELTA_REDUCTION_H
#define DELTA_REDUCTION_H

#include "delta/asker.h"

/* Items [first, end) that stand side by side. `is_needed`: they cannot all go, as far as is
 * known. */
struct dlt_span {
    uint32_t first, end;
    bool is_needed;
};

/* Embedded by its holder, who sets the first four and calls dlt_set_init() for the sets. */
struct dlt_reduction {
    struct dlt_asker *asker;
    void *arg;
    /* Makes the candidate that has these items. */
    void (*form)(void *arg, const struct dlt_set *items, struct dlt_set *deltas);
    /* Takes away what cannot be without items that went away; may be NULL. */
    void (*settle)(void *arg, struct dlt_set *items);
    struct dlt_set items; /* what is left */
    struct dlt_set tried; /* room for a candidate */
};

/*
 * Takes spans away, then their halves, down to single items; the last first. `spans` are in order
 * and hold the items in question; it is replaced by those that are left, for the caller to free. An
 * item that stays was needed when it was asked for, which later successes may have changed.
 */
int dlt_reduce_by_halves(struct dlt_reduction *reduction, struct dlt_span **spans, size_t *count);

/*
 * Takes away single items, the last first and round and round, until none can go: 1-minimal. *gone
 * is how many went: if any, need was not monotone, and larger spans may have become needless, too.
 */
int dlt_reduce_by_items(struct dlt_reduction *reduction, size_t *gone);

#endif
