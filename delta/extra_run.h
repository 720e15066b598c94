/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run more of the program on an input that a search found, with something that stands in for
 * it. */
#ifndef DELTA_EXTRA_RUN_H
#define DELTA_EXTRA_RUN_H

#include "delta/delta_report.h"
#include "delta/delta_scratch.h"
#include "delta/plan.h"

struct dlt_extra_run {
    struct dlt_report report;
    bool fails;       /* as far as that can be told without another run */
    char ended[1000]; /* how it ended, in words: "the program exited with status 0" */
    char input[2 *
               DLT_SCRATCH_PATH_BYTES];   /* the file that the program had as its input; "": none */
    char scratch[DLT_SCRATCH_PATH_BYTES]; /* the directory of the run */
};

/*
 * Runs it as a trial, with the same words, directory, environment and input; it may take `seconds`
 * and `more_bytes` of memory besides. What it leaves is removed. -WETDBG_ERR_INTERRUPTED; errnos
 * with sentences.
 */
int dlt_extra_run(const struct wetdbg_dd_options *options, const struct wetdbg_dd_bytes *input,
                  const struct dlt_stand_in *stand_in, double seconds, uint64_t more_bytes,
                  struct dlt_extra_run *run);

#endif
