/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Tab offers of a criterion: keywords and, behind "input:" and its like, what this run has. */
#ifndef DBGCLI_COMMANDS_COMPLETE_CRITERIA_H
#define DBGCLI_COMMANDS_COMPLETE_CRITERIA_H

#include "dbgcli/commands/session.h"
#include "dbgcli/repl/complete.h"

/*
 * Adds crash, exit and the words that end with a colon; behind these descriptors and files that the
 * run read or wrote, arguments, variables of the environment, `end`. What cannot be found out is
 * not offered, and no word is said about it.
 */
void cli_complete_criterion(struct cli_session *session, const char *typed,
                            struct cli_completions *completions);

/* Adds the criteria that can be given another value: input, arguments, variables of the
 * environment; what cannot be found out is not offered. */
void cli_complete_input(struct cli_session *session, const char *typed,
                        struct cli_completions *completions);

#endif
