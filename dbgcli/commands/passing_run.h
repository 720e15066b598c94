/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run of the program that passes, beside the session's failing one. */
#ifndef DBGCLI_COMMANDS_PASSING_RUN_H
#define DBGCLI_COMMANDS_PASSING_RUN_H

#include "dbgcli/commands/session.h"

/* With a session of its own that only slices. All zero but the name before it is opened. */
struct cli_passing_run {
    const char *name; /* a FILE.wet or a recording, as it was given */
    bool is_trusted;  /* a FILE.wet of that name is the user's own */
    /* What in it corresponds to what is wrong in the failing run, where somebody knows better than
     * find_criterion() does; else NULL. Borrowed. */
    const char *counterpart;
    struct cli_session session;
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice; /* NULL: nothing corresponds */
};

/* Opens it; of a recording the .wet file is built if there is none. -WETDBG_ERR_USAGE for a run of
 * another program, and for one that the same signal ended; errors of building and of wetdbg_open().
 * cli_passing_run_close() is due also after an error. */
int cli_passing_run_open(struct cli_session *failing, struct cli_passing_run *run);
void cli_passing_run_close(struct cli_passing_run *run);

/* Slices what corresponds to the failing run's criterion, without parents; 0 also if there is
 * nothing. Errors of slices. */
int cli_passing_run_slice(struct cli_session *failing, const struct wetdbg_criterion *criterion,
                          const struct wetdbg_slice_options *how, bool is_forward,
                          struct cli_passing_run *run);

#endif
