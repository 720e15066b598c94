/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/question.h"

#include <stdlib.h>
#include <string.h>

#include "delta/judge.h"
#include "delta/trial.h"

int dlt_question_ask(const char *command, double timeout_s, unsigned jobs,
                     const struct dlt_ended_run *ended, const struct wetdbg_dd_bytes *output,
                     const volatile sig_atomic_t *interrupted, struct dlt_how *said,
                     char text[DLT_SAID_BYTES])
{
    /* the name of a program is meant from here, and the command works elsewhere */
    char *program = strchr(command, '/') ? realpath(command, NULL) : NULL;
    const struct wetdbg_dd_options options = {.oracle = WETDBG_DD_COMMAND,
                                              .command = program ? program : command,
                                              .timeout_s = timeout_s,
                                              .jobs = jobs};
    struct dlt_plan plan;
    struct dlt_trial trial = {0};
    struct dlt_report report;
    size_t which;
    dlt_plan_of_ended(&plan, &options, ended);
    int err = dlt_trial_start(&trial, &plan, output);
    if (!err)
        err = dlt_trial_finish(&trial, 1, interrupted, &which, &report);
    dlt_trial_cancel(&trial);
    if (!err) {
        *said = report.command;
        dlt_report_describe(&plan, &report, text, DLT_SAID_BYTES);
    }
    free(program);
    return err;
}
