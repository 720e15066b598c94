/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sets of small numbers as bits: of deltas, and of the items that a reduction takes away.
 *
 * Not CRoaring: a candidate is made by clearing a few ranges of a set that is mostly full, a
 * million bits at most as a rule, and hashed as a whole.
 */
#ifndef DELTA_DELTA_SET_H
#define DELTA_DELTA_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/delta.h>

/* Embedded by its holder; all zero is a set of nothing. */
struct dlt_set {
    uint64_t *words;
    size_t count;
};

/* An empty set of `count` possible members. 0 or -ENOMEM. */
int dlt_set_init(struct dlt_set *set, size_t count);
void dlt_set_fini(struct dlt_set *set);

/* The same number of possible members in both. */
void dlt_set_copy(struct dlt_set *to, const struct dlt_set *from);

/* All of [first, end) become members, or none of them. */
void dlt_set_add(struct dlt_set *set, size_t first, size_t end);
void dlt_set_remove(struct dlt_set *set, size_t first, size_t end);

size_t dlt_set_size(const struct dlt_set *set);

/* The first member from `from` on, or `count`. */
size_t dlt_set_next(const struct dlt_set *set, size_t from);

static inline bool dlt_set_has(const struct dlt_set *set, size_t i)
{
    return set->words[i / 64] >> (i % 64) & 1;
}

/* Copies the members of [first, end) from another set. */
void dlt_set_take(struct dlt_set *set, const struct dlt_set *from, size_t first, size_t end);

static inline struct wetdbg_delta_set dlt_set_view(const struct dlt_set *set)
{
    return (struct wetdbg_delta_set){.words = set->words, .count = set->count};
}

#endif
