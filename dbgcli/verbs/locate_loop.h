/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loop that a run was in when it was ended from outside. */
#ifndef DBGCLI_VERBS_LOCATE_LOOP_H
#define DBGCLI_VERBS_LOCATE_LOOP_H

#include <stdint.h>

#include <wetdbg/wet.h>

struct cli_loop {
    uint64_t exit_pc;         /* the conditional branch that decided to stay in it ... */
    wetdbg_time last, before; /* ... when it did so last, and the time before that */
};

/*
 * Finds, of the thread that runs last, the outermost loop of own code that went round at least
 * twice in the last quarter of the run and had not been left. What is called in the loop may have
 * loops of its own, which end. Branches whose other way ends the program (a failed assertion) count
 * only where there are no others. -WETDBG_ERR_NOT_FOUND if there is none: it waits, or calls
 * itself; -ENOMEM; errors of running an interval.
 */
int cli_loop_find(struct wetdbg *wet, struct cli_loop *loop);

#endif
