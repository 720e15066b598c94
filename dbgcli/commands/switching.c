/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/switching.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/origin_place.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/seconds.h"
#include "dbgcli/verbs/harness.h"
#include <wetdbg/errors.h>
#include <wetdbg/prune.h>

#define EXPECTED_MAX (UINT64_C(256) << 20) /* bytes of a file with the right output */
#define MEETING_MAX  8                     /* findings whose slices are made */
/* Instructions before the failure that the slice looks at: what is nearer than others is rarely
 * before that, and distances take 32 bytes for each instance. */
#define LOOK          (UINT64_C(32) << 20)
#define LEAST_SECONDS 1e-3 /* of a budget, which 0 would make endless */

/* ---- options ---- */

int cli_budget_parse(const struct cli_args *args, uint64_t *trials, double *seconds)
{
    const char *text = cli_args_value(args, "budget");
    char *end;

    if (!text)
        return 0;
    double number = strtod(text, &end);
    const char *unit = strchr("smh", *end);
    if (end != text && *end && unit && !end[1] && number > 0 && number < 1e6)
        *seconds = number * (*end == 's' ? 1 : *end == 'm' ? 60 : 3600);
    else if (!cli_number_parse(text, trials) || !*trials)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "%s: --budget is a number of runs, or 30s, 5m, 1h, not '%s'", args->name,
                           text);
    return 0;
}

/* A number from 1 to `most`. */
static int parse_small(const struct cli_args *args, const char *option, uint64_t otherwise,
                       uint64_t most, unsigned *number)
{
    uint64_t given = 0;
    int err = cli_args_number(args, option, otherwise, &given);

    if (!err && (!given || given > most))
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "switch: --%s is 1 to %" PRIu64 ", not '%s'", option,
                          most, cli_args_value(args, option));
    *number = (unsigned)given;
    return err;
}

static int parse_search(const struct cli_args *args, struct wetdbg_search_options *how)
{
    *how = (struct wetdbg_search_options){.all = cli_args_has(args, "all"),
                                          .extents = cli_args_has(args, "extents")};
    int err = cli_budget_parse(args, &how->budget_trials, &how->budget_seconds);

    return err ? err : parse_small(args, "depth", 1, 2, &how->depth);
}

static int parse_jobs(const struct cli_args *args, unsigned *jobs)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t otherwise = processors < 1                       ? 1
                         : processors > WETDBG_TRIAL_JOBS_MAX ? WETDBG_TRIAL_JOBS_MAX
                                                              : (uint64_t)processors;

    return parse_small(args, "jobs", otherwise, WETDBG_TRIAL_JOBS_MAX, jobs);
}

/* The order by name. */
static int find_order(const struct cli_args *args, enum wetdbg_order_kind *kind)
{
    const char *order = cli_args_value(args, "order");

    return wetdbg_order_parse(order ? order : "near", kind);
}

int cli_switching_check(const struct cli_args *args, bool is_test)
{
    unsigned given = cli_args_has(args, "expect") + cli_args_has(args, "oracle") +
                     cli_args_has(args, "no-crash") + is_test;
    struct wetdbg_search_options how;
    enum wetdbg_order_kind kind;
    uint64_t status;
    unsigned jobs;

    if (given != 1)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "switch: %s of --expect, --oracle and --no-crash says what is right",
                           given ? "only one" : "one");
    int err = cli_args_number(args, "status", 0, &status);
    if (!err && status > 255)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "switch: --status is 0 to 255, not '%s'",
                          cli_args_value(args, "status"));
    if (!err)
        err = find_order(args, &kind);
    if (!err && cli_args_has(args, "pass") && kind != WETDBG_ORDER_PRIOR)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "switch: --pass is for --order=prior");
    if (!err && cli_args_has(args, "ok") && kind != WETDBG_ORDER_NEAR)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "switch: --ok is for --order=near");
    if (!err)
        err = parse_search(args, &how);
    return err ? err : parse_jobs(args, &jobs);
}

/* ---- what is right ---- */

/* Nothing is what people mean who name it, and no file has to be made for that. */
static bool is_null_device(const struct stat *status)
{
    return S_ISCHR(status->st_mode) && status->st_rdev == makedev(1, 3);
}

