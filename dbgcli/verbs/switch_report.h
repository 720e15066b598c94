/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `wetdbg switch` found, for people who run tests, and for the tools that they use. */
#ifndef DBGCLI_VERBS_SWITCH_REPORT_H
#define DBGCLI_VERBS_SWITCH_REPORT_H

#include "dbgcli/out.h"
#include "dbgcli/verbs/harness.h"
#include <wetdbg/switch_search.h>

#define CLI_REPORT_ROWS 100 /* findings at most */

struct cli_report_row {
    const struct wetdbg_finding *finding;
    const struct wetdbg_predicate *predicate;
};

/* All borrowed. */
struct cli_report {
    const struct cli_harness *harness; /* NULL: no test, but `program` */
    const char *program, *target;
    const struct wetdbg_search_result *result;
    uint64_t left; /* candidates that were not tried, if the search is not complete */
    struct cli_report_row rows[CLI_REPORT_ROWS]; /* what makes it right */
    size_t count;
};

/* Which test it is and where it fails: two lines. */
void cli_report_print_test(const struct cli_harness *harness, struct cli_out *out);

/* Adds the same to a JSON object. */
void cli_report_set_test(const struct cli_harness *harness, json_t *object);

/* One test point, not ok, with a YAML block: TAP, version 13. */
void cli_report_tap(const struct cli_report *report, struct cli_out *out);

/* One test case with its failure, as JUnit's XML has them. Errors of cli_junit_write(). */
int cli_report_junit(const struct cli_report *report, const char *path);

#endif
