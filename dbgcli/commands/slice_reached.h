/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a forward slice came to: pieces of the program's output, and its crash. */
#ifndef DBGCLI_COMMANDS_SLICE_REACHED_H
#define DBGCLI_COMMANDS_SLICE_REACHED_H

#include "dbgcli/commands/session.h"

/* Lines of text; `all`: every piece. */
void cli_slice_reached_print(struct cli_session *session, const struct wetdbg_slice *slice,
                             bool all);

/* The members "output", an array of {fd, offset, size, control}, and "crash". */
void cli_slice_reached_to_json(json_t *object, const struct wetdbg_slice *slice);

#endif
