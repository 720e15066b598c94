/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command in several threads or frames; the session stands where it stood before, unless the
 * command went to another time. */
#ifndef DBGCLI_COMMANDS_APPLY_H
#define DBGCLI_COMMANDS_APPLY_H

#include "dbgcli/commands/session.h"

/* `text` is "all COMMAND" or "1 3-5 COMMAND", with -q (no titles) or -s (what fails is passed over)
 * before the command. The error of the first that fails. */
int cli_thread_apply(struct cli_repl *repl, const char *text);

/* `text` is "all COMMAND", "3 COMMAND" (the innermost three) or "-3 COMMAND". */
int cli_frame_apply(struct cli_repl *repl, const char *text);

/* Shows a frame as `frame N` does, without selecting it. */
void cli_frame_show(struct cli_session *session, size_t index);

#endif
