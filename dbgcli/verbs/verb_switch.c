/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg switch`: which decision of a failing run, made the other way, makes it right. */
#include <stdlib.h>

#include "dbgcli/commands/switching.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/verbs/build_run.h"
#include "dbgcli/verbs/harness.h"
#include "dbgcli/verbs/recorded_run.h"
#include "dbgcli/verbs/switch_wrap.h"
#include "dbgcli/verbs/verb.h"
#include <wetdbg/errors.h>

static const struct cli_option options[] = {
    CLI_SWITCHING_OPTIONS,
    CLI_HARNESS_OPTIONS("; right is: it passes"),
    {"wrap", 0, NULL, "run the test PROGRAM; if it fails, tell why; end as it did"},
    {"json", 0, NULL, "one JSON object for each finding, and a last one"},
    {"tap", 0, NULL, "the answer as TAP, version 13, with a YAML block"},
    {"junit", 0, "FILE", "the answer as JUnit's XML in FILE, too"},
    {0},
};

const struct cli_syntax cli_switch_syntax = {
    .usage = "(--expect=FILE|--oracle=CMD|--no-crash|--harness) [OPTION]...\n"
             "                     TRACE|FILE.wet|[--] PROGRAM [ARG]... | --ctest=NAME [OPTION]...",
    .options = options,
    .operands_max = CLI_OPERANDS_ANY,
    .ends_at_operand = true,
    .details =
        "Runs a failing run again with one decision the other way, and the next one, until\n"
        "one of them makes it right: a critical predicate. A model answers the system calls\n"
        "of these runs, which touch no file, process or network of this machine.\n"
        "A PROGRAM is recorded first.\n" CLI_SWITCHING_DETAILS
        "--ctest and --harness take a failing test: it is run, recorded, and the process searched\n"
        "whose failing made it fail. Of cmocka, Check, CUnit, GoogleTest, Unity and TAP the case\n"
        "that failed has to become ok. docs/harnesses.md has recipes for CI.\n"
        "Exit status 0: found, 1: none is right, 125: none, and some runs were unresolved, or\n"
        "what was named is not there; others are those of all verbs.\n"
        "The same command goes on after an end; FILE.wet.switch-journal has the answers so far.",
    .example = "wetdbg switch --expect=right.txt -- ./report 2024-02-29",
};

/* ---- a test ---- */

/* The .wet file of the test's process. */
static int find_wet_of_test(const struct cli_args *args, struct cli_harness **harness, char **path)
{
    struct wetdbg_build_options how = {.interrupted = cli_interrupt_flag(), .is_trusted = true};
    double seconds;
    int err = cli_harness_open(args, harness);

    if (err)
        return err;
    how.process = (*harness)->process;
    return cli_build_wet((*harness)->trace_dir, &how, path, &seconds);
}

static int check_options(const struct cli_args *args)
{
    int err = cli_switching_check(args, cli_harness_is_asked(args));

    if (!err)
        err = cli_harness_check(args);
    if (!err && cli_args_has(args, "tap") && cli_args_has(args, "json"))
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "switch: only one of --json and --tap");
    return err;
}

/* One that passes is an error, but for --wrap. */
static int fail_to_begin(int err)
{
    if (err != CLI_HARNESS_PASSES)
        return err;
    return cli_switch_is_wrapped() ? 0 : wetdbg_fail(-WETDBG_ERR_USAGE, "%s", wetdbg_error(err));
}

/* ---- the verb ---- */

int cli_switch_run(struct cli_app *app, const struct cli_args *args)
{
    struct cli_harness *harness = NULL;
    struct cli_session session;
    char *wet_path;
    bool is_trusted = true;

    if (cli_args_has(args, "wrap"))
        return cli_switch_wrap(args);
    int err = check_options(args);
    if (!err)
        err = cli_harness_is_asked(args)
                  ? find_wet_of_test(args, &harness, &wet_path)
                  : cli_recorded_run_find(args->name, args->operands, NULL, &wet_path, &is_trusted);
    if (err) {
        cli_harness_free(harness);
        return fail_to_begin(err);
    }
    err = cli_session_open(&session, app->out, wet_path);
    if (!err) {
        if (is_trusted)
            wetdbg_trust(session.wet);
        err = cli_switching_run(&session, wet_path, args, harness, false);
        cli_session_close(&session);
    }
    cli_harness_free(harness);
    free(wet_path);
    return err;
}
