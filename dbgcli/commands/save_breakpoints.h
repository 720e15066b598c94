/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Breakpoints as a file of commands, which `source` reads. */
#ifndef DBGCLI_COMMANDS_SAVE_BREAKPOINTS_H
#define DBGCLI_COMMANDS_SAVE_BREAKPOINTS_H

#include "dbgcli/commands/session.h"

/* Writes all of the session's, with their conditions and commands, as gdb writes its own; *count is
 * how many. -WETDBG_ERR_NOT_FOUND if there are none; errors of the file. */
int cli_save_breakpoints(struct cli_session *session, const char *path, size_t *count);

#endif
