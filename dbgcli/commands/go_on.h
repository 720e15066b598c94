/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Going on through the run until something stops it, and saying what did. */
#ifndef DBGCLI_COMMANDS_GO_ON_H
#define DBGCLI_COMMANDS_GO_ON_H

#include "dbgcli/commands/breakpoints.h"

/* What moves a session stops at, besides its breakpoints: places that are not kept. */
struct cli_stop_search {
    wetdbg_time to; /* not beyond the state at that time */
    bool is_back;
    const uint64_t *pcs; /* may be NULL */
    size_t pc_count;
    const struct wetdbg_thread *thread; /* of `pcs`: only that thread; NULL: any */
    wetdbg_time time;                   /* found */
    bool is_at_pcs;                     /* ... at one of `pcs` */
};

/* Looks from the session's time on. 1: it stops at search->time; 0: it does not; or an error.
 * Nothing has moved yet. */
int cli_stops_find(struct cli_session *session, struct cli_stop_search *search);

/* Stands where the search stopped, in the thread that did, and says which breakpoints did; and
 * looks after those: temporary ones go, commands are left to the prompt. */
int cli_stops_arrive(struct cli_repl *repl, const struct cli_stop_search *search);

#endif
