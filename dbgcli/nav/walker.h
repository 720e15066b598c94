/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks at one time after the other, cheaply where they follow each other closely. */
#ifndef DBGCLI_NAV_WALKER_H
#define DBGCLI_NAV_WALKER_H

#include "dbgcli/nav/place.h"

/* All zero but `session` to begin with. */
struct cli_walker {
    struct cli_session *session;
    struct wetdbg_state *state; /* at `time`; NULL: nowhere yet */
    wetdbg_time time;
};

/* Goes to a time. Errors of wetdbg_state_open(); then the walker is nowhere. */
int cli_walker_go(struct cli_walker *walker, wetdbg_time time);
void cli_walker_fini(struct cli_walker *walker);

/*
 * The line that tells a person most of what happens at a moment: that of the innermost frame whose
 * source is here, else of the innermost with a line. If that is not the top one, *inner is the top
 * function, or its module ("memcpy"); else NULL.
 */
void cli_telling_place(struct cli_session *session, struct cli_moment *moment,
                       struct cli_place *place, const char **inner);

#endif
