/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/extra_run.h"

#include <stdio.h>
#include <string.h>

#include "delta/judge.h"
#include "delta/trial.h"
#include <wetdbg/errors.h>

/* Where the warden puts a candidate (scratch_fill() in warden.c). */
static void input_name(const struct dlt_plan *plan, const char *scratch, struct dlt_extra_run *run)
{
    bool is_file = plan->way == DLT_WAY_WORD || plan->way == DLT_WAY_FILES;
    run->input[0] = 0;
    snprintf(run->scratch, sizeof(run->scratch), "%s", scratch);
    if (is_file)
        snprintf(run->input, sizeof(run->input), "%s/input/%s", scratch, plan->file_name);
}

static int trial(struct dlt_plan *plan, const struct wetdbg_dd_bytes *input,
                 struct dlt_extra_run *run)
{
    struct dlt_trial trial = {0};
    struct dlt_report report;
    size_t which;
    int err = dlt_trial_start(&trial, plan, input);
    if (err)
        return err;
    input_name(plan, trial.scratch, run);
    err = dlt_trial_finish(&trial, 1, plan->options->interrupted, &which, &report);
    dlt_trial_cancel(&trial);
    if (err)
        return err;
    run->how = report.program;
    run->fails = dlt_is_failure(plan, &report);
    dlt_report_describe(plan, &report, run->ended, sizeof(run->ended));
    return 0;
}

int dlt_extra_run(const struct wetdbg_dd_options *options, const struct wetdbg_dd_bytes *input,
                  const struct dlt_stand_in *stand_in, double seconds, uint64_t more_bytes,
                  struct dlt_extra_run *run)
{
    struct dlt_plan plan;
    *run = (struct dlt_extra_run){0};
    int err = dlt_plan_init(&plan, options);
    plan.stand_in = stand_in;
    plan.timeout_s = (options->timeout_s > 0 ? options->timeout_s : 0) + seconds;
    plan.memory_bytes += more_bytes;
    if (!err)
        err = trial(&plan, input, run);
    dlt_plan_fini(&plan);
    return err;
}
