/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `wetdbg dd` does with its result: the minimal failing run recorded, and the failure-inducing
 * chop of it. */
#ifndef DBGCLI_VERBS_DD_CHOP_H
#define DBGCLI_VERBS_DD_CHOP_H

#include "dbgcli/app.h"
#include <wetdbg/delta_record.h>

struct cli_dd_go_on {
    const char *dir;    /* where the recording goes; NULL: rr's place */
    bool is_kept;       /* the recording stays */
    const char *target; /* what is wrong, a criterion; NULL: what the oracle says */
};

/*
 * Records, builds, slices and prints, or adds to `object` unless that is NULL: "recording", "chop",
 * "chop_info", "no_chop_because". That there is no chop is said, and no error;
 * -WETDBG_ERR_INTERRUPTED is one.
 */
int cli_dd_chop(struct cli_app *app, const struct cli_dd_go_on *go_on,
                struct wetdbg_dd_options *how, const struct wetdbg_dd_result *found,
                json_t *object);

#endif
