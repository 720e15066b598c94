/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Asking for outcomes: a search names candidates in its order, and wants the first that has an
 * outcome of its choice. With several jobs, later ones are tested while earlier ones still run;
 * what is answered is what one job would have found. No candidate is tested twice.
 */
#ifndef DELTA_ASKER_H
#define DELTA_ASKER_H

#include "delta/delta_set.h"

/* A set of outcomes. */
#define DLT_ONLY(outcome) (1u << (outcome))

/* Makes candidate `i` of a row of them in `set`, whose contents are what the last call left;
 * returns the outcomes that end the row. */
typedef unsigned (*dlt_candidate_fn)(void *arg, size_t i, struct dlt_set *set);

struct dlt_asker;

/* `tests` is borrowed until it is closed. 0, -ENOMEM; -EINVAL for too many deltas or jobs. */
int dlt_asker_open(const struct wetdbg_delta_tests *tests, size_t count, struct dlt_asker **out);
void dlt_asker_close(struct dlt_asker *asker);

/*
 * The first of `count` candidates whose outcome ends the row, in *hit; `count` if none does.
 * `outcomes`, unless NULL, gets those of all candidates before it. Tests that are still running for
 * later candidates are ended.
 */
int dlt_ask_first(struct dlt_asker *asker, size_t count, dlt_candidate_fn make, void *arg,
                  size_t *hit, uint8_t *outcomes);

/* One candidate's outcome. */
int dlt_ask(struct dlt_asker *asker, const struct dlt_set *set, enum wetdbg_delta_outcome *outcome);

/* What is told to those who watch: how many deltas are still to be told apart. */
void dlt_asker_set_left(struct dlt_asker *asker, size_t left);

/* Fills in the counts of tests. */
void dlt_asker_count(const struct dlt_asker *asker, struct wetdbg_delta_result *result);

#endif
