/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run that is under way, seen from wetdbg: a warden, a pipe from it, a directory. */
#ifndef DELTA_TRIAL_H
#define DELTA_TRIAL_H

#include <stdbool.h>

#include "delta/delta_report.h"
#include "delta/delta_scratch.h"
#include "delta/plan.h"

/* Embedded by its holder; all zero is none. */
struct dlt_trial {
    bool is_running;
    pid_t warden;
    int fd; /* readable when the run has ended */
    double deadline_s;
    char scratch[DLT_SCRATCH_PATH_BYTES];
};

/* Starts a run on a candidate, which is borrowed for the call. An errno, with a sentence. */
int dlt_trial_start(struct dlt_trial *trial, const struct dlt_plan *plan,
                    const struct wetdbg_dd_bytes *candidate);

/* Waits until one of `count` trials has ended, one of which at least is running; *which is its
 * number, and it is none any more. 0; -WETDBG_ERR_INTERRUPTED if `interrupted` became true; what
 * failed in its warden. */
int dlt_trial_finish(struct dlt_trial *trials, size_t count,
                     const volatile sig_atomic_t *interrupted, size_t *which,
                     struct dlt_report *report);

/* Takes the report of a trial whose descriptor is readable; it runs no more. Errors as above. */
int dlt_trial_take(struct dlt_trial *trial, struct dlt_report *report);

/* To be called now and then by who waits himself: ends the wardens that are long overdue. */
void dlt_trials_look(const struct dlt_trial *trials, size_t count);

/* How often it is looked whether somebody interrupted, in milliseconds: signals may come to another
 * thread. */
#define DLT_TRIAL_LOOK_MS 200

/* Ends a run, and removes what it left. Nothing happens to one that does not run. */
void dlt_trial_cancel(struct dlt_trial *trial);

#endif
