/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asking a command about a run that is over: as it is asked about those of searches, by a warden,
 * within limits, and in a directory that is gone afterwards. */
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

#endif
