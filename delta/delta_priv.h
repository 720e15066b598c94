/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the searches share: how they begin, and how their results are put down. */
#ifndef DELTA_DELTA_PRIV_H
#define DELTA_DELTA_PRIV_H

#include "delta/asker.h"

/* Asks for all deltas, which have to fail, and for none, which must not (or, `has_to_pass`, has to
 * pass). */
int dlt_ask_ends(struct dlt_asker *asker, size_t count, bool has_to_pass);

/* Hands the sets' words over to a result; `pass` may be all zero for the empty set. 0 or
 * -ENOMEM. */
int dlt_result_make(const struct dlt_asker *asker, struct dlt_set *pass, struct dlt_set *fail,
                    struct wetdbg_delta_result *result);

/* Whether units are what delta.h says. 0 or -EINVAL. */
int dlt_units_check(size_t count, const struct wetdbg_delta_unit *units, size_t unit_count);

/* The end of group g. */
static inline uint32_t dlt_unit_end(const struct wetdbg_delta_unit *unit, size_t g, size_t count)
{
    return g + 1 < unit->count ? unit->starts[g + 1] : (uint32_t)count;
}

/* The groups of a unit that have members in a set: their numbers, for the caller to free. `unit`
 * NULL: each delta is a group. */
int dlt_unit_groups(const struct wetdbg_delta_unit *unit, const struct dlt_set *set,
                    uint32_t **groups, size_t *count);

#endif
