/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions that are shown wherever the session comes to stand. */
#ifndef DBGCLI_COMMANDS_DISPLAY_H
#define DBGCLI_COMMANDS_DISPLAY_H

#include "dbgcli/commands/session.h"

struct cli_displays *cli_displays_new(void);
void cli_displays_free(struct cli_displays *all); /* NULL is fine */

/* Show those that are enabled; what cannot be evaluated here is left out, as in gdb. The moment is
 * open. */
void cli_displays_print(struct cli_session *session);
void cli_displays_to_json(json_t *object, struct cli_session *session);

/* Enable, disable or take away some by number, or all where there are no numbers. */
enum cli_display_change { CLI_DISPLAY_ENABLE, CLI_DISPLAY_DISABLE, CLI_DISPLAY_DELETE };
int cli_displays_change(struct cli_session *session, char *const *numbers, size_t count,
                        enum cli_display_change change);

int cli_info_display(struct cli_session *session, const char *operand);

#endif
