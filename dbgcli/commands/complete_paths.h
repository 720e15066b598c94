/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Tab offers where the name of a file on the disk is meant. */
#ifndef DBGCLI_COMMANDS_COMPLETE_PATHS_H
#define DBGCLI_COMMANDS_COMPLETE_PATHS_H

#include "dbgcli/repl/complete.h"

/* Adds the files that begin as typed, and directories with a '/'; hidden ones only behind a dot.
 * Names that cannot be typed as one word are left out, and so is a directory that cannot be read.
 */
void cli_complete_path(const char *typed, struct cli_completions *completions);

#endif
