/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg info`: facts about the run of a recording or of a .wet file. */
#include <stdlib.h>
#include <sys/stat.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/run_facts.h"
#include "dbgcli/verbs/build_run.h"
#include "dbgcli/verbs/verb.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>
#include <wetdbg/wet.h>

static const struct cli_option options[] = {
    {"json", 0, NULL, "one JSON object"},
    {"process", 0, "P", "of a recording: the process, as for replay"},
    {0},
};

const struct cli_syntax cli_info_syntax = {
    .usage = "[--json] [--process=P] TRACE|FILE.wet",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .details = "Of a recording that was not replayed yet the whole execution trace is built.",
};

/* Finds the file that is meant: a plain file is taken for a .wet; everything else names a
 * recording. */
static int find_wet(const char *name, const char *process, char **wet_path, double *seconds)
{
    struct stat status;
    char *trace_dir;
    *seconds = 0;
    if (stat(name, &status) == 0 && S_ISREG(status.st_mode)) {
        if (process)
            return wetdbg_fail(-WETDBG_ERR_USAGE, "info: --process goes with a recording only");
        *wet_path = cli_strdup(name);
        return 0;
    }
    int err = wetdbg_recording_find(name, &trace_dir);
    if (err)
        return err;
    struct wetdbg_build_options how = {.process = process};
    err = cli_build_wet(trace_dir, &how, wet_path, seconds);
    free(trace_dir);
    return err;
}

int cli_info_run(struct cli_app *app, const struct cli_args *args)
{
    struct wetdbg *wet;
    char *wet_path;
    double seconds;
    int err = find_wet(args->operands[0], cli_args_value(args, "process"), &wet_path, &seconds);
    if (err)
        return err;
    err = wetdbg_open(wet_path, &wet);
    free(wet_path);
    if (err)
        return err;
    cli_facts_print(app->out, wet, seconds);
    wetdbg_close(wet);
    return 0;
}
