/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/dd_case.h"

#include <signal.h>
#include <stdlib.h>

#include "dbgcli/commands/slicing.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/verbs/build_run.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

static int record(const struct wetdbg_dd_options *how, const struct wetdbg_dd_bytes *input,
                  const struct wetdbg_dd_place *place, struct cli_dd_case *run)
{
    cli_interrupt_catch_all();
    int err = wetdbg_dd_record(how, input, place, &run->recording);
    int number = cli_interrupt_signal();
    cli_interrupt_release();
    if (err == -WETDBG_ERR_INTERRUPTED && number != SIGINT)
        wetdbg_die_of(number);
    if (!err)
        run->recorded = wetdbg_dd_recording_get(run->recording);
    return err;
}

int cli_dd_case_open(struct cli_app *app, const struct wetdbg_dd_options *how,
                     const struct wetdbg_dd_bytes *input, const struct wetdbg_dd_place *place,
                     struct cli_dd_case *run)
{
    struct wetdbg_build_options building = {0};
    char *path;
    double seconds;
    int err = record(how, input, place, run);
    if (!err)
        err = cli_build_wet(run->recorded->trace_dir, &building, &path, &seconds);
    if (err)
        return err;
    err = cli_session_open(&run->session, app->out, path);
    free(path);
    if (!err && wetdbg_is_trusted(run->recorded->trace_dir))
        wetdbg_trust(run->session.wet);
    return err;
}

void cli_dd_case_close(struct cli_dd_case *run, bool is_kept)
{
    for (size_t i = 0; i < run->source_count; i++)
        wetdbg_criterion_free(run->sources[i]);
    run->source_count = 0;
    cli_dd_sources_free(&run->texts);
    cli_session_close(&run->session);
    wetdbg_dd_recording_close(run->recording, is_kept);
    run->recording = NULL;
    run->recorded = NULL;
}

int cli_dd_case_find_sources(struct cli_dd_case *run, const struct wetdbg_dd_options *how,
                             const struct wetdbg_dd_result *found, bool is_fail)
{
    int err = 0, missed = 0;
    cli_dd_sources_make(how, found, is_fail, run->recorded->input, &run->texts);
    /* From the last on: the sentence that stays is that of the first. */
    for (size_t i = run->texts.count; i-- > 0 && !err;) {
        struct wetdbg_criterion *criterion;
        err = cli_criterion_parse(&run->session, run->texts.texts[i], false, &criterion);
        if (!err)
            run->sources[run->source_count++] = criterion;
        missed = err == -WETDBG_ERR_NOT_FOUND ? err : missed;
        err = err == -WETDBG_ERR_NOT_FOUND ? 0 : err;
    }
    return !err && !run->source_count ? missed : err;
}
