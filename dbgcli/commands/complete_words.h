/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The words of a run for repl/complete.h: files, functions, variables, bookmarks, keywords. */
#ifndef DBGCLI_COMMANDS_COMPLETE_WORDS_H
#define DBGCLI_COMMANDS_COMPLETE_WORDS_H

#include "dbgcli/commands/session.h"
#include "dbgcli/repl/complete.h"

/* A cli_complete_operand_fn. */
void cli_complete_operand(struct cli_repl *repl, const struct cli_command *command, size_t index,
                          const char *before, const char *typed,
                          struct cli_completions *completions);

/* Whether there is a rule for a command's operands: a test asks for each command that takes
 * some. */
bool cli_complete_knows(const char *command);

#endif
