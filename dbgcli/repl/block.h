/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For the loop alone: see cli_repl_queue() and cli_repl_collect(). */
#ifndef DBGCLI_REPL_BLOCK_H
#define DBGCLI_REPL_BLOCK_H

#include "dbgcli/repl/repl.h"

#define CLI_DEPTH_MAX 1024 /* as in gdb: what calls itself must end */

/* A line that waits, what its errors begin with, or NULL, and how many lines in a row left others
 * to be run before that left it. */
struct cli_waiting {
    char *line, *place;
    unsigned depth;
};

/* The line that is next, for cli_waiting_fini(); false: none waits. */
bool cli_queue_take(struct cli_repl *repl, struct cli_waiting *line);
void cli_waiting_fini(struct cli_waiting *line);
void cli_queue_drop(struct cli_repl *repl);

/* Takes a line of the block that is being collected; with its end runs what waits for it. */
int cli_block_take(struct cli_repl *repl, const char *line);

/* No more lines come. */
void cli_block_drop(struct cli_repl *repl);

#endif
