/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why there is no complete recording, in one sentence. */
#ifndef RECORDER_RECORD_FAILURE_H
#define RECORDER_RECORD_FAILURE_H

#include "recorder/record/rr_report.h"

/* The program never started: what rr made is removed. `trace_dir` may be NULL. */
int rec_failure_no_start(const struct rec_report *report, const char *program,
                         const char *trace_dir);

/* The program ran, and rr ended before it, with this wait status. What there is stays, as a
 * recording that was never finished, whatever rr called it. */
int rec_failure_no_end(const struct rec_report *report, int status, const char *trace_dir);

#endif
