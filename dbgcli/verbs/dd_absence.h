/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What makes a run fail may be that something is missing from its input, and nothing of that can be
 * sliced from in the failing run. Then the passing run is recorded, too. The chop begins at the
 * first branch that went another way in the failing run; if nothing led from there to the failure,
 * since what did *not* run is to blame, it is one of the passing run: from what is missing to the
 * decision that was taken for the failure in the other one.
 */
#ifndef DBGCLI_VERBS_DD_ABSENCE_H
#define DBGCLI_VERBS_DD_ABSENCE_H

#include "dbgcli/commands/chop.h"
#include "dbgcli/verbs/dd_case.h"
#include <wetdbg/parting.h>

/* Embedded by its holder, all zero before. */
struct cli_dd_absence {
    struct cli_dd_case pass;
    bool has_parting;
    struct wetdbg_parting parting;
    struct wetdbg_criterion *branch; /* in the failing run */
    struct wetdbg_criterion
        *decision; /* in the passing run: there `chop` ends; NULL: it is of the failing run */
};

/* Records the passing run and opens it, unless it is open. Errors of cli_dd_case_open();
 * cli_dd_absence_fini() is due after any result. */
int cli_dd_absence_open(struct cli_app *app, const struct wetdbg_dd_options *how,
                        const struct wetdbg_dd_result *found, struct cli_dd_absence *absence);

/* Makes the chop. cli_dd_absence_fini() is due after any result, after cli_chop_fini(). */
int cli_dd_absence_chop(struct cli_app *app, struct cli_dd_case *fail,
                        const struct wetdbg_dd_options *how, const struct wetdbg_dd_result *found,
                        struct cli_dd_absence *absence, struct cli_chop *chop);
void cli_dd_absence_fini(struct cli_dd_absence *absence);

/* Where the runs part, and which of them the chop is of. */
void cli_dd_absence_print(const struct cli_dd_absence *absence, struct cli_dd_case *fail);
json_t *cli_dd_absence_json(const struct cli_dd_absence *absence, struct cli_dd_case *fail);

#endif
