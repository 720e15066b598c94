/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a program may be run many times more without being asked for it. */
#ifndef DBGCLI_VERBS_LOCATE_RERUN_H
#define DBGCLI_VERBS_LOCATE_RERUN_H

#include "dbgcli/commands/session.h"

/*
 * What a run did that stays behind it, and that another one on another input might do elsewhere: it
 * wrote, removed or renamed files that are not temporary, started programs, talked to sockets.
 * *why is in words, to be freed; NULL: nothing. Passes over the run's events; errors of the wet.
 */
int cli_locate_rerun_check(struct cli_session *session, char **why);

struct cli_locating; /* dbgcli/verbs/locate_steps.h */

/* Whether the located program may be run again with another input: it has one, nobody said --once,
 * and nothing that it did stays. If not, the reason is among what is missing. Errors as above. */
int cli_locate_may_rerun(struct cli_locating *self, bool *may_run);

#endif
