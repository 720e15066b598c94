/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ring record of an execution, with DBI_COLLECT: addresses and, if wanted, values. */
#ifndef RECORDER_DBI_RING_H
#define RECORDER_DBI_RING_H

#include "recorder/dbi/work.h"

/* Which words there are: fills the counts and slots of w->out. With values each slot has a word: whoever
 * reads them counts them from the code. */
void dbi_ring_plan(struct work *w);

/* Where a word of the record (from 0, behind the first one) is from r15d, which is behind the record. */
static inline int32_t dbi_word_off(const struct work *w, unsigned word)
{
    return 8 * ((int32_t)word - (int32_t)w->out->word_count);
}

/* mov gs:[r15d + ...], reg */
void dbi_ring_store(struct work *w, unsigned word, unsigned reg);

/* Addresses and counts that are to be had before instruction `at`, and those behind it. */
void dbi_ring_before(struct work *w, unsigned at);
void dbi_ring_after(struct work *w, unsigned at);

/* The results of instruction `at`, whose first word is `first`. */
void dbi_ring_values(struct work *w, unsigned at, unsigned first);

#endif
