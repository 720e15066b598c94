/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg switch`: which decision of a failing run, made the other way, makes it right. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/session.h"
#include "dbgcli/exit_status.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/progress.h"
#include "dbgcli/verbs/build_run.h"
#include "dbgcli/verbs/switch_runner.h"
#include "dbgcli/verbs/verb.h"
#include <wetdbg/errors.h>
#include <wetdbg/prune.h>
#include <wetdbg/record.h>

static const struct cli_option options[] = {
    {"expect", 0, "FILE", "right is: standard output is that of FILE, and the exit status"},
    {"status", 0, "N", "that is N; by default the recorded one, after a crash 0"},
    {"oracle", 0, "CMD", "right is: CMD exits with 0; 1 is wrong, others say nothing"},
    {"no-crash", 0, NULL, "right is: the program exits"},
    {"target", 0, "CRITERION", "what is wrong in the run, as for 'slice'"},
    {"order", 0, "ORDER", "near (the default), lefs, prior, spectrum"},
    {"passing", 0, "FILE.wet", "a run of the program that passes; may be repeated"},
    {"budget", 0, "TIME|N", "at most N switched runs, or 30s, 5m, 1h"},
    {"all", 0, NULL, "go on after the first that is right"},
    {"libraries", 0, NULL, "switch in libraries, too"},
    {"restart", 0, NULL, "begin anew instead of going on after an end"},
    {"json", 0, NULL, "one JSON object for each finding, and a last one"},
    {0},
};

const struct cli_syntax cli_switch_syntax = {
    .usage = "(--expect=FILE|--oracle=CMD|--no-crash) [OPTION]... TRACE|FILE.wet|[--] PROGRAM "
             "[ARG]...",
    .options = options,
    .operands_min = 1,
    .operands_max = CLI_OPERANDS_ANY,
    .ends_at_operand = true,
    .details =
        "Runs a failing run again with one decision the other way, and the next one, until\n"
        "one of them makes it right: a critical predicate. A model answers the system calls\n"
        "of these runs, which touch no file, process or network of this machine.\n"
        "Verdicts: exact (output and exit status are right), prefix (right past the first wrong\n"
        "byte), no-crash, unresolved (the model does not know a call, or a limit was reached).\n"
        "CMD is for sh, in a directory of its own; it has the standard output as standard input,\n"
        "and its name in WETDBG_OUTPUT; WETDBG_STATUS is the status (128 + N for signal N).\n"
        "A PROGRAM is recorded first. Orders: near goes by dependence distance, potential\n"
        "dependences and what passing runs did; lefs switches the last first; prior goes by the\n"
        "slice; spectrum by what passing runs did.\n"
        "Exit status 0: found, 1: none is right, 125: none, and some runs were unresolved.\n"
        "The same command goes on after an end; FILE.wet.switch-journal has the answers so far.",
    .example = "wetdbg switch --expect=right.txt -- ./report 2024-02-29",
};

#define PASSING_MAX 16
#define MEETING_MAX 8 /* findings whose slices are made */
/* Instructions before the failure that the slice looks at: what is nearer than others is rarely
 * before that, and distances take 32 bytes for each instance. */
#define LOOK (UINT64_C(32) << 20)

struct switching {
    struct cli_app *app;
    const struct cli_args *args;
    struct cli_session session;
    struct cli_switch_judge judge;
    char *target;
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;
    struct wetdbg_set *wrong;
    struct wetdbg *passing[PASSING_MAX];
    size_t passing_count;
    struct wetdbg_candidates *candidates;
    struct wetdbg_order *order;
    struct cli_switch_runner runner;
    struct cli_progress progress;
    uint64_t instances;
    char *journal;
};

/* ---- what is searched ---- */

/* Records a program, whose standard output goes nowhere: here answers go there. */
static int record(char **operands, struct wetdbg_record_outcome *outcome)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC), kept = fcntl(1, F_DUPFD_CLOEXEC, 3);
    int err = null < 0 || kept < 0 || dup2(null, 1) < 0 ? wetdbg_fail_errno("/dev/null") : 0;

    if (!err) {
        err = wetdbg_record(&(struct wetdbg_record_options){.quiet = true}, operands, outcome);
        dup2(kept, 1);
    }
    if (null >= 0)
        close(null);
    if (kept >= 0)
        close(kept);
    return err;
}

/* The .wet file that the operands stand for; to be freed. */
static int find_wet(const struct cli_args *args, char **path, bool *is_trusted)
{
    struct wetdbg_build_options how = {.interrupted = cli_interrupt_flag()};
    struct wetdbg_record_outcome outcome;
    char *directory;
    double seconds;
    const char *name = args->operands[0];
    size_t length = strlen(name);
    bool is_alone = args->operand_count == 1;

    *is_trusted = false;
    if (is_alone && length > 4 && strcmp(name + length - 4, ".wet") == 0) {
        *path = cli_strdup(name);
        return 0;
    }
    if (is_alone && wetdbg_recording_find(name, &directory) == 0) {
        *is_trusted = wetdbg_is_trusted(directory);
    } else {
        int err = record(args->operands, &outcome);
        if (err)
            return err;
        directory = outcome.trace_dir;
        *is_trusted = true;
    }
    how.is_trusted = *is_trusted;
    int err = cli_build_wet(directory, &how, path, &seconds);
    free(directory);
    return err;
}

static int open_passing(struct switching *self)
{
    int err = 0;

    for (size_t i = 0; i < self->args->given_count && !err; i++) {
        const struct cli_given *given = &self->args->given[i];
        if (!given->option->name || strcmp(given->option->name, "passing") != 0)
            continue;
        if (self->passing_count == PASSING_MAX)
            return wetdbg_fail(-WETDBG_ERR_USAGE, "switch: at most %d passing runs", PASSING_MAX);
        err = wetdbg_open(given->value, &self->passing[self->passing_count]);
        self->passing_count += !err;
    }
    return err;
}

static int make_slice(struct switching *self)
{
    struct wetdbg *wet = self->session.wet;
    struct wetdbg_slice_options how = {.kinds = WETDBG_SLICE_FULL,
                                       .session = self->session.slices,
                                       .record_parents = true,
                                       .copies_are_near = true,
                                       .look = LOOK};
    int err = wetdbg_criterion_parse(wet, self->target, NULL, &self->criterion);

    if (!err)
        err = wetdbg_slice_backward(wet, self->criterion, &how, &self->slice);
    return err ? err : wetdbg_set_of_slice(self->slice, &self->wrong);
}

/* The order by name. */
static int find_order(const struct cli_args *args, enum wetdbg_order_kind *kind)
{
    const char *order = cli_args_value(args, "order");

    return wetdbg_order_parse(order ? order : "near", kind);
}

static int find_candidates(struct switching *self)
{
    struct wetdbg_candidates_options what = {.until = wetdbg_failure_time(self->criterion),
                                             .libraries = cli_args_has(self->args, "libraries")};
    struct wetdbg_order_options how = {
        .slice = self->slice, .passing = self->passing, .passing_count = self->passing_count};
    int err = find_order(self->args, &how.kind);

    if (!err)
        err = wetdbg_candidates_find(self->session.wet, &what, &self->candidates);
    if (!err)
        err = wetdbg_candidates_count(self->candidates, &self->instances);
    return err ? err : wetdbg_order_open(self->candidates, &how, &self->order);
}

/* "30s", "5m", "1h", or a number of runs. */
static int parse_budget(const struct cli_args *args, struct wetdbg_search_options *how)
{
    const char *text = cli_args_value(args, "budget");
    char *end;

    if (!text)
        return 0;
    double number = strtod(text, &end);
    const char *unit = strchr("smh", *end);
    if (end != text && *end && unit && !end[1] && number > 0 && number < 1e6)
        how->budget_seconds = number * (*end == 's' ? 1 : *end == 'm' ? 60 : 3600);
    else if (!cli_number_parse(text, &how->budget_trials) || !how->budget_trials)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "switch: --budget is a number of runs, or 30s, 5m, 1h, not '%s'", text);
    return 0;
}

/* ---- the search ---- */

static uint64_t left_of(const struct switching *self, const struct wetdbg_search_progress *progress)
{
    return progress->listed < self->instances ? self->instances - progress->listed : 0;
}

static void on_progress(void *arg, const struct wetdbg_search_progress *progress)
{
    struct switching *self = arg;
    char text[96];

    snprintf(text, sizeof(text), "%" PRIu64 " tried, some %" PRIu64 " left, %.0f a second",
             progress->tried, left_of(self, progress),
             progress->seconds > 0 ? (double)progress->tried / progress->seconds : 0);
    cli_progress_say(&self->progress, text);
}

/* What answers depend on besides the trial. */
static char *name_search(const struct switching *self)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const char *command = self->judge.command ? self->judge.command : "";

    for (size_t i = 0; i < self->judge.expected_size; i++)
        hash = (hash ^ self->judge.expected[i]) * UINT64_C(0x100000001b3);
    return cli_asprintf("%d %d %016" PRIx64 " %s", (int)self->judge.oracle, self->judge.status,
                        hash, command);
}

static int search(struct switching *self, const char *wet_path, struct wetdbg_search_result *result)
{
    struct wetdbg_search_options how = {.runner = cli_switch_runner(&self->runner),
                                        .enough = self->judge.oracle == CLI_SWITCH_NO_CRASH
                                                      ? WETDBG_VERDICT_NO_CRASH
                                                      : WETDBG_VERDICT_EXACT,
                                        .all = cli_args_has(self->args, "all"),
                                        .interrupted = cli_interrupt_flag(),
                                        .progress = on_progress,
                                        .arg = self};
    int err = parse_budget(self->args, &how);

    if (err)
        return err;
    char *name = name_search(self);
    self->journal = cli_asprintf("%s.switch-journal", wet_path);
    if (cli_args_has(self->args, "restart"))
        unlink(self->journal);
    how.name = name;
    char *directory = cli_strdup(wet_path), *slash = strrchr(directory, '/');
    if (slash)
        *slash = 0;
    if (access(slash ? (*directory ? directory : "/") : ".", W_OK) == 0)
        how.journal = self->journal;
    cli_progress_begin(&self->progress, stderr);
    err = wetdbg_search(self->candidates, self->order, &how, result);
    cli_progress_end(&self->progress);
    if (!err)
        err = wetdbg_findings_meet(self->session.wet, self->session.slices, self->wrong, result,
                                   MEETING_MAX);
    free(directory);
    free(name);
    return err;
}

/* ---- the answer ---- */

static const struct wetdbg_predicate *predicate_of(const struct switching *self,
                                                   const struct wetdbg_finding *finding)
{
    size_t count;

    return &wetdbg_candidates_predicates(self->candidates,
                                         &count)[finding->trial.switches[0].predicate];
}

static void print_finding(const struct switching *self, const struct wetdbg_finding *finding)
{
    const struct wetdbg_candidate *switched = &finding->trial.switches[0];
    const struct wetdbg_predicate *predicate = predicate_of(self, finding);
    struct cli_out *out = self->app->out;

    fprintf(out->stream, "%-8s  ", wetdbg_verdict_name(finding->verdict));
    if (predicate->file) {
        const char *slash = strrchr(predicate->file, '/');
        cli_out_text(out, slash ? slash + 1 : predicate->file);
        fprintf(out->stream, ":%" PRIu32, predicate->line);
    } else {
        fprintf(out->stream, "%#" PRIx64, switched->pc);
    }
    if (predicate->function) {
        fputs(" in ", out->stream);
        cli_out_text(out, predicate->function);
    }
    fprintf(out->stream, ", the %s at time %" PRIu64 ", %" PRIu64 " of %" PRIu64 " times",
            wetdbg_predicate_kind_name(predicate->kind), switched->time, switched->instance,
            predicate->instances);
    fprintf(out->stream, " (switch %" PRIu64 "%s)\n", finding->trial.position,
            finding->meets ? "" : "; nothing of it meets the slice of what is wrong");
}

static void print_json(const struct switching *self, const struct wetdbg_finding *finding)
{
    const struct wetdbg_candidate *switched = &finding->trial.switches[0];
    const struct wetdbg_predicate *predicate = predicate_of(self, finding);
    bool is_place = switched->to > 1;
    json_t *object = cli_json_object("wetdbg.switch/1");

    cli_json_set(object, "verdict", cli_json_text(wetdbg_verdict_name(finding->verdict)));
    cli_json_set(object, "file", cli_json_text(predicate->file));
    cli_json_set(object, "line", cli_json_count(predicate->line));
    cli_json_set(object, "function", cli_json_text(predicate->function));
    cli_json_set(object, "kind", cli_json_text(wetdbg_predicate_kind_name(predicate->kind)));
    cli_json_set(object, "address", cli_json_address(switched->pc));
    cli_json_set(object, "instance", cli_json_count(switched->instance));
    cli_json_set(object, "instances", cli_json_count(predicate->instances));
    cli_json_set(object, "time", cli_json_count(switched->time));
    cli_json_set(object, "went",
                 is_place ? cli_json_address(switched->went) : cli_json_count(switched->went));
    cli_json_set(object, "to",
                 is_place ? cli_json_address(switched->to) : cli_json_count(switched->to));
    cli_json_set(object, "meets", json_boolean(finding->meets));
    cli_json_set(object, "tried", cli_json_count(finding->trial.position));
    cli_out_json(self->app->out, object);
}

static void print_end(const struct switching *self, const struct wetdbg_search_result *result)
{
    const struct wetdbg_search_progress *progress = &result->progress;
    struct cli_out *out = self->app->out;
    uint64_t unresolved = progress->verdicts[WETDBG_VERDICT_UNRESOLVED];

    fprintf(out->stream,
            "%s: %" PRIu64 " switched runs in %.1f s, %" PRIu64 " known from before, %" PRIu64
            " proven equal; some %" PRIu64 " left\n",
            result->count ? "found" : "none found", progress->tried, progress->seconds,
            progress->known, progress->equal, result->is_complete ? 0 : left_of(self, progress));
    if (unresolved) {
        fprintf(out->stream, "unresolved: %" PRIu64 ", the first: ", unresolved);
        cli_out_text(out, result->unresolved);
        putc('\n', out->stream);
    }
    if (result->count)
        fprintf(out->stream, "'what-if %" PRIu64 " switch' at the prompt shows what it changes\n",
                result->findings[0].trial.switches[0].time);
}

static void print_json_end(const struct switching *self, const struct wetdbg_search_result *result)
{
    const struct wetdbg_search_progress *progress = &result->progress;
    json_t *object = cli_json_object("wetdbg.switch-end/1");
    json_t *verdicts = json_object();

    for (unsigned i = 0; i < WETDBG_VERDICTS; i++)
        cli_json_set(verdicts, wetdbg_verdict_name((enum wetdbg_verdict)i),
                     cli_json_count(progress->verdicts[i]));
    cli_json_set(object, "tried", cli_json_count(progress->tried));
    cli_json_set(object, "known", cli_json_count(progress->known));
    cli_json_set(object, "equal", cli_json_count(progress->equal));
    cli_json_set(object, "left", cli_json_count(result->is_complete ? 0 : left_of(self, progress)));
    cli_json_set(object, "unresolved",
                 cli_json_count(progress->verdicts[WETDBG_VERDICT_UNRESOLVED]));
    cli_json_set(object, "reason",
                 *result->unresolved ? cli_json_text(result->unresolved) : json_null());
    cli_json_set(object, "seconds", json_real(progress->seconds));
    cli_json_set(object, "complete", json_boolean(result->is_complete));
    cli_json_set(object, "verdicts", verdicts);
    cli_json_set(object, "target", cli_json_text(self->target));
    cli_out_json(self->app->out, object);
}

static int answer(const struct switching *self, const struct wetdbg_search_result *result)
{
    bool is_json = self->app->out->json, is_found = false;

    for (size_t i = 0; i < result->count; i++) {
        bool is_right = result->findings[i].verdict == WETDBG_VERDICT_EXACT ||
                        self->judge.oracle == CLI_SWITCH_NO_CRASH;
        is_found = is_found || is_right;
        if (cli_out_is_gone(self->app->out))
            break;
        if (is_json)
            print_json(self, &result->findings[i]);
        else
            print_finding(self, &result->findings[i]);
    }
    if (is_json)
        print_json_end(self, result);
    else
        print_end(self, result);
    if (is_found)
        return CLI_EXIT_OK;
    return result->progress.verdicts[WETDBG_VERDICT_UNRESOLVED] ? WETDBG_EXIT_FAILED
                                                                : CLI_EXIT_NOT_FOUND;
}

/* ---- the verb ---- */

static int prepare(struct switching *self)
{
    int err = cli_switch_judge_init(&self->judge, self->args, self->session.wet, &self->target);

    if (!err)
        err = open_passing(self);
    if (!err)
        err = make_slice(self);
    if (!err)
        err = find_candidates(self);
    if (!err)
        err = wetdbg_switcher_open(self->session.wet, &self->runner.switcher);
    self->runner.candidates = self->candidates;
    self->runner.judge = &self->judge;
    return err;
}

static void clean_up(struct switching *self)
{
    wetdbg_switcher_close(self->runner.switcher);
    free(self->runner.output);
    wetdbg_order_close(self->order);
    wetdbg_candidates_free(self->candidates);
    wetdbg_set_free(self->wrong);
    wetdbg_slice_free(self->slice);
    wetdbg_criterion_free(self->criterion);
    for (size_t i = 0; i < self->passing_count; i++)
        wetdbg_close(self->passing[i]);
    cli_switch_judge_fini(&self->judge);
    free(self->target);
    free(self->journal);
    cli_session_close(&self->session);
}

/* Before anything is recorded. */
static int check_options(const struct cli_args *args)
{
    struct wetdbg_search_options how;
    enum wetdbg_order_kind kind;
    int err = cli_switch_judge_check(args);

    if (!err)
        err = find_order(args, &kind);
    return err ? err : parse_budget(args, &how);
}

int cli_switch_run(struct cli_app *app, const struct cli_args *args)
{
    struct switching self = {.app = app, .args = args};
    struct wetdbg_search_result result = {.count = 0};
    char *wet_path;
    bool is_trusted;
    int err = check_options(args);

    if (!err)
        err = find_wet(args, &wet_path, &is_trusted);
    if (err)
        return err;
    err = cli_session_open(&self.session, app->out, wet_path);
    if (!err) {
        if (is_trusted)
            wetdbg_trust(self.session.wet);
        err = prepare(&self);
        if (!err)
            err = search(&self, wet_path, &result);
        if (!err || err == -WETDBG_ERR_INTERRUPTED) {
            int status = answer(&self, &result);
            err = err ? err : status;
        }
        wetdbg_search_result_fini(&result);
        clean_up(&self);
    }
    free(wet_path);
    return err;
}