int cli_expected_read(const char *path, uint8_t **bytes, size_t *count)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t done = 0;
    ssize_t got = 1;

    if (fd < 0 || fstat(fd, &status)) {
        int err = wetdbg_fail_errno("%s", path);
        if (fd >= 0)
            close(fd);
        return err;
    }
    bool is_file = S_ISREG(status.st_mode) || is_null_device(&status);
    if (!is_file || (uint64_t)status.st_size > EXPECTED_MAX) {
        close(fd);
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s is no file of at most 256 MiB", path);
    }
    size_t size = (size_t)status.st_size;
    *bytes = cli_malloc(size + 1);
    while (done < size && (got = read(fd, *bytes + done, size - done)) > 0)
        done += (size_t)got;
    int err = got < 0 ? wetdbg_fail_errno("%s", path) : 0;
    *count = done;
    close(fd);
    return err;
}

static bool is_test_right(void *arg, const char *text, size_t size, int status)
{
    (void)size;
    return cli_harness_is_right(arg, text, status);
}

/* Adds what a piece of output was. */
static int add_output(struct cli_switching *self, const struct wetdbg_output *output, char **text,
                      size_t *size)
{
    struct wetdbg_state *state;

    *text = cli_realloc(*text, *size + output->size + 1, 1);
    int err = wetdbg_state_open(self->session->wet, output->time, &state);
    if (err)
        return err;
    err = wetdbg_state_read(state, output->address, *text + *size, output->size);
    wetdbg_state_close(state);
    *size += output->size;
    (*text)[*size] = 0;
    return err;
}

/* What the test's process put out, and what is wrong with it. */
static int look_at_test(struct cli_switching *self)
{
    size_t count, size = 0;
    const struct wetdbg_output *outputs = wetdbg_outputs(self->session->wet, &count);
    char *text = cli_strdup("");
    int err = 0;

    for (size_t i = 0; i < count && !err; i++)
        if ((outputs[i].fd == 1 || outputs[i].fd == 2) && outputs[i].size)
            err = add_output(self, &outputs[i], &text, &size);
    if (!err)
        err = cli_harness_look(self->harness, self->session->wet, text, &self->found);
    self->right.kind = WETDBG_RIGHT_CALLER;
    self->right.is_right = is_test_right;
    self->right.arg = self->harness;
    free(text);
    return err;
}

static int make_trials(struct cli_switching *self)
{
    struct cli_session *session = self->session;
    struct wetdbg_search_options how = {.depth = 1};
    int recorded = session->info->wait_status;
    bool exits = recorded != -1 && WIFEXITED(recorded);
    const char *expect = cli_args_value(self->args, "expect");
    uint64_t status;
    int err =
        cli_args_number(self->args, "status", exits ? (uint64_t)WEXITSTATUS(recorded) : 0, &status);

    self->right.command = cli_args_value(self->args, "oracle");
    self->right.exit_status = (int)status;
    self->right.kind = expect                ? WETDBG_RIGHT_OUTPUT
                       : self->right.command ? WETDBG_RIGHT_COMMAND
                                             : WETDBG_RIGHT_EXIT;
    if (!err)
        err = parse_jobs(self->args, &self->right.jobs);
    if (!err)
        err = parse_search(self->args, &how);
    self->right.budget_s = how.budget_seconds;
    if (!err && expect)
        err = cli_expected_read(expect, &self->expected, &self->right.output_size);
    self->right.output = self->expected;
    if (!err && self->harness)
        err = look_at_test(self);
    if (!err && !session->switcher)
        err = wetdbg_switcher_open(session->wet, &session->switcher);
    double began = cli_seconds();
    if (!err)
        err = wetdbg_trials_new(session->switcher, &self->right, &self->trials);
    self->judging_s = cli_seconds() - began;
    return err == -WETDBG_ERR_USAGE ? wetdbg_fail(err, "switch: %s", wetdbg_error(err)) : err;
}

/* ---- slices ---- */

/* What is wrong, as far as it can be sliced: that output is missing may have no reason. */
static int find_criterion(struct cli_switching *self)
{
    const char *given = cli_args_value(self->args, "target");

    self->target = given ? given : self->found ? self->found : wetdbg_trials_failure(self->trials);
    int err = cli_slice_criterion(self->session, self->target, false, &self->criterion);
    if (err != -WETDBG_ERR_NOT_FOUND || given || !strcmp(self->target, "exit"))
        return err;
    self->target = "exit";
    return cli_slice_criterion(self->session, self->target, false, &self->criterion);
}

