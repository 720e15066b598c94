/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For the loop alone: see cli_repl_queue() and cli_repl_collect(). */
#ifndef DBGCLI_REPL_BLOCK_H
#define DBGCLI_REPL_BLOCK_H

#include "dbgcli/repl/repl.h"

/* The line that waits longest, to be freed; NULL: none does. */
char *cli_queue_take(struct cli_repl *repl);
void cli_queue_drop(struct cli_repl *repl);

/* Takes a line of the block that is being collected; with its end runs what waits for it. */
int cli_block_take(struct cli_repl *repl, const char *line);

/* No more lines come. */
void cli_block_drop(struct cli_repl *repl);

#endif
