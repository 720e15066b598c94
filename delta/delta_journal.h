/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Outcomes that are kept until a search is done, so that the same call goes on after a kill: the
 * search is the same, and what it asks for is known up to where it was. A line of text each,
 * written at once; the first names the search (a hash of all that it depends on), and a journal of
 * another one is begun anew.
 */
#ifndef DELTA_DELTA_JOURNAL_H
#define DELTA_DELTA_JOURNAL_H

#include <wetdbg/delta.h>

struct dlt_journal;

/* Opens or begins it. `path` NULL: outcomes are kept in memory only. -EBUSY if another search
 * writes to it; other errnos; sentences. */
int dlt_journal_open(const char *path, const struct wetdbg_delta_key *search, bool is_fresh,
                     struct dlt_journal **out);

/* How many outcomes it held at the beginning. */
uint64_t dlt_journal_count(const struct dlt_journal *journal);

/* How many of those that it holds now are of live runs. */
uint64_t dlt_journal_live_count(const struct dlt_journal *journal);

/* What live runs gave is forgotten, unless it is learned again. */
void dlt_journal_distrust(struct dlt_journal *journal);

/* 0, or -WETDBG_ERR_NOT_FOUND. */
int dlt_journal_recall(const struct dlt_journal *journal, const struct wetdbg_delta_key *key,
                       enum wetdbg_delta_outcome *outcome);

/* Whether the outcome that it would recall is a live run's. */
bool dlt_journal_is_live(const struct dlt_journal *journal, const struct wetdbg_delta_key *key);

/* Where an outcome is from: from the inputs that a search begins with, which is not written down; a
 * real run; a live one. */
enum dlt_origin { DLT_FROM_ENDS, DLT_FROM_REAL, DLT_FROM_LIVE };

/* Keeps one. Errnos. */
int dlt_journal_learn(struct dlt_journal *journal, const struct wetdbg_delta_key *key,
                      enum wetdbg_delta_outcome outcome, enum dlt_origin origin);

/* Ends it; the file is removed if nothing is left to go on with. */
void dlt_journal_close(struct dlt_journal *journal, bool removes);

#endif
