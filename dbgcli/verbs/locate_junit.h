/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `wetdbg locate` answers, as a failing test of JUnit's XML. */
#ifndef DBGCLI_VERBS_LOCATE_JUNIT_H
#define DBGCLI_VERBS_LOCATE_JUNIT_H

#include "dbgcli/verbs/locate_steps.h"

/* Writes the list as it is now, with the first `reported` suspects: a test case with one failure.
 * 0; errors of cli_junit_write() and wetdbg_locate_suspects(). */
int cli_locate_junit(struct cli_locating *self, const char *path);

#endif
