/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg replay` and `wetdbg open`. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "dbgcli/trace_arg.h"
#include "dbgcli/verbs/build_run.h"
#include "dbgcli/verbs/memory_arg.h"
#include "dbgcli/verbs/session_run.h"
#include "dbgcli/verbs/verb.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

static const struct cli_option replay_options[] = {
    {"output", 'o', "FILE.wet", "build the trace anew, and keep it in FILE.wet"},
    CLI_SESSION_OPTIONS,
    {"process", 0, "P", "the process to replay: PID, NAME or NAME#N, as in 'wetdbg ps'"},
    {"compact", 0, NULL, "build the trace anew, smaller; that and questions take longer"},
    {"from", 0, "MOMENT", "build only the part of the run from this moment on:"},
    {"to", 0, "MOMENT", "and up to this one: a time (12345), an event (e678), or 40%"},
    {"jobs", 0, "N", "use N processors; by default all"},
    CLI_MEMORY_OPTION,
    {"no-trace", 0, NULL, "only check that the recording replays; keep nothing"},
    {"trust", 0, NULL, "no wall around what was recorded: faster, for recordings of your own"},
    {0},
};

const struct cli_syntax cli_replay_syntax = {
    .usage = "[TRACE] [-o FILE.wet] [-e COMMAND]... [-x SCRIPT]... [--batch] [--json]\n"
             "                     [--process=P] [--compact] [--from=MOMENT] [--to=MOMENT]\n"
             "                     [--jobs=N] [--memory=SIZE] [--no-trace] [--trust]",
    .options = replay_options,
    .operands_max = 1,
    .details =
        "Without TRACE the newest recording is taken. The first time, the recording is\n"
        "replayed and its whole execution trace kept, in the recording's directory or\n"
        "below $XDG_CACHE_HOME/wetdbg; after that it is opened at once.\n"
        "Of several processes the one that crashed is taken, else where the failure of the\n"
        "first one came from, else the first one; 'wetdbg ps' lists and marks them.\n"
        "A window (--from, --to) keeps the times of the whole run; what is before its start\n"
        "is replayed, but not kept. Events are those of 'wetdbg dump', N% is of their number.\n"
        "A recording that was not made here, or was altered since, runs behind a wall: it\n"
        "cannot harm, and takes longer.\n"
        "A build that was interrupted or killed is gone on with by the same command.\n"
        "A script may hold comments, lines that begin with '#'; it ends at the first\n"
        "command that fails.",
};

static const struct cli_option open_options[] = {
    CLI_SESSION_OPTIONS,
    CLI_MEMORY_OPTION,
    {0},
};

const struct cli_syntax cli_open_syntax = {
    .usage = "FILE.wet [-e COMMAND]... [-x SCRIPT]... [--batch] [--json] [--memory=SIZE]",
    .options = open_options,
    .operands_min = 1,
    .operands_max = 1,
    .details =
        "Neither the recording nor rr is needed. What the file has to run again runs behind\n"
        "a wall, whoever made it.",
};

static int verify(struct cli_app *app, const char *trace_dir, struct wetdbg_build_options *how)
{
    struct cli_out *out = app->out;
    struct wetdbg_replay_result numbers;
    int err = cli_build_verify(trace_dir, how, &numbers);
    if (err)
        return err;
    if (!out->json) {
        fprintf(out->stream,
                "replayed as recorded: %" PRIu64 " events checked, %" PRIu64
                " instructions, %.2f s\n",
                numbers.events_checked, numbers.instructions, numbers.seconds);
        if (numbers.asynchronous)
            fprintf(out->stream,
                    "asynchronous events placed: %" PRIu64 ", of them ambiguous: %" PRIu64 "\n",
                    numbers.asynchronous, numbers.ambiguous);
        return 0;
    }
    json_t *object = cli_json_object("wetdbg.replay/1");
    cli_json_set(object, "trace", cli_json_text(trace_dir));
    cli_json_set(object, "events_checked", cli_json_count(numbers.events_checked));
    cli_json_set(object, "instructions", cli_json_count(numbers.instructions));
    cli_json_set(object, "nodes", cli_json_count(numbers.nodes));
    cli_json_set(object, "seconds", json_real(numbers.seconds));
    cli_json_set(object, "asynchronous", cli_json_count(numbers.asynchronous));
    cli_json_set(object, "ambiguous", cli_json_count(numbers.ambiguous));
    cli_json_set(object, "unfinished", json_boolean(numbers.is_unfinished));
    cli_out_json(out, object);
    return 0;
}

static int check_options(const struct cli_args *args)
{
    static const char *const needless[] = {"output", "e", "x"};
    for (size_t i = 0; i < sizeof(needless) / sizeof(*needless); i++)
        if (cli_args_has(args, "no-trace") && cli_args_has(args, needless[i]))
            return wetdbg_fail(-WETDBG_ERR_USAGE, "replay: --no-trace leaves nothing for -%c",
                               needless[i][0]);
    static const char *const of_building[] = {"compact", "from", "to", "jobs", "memory"};
    for (size_t i = 0; i < sizeof(of_building) / sizeof(*of_building); i++)
        if (cli_args_has(args, "no-trace") && cli_args_has(args, of_building[i]))
            return wetdbg_fail(-WETDBG_ERR_USAGE,
                               "replay: --no-trace keeps nothing that --%s could change",
                               of_building[i]);
    return 0;
}

static bool is_wet_file(const char *name)
{
    struct stat is;
    return cli_is_wet_name(name) && stat(name, &is) == 0 && S_ISREG(is.st_mode);
}

/* NULL is the newest one. What was given may be for the other verb: a file of a built trace. */
static int find_recording(const char *name, char **trace_dir)
{
    if (name && is_wet_file(name))
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "%s is not a trace directory: 'wetdbg open %s' opens .wet files", name,
                           name);
    return wetdbg_recording_find(name, trace_dir);
}

/* A recording, or nothing; files are left to whoever reads them. */
static int check_wet(const char *name)
{
    struct stat is;
    char *trace_dir;
    bool is_there = stat(name, &is) == 0;
    if (!is_there && errno != ENOENT)
        return wetdbg_fail_errno("%s", name);
    if (is_there && !S_ISDIR(is.st_mode))
        return 0;
    if (wetdbg_recording_find(name, &trace_dir) == 0) {
        free(trace_dir);
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s is a recording: 'wetdbg replay %s' opens it",
                           name, name);
    }
    return is_there ? 0 : wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s: no such .wet file", name);
}

int cli_replay_run(struct cli_app *app, const struct cli_args *args)
{
    struct wetdbg_build_options how;
    char *trace_dir, *wet_path;
    double seconds;
    int err = check_options(args);
    if (!err)
        err = cli_build_options_parse(args, &how);
    if (!err)
        err = find_recording(args->operands[0], &trace_dir);
    if (err)
        return err;
    if (cli_args_has(args, "no-trace")) {
        err = verify(app, trace_dir, &how);
    } else {
        err = cli_build_wet(trace_dir, &how, &wet_path, &seconds);
        if (!err) {
            const struct cli_wet wet = {.path = wet_path,
                                        .build_seconds = seconds,
                                        .is_trusted =
                                            how.is_trusted || wetdbg_is_trusted(trace_dir)};
            err = cli_session_run(app, args, &wet);
            free(wet_path);
        }
    }
    free(trace_dir);
    return err;
}

int cli_open_run(struct cli_app *app, const struct cli_args *args)
{
    const struct cli_wet wet = {.path = args->operands[0]};
    int err = check_wet(wet.path);
    return err ? err : cli_session_run(app, args, &wet);
}
