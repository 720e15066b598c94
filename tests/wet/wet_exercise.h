/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks a WET of which nothing is known everything that can be asked. */
#ifndef TESTS_WET_WET_EXERCISE_H
#define TESTS_WET_WET_EXERCISE_H

#include "wet/intervals.h"

/* Queries that run nothing: nodes, counts, events, outputs, names of functions and lines. The
 * first error; all queries are made in any case. */
int exercise_tables(struct wetdbg *wet);

/* Queries that run intervals again: intervals, instances, states, effects. As above. */
int exercise_runs(struct wetdbg *wet);

#endif
