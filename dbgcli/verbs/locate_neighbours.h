/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Passing runs that nobody had to give: the program on inputs that are nearly the failing one. Each
 * is recorded, and of each it is known why it passes, and how far.
 */
#ifndef DBGCLI_VERBS_LOCATE_NEIGHBOURS_H
#define DBGCLI_VERBS_LOCATE_NEIGHBOURS_H

#include <stddef.h>

#include <wetdbg/delta_program.h>

#define CLI_PASSING_MAX    64 /* that somebody gave */
#define CLI_NEIGHBOURS_MAX 8

struct cli_locating; /* dbgcli/verbs/locate_steps.h */

struct cli_neighbour {
    char *wet_path;
    char *file; /* that has its input */
    char *
        counterpart; /* criterion of its last line of output, where what is wrong is output; NULL */
    char *words;     /* its input, and why it passes: "the first 5 of 6 lines of in.txt: ..." */
    uint64_t input_bytes;
};

/* All zero: none. They are the last ones of a locating's passing runs, in the same order. */
struct cli_neighbours {
    struct cli_neighbour list[CLI_NEIGHBOURS_MAX];
    size_t count;
};

/* What a neighbour's run has to be, so that it passes. */
struct cli_neighbour_run {
    const struct wetdbg_dd_options *how;
    struct wetdbg_dd_bytes input;
    int exit_status;
};

/* A step of `locate`: finds some, where nobody gave a passing run. 0 also if there are none, and
 * then what is missing is said; -ENOMEM, -WETDBG_ERR_INTERRUPTED. */
int cli_neighbours_find(struct cli_locating *self);

/* Records a run, sees that it passes, and takes it among the passing ones, open. `words` are taken
 * over. -WETDBG_ERR_NOT_FOUND, explained, if it did not pass when it was recorded; errors of
 * recording, building and opening. */
int cli_neighbours_add(struct cli_locating *self, const struct cli_neighbour_run *run, char *words);

void cli_neighbours_fini(struct cli_neighbours *neighbours);

#endif
