/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How near source lines are to what a slice, a chop or a set is about, as far as that is known: a
 * first look at a slice tells it, and of sets that were put together it is put together, too.
 */
#ifndef DBGCLI_COMMANDS_NEARNESS_H
#define DBGCLI_COMMANDS_NEARNESS_H

#include <stddef.h>

#include <wetdbg/set.h>
#include <wetdbg/slice.h>

/* Does not change once it is made; NULL stands for one that knows nothing, everywhere. */
struct cli_nearness;

/* The distances of a slice's source lines; NULL for NULL. Strings are the model's. Dies where
 * memory is short. */
struct cli_nearness *cli_nearness_of(const struct wetdbg_slice *slice);
void cli_nearness_free(struct cli_nearness *near);

/*
 * Of what comes of putting two sets together. What either has is as near as the nearer one says;
 * what one has and the other has not, as the one says. Of what both have the sum counts (of the two
 * least distances of a line, whatever the instances), of equal ones the first: so what lies on a
 * short way from the one to the other comes first. What is near to the one, and unknown to the
 * other, comes behind that. To be freed; NULL if nothing is known.
 */
struct cli_nearness *cli_nearness_combine(const struct cli_nearness *a,
                                          enum wetdbg_set_operation operation,
                                          const struct cli_nearness *b);

/* Sorts lines, by index, the nearest first; those of which nothing is known stay in their order
 * behind them. */
void cli_nearness_sort(const struct cli_nearness *near, const struct wetdbg_slice_line *lines,
                       size_t *order, size_t count);

#endif
