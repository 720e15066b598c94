/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ring record of an execution, with DBI_COLLECT: addresses and, if wanted, values. */
#ifndef RECORDER_DBI_RING_H
#define RECORDER_DBI_RING_H

#include "recorder/dbi/work.h"

/* Finds which words there are: fills the counts and slots of w->out. With values each slot has a
 * word: whoever reads them counts them from the code. */
void dbi_ring_plan(struct work *w);

/* Collects addresses and counts that are to be had before instruction `at`, and those behind it. */
void dbi_ring_before(struct work *w, unsigned at);
void dbi_ring_after(struct work *w, unsigned at);

/* Collects the results of instruction `at`, whose first word is `first`. */
void dbi_ring_values(struct work *w, unsigned at, unsigned first);

#endif
