/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `show values` and `show convenience`: what eval/kept.h keeps. */
#ifndef DBGCLI_COMMANDS_SHOW_KEPT_H
#define DBGCLI_COMMANDS_SHOW_KEPT_H

#include "dbgcli/commands/session.h"

/* Shows the last ten values of `print`, or those around `number`; NULL: none was given. */
int cli_show_values(struct cli_session *session, const char *number);

/* Shows the variables that were set. */
int cli_show_convenience(struct cli_session *session, const char *operand);

#endif
