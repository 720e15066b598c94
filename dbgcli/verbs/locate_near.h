/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs that pass among those that a reduction tried: the latest ones are the nearest to what it
 * finds in the end. */
#ifndef DBGCLI_VERBS_LOCATE_NEAR_H
#define DBGCLI_VERBS_LOCATE_NEAR_H

#include <stddef.h>

#include <wetdbg/delta_program.h>

#define CLI_NEAR_KEPT 64

struct cli_locating; /* dbgcli/verbs/locate_steps.h */

/* All zero: none. A ring. */
struct cli_near {
    struct wetdbg_dd_bytes kept[CLI_NEAR_KEPT];
    size_t count; /* that were ever kept */
};

/* Keeps a copy of an input that passed, in the place of the oldest one. */
void cli_near_keep(struct cli_near *near, const struct wetdbg_dd_bytes *input);

/* Adds the ones that are nearest to the failing input, and parts of it with one byte replaced, to
 * the passing runs, as far as they pass in a real run. Errors of cli_neighbours_add(). */
int cli_near_find(struct cli_locating *self);

void cli_near_fini(struct cli_near *near);

#endif
