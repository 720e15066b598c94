/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sources and a target have in common, made and shown: for `chop`, and for `wetdbg dd`, which
 * goes on with it. */
#ifndef DBGCLI_COMMANDS_CHOP_H
#define DBGCLI_COMMANDS_CHOP_H

#include "dbgcli/commands/slice_manner.h"
#include <wetdbg/set.h>

/* Session, kinds, target and what is kept are filled in by its holder, the rest by
 * cli_chop_make(). */
struct cli_chop {
    struct cli_session *session;
    enum wetdbg_slice_kinds kinds;
    bool keeps_parents; /* of its members, for trees and pictures */
    const struct wetdbg_criterion *target;
    const struct wetdbg_criterion *source; /* the earliest one */
    struct wetdbg_set *forward, *backward, *both;
    struct wetdbg_slice *linked; /* it, with parents; else NULL */
    struct cli_nearness *near;   /* to source and target together; NULL in JSON */
    uint64_t unknown_calls;      /* in the backward slice */
    double seconds;              /* of the slices */
};

/* Slices forward from all sources, one at least, and backward from the target. Of several sources
 * those do not matter that nothing comes after. Errors of cli_slice_run(); cli_chop_fini() is due
 * after any result. */
int cli_chop_make(struct cli_chop *chop, struct wetdbg_criterion *const *sources, size_t count);
void cli_chop_fini(struct cli_chop *chop);

/* Why nothing led from the one to the other, and what to try; NULL if something did. */
const char *cli_chop_why_empty(const struct cli_chop *chop);

/* Counts, the reason if it is empty, lines; or what `manner` (NULL: lines) says. `view` as for
 * cli_slice_view_open(), which it opens and closes. */
int cli_chop_print(const struct cli_chop *chop, struct cli_slice_view *view,
                   const struct cli_slice_manner *manner);

/* The same as members of an object. */
int cli_chop_to_json(const struct cli_chop *chop, struct cli_slice_view *view,
                     const struct cli_slice_manner *manner, json_t *object);

#endif
