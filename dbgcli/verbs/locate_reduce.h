/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The failing input, made smaller while the program still fails in the same way, by the searches of
 * `wetdbg dd`. A run on what is left then takes the place of the failing one: it executed less, its
 * slices are smaller, and more switched runs of it go into the time that there is. What it did not
 * execute is suspected no more.
 */
#ifndef DBGCLI_VERBS_LOCATE_REDUCE_H
#define DBGCLI_VERBS_LOCATE_REDUCE_H

#include "dbgcli/commands/session.h"
#include "dbgcli/verbs/locate_near.h"
#include <wetdbg/delta_program.h>

struct cli_locating; /* dbgcli/verbs/locate_steps.h */

/* All zero: nothing was reduced. */
struct cli_reduced {
    char *file; /* that has the smaller input; NULL: there is none */
    struct wetdbg_dd_bytes input;
    uint64_t of;     /* bytes of the original one */
    bool is_minimal; /* no byte of it could go; else there was no time to see that */
    uint64_t tests;
    char *wet_path; /* of the run on it, which took the failing one's place; NULL: none did */
    struct cli_session session;
    struct cli_near near; /* inputs that pass, of those that were tried */
};

/*
 * A step of `locate`: reduces the input, within a share of the time that is left, if something says
 * whether a smaller one fails in the same way. 0 also if nothing does, or it cannot be smaller;
 * then what is missing is said. -ENOMEM, -WETDBG_ERR_INTERRUPTED.
 */
int cli_reduce(struct cli_locating *self);

/* After everything that is of its session is freed. */
void cli_reduced_fini(struct cli_reduced *reduced);

#endif
