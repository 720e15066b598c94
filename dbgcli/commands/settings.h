/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `set NAME VALUE` sets and `show NAME` shows, as long as the session lasts. */
#ifndef DBGCLI_COMMANDS_SETTINGS_H
#define DBGCLI_COMMANDS_SETTINGS_H

#include "dbgcli/commands/session.h"

struct cli_completions;

/* Whether a text begins with the name of a setting ("print pretty"); *behind is what follows it. */
bool cli_setting_find(const char *text, size_t *index, const char **behind);

/* -WETDBG_ERR_USAGE with what to use in place of a setting that only gdb has; else `code`, with its
 * message as it is. */
int cli_setting_explain(const char *text, int code);

/* Gives it a value as typed; "" where none was. -WETDBG_ERR_USAGE for what it cannot be. */
int cli_setting_set(struct cli_session *session, size_t index, const char *value);

/* Shows one, or all. */
void cli_setting_show(struct cli_session *session, size_t index);
void cli_settings_show(struct cli_session *session);

/* The names, without those that only old files have; NULL after the last one. */
const char *cli_setting_name(size_t index);

#endif
