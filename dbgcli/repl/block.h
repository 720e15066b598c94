/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For the loop, and commands that decide which lines run: see cli_repl_queue() and
 * cli_repl_collect(). */
#ifndef DBGCLI_REPL_BLOCK_H
#define DBGCLI_REPL_BLOCK_H

#include "dbgcli/repl/repl.h"

#define CLI_DEPTH_MAX 1024 /* as in gdb: what calls itself must end */

/* A line that waits, what its errors begin with, or NULL, and how many lines in a row left others
 * to be run before that left it. */
struct cli_waiting {
    char *line, *place;
    unsigned depth;
    size_t repeats; /* a loop's next turn begins with it, which is so many lines; 0: none does */
};

/* The line that is next, for cli_waiting_fini(); false: none waits. */
bool cli_queue_take(struct cli_repl *repl, struct cli_waiting *line);
void cli_waiting_fini(struct cli_waiting *line);
void cli_queue_drop(struct cli_repl *repl);

/* Has the lines of a loop's next turn, "while ..." to "end", run after those that wait for this
 * one, as lines of the depth at which the present one is. */
void cli_queue_turn(struct cli_repl *repl, char *const *lines, size_t count);

/* Has lines that run once take their turn there, at that depth, too. */
void cli_queue_lines(struct cli_repl *repl, char *const *lines, size_t count);

/* Drops what waits of the innermost loop: up to its next turn, or with `is_break` that too. False:
 * no loop is being run. */
bool cli_queue_leave_turn(struct cli_repl *repl, bool is_break);

/* Whether a line is this word, or begins with it. */
bool cli_line_is(const char *line, const char *word);

/* How many blocks a line begins (1) or ends (-1). */
int cli_line_nesting(const char *line);

/* Takes a line of the block that is being collected; with its end runs what waits for it. */
int cli_block_take(struct cli_repl *repl, const char *line);

/* No more lines come. */
void cli_block_drop(struct cli_repl *repl);

#endif
