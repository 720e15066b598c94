/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg locate --html`: all that was found out, as one page that needs nothing else. */
#ifndef DBGCLI_REPORT_LOCATE_HTML_H
#define DBGCLI_REPORT_LOCATE_HTML_H

#include "dbgcli/verbs/locate_steps.h"

/*
 * Writes the page to a file that appears whole or not at all. Asks some more of the run (values and
 * stacks along the way, what the switched run puts out, which input mattered), within some seconds
 * besides the budget; Ctrl-C leaves the rest of that out. Errors of cli_whole_file_write() and of
 * wetdbg_locate_suspects().
 */
int cli_locate_html(struct cli_locating *self, const char *path);

#endif