static int make_slice(struct cli_switching *self)
{
    struct wetdbg_slice_options how = {.kinds = WETDBG_SLICE_FULL,
                                       .session = self->session->slices,
                                       .record_parents = true,
                                       .copies_are_near = true,
                                       .look = LOOK};
    int err = find_criterion(self);

    if (!err)
        err = wetdbg_slice_backward(self->session->wet, self->criterion, &how, &self->slice);
    return err ? err : wetdbg_set_of_slice(self->slice, &self->wrong);
}

/* Adds what depends on a piece of input to `all`. */
static int add_forward(struct cli_switching *self, const char *text, struct wetdbg_set **all)
{
    struct wetdbg_slice_options how = {.session = self->session->slices};
    struct wetdbg_criterion *source = NULL;
    struct wetdbg_slice *forward = NULL;
    struct wetdbg_set *set = NULL, *both = NULL;
    int err = cli_slice_criterion(self->session, text, false, &source);

    if (!err)
        err = wetdbg_slice_forward(self->session->wet, source, &how, &forward);
    if (!err)
        err = wetdbg_set_of_slice(forward, &set);
    if (!err && *all)
        err = wetdbg_set_combine(*all, WETDBG_SET_OR, set, &both);
    wetdbg_slice_free(forward);
    wetdbg_criterion_free(source);
    if (err) {
        wetdbg_set_free(set);
        return err;
    }
    if (both) {
        wetdbg_set_free(set);
        wetdbg_set_free(*all);
    }
    *all = both ? both : set;
    return 0;
}

static bool is_option(const struct cli_given *given, const char *name)
{
    return given->option->name && !strcmp(given->option->name, name);
}

static int make_chop(struct cli_switching *self)
{
    struct wetdbg_set *forward = NULL;
    int err = 0;

    for (size_t i = 0; i < self->args->given_count && !err; i++)
        if (is_option(&self->args->given[i], "pass"))
            err = add_forward(self, self->args->given[i].value, &forward);
    if (!err && forward)
        err = wetdbg_set_combine(forward, WETDBG_SET_AND, self->wrong, &self->chop);
    wetdbg_set_free(forward);
    return err;
}

static int prune(struct cli_switching *self, const struct wetdbg_criterion *const *right,
                 size_t count)
{
    struct wetdbg_prune_options how = {.right = right, .right_count = count};
    int err = wetdbg_profile_make(self->session->wet, 0, 0, NULL, NULL, &self->profile);

    how.profile = self->profile;
    if (!err)
        err = wetdbg_prune(self->slice, &how, &self->prune);
    return err;
}

/* The confidence of what is right. */
static int make_confidence(struct cli_switching *self)
{
    struct wetdbg_criterion **right =
        cli_realloc(NULL, self->args->given_count + 1, sizeof(*right));
    size_t count = 0;
    int err = 0;

    for (size_t i = 0; i < self->args->given_count && !err; i++) {
        if (!is_option(&self->args->given[i], "ok"))
            continue;
        err = cli_slice_criterion(self->session, self->args->given[i].value, true, &right[count]);
        count += !err;
        if (!err)
            err = wetdbg_prune_check(right[count - 1], self->criterion);
    }
    if (!err && count)
        err = prune(self, (const struct wetdbg_criterion *const *)right, count);
    for (size_t i = 0; i < count; i++)
        wetdbg_criterion_free(right[i]);
    free(right);
    return err;
}

/* ---- candidates ---- */

static int open_passing(struct cli_switching *self)
{
    int err = 0;

    for (size_t i = 0; i < self->args->given_count && !err; i++) {
        const struct cli_given *given = &self->args->given[i];
        if (!is_option(given, "passing"))
            continue;
        if (self->passing_count == CLI_SWITCHING_PASSING_MAX)
            return wetdbg_fail(-WETDBG_ERR_USAGE, "switch: at most %d passing runs",
                               CLI_SWITCHING_PASSING_MAX);
        err = wetdbg_open(given->value, &self->passing[self->passing_count]);
        self->passing_count += !err;
    }
    return err;
}

