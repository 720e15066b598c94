/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands that the user made of others: `define NAME`, with `document NAME` for their help. */
#ifndef DBGCLI_REPL_USER_COMMANDS_H
#define DBGCLI_REPL_USER_COMMANDS_H

#include "dbgcli/repl/repl.h"

/* Has the lines of the command of that name run when the present line is done, with the words of
 * `operands` for $arg0, $arg1, ... False: nothing is called so. *err as for commands. */
bool cli_user_command_run(struct cli_repl *repl, const char *name, const char *operands, int *err);

/* Prints what `document` said of the command, or else its lines. False: nothing is called so. */
bool cli_user_command_help(struct cli_repl *repl, const char *name);

/* Lists the names, for `help`; nothing if there are none. */
void cli_user_commands_list(const struct cli_repl *repl);

void cli_user_commands_fini(struct cli_repl *repl);

#endif
