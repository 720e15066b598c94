/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `slice` and `chop` are asked for, without showing it: `let` keeps it. */
#ifndef DBGCLI_COMMANDS_SLICE_MADE_H
#define DBGCLI_COMMANDS_SLICE_MADE_H

#include "dbgcli/commands/nearness.h"
#include "dbgcli/commands/session.h"
#include <wetdbg/set.h>

struct cli_made {
    struct wetdbg_set *set;    /* for wetdbg_set_free() */
    struct wetdbg_set *plain;  /* without what implicit dependences added; NULL: the same */
    struct cli_nearness *near; /* for cli_nearness_free() */
    uint64_t lines;            /* of source; CLI_LINES_UNKNOWN */
    double seconds;
};

/* Frees set, plain and near. */
void cli_made_fini(struct cli_made *made);

/* `args` as cli_cmd_slice() and cli_cmd_chop() get them, with the same errors. What is
 * sliced is the session's last slice from then on. */
int cli_slice_to_set(struct cli_session *session, const struct cli_args *args,
                     struct cli_made *made);
int cli_chop_to_set(struct cli_session *session, const struct cli_args *args,
                    struct cli_made *made);

/* The slice both ways of a criterion, which is taken over: counts and the nearest lines, as `slice
 * both` prints them, or as members of `object` if there is one. Errors of cli_slice_run(). */
int cli_slice_both_show(struct cli_session *session, struct wetdbg_criterion *criterion,
                        uint64_t limit, json_t *object);

#endif
