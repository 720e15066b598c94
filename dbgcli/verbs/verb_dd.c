/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg dd`: delta debugging of what a program is given. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/exit_status.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/progress.h"
#include "dbgcli/verbs/dd_answer.h"
#include "dbgcli/verbs/dd_chop.h"
#include "dbgcli/verbs/memory_arg.h"
#include "dbgcli/verbs/verb.h"
#include "dbgcli/whole_file.h"
#include <wetdbg/delta.h>
#include <wetdbg/errors.h>
#include <wetdbg/own_file.h>
#include <wetdbg/record.h>

static const struct cli_option options[] = {
    {"fail", 0, "FILE", "the input that fails (with --unit=files: a directory)"},
    {"pass", 0, "FILE", "one that passes; without it, as little as possible is to fail"},
    {"crash", 0, NULL, "failing is: the same signal in the same function"},
    {"any-crash", 0, NULL, "failing is: any signal that dumps core"},
    {"expect", 0, "FILE", "failing is: the same first byte of output that is not as in FILE"},
    {"oracle", 0, "CMD", "failing is: CMD exits with 1; 0 is passing, others say nothing"},
    {"unit", 0, "UNIT", "byte (the default), line, token, tree; argv, env, files"},
    {"output", 'o', "FILE", "write the minimal failing input"},
    {"jobs", 0, "N", "tests that run at once; by default as many as there are processors"},
    {"runs", 0, "HOW", "quickest (the default), live, real: see below"},
    {"timeout", 0, "SECONDS", "for one run; by default 10 times what the failing one takes, and 1"},
    {"memory", 0, "SIZE", "for one run; by default half of the machine's, divided by the jobs"},
    {"disk", 0, "SIZE", "for what one run writes; by default 1G"},
    {"scratch", 0, NULL, "the program works in a directory of its own, which is removed"},
    {"restart", 0, NULL, "begin anew instead of going on after a kill"},
    {"no-chop", 0, NULL, "only the difference; nothing is recorded"},
    {"recording", 0, "DIR", "keep the recording in DIR, which must not exist yet"},
    {"no-keep", 0, NULL, "remove the recording when its chop was shown"},
    {"target", 0, "CRITERION", "what is wrong in the recorded run, as for 'slice'"},
    {"json", 0, NULL, "one JSON object"},
    {0},
};

const struct cli_syntax cli_dd_syntax = {
    .usage = "--fail=FILE [--pass=FILE] (--crash|--any-crash|--expect=FILE|--oracle=CMD)\n"
             "                 [--unit=UNIT] [OPTION]... [--] PROGRAM [ARG]...",
    .options = options,
    .operands_max = CLI_OPERANDS_ANY,
    .ends_at_operand = true,
    .details =
        "Runs the program on parts of the failing input until no single unit can go (ddmin);\n"
        "with --pass, until what is between a passing and a failing input is minimal (dd).\n"
        "The program finds its input in a file, whose name stands for each @@ in its words or\n"
        "for the word that is FILE; else it is the standard input. It runs as it is, not\n"
        "recorded; what it starts is ended with it.\n"
        "CMD is for sh; it has the program's output as standard input, and WETDBG_INPUT,\n"
        "WETDBG_OUTPUT, WETDBG_ERRORS (names of files) and WETDBG_STATUS (128 + N for signal N)\n"
        "in its environment, and all rights that you have. It may do without PROGRAM: its input "
        "is\n"
        "then the candidate.\n"
        "With --unit=argv or env there is no --fail: the command line is what fails.\n"
        "A live run starts no program: the failing run, recorded once, goes on from its first\n"
        "look at the input with other bytes, and cannot touch the machine. --runs=quickest asks\n"
        "live runs where they are possible and measured to be quicker, live where they are\n"
        "possible, real never. They are not with --unit=argv, env or files, --memory or --disk.\n"
        "Real runs confirm the result. Where a live run changed files here, CMD works in a\n"
        "directory with links to what is here and with what the run left: use relative names.\n"
        "Then the program is recorded on the minimal failing input, and what of its run depends\n"
        "on the difference and led to the failure (the crash, the first wrong byte, the exit\n"
        "status) is shown as 'chop' does. The recording stays in rr's place, for 'wetdbg replay'.\n"
        "After an interruption the same command goes on; FILE.dd-journal has the tests so far.",
    .example = "wetdbg dd --fail=bad.json --pass=good.json --crash -o min.json -- ./parse @@",
};

/* ---- options ---- */

static int oracle_from(const struct cli_args *args, struct wetdbg_dd_options *how)
{
    static const struct {
        const char *name;
        enum wetdbg_dd_oracle oracle;
    } rows[] = {
        {"crash", WETDBG_DD_CRASH},
        {"any-crash", WETDBG_DD_ANY_CRASH},
        {"expect", WETDBG_DD_EXPECT},
        {"oracle", WETDBG_DD_COMMAND},
    };
    unsigned given = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (cli_args_has(args, rows[i].name)) {
            how->oracle = rows[i].oracle;
            given++;
        }
    if (given == 1)
        return 0;
    return wetdbg_fail(-WETDBG_ERR_USAGE,
                       "dd: %s of --crash, --any-crash, --expect and --oracle says what failing is",
                       given ? "only one" : "one");
}

static int unit_from(const struct cli_args *args, struct wetdbg_dd_options *how)
{
    static const char *const names[] = {
        [WETDBG_DD_BYTE] = "byte",  [WETDBG_DD_LINE] = "line", [WETDBG_DD_TOKEN] = "token",
        [WETDBG_DD_TREE] = "tree",  [WETDBG_DD_ARGV] = "argv", [WETDBG_DD_ENV] = "env",
        [WETDBG_DD_FILES] = "files"};
    const char *value = cli_args_value(args, "unit");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(value ? value : "byte", names[i]) == 0) {
            how->unit = (enum wetdbg_dd_unit)i;
            return 0;
        }
    return wetdbg_fail(-WETDBG_ERR_USAGE,
                       "dd: --unit is byte, line, token, tree, argv, env or files, not '%s'",
                       value);
}

static int runs_from(const struct cli_args *args, struct wetdbg_dd_options *how)
{
    static const char *const names[] = {[WETDBG_DD_RUNS_QUICKEST] = "quickest",
                                        [WETDBG_DD_RUNS_LIVE] = "live",
                                        [WETDBG_DD_RUNS_REAL] = "real"};
    const char *value = cli_args_value(args, "runs");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(value ? value : "quickest", names[i]) == 0) {
            how->runs = (enum wetdbg_dd_runs)i;
            return 0;
        }
    return wetdbg_fail(-WETDBG_ERR_USAGE, "dd: --runs is quickest, live or real, not '%s'", value);
}

static int limits_from(const struct cli_args *args, struct wetdbg_dd_options *how)
{
    const char *timeout = cli_args_value(args, "timeout");
    uint64_t jobs;
    char *end;
    int err = cli_args_number(args, "jobs", 0, &jobs);
    if (!err)
        err = cli_memory_parse(args, &how->memory_bytes);
    if (!err)
        err = cli_size_parse(args, "disk", 1u << 20, &how->disk_bytes);
    if (err)
        return err;
    if (cli_args_has(args, "jobs") && (!jobs || jobs > WETDBG_DELTA_JOBS_MAX))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "dd: --jobs is 1 to %d, not '%s'",
                           WETDBG_DELTA_JOBS_MAX, cli_args_value(args, "jobs"));
    how->jobs = (unsigned)jobs;
    how->timeout_s = timeout ? strtod(timeout, &end) : 0;
    if (timeout && (end == timeout || *end || !(how->timeout_s > 0 && how->timeout_s <= 1e6)))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "dd: --timeout is a number of seconds, not '%s'",
                           timeout);
    return 0;
}

/* Beside the failing input, if somebody may write there; else nowhere. To be freed. */
static char *journal_name(const struct wetdbg_dd_options *how)
{
    const char *name = how->fail ? how->fail : "wetdbg";
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] == '/')
        length--;
    size_t directory = length;
    while (directory && name[directory - 1] != '/')
        directory--;
    char *place = directory ? cli_asprintf("%.*s", (int)directory, name) : cli_strdup(".");
    bool is_writable = access(place, W_OK | X_OK) == 0;
    free(place);
    return is_writable ? cli_asprintf("%.*s.dd-journal", (int)length, name) : NULL;
}

static int how_from(const struct cli_args *args, struct wetdbg_dd_options *how)
{
    const char *kept = cli_args_value(args, "output");
    *how = (struct wetdbg_dd_options){
        .argv = args->operands,
        .fail = cli_args_value(args, "fail"),
        .pass = cli_args_value(args, "pass"),
        .command = cli_args_value(args, "oracle"),
        .expect = cli_args_value(args, "expect"),
        .is_scratch = cli_args_has(args, "scratch"),
        .is_fresh = cli_args_has(args, "restart"),
        .interrupted = cli_interrupt_flag(),
    };
    int err = oracle_from(args, how);
    if (!err)
        err = unit_from(args, how);
    if (!err)
        err = runs_from(args, how);
    if (!err)
        err = limits_from(args, how);
    return err || !kept ? err : wetdbg_own_file_check_goal(kept);
}

/* ---- the search ---- */

static void on_progress(void *arg, uint64_t tests, uint64_t live, size_t left, size_t total)
{
    char text[120], of_them[40] = "";
    if (live)
        snprintf(of_them, sizeof(of_them), " (%" PRIu64 " live)", live);
    snprintf(text, sizeof(text), "%" PRIu64 " tests%s, %zu of %zu left", tests, of_them, left,
             total);
    cli_progress_say(arg, text);
}

static int search(struct wetdbg_dd_options *how, struct wetdbg_dd_result *found)
{
    struct cli_progress progress;
    how->progress = on_progress;
    how->arg = &progress;
    cli_progress_begin(&progress, stderr);
    cli_interrupt_catch_all();
    int err = wetdbg_dd(how, found);
    int number = cli_interrupt_signal();
    cli_interrupt_release();
    cli_progress_end(&progress);
    if (err == -WETDBG_ERR_INTERRUPTED && how->journal)
        err = wetdbg_fail(err, "interrupted; the same command goes on from here");
    if (err == -WETDBG_ERR_INTERRUPTED && number != SIGINT)
        wetdbg_die_of(number);
    return err;
}

/* ---- what comes after it ---- */

static int go_on_from(const struct cli_args *args, struct cli_dd_go_on *go_on)
{
    static const char *const of_recording[] = {"recording", "no-keep", "target"};
    *go_on = (struct cli_dd_go_on){
        .dir = cli_args_value(args, "recording"),
        .is_kept = !cli_args_has(args, "no-keep"),
        .target = cli_args_value(args, "target"),
    };
    for (size_t i = 0; i < sizeof(of_recording) / sizeof(*of_recording); i++)
        if (cli_args_has(args, "no-chop") && cli_args_has(args, of_recording[i]))
            return wetdbg_fail(-WETDBG_ERR_USAGE, "dd: with --no-chop there is no --%s",
                               of_recording[i]);
    if (go_on->dir && !go_on->is_kept)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "dd: --no-keep leaves nothing for --recording");
    return go_on->dir && access(go_on->dir, F_OK) == 0
               ? wetdbg_fail(-EEXIST, "%s is there already", go_on->dir)
               : 0;
}

static int answer(struct cli_app *app, const struct cli_args *args, struct wetdbg_dd_options *how,
                  const struct cli_dd_go_on *go_on, const struct wetdbg_dd_result *found)
{
    const char *kept = cli_args_value(args, "output");
    bool has_chop = how->argv[0] && !cli_args_has(args, "no-chop");
    int err = kept ? cli_whole_file_write(kept, found->fail.data, found->fail.size) : 0,
        interrupted = 0;
    if (app->out->json) {
        json_t *object = cli_dd_json(how, found);
        if (has_chop)
            interrupted = cli_dd_chop(app, go_on, how, found, object);
        cli_out_json(app->out, object);
        return interrupted ? cli_exit_status(interrupted) : err;
    }
    cli_dd_print(app->out, how, found);
    if (!has_chop)
        cli_dd_print_next(app->out, how, found, err ? NULL : kept);
    fflush(app->out->stream);
    if (has_chop)
        interrupted = cli_dd_chop(app, go_on, how, found, NULL);
    return interrupted ? interrupted : err;
}

int cli_dd_run(struct cli_app *app, const struct cli_args *args)
{
    struct wetdbg_dd_options how;
    struct wetdbg_dd_result found;
    struct cli_dd_go_on go_on;
    int err = how_from(args, &how);
    if (!err)
        err = go_on_from(args, &go_on);
    if (err)
        return err;
    char *journal = journal_name(&how);
    how.journal = journal;
    err = search(&how, &found);
    free(journal);
    how.journal = NULL;
    if (err)
        return err;
    err = answer(app, args, &how, &go_on, &found);
    wetdbg_dd_result_fini(&found);
    return err;
}
