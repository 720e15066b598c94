/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a run's report means, in view of the two that the search began with. */
#ifndef DELTA_JUDGE_H
#define DELTA_JUDGE_H

#include "delta/delta_report.h"
#include "delta/plan.h"
#include <wetdbg/delta.h>

/* The failing run that others are compared with, and the passing one (NULL while there is none). */
struct dlt_reference {
    const struct dlt_plan *plan;
    const struct dlt_report *fail, *pass;
};

/* Whether a run shows a failure at all, by which others can be told: of the failing input, before
 * there is anything to compare with. */
bool dlt_is_failure(const struct dlt_plan *plan, const struct dlt_report *report);

enum wetdbg_delta_outcome dlt_judge(const struct dlt_reference *reference,
                                    const struct dlt_report *report);

/* "SIGSEGV in main (prog)", "byte 28 of the output is '-' in place of '8'": what the failure is. */
void dlt_failure_describe(const struct dlt_plan *plan, const struct dlt_report *report, char *text,
                          size_t size);

/* "exited with status 0", "did not end within 5 s", and what an oracle's command said to it. */
void dlt_report_describe(const struct dlt_plan *plan, const struct dlt_report *report, char *text,
                         size_t size);

#endif
