/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A path of dependences as people read it: what a loop repeats is shown once. */
#ifndef DBGCLI_COMMANDS_HOP_ROWS_H
#define DBGCLI_COMMANDS_HOP_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include <wetdbg/slice.h>

/* Hops of a path that are shown together: `count` ones, and the same again so many times. */
struct cli_hop_row {
    size_t first, count, repeats;
};

/* The rows of a path, to be freed; unless it `folds`, one for each hop. Dies where memory is
 * short. */
struct cli_hop_row *cli_hop_rows_make(const struct wetdbg_slice_path *path, bool folds,
                                      size_t *count);

#endif
