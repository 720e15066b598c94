/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asking a command about a run that is over: as it is asked about those of searches, by a warden,
 * within limits, and with directories that are gone afterwards. */
#ifndef DELTA_QUESTION_H
#define DELTA_QUESTION_H

#include "delta/delta_report.h"
#include "delta/plan.h"

#define DLT_SAID_BYTES 160

/*
 * Runs `command` where the run's files are, with `output` as its standard input; WETDBG_OUTPUT and
 * WETDBG_STATUS are set. It may take timeout_s. `jobs`: how many are asked at once. *said is how it
 * ended, in words `text`. -WETDBG_ERR_INTERRUPTED; errnos with sentences.
 */
int dlt_question_ask(const char *command, double timeout_s, unsigned jobs,
                     const struct dlt_ended_run *ended, const struct wetdbg_dd_bytes *output,
                     const volatile sig_atomic_t *interrupted, struct dlt_how *said,
                     char text[DLT_SAID_BYTES]);

/* Whether a left file of that name lies in the directory that it is put into; a recorded program
 * said it. */
bool dlt_left_name_is_below(const char *name);

/*
 * Asks the command of a search about a run that the search would have made on `candidate`:
 * report->command and its sentence. As it would be, but that files outside of the run's directory
 * are in one that is gone afterwards. Errnos with sentences.
 */
int dlt_question_of_search(const struct dlt_plan *plan, const struct dlt_ended_run *ended,
                           const struct wetdbg_dd_bytes *candidate, struct dlt_report *report);

#endif
