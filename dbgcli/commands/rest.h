/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of the last answer that were not shown: `more` goes on with them. They are kept as the text
 * that they will be, whatever was listed. */
#ifndef DBGCLI_COMMANDS_REST_H
#define DBGCLI_COMMANDS_REST_H

#include "dbgcli/commands/session.h"

/* Forgets what the last answer left over. */
void cli_rest_free(struct cli_session *session);

/*
 * What is written to the session's output from cli_rest_begin() on is kept in place of being shown,
 * behind what is kept already; cli_rest_end_line() says that a line (with all that belongs to it)
 * is complete. cli_rest_end() makes the output what it was. Die where memory is short.
 */
void cli_rest_begin(struct cli_session *session);
void cli_rest_end_line(struct cli_session *session);
void cli_rest_end(struct cli_session *session);

/* Shows so many further lines (0: all), and says how many are left. -WETDBG_ERR_NOT_FOUND,
 * explained, if there are none. */
int cli_rest_print(struct cli_session *session, uint64_t limit);

#endif
