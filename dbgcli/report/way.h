/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way from a suspect to what is wrong: the shortest path of dependences, as `why` has it, in
 * the order in which things happened, in steps that a person takes. */
#ifndef DBGCLI_REPORT_WAY_H
#define DBGCLI_REPORT_WAY_H

#include "dbgcli/nav/place.h"
#include <wetdbg/locate.h>

/* Hops that follow each other on one own line, or outside of own code. */
struct cli_step {
    size_t early, late; /* of the path's hops; `early` ran first, so that it is the larger one */
    bool is_own;
    struct cli_place place; /* of the first hop */
    /* A loop: this step and the ones behind it, `turn` in all, happened so many times more before.
     * 0: it does not begin such. */
    size_t repeats, turn;
};

struct cli_way {
    const struct wetdbg_suspect *suspect;
    size_t rank;
    struct wetdbg_slice_path *path; /* owned */
    struct cli_step *steps;
    size_t count;
};

/* Finds it. -WETDBG_ERR_NOT_FOUND, without a sentence, if the slice does not have the suspect;
 * errors of paths. cli_way_fini() is due after success. */
int cli_way_find(struct cli_session *session, const struct wetdbg_slice *slice,
                 const struct wetdbg_suspect *suspect, struct cli_way *way);
void cli_way_fini(struct cli_way *way);

/* How many hops a step is. */
static inline size_t cli_step_hops(const struct cli_step *step)
{
    return step->early - step->late + 1;
}

#endif
