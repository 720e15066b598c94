/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/question.h"

#include <stdlib.h>
#include <string.h>

#include "delta/judge.h"
#include "delta/trial.h"

#define NAME_MAX_BYTES 3000 /* what is before it has to fit into a path, too */

bool dlt_left_name_is_below(const char *name)
{
    if (!*name || strlen(name) > NAME_MAX_BYTES)
        return false;
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (!strncmp(part, "..", 2) && (!part[2] || part[2] == '/'))
            return false;
    }
    return true;
}

static int ask(const struct dlt_plan *plan, const struct wetdbg_dd_bytes *candidate,
               const volatile sig_atomic_t *interrupted, struct dlt_report *report)
{
    struct dlt_trial trial = {0};
    size_t which;
    int err = dlt_trial_start(&trial, plan, candidate);
    if (!err)
        err = dlt_trial_finish(&trial, 1, interrupted, &which, report);
    dlt_trial_cancel(&trial);
    return err;
}

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
    const struct wetdbg_dd_bytes no_input = {0};
    struct dlt_ended_run asked = *ended;
    struct dlt_plan plan;
    struct dlt_report report;
    asked.output = *output;
    dlt_plan_of_ended(&plan, &options, &asked);
    int err = ask(&plan, &no_input, interrupted, &report);
    if (!err) {
        *said = report.command;
        dlt_report_describe(&plan, &report, text, DLT_SAID_BYTES);
    }
    free(program);
    return err;
}

int dlt_question_of_search(const struct dlt_plan *plan, const struct dlt_ended_run *ended,
                           const struct wetdbg_dd_bytes *candidate, struct dlt_report *report)
{
    struct dlt_plan asked = *plan;
    struct dlt_report said;
    asked.ended = ended;
    asked.program = NULL;
    int err = ask(&asked, candidate, NULL, &said);
    if (err)
        return err;
    report->command = said.command;
    memcpy(report->sentence, said.sentence, sizeof(report->sentence));
    return 0;
}
