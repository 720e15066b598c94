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
    struct dlt_report *report = &run->report;
    size_t which;
    int err = dlt_trial_start(&trial, plan, input);
    if (err)
        return err;
    input_name(plan, trial.scratch, run);
    err = dlt_trial_finish(&trial, 1, plan->options->interrupted, &which, report);
    dlt_trial_cancel(&trial);
    if (err)
        return err;
    run->fails = dlt_is_failure(plan, report);
    dlt_report_describe(plan, report, run->ended, sizeof(run->ended));
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

/* ---- a trial for others ---- */

#define TRY_SECONDS 60.0

static enum wetdbg_delta_outcome outcome_of(const struct wetdbg_dd_options *options,
                                            const struct dlt_extra_run *run)
{
    const struct dlt_how *how = &run->report.program, *command = &run->report.command;
    bool passes = options->oracle == WETDBG_DD_COMMAND
                      ? command->ending == DLT_EXITED && !command->number
                      : how->ending == DLT_EXITED && !run->report.crash_signal;
    return run->fails ? WETDBG_DELTA_FAIL : passes ? WETDBG_DELTA_PASS : WETDBG_DELTA_UNRESOLVED;
}

int wetdbg_dd_try(const struct wetdbg_dd_options *options, const struct wetdbg_dd_bytes *input,
                  struct wetdbg_dd_trial *trial)
{
    struct dlt_extra_run run;
    const struct dlt_report *report = &run.report;
    double more = options->timeout_s > 0 ? 0 : TRY_SECONDS;
    int err = dlt_extra_run(options, input, NULL, more, 0, &run);
    if (err)
        return err;
    bool is_ended = report->program.ending <= DLT_SIGNALED;
    bool is_signal = report->program.ending == DLT_SIGNALED;
    *trial = (struct wetdbg_dd_trial){
        .is_ended = is_ended,
        .exit_status = is_ended ? report->program.number + (is_signal ? 128 : 0) : -1,
        .signal = is_signal ? report->program.number : 0,
        .output_bytes = report->output_bytes,
        .wrong_offset =
            report->wrong_byte == DLT_OUTPUT_RIGHT ? WETDBG_DD_NOWHERE : report->wrong_offset,
        .outcome = outcome_of(options, &run),
        .seconds = report->seconds,
    };
    return 0;
}
