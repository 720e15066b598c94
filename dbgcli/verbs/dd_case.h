/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One of the two minimal runs, recorded and opened, and what of the difference it took in. */
#ifndef DBGCLI_VERBS_DD_CASE_H
#define DBGCLI_VERBS_DD_CASE_H

#include "dbgcli/app.h"
#include "dbgcli/commands/session.h"
#include "dbgcli/verbs/dd_source.h"
#include <wetdbg/delta_record.h>

/* Embedded by its holder, all zero before. */
struct cli_dd_case {
    struct wetdbg_dd_recording *recording;
    const struct wetdbg_dd_recorded *recorded;
    struct cli_session session;
    struct cli_dd_sources texts;
    struct wetdbg_criterion *sources[CLI_DD_SOURCES_MAX]; /* those of `texts` that the run read */
    size_t source_count;
};

/* Records the program on the failing input, or the passing one, and opens its trace.
 * cli_dd_case_close() is due after any result; the recording is removed then unless it
 * `is_kept`. */
int cli_dd_case_open(struct cli_app *app, const struct wetdbg_dd_options *how,
                     const struct wetdbg_dd_bytes *input, const struct wetdbg_dd_place *place,
                     struct cli_dd_case *run);
void cli_dd_case_close(struct cli_dd_case *run, bool is_kept);

/* Finds the sources; 0 also if its input has nothing of the difference. If the run read none of
 * what there is, the error of the first one. */
int cli_dd_case_find_sources(struct cli_dd_case *run, const struct wetdbg_dd_options *how,
                             const struct wetdbg_dd_result *found, bool is_fail);

#endif
