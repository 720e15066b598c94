/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An order is a list of instances, which come first, and then all others in passes: each pass goes
 * back over the run and gives those whose way it has, so that nothing is kept of them.
 */
#ifndef PREDICATE_SWITCH_ORDER_PRIV_H
#define PREDICATE_SWITCH_ORDER_PRIV_H

#include "predicate_switch/candidates_priv.h"

/* Times of instances, in some order; where one comes again, its first place counts. */
struct psw_times {
    wetdbg_time *items;
    size_t count, capacity;
};

/* An instance that the slice has. */
struct psw_member {
    wetdbg_time time;
    uint32_t predicate;
    uint32_t distance;
};

struct psw_members {
    struct psw_member *items;
    size_t count, capacity;
};

/* The predicates' instances of a slice before the failure. 0, -ENOMEM or errors of the slice. */
int psw_members_find(struct wetdbg_candidates *candidates, const struct wetdbg_slice *slice,
                     struct psw_members *members);

/* By how many of the passing runs each way was taken: an array by place in `ways`, to be freed. All
 * of their intervals are run. */
int psw_taken_count(struct wetdbg_candidates *candidates, struct wetdbg *const *passing,
                    size_t passing_count, uint32_t **taken);

/* The list of our order; predicate_switch/order_near.c. `taken` is psw_taken_count()'s, or NULL
 * without passing runs. */
int psw_near_list(struct wetdbg_candidates *candidates, const struct wetdbg_order_options *options,
                  const uint32_t *taken, struct psw_times *list);

#endif