static int find_candidates(struct cli_switching *self)
{
    struct wetdbg_candidates_options what = {.until = wetdbg_failure_time(self->criterion),
                                             .libraries = cli_args_has(self->args, "libraries"),
                                             .is_wanted = self->harness ? cli_harness_wants : NULL,
                                             .arg = self->harness};
    const char *colon = strrchr(self->target, ':');
    struct wetdbg_order_options how = {.slice = self->slice,
                                       .chop = self->chop,
                                       .unsure =
                                           self->prune ? wetdbg_prune_get_set(self->prune) : NULL,
                                       .passing = self->passing,
                                       .passing_count = self->passing_count};
    int err = find_order(self->args, &how.kind);

    if (colon && !strcmp(colon, ":end")) /* more might have come until the run ended */
        what.until = 0;
    if (!err)
        err = wetdbg_candidates_find(self->session->wet, &what, &self->candidates);
    if (!err)
        err = wetdbg_candidates_count(self->candidates, &self->instances);
    return err ? err : wetdbg_order_open(self->candidates, &how, &self->order);
}

static void forget_candidates(struct cli_switching *self)
{
    wetdbg_order_close(self->order);
    wetdbg_candidates_free(self->candidates);
    self->order = NULL;
    self->candidates = NULL;
}

/* Of a test: those of what it tests; if that has none, its own. */
static int find_first_candidates(struct cli_switching *self)
{
    int err = find_candidates(self);

    if (err == -WETDBG_ERR_NOT_FOUND && self->harness) {
        self->harness->is_last_look = true;
        err = find_candidates(self);
        if (err == -WETDBG_ERR_NOT_FOUND)
            err = cli_harness_no_candidates(self->harness);
    }
    return err;
}

/* ---- the search ---- */

uint64_t cli_switching_left(const struct cli_switching *self,
                            const struct wetdbg_search_progress *progress)
{
    return progress->listed < self->instances ? self->instances - progress->listed : 0;
}

static void on_progress(void *arg, const struct wetdbg_search_progress *progress)
{
    struct cli_switching *self = arg;
    char text[96];

    snprintf(text, sizeof(text), "%" PRIu64 " tried, some %" PRIu64 " left, %.0f a second",
             progress->tried, cli_switching_left(self, progress),
             progress->seconds > 0 ? (double)progress->tried / progress->seconds : 0);
    cli_progress_say(&self->progress, text);
}

/* What answers depend on besides the trial. */
static char *name_search(const struct cli_switching *self)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const char *command = self->right.command ? self->right.command : "";

    for (size_t i = 0; i < self->right.output_size; i++)
        hash = (hash ^ self->expected[i]) * UINT64_C(0x100000001b3);
    return cli_asprintf("%d %d %016" PRIx64 " %s", (int)self->right.kind, self->right.exit_status,
                        hash, self->harness ? self->harness->test.name : command);
}

/* Where answers are kept; NULL where nothing can be written. To be freed. */
static char *find_journal(const struct cli_switching *self)
{
    char *journal = cli_asprintf("%s.switch-journal", self->wet_path);
    char *directory = cli_strdup(self->wet_path), *slash = strrchr(directory, '/');

    if (cli_args_has(self->args, "restart"))
        unlink(journal);
    if (slash)
        *slash = 0;
    if (access(slash ? (*directory ? directory : "/") : ".", W_OK)) {
        free(journal);
        journal = NULL;
    }
    free(directory);
    return journal;
}

static void add_progress(struct wetdbg_search_progress *all,
                         const struct wetdbg_search_progress *first)
{
    all->tried += first->tried;
    all->known += first->known;
    all->equal += first->equal;
    all->listed += first->listed;
    all->seconds += first->seconds;
    for (unsigned i = 0; i < WETDBG_VERDICTS; i++)
        all->verdicts[i] += first->verdicts[i];
}

/* What a budget has left; false if that is nothing. */
static bool use_budget(struct wetdbg_search_options *how,
                       const struct wetdbg_search_progress *progress)
{
    if ((how->budget_trials && how->budget_trials <= progress->tried) ||
        (how->budget_seconds > 0 && how->budget_seconds <= progress->seconds))
        return false;
    if (how->budget_trials)
        how->budget_trials -= progress->tried;
    if (how->budget_seconds > 0)
        how->budget_seconds -= progress->seconds;
    return true;
}

