/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg locate`: asks all the questions itself, and ranks the lines to suspect. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/slice_drawing.h"
#include "dbgcli/commands/switching.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/report/locate_html.h"
#include "dbgcli/verbs/build_run.h"
#include "dbgcli/verbs/harness.h"
#include "dbgcli/verbs/locate_answer.h"
#include "dbgcli/verbs/locate_junit.h"
#include "dbgcli/verbs/locate_sarif.h"
#include "dbgcli/verbs/recorded_run.h"
#include "dbgcli/verbs/verb.h"
#include "dbgcli/whole_file.h"
#include <wetdbg/errors.h>

#define BUDGET_SECONDS 60
#define SUSPECTS_SHOWN 10

static const struct cli_option options[] = {
    {"expect", 0, "FILE", "right is: standard output is that of FILE, and the exit status"},
    {"status", 0, "N", "that is N; by default the recorded one, after a crash 0"},
    {"oracle", 0, "CMD", "right is: CMD exits with 0; 1 is wrong, others say nothing"},
    {"crash", 0, NULL, "what is wrong is the crash"},
    {"target", 0, "CRITERION", "what is wrong, as for 'slice'; by default it is found"},
    {"fail", 0, "FILE", "the failing input, where it is not the standard input"},
    {"pass", 0, "INPUT", "an input that passes, or a recording or FILE.wet of such a run"},
    {"budget", 0, "TIME", "seconds for all of it: 90, 30s, 5m, 1h; by default 60s"},
    {"limit", 0, "N", "show N suspects (10; with --json all); 0: all"},
    {"jobs", 0, "N", "switched runs side by side; by default one for each processor"},
    CLI_HARNESS_OPTIONS(""),
    {"once", 0, NULL, "run the program once only, and try no other inputs"},
    {"features", 0, NULL, "with --json: what scores are made of, too"},
    {"json", 0, NULL, "one JSON object for each answer, the last one is the best"},
    {"sarif", 0, "FILE", "the last list as SARIF 2.1.0 in FILE, too, with the paths"},
    {"html", 0, "FILE", "the last list as a page for a browser in FILE, too, with all evidence"},
    {"dot", 0, "FILE", "the slice as a graph for Graphviz in FILE, too"},
    {"svg", 0, "FILE", "what Graphviz draws of it in FILE, too"},
    {"junit", 0, "FILE", "the last list as a failing test of JUnit's XML in FILE, too"},
    {0},
};

const struct cli_syntax cli_locate_syntax = {
    .usage = "[--expect=FILE|--oracle=CMD|--crash] [--pass=INPUT]... [OPTION]...\n"
             "                     TRACE|FILE.wet|[--] PROGRAM [ARG]... | --ctest=NAME [OPTION]...",
    .options = options,
    .operands_max = CLI_OPERANDS_ANY,
    .ends_at_operand = true,
    .details =
        "Records a program that fails, finds what is wrong, and asks what led there: the slice,\n"
        "what passing runs did otherwise, what came out right, which decision, made the\n"
        "other way, repairs it, and which other code would (and leaves passing runs as they are).\n"
        "It prints the lines to suspect, with the reasons and the commands that show them. The\n"
        "cheapest questions come first; Ctrl-C leaves the best answer so far.\n"
        "What is wrong is found: a crash, a sanitizer's report, a failed assertion, the first\n"
        "wrong byte, the exit status, output that is missing, or what kept a run in its loop that\n"
        "somebody ended. Of a failing test (--ctest, --harness) the lines that only check\n"
        "are suspected less.\n"
        "With --pass the program is recorded once more with that input: as its standard input or,\n"
        "with --fail=FILE, in place of the word FILE or of each @@ in its words.\n"
        "A program whose run left nothing behind (files, other processes, sockets) is run again\n"
        "with other inputs than that of --fail, its standard input or the last word that is a\n"
        "file: with parts of it, as long as it crashes alike or CMD says 1, and with inputs near\n"
        "the smallest of them that pass. --once does without.",
    .example = "wetdbg locate --expect=right.txt --pass=good.csv -- ./report < bad.csv",
};

/* ---- options ---- */

/* Whether it names a file that is to be written. */
static bool is_file(const struct cli_given *given)
{
    const char *name = given->option->name;

    return name && (!strcmp(name, "sarif") || !strcmp(name, "junit") || !strcmp(name, "html") ||
                    !strcmp(name, "dot") || !strcmp(name, "svg"));
}

static int check_options(const struct cli_args *args)
{
    unsigned given = cli_args_has(args, "expect") + cli_args_has(args, "oracle") +
                     cli_args_has(args, "crash") + cli_harness_is_asked(args);

    if (given > 1)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "locate: only one of --expect, --oracle, --crash and a test says what "
                           "is right");
    if (cli_args_has(args, "features") && !cli_args_has(args, "json"))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "locate: --features goes with --json");
    int err = cli_harness_check(args);
    for (size_t i = 0; i < args->given_count && !err; i++)
        if (is_file(&args->given[i]))
            err = cli_whole_file_check(args->given[i].value);
    return err;
}

static int parse_budget(const struct cli_args *args, double *seconds)
{
    uint64_t number = 0;
    int err = cli_budget_parse(args, &number, seconds);

    if (number)
        *seconds = (double)number;
    return err ? wetdbg_fail(err, "locate: --budget is a time: 90, 30s, 5m, 1h, not '%s'",
                             cli_args_value(args, "budget"))
               : 0;
}

static int parse_numbers(const struct cli_args *args, struct cli_locating *self)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t jobs, status;
    int err = parse_budget(args, &self->budget);

    if (!err)
        err = cli_args_number(args, "limit", cli_args_has(args, "json") ? 0 : SUSPECTS_SHOWN,
                              &self->limit);
    if (!err)
        err = cli_args_number(args, "limit", SUSPECTS_SHOWN, &self->reported);
    if (!err)
        err = cli_args_number(args, "jobs", processors > 0 ? (uint64_t)processors : 1, &jobs);
    if (!err && cli_args_has(args, "jobs") && (!jobs || jobs > WETDBG_TRIAL_JOBS_MAX))
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "locate: --jobs is 1 to %d, not '%s'",
                          WETDBG_TRIAL_JOBS_MAX, cli_args_value(args, "jobs"));
    if (!err)
        err = cli_args_number(args, "status", 0, &status);
    if (!err && status > 255)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "locate: --status is 0 to 255, not '%s'",
                          cli_args_value(args, "status"));
    if (err)
        return err;
    self->jobs = jobs > WETDBG_TRIAL_JOBS_MAX ? WETDBG_TRIAL_JOBS_MAX : (unsigned)jobs;
    self->right.status = cli_args_has(args, "status") ? (int)status : -1;
    return 0;
}

/* ---- passing runs ---- */

static bool is_pass(const struct cli_given *given)
{
    return given->option->name && !strcmp(given->option->name, "pass");
}

/* Whether a word of the command stands for the input. */
static bool is_input_word(const char *word, const char *fail)
{
    return strstr(word, "@@") || (fail && !strcmp(word, fail));
}

/* The word with the input in it; to be freed. */
static char *with_input(const char *word, const char *fail, const char *input)
{
    const char *mark = strstr(word, "@@");

    if (!mark)
        return cli_strdup(fail && !strcmp(word, fail) ? input : word);
    char *rest = with_input(mark + 2, NULL, input);
    char *text = cli_asprintf("%.*s%s%s", (int)(mark - word), word, input, rest);
    free(rest);
    return text;
}

/* Records the program with an input. *path is the run's .wet file, to be freed. */
static int run_with(char *const *operands, const char *fail, const char *input, char **path)
{
    bool is_word = false;
    size_t count = 0;

    while (operands[count])
        count++;
    char **words = cli_realloc(NULL, count + 1, sizeof(*words));
    for (size_t i = 0; i < count; i++) {
        is_word |= i && input && is_input_word(operands[i], fail);
        words[i] = i && input ? with_input(operands[i], fail, input) : cli_strdup(operands[i]);
    }
    words[count] = NULL;
    int err = cli_recorded_run_make(words, is_word ? NULL : input, path);
    for (size_t i = 0; i < count; i++)
        free(words[i]);
    free(words);
    return err;
}

/* What --pass names: a run that is there, or an input to make one of. */
static int find_passing(const struct cli_args *args, const char *name, char **path,
                        bool *is_trusted)
{
    char *const operand[] = {(char *)name, NULL};

    if (access(name, F_OK) && !cli_recorded_run_is_there((char **)operand))
        return wetdbg_fail_errno("--pass=%s", name);
    if (cli_recorded_run_is_there((char **)operand))
        return cli_recorded_run_find("locate", (char **)operand, NULL, path, is_trusted);
    *is_trusted = true;
    if (cli_harness_is_asked(args) || cli_recorded_run_is_there(args->operands))
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "locate: --pass=%s is an input, and there is no PROGRAM that could be "
                           "run with it; a recording or FILE.wet would do",
                           name);
    return run_with(args->operands, cli_args_value(args, "fail"), name, path);
}

static int find_all_passing(const struct cli_args *args, struct cli_locating *self, char **paths)
{
    int err = 0;

    for (size_t i = 0; i < args->given_count && !err; i++) {
        if (!is_pass(&args->given[i]))
            continue;
        if (self->passing_count == CLI_PASSING_MAX)
            return wetdbg_fail(-WETDBG_ERR_USAGE, "locate: at most %d passing runs",
                               CLI_PASSING_MAX);
        struct cli_passing_run *run = &self->passing[self->passing_count];
        err =
            find_passing(args, args->given[i].value, &paths[self->passing_count], &run->is_trusted);
        run->name = paths[self->passing_count];
        self->passing_count += !err;
    }
    return err;
}

/* ---- the failing run ---- */

static int find_test(const struct cli_args *args, struct cli_harness **harness, char **path)
{
    struct wetdbg_build_options how = {.interrupted = cli_interrupt_flag(), .is_trusted = true};
    double seconds;
    int err = cli_harness_open(args, harness);

    if (err)
        return err;
    how.process = (*harness)->process;
    return cli_build_wet((*harness)->trace_dir, &how, path, &seconds);
}

static int find_run(const struct cli_args *args, struct cli_harness **harness,
                    struct cli_locate_input *input, char **path, bool *is_trusted)
{
    const char *fail = cli_args_value(args, "fail");

    *is_trusted = true;
    if (cli_harness_is_asked(args))
        return find_test(args, harness, path);
    if (!cli_recorded_run_is_there(args->operands)) {
        int err = cli_locate_input_find(args->operands, fail, input);
        if (err)
            return err;
    }
    if (!fail)
        return cli_recorded_run_find(args->name, args->operands, NULL, path, is_trusted);
    if (cli_recorded_run_is_there(args->operands))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "locate: --fail is for a PROGRAM, and %s is a run",
                           args->operands[0]);
    return run_with(args->operands, fail, fail, path);
}

/* ---- the verb ---- */

static int draw(struct cli_locating *self)
{
    struct cli_slice_graph *graph;
    int err = cli_slice_graph_make(self->session, self->slice, false, &graph);

    if (err)
        return err;
    err = cli_slice_draw(self->session, graph, CLI_DRAWING_NODES, self->dot, self->svg);
    cli_slice_graph_free(graph);
    return err;
}

/* Files have the last list; those that a person did not wait for would only be replaced. */
static int answer(struct cli_locating *self)
{
    int err = cli_locate_answer(self);

    if (!err && !self->has_more && self->sarif)
        err = cli_locate_sarif(self, self->sarif);
    if (!err && !self->has_more && self->junit)
        err = cli_locate_junit(self, self->junit);
    if (!err && !self->has_more && self->html)
        err = cli_locate_html(self, self->html);
    if (!err && !self->has_more && (self->dot || self->svg))
        err = draw(self);
    return err;
}

static int locate(struct cli_app *app, struct cli_locating *self, bool is_trusted)
{
    struct cli_session session;
    int err = cli_session_open(&session, app->out, self->wet_path);

    if (err)
        return err;
    if (is_trusted)
        wetdbg_trust(session.wet);
    self->session = &session;
    err = cli_locating_run(self, answer);
    cli_locating_fini(self);
    cli_session_close(&session);
    return err;
}

static int find_and_locate(struct cli_app *app, const struct cli_args *args,
                           struct cli_locating *self, char **paths)
{
    char *wet_path = NULL;
    bool is_trusted;
    int err = find_run(args, &self->right.harness, &self->input, &wet_path, &is_trusted);

    cli_locating_begin(self);
    if (!err)
        err = find_all_passing(args, self, paths);
    self->wet_path = wet_path;
    if (!err)
        err = locate(app, self, is_trusted);
    cli_harness_free(self->right.harness);
    cli_locate_input_fini(&self->input);
    free(wet_path);
    return err == CLI_HARNESS_PASSES ? wetdbg_fail(-WETDBG_ERR_USAGE, "%s", wetdbg_error(err))
                                     : err;
}

int cli_locate_run(struct cli_app *app, const struct cli_args *args)
{
    struct cli_passing_run passing[CLI_PASSING_MAX + CLI_NEIGHBOURS_MAX] = {0};
    char *paths[CLI_PASSING_MAX] = {0};
    struct cli_locating self = {.passing = passing,
                                .budget = BUDGET_SECONDS,
                                .runs_once = cli_args_has(args, "once"),
                                .shows_features = cli_args_has(args, "features"),
                                .sarif = cli_args_value(args, "sarif"),
                                .junit = cli_args_value(args, "junit"),
                                .html = cli_args_value(args, "html"),
                                .dot = cli_args_value(args, "dot"),
                                .svg = cli_args_value(args, "svg"),
                                .right = {.target = cli_args_value(args, "target"),
                                          .command = cli_args_value(args, "oracle"),
                                          .is_crash = cli_args_has(args, "crash")}};
    uint8_t *expected = NULL;
    int err = check_options(args);

    if (!err)
        err = parse_numbers(args, &self);
    if (!err && cli_args_has(args, "expect"))
        err =
            cli_expected_read(cli_args_value(args, "expect"), &expected, &self.right.expected_size);
    self.right.expected = expected;
    if (!err)
        err = find_and_locate(app, args, &self, paths);
    for (size_t i = 0; i < CLI_PASSING_MAX; i++)
        free(paths[i]);
    free(expected);
    return err;
}
