/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The predicates of a run: where they are in its nodes, and which ways they have. Everything here
 * is static but the counts, which the file has: nothing is run.
 */
#ifndef PREDICATE_SWITCH_PREDICATES_H
#define PREDICATE_SWITCH_PREDICATES_H

#include "wet/intervals.h"
#include <wetdbg/candidates.h>

/* What is kept beside the public part, by the same index. */
struct psw_static {
    uint32_t first_way, way_count; /* in `ways`: what the instruction itself can do */
    uint64_t exits[2];             /* of its expression; 0, 0 without one */
};

/* A predicate in a node. */
struct psw_spot {
    uint32_t predicate;
    uint32_t statement; /* in the node */
};

struct psw_predicates {
    struct wetdbg *wet;
    struct wetdbg_predicate *items; /* by address */
    struct psw_static *statics;
    uint32_t count, capacity, static_capacity;
    uint64_t *ways; /* see enum wetdbg_predicate_kind */
    uint32_t way_count, way_capacity;
    struct psw_spot *spots; /* by node, then by statement */
    uint32_t spot_count, spot_capacity;
    uint32_t *first_spots; /* by node; one more, for the end of the last */
    uint32_t node_limit;
};

/* Those that `options` want: its `libraries`, `is_wanted` and `arg`. 0, -ENOMEM.
 * psw_predicates_fini() is due in any case. */
int psw_predicates_find(struct psw_predicates *all, struct wetdbg *wet,
                        const struct wetdbg_candidates_options *options);
void psw_predicates_fini(struct psw_predicates *all);

#define PSW_NONE UINT32_MAX

/* The predicate at an address, or PSW_NONE. */
uint32_t psw_predicates_at(const struct psw_predicates *all, uint64_t pc);

/* The index of a way among a predicate's, or PSW_NONE. */
uint32_t psw_way_find(const struct psw_predicates *all, uint32_t predicate, uint64_t to);

static inline const uint64_t *psw_ways(const struct psw_predicates *all, uint32_t predicate)
{
    return all->ways + all->statics[predicate].first_way;
}

/* Finds the expressions among branches, and their exits; predicate_switch/expressions.c. */
void psw_expressions_find(struct psw_predicates *all);

#endif