/* The decisions of a test itself are tried when all others were, and none was right. */
static int search_own(struct cli_switching *self, struct wetdbg_search_options *how)
{
    struct wetdbg_search_result *result = &self->result;
    struct wetdbg_search_result first = *result;
    uint64_t instances = self->instances;

    if (!first.is_complete || !use_budget(how, &first.progress))
        return 0;
    forget_candidates(self);
    self->harness->is_last_look = true;
    int err = find_candidates(self);
    if (err)
        return err == -WETDBG_ERR_NOT_FOUND ? 0 : err;
    *result = (struct wetdbg_search_result){0};
    how->runner = wetdbg_trials_runner(self->trials, self->candidates);
    err = wetdbg_search(self->candidates, self->order, how, result);
    self->instances += instances;
    add_progress(&result->progress, &first.progress);
    if (*first.unresolved)
        memcpy(result->unresolved, first.unresolved, sizeof(result->unresolved));
    wetdbg_search_result_fini(&first);
    return err;
}

static int search(struct cli_switching *self)
{
    struct wetdbg_search_options how;
    int err = parse_search(self->args, &how);

    if (err)
        return err;
    if (how.budget_seconds > 0)
        how.budget_seconds = how.budget_seconds > self->judging_s + LEAST_SECONDS
                                 ? how.budget_seconds - self->judging_s
                                 : LEAST_SECONDS;
    char *name = name_search(self), *journal = find_journal(self);
    how.runner = wetdbg_trials_runner(self->trials, self->candidates);
    how.enough =
        self->right.kind == WETDBG_RIGHT_EXIT ? WETDBG_VERDICT_NO_CRASH : WETDBG_VERDICT_EXACT;
    how.interrupted = cli_interrupt_flag();
    how.progress = on_progress;
    how.arg = self;
    how.name = name;
    how.journal = journal;
    cli_progress_begin(&self->progress, stderr);
    err = wetdbg_search(self->candidates, self->order, &how, &self->result);
    if (!err && self->harness && !self->harness->is_last_look && !self->result.count)
        err = search_own(self, &how);
    cli_progress_end(&self->progress);
    if (!err)
        err = wetdbg_findings_meet(self->session->wet, self->session->slices, self->wrong,
                                   &self->result, MEETING_MAX);
    free(journal);
    free(name);
    return err;
}

static int prepare(struct cli_switching *self)
{
    int err = open_passing(self);

    if (!err)
        err = make_trials(self);
    if (!err)
        err = make_slice(self);
    if (!err)
        err = make_chop(self);
    if (!err)
        err = make_confidence(self);
    return err ? err : find_first_candidates(self);
}

static void clean_up(struct cli_switching *self)
{
    wetdbg_search_result_fini(&self->result);
    wetdbg_trials_free(self->trials);
    forget_candidates(self);
    wetdbg_prune_free(self->prune);
    wetdbg_profile_free(self->profile);
    wetdbg_set_free(self->chop);
    wetdbg_set_free(self->wrong);
    wetdbg_slice_free(self->slice);
    wetdbg_criterion_free(self->criterion);
    for (size_t i = 0; i < self->passing_count; i++)
        wetdbg_close(self->passing[i]);
    free(self->expected);
    free(self->found);
    json_decref(self->all);
}

int cli_switching_run(struct cli_session *session, const char *wet_path,
                      const struct cli_args *args, struct cli_harness *harness, bool is_one)
{
    struct cli_switching self = {
        .session = session, .args = args, .wet_path = wet_path, .harness = harness};
    int err = cli_switching_check(args, harness != NULL);

    if (!err)
        err = prepare(&self);
    if (!err)
        err = search(&self);
    if (!err || (err == -WETDBG_ERR_INTERRUPTED && self.order)) {
        self.is_cut = err != 0;
        self.all = is_one && session->out->json ? json_array() : NULL;
        int status = cli_switching_answer(&self);
        err = err ? err : status;
    }
    clean_up(&self);
    if (err < 0 && err != -WETDBG_ERR_USAGE && err != -WETDBG_ERR_NOT_FOUND) {
        wetdbg_switcher_close(session->switcher); /* it may stand anywhere */
        session->switcher = NULL;
    }
    return err;
}
