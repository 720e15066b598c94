/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Answers that are kept in a file, so that the same search goes on after an end: a line of text for
 * each trial, written at once; the first line names the search, and a journal of another one is
 * begun anew.
 */
#ifndef PREDICATE_SWITCH_TRIAL_JOURNAL_H
#define PREDICATE_SWITCH_TRIAL_JOURNAL_H

#include <wetdbg/switch_search.h>

struct psw_journal;

/* `path` NULL: a journal that keeps nothing. -EBUSY if another search writes to it; other errnos;
 * sentences. */
int psw_journal_open(const char *path, const char *name, struct psw_journal **out);
void psw_journal_close(struct psw_journal *journal); /* NULL is fine */

/* The answer to a trial: 0, or -WETDBG_ERR_NOT_FOUND without a sentence. */
int psw_journal_recall(const struct psw_journal *journal, const struct wetdbg_trial *trial,
                       struct wetdbg_trial_answer *answer);

int psw_journal_learn(struct psw_journal *journal, const struct wetdbg_trial *trial,
                      const struct wetdbg_trial_answer *answer);

#endif
