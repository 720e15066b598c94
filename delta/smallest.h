/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The smallest candidates that failed so far: what a search has when it is cut short. */
#ifndef DELTA_SMALLEST_H
#define DELTA_SMALLEST_H

#include "delta/delta_set.h"

/* Embedded by its holder; all zero is begun by the first candidate. */
struct dlt_smallest {
    struct dlt_set slots[WETDBG_DELTA_JOBS_MAX]; /* what is tested in them */
    struct dlt_set found[2];                     /* by a real run, by a live one; no words: none */
};

/* A candidate is tested in a slot from now on. 0 or -ENOMEM. */
int dlt_smallest_begin(struct dlt_smallest *smallest, unsigned slot,
                       const struct wetdbg_delta_set *set);

/* The candidate of a slot failed. 0 or -ENOMEM. */
int dlt_smallest_learn(struct dlt_smallest *smallest, unsigned slot, bool is_live);

/* The smaller of the two, or NULL; with `only_real` the one that a real run found. */
const struct dlt_set *dlt_smallest_get(const struct dlt_smallest *smallest, bool only_real);

void dlt_smallest_fini(struct dlt_smallest *smallest);

#endif
