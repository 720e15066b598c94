/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `wetdbg locate` answers, for tools that show findings beside the source: SARIF 2.1.0. */
#ifndef DBGCLI_VERBS_LOCATE_SARIF_H
#define DBGCLI_VERBS_LOCATE_SARIF_H

#include "dbgcli/verbs/locate_steps.h"

/*
 * Writes the list as it is now: a result for each of the first `reported` suspects, with the
 * dependence path to what is wrong. Values on it are missing after Ctrl-C. 0; errors of
 * cli_whole_file_write() and wetdbg_locate_suspects().
 */
int cli_locate_sarif(struct cli_locating *self, const char *path);

#endif
