/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/locate_steps.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/origin_place.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/seconds.h"
#include "dbgcli/verbs/harness.h"
#include "dbgcli/verbs/locate_pieces.h"
#include <wetdbg/errors.h>
#include <wetdbg/implicit.h>
#include <wetdbg/prune.h>

/* Instructions that a first answer looks at, and that the slice does: distances take 32 bytes for
 * each instance. */
#define FIRST_LOOK (UINT64_C(4) << 20)
#define LOOK       (UINT64_C(64) << 20)
#define JUDGED_MAX (UINT64_C(8) << 20)
/* Shares of the time that is left. */
#define SLICING_SHARE   0.25
#define SMALLER_SHARE   0.1
#define PASSING_SHARE   0.2
#define CUTTING_SHARE   0.25
#define PRUNING_SHARE   0.25
#define SWITCHING_SHARE 0.25
#define MUTATING_SHARE  0.6
#define HOLDING_SHARE   0.5
#define REPLACING_SHARE 0.6
#define LEAST_SECONDS   0.2 /* for a step that takes longer to begin */
#define READY_SECONDS   4.0 /* that switched runs may take to be ready, whatever their share is */

void cli_locating_begin(struct cli_locating *self)
{
    self->begin = cli_seconds();
}

double cli_locating_seconds(const struct cli_locating *self)
{
    return cli_seconds() - self->begin;
}

double cli_locating_seconds_left(const struct cli_locating *self)
{
    return self->budget - cli_locating_seconds(self);
}

/* ---- what is missing ---- */

void cli_locating_miss(struct cli_locating *self, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *text = cli_vasprintf(format, args);
    va_end(args);
    self->missing = cli_realloc(self->missing, self->missing_count + 1, sizeof(*self->missing));
    self->missing[self->missing_count++] = text;
}

/* Of a step that the list can do without: its error is told, unless it ends everything. */
int cli_locating_miss_step(struct cli_locating *self, const char *what, int err)
{
    if (!err || err == -ENOMEM || (err == -WETDBG_ERR_INTERRUPTED && cli_interrupt_is_pending()))
        return err;
    wetdbg_interrupt_clear(self->session->wet);
    if (err == -WETDBG_ERR_INTERRUPTED)
        cli_locating_miss(self, "%s: there was no time for it; --budget gives more", what);
    else
        cli_locating_miss(self, "%s: %s", what, wetdbg_error(err));
    return 0;
}

/* ---- slices ---- */

/* Whether a slice was ended because its share of the time was over. */
static bool is_cut_off(int err)
{
    return err == -WETDBG_ERR_INTERRUPTED && !cli_interrupt_is_pending();
}

/* `share` is of the time that is left; 0: it has as long as it takes. */
static int slice_into(struct cli_locating *self, uint64_t look, double share)
{
    struct wetdbg_slice_options how = {
        .kinds = WETDBG_SLICE_FULL, .record_parents = true, .copies_are_near = true, .look = look};
    double until = share > 0 ? cli_seconds() + share * cli_locating_seconds_left(self) : 0;
    struct wetdbg_slice *slice;
    int err = cli_slice_run_until(self->session, self->criterion, &how, until, &slice);

    if (err)
        return err;
    wetdbg_slice_free(self->slice);
    self->slice = slice;
    return wetdbg_locate_take_slice(self->locate, WETDBG_SLICE_FULL, slice);
}

static bool is_tests(void *arg, const char *file)
{
    return cli_harness_only_checks(arg, file);
}

static int find_criterion(struct cli_locating *self)
{
    int err = cli_failure_find(self->session, &self->right, &self->failure);

    if (!err && self->right.harness)
        wetdbg_locate_set_tests(self->locate, is_tests, self->right.harness);
    if (!err)
        err = cli_slice_criterion(self->session, self->failure.criterion, false, &self->criterion);
    if (err != -WETDBG_ERR_NOT_FOUND || self->right.target)
        return err;
    cli_locating_miss(self, "%s cannot be sliced: %s", self->failure.criterion, wetdbg_error(err));
    free(self->failure.criterion);
    self->failure.criterion = cli_strdup("exit");
    return cli_slice_criterion(self->session, self->failure.criterion, false, &self->criterion);
}

/* Which lines the smaller slices have; of a run that is too long, those of the first look. */
static int slice_smaller(struct cli_locating *self, enum wetdbg_slice_kinds kinds)
{
    struct wetdbg_slice_options how = {.kinds = kinds};
    double until = cli_seconds() + SMALLER_SHARE * cli_locating_seconds_left(self);
    struct wetdbg_slice *slice;
    int err = cli_slice_run_until(self->session, self->criterion, &how, until, &slice);

    if (is_cut_off(err)) {
        cli_locating_miss(self,
                          "the %s slice: there was time for what ran last only; --budget gives "
                          "more",
                          cli_kinds_name(kinds));
        how.record_parents = true;
        how.look = FIRST_LOOK;
        err = cli_slice_run_until(self->session, self->criterion, &how, 0, &slice);
    }
    if (!err)
        err = wetdbg_locate_take_slice(self->locate, kinds, slice);
    if (!err)
        wetdbg_slice_free(slice);
    return err;
}

static int make_slice(struct cli_locating *self)
{
    int err = slice_into(self, LOOK, SLICING_SHARE);

    if (is_cut_off(err)) {
        cli_locating_miss(self, "the full slice: there was time for what ran last only; --budget "
                                "gives more");
        err = 0; /* that of the first look stays */
    } else if (!err && wetdbg_slice_get_counts(self->slice)->looked_to)
        cli_locating_miss(self,
                          "what ran before time %" PRIu64 " was not looked at: the run is too long",
                          (uint64_t)wetdbg_slice_get_counts(self->slice)->looked_to);
    if (!err)
        err = slice_smaller(self, WETDBG_SLICE_DATA);
    return err ? err : slice_smaller(self, WETDBG_SLICE_THIN);
}

/* ---- passing runs ---- */

/* Somebody gave them: they are asked whatever the time. */
static bool is_unwanted(void *arg)
{
    (void)arg;
    return cli_interrupt_is_pending();
}

/* The first ones are sliced, as many as there is time for: of the others the lines that ran and the
 * values that these made tell nearly as much, and sooner. */
static int slice_passing(struct cli_locating *self)
{
    const struct wetdbg_slice_options how = {.kinds = WETDBG_SLICE_FULL};
    double until = cli_seconds() + PASSING_SHARE * cli_locating_seconds_left(self);
    size_t i = 0;
    int err = 0;

    for (; i < self->passing_count && !err && (!i || cli_seconds() < until); i++)
        err = cli_passing_run_slice(self->session, self->criterion, &how, false, &self->passing[i]);
    if (!err && i < self->passing_count)
        cli_locating_miss(self,
                          "passing runs: there was time to slice %zu of %zu; --budget gives more",
                          i, self->passing_count);
    return err;
}

static int hold_against(struct cli_locating *self)
{
    struct wetdbg_passing *passing = cli_realloc(NULL, self->passing_count + 1, sizeof(*passing));
    int err = slice_passing(self);

    for (size_t i = 0; i < self->passing_count && !err; i++)
        passing[i] = (struct wetdbg_passing){self->passing[i].session.wet, self->passing[i].slice};
    if (!err)
        err = wetdbg_locate_take_passing(self->locate, self->slice, passing, self->passing_count,
                                         is_unwanted, self);
    free(passing);
    return cli_locating_miss_step(self, "passing runs", err);
}

static int open_passing(struct cli_locating *self)
{
    int err = 0;

    for (size_t i = 0; i < self->passing_count && !err; i++)
        err = cli_passing_run_open(self->session, &self->passing[i]);
    return err;
}

/* ---- pieces of the run ---- */

static bool is_step_late(void *arg)
{
    const struct cli_locating *self = arg;

    return cli_interrupt_is_pending() || cli_seconds() > self->step_until;
}

static int cut(struct cli_locating *self)
{
    self->step_until = cli_seconds() + CUTTING_SHARE * cli_locating_seconds_left(self);
    return cli_locating_miss_step(
        self, self->right.harness ? "steps of the test" : "pieces of right output",
        cli_locating_take_pieces(self, is_step_late));
}

/* ---- pruning ---- */

struct deadline {
    double at;
};

static int is_late(void *arg, uint64_t done, uint64_t total)
{
    const struct deadline *deadline = arg;

    (void)done;
    (void)total;
    return cli_interrupt_is_pending() || cli_seconds() > deadline->at;
}

static int prune_by(struct cli_locating *self, const struct wetdbg_criterion *right)
{
    struct deadline deadline = {cli_seconds() + PRUNING_SHARE * cli_locating_seconds_left(self)};
    struct wetdbg_prune_options how = {.right = &right,
                                       .right_count = 1,
                                       .limit = JUDGED_MAX,
                                       .progress = is_late,
                                       .arg = &deadline};
    int err = wetdbg_profile_make(self->session->wet, 0, 0, is_late, &deadline, &self->profile);

    how.profile = self->profile;
    if (!err)
        err = wetdbg_prune(self->slice, &how, &self->prune);
    return err ? err : wetdbg_locate_take_prune(self->locate, self->prune);
}

static int prune(struct cli_locating *self)
{
    struct wetdbg_criterion *right;
    int err = wetdbg_prune_right_before(self->session->wet, self->criterion, &right);

    if (err == -WETDBG_ERR_NOT_FOUND) {
        cli_locating_miss(self,
                          "no correct output before what is wrong: confidence not applicable");
        return 0;
    }
    if (!err) {
        err = prune_by(self, right);
        wetdbg_criterion_free(right);
    }
    return cli_locating_miss_step(self, "confidence", err);
}

/* ---- switched runs ---- */

static bool is_test_right(void *arg, const char *text, size_t size, int status)
{
    (void)size;
    return cli_harness_is_right(arg, text, status);
}

/* What a switched run should do; false if nothing says so. */
static bool expect(const struct cli_locating *self, struct wetdbg_expectation *expected)
{
    const struct cli_right *right = &self->right;
    int recorded = self->session->info->wait_status;
    bool exits = recorded != -1 && WIFEXITED(recorded);

    *expected = (struct wetdbg_expectation){.jobs = self->jobs,
                                            .kind = WETDBG_RIGHT_EXIT,
                                            .output = right->expected,
                                            .output_size = right->expected_size,
                                            .command = right->command};
    expected->exit_status = right->status >= 0 ? right->status : exits ? WEXITSTATUS(recorded) : 0;
    if (right->harness) {
        expected->kind = WETDBG_RIGHT_CALLER;
        expected->is_right = is_test_right;
        expected->arg = right->harness;
    } else if (right->expected) {
        expected->kind = WETDBG_RIGHT_OUTPUT;
    } else if (right->command) {
        expected->kind = WETDBG_RIGHT_COMMAND;
    }
    return expected->kind != WETDBG_RIGHT_EXIT || self->session->info->signal;
}

/* Those of the passing runs, to be freed. */
static struct wetdbg **passing_wets(const struct cli_locating *self)
{
    struct wetdbg **wets = cli_realloc(NULL, self->passing_count + 1, sizeof(*wets));

    for (size_t i = 0; i < self->passing_count; i++)
        wets[i] = self->passing[i].session.wet;
    return wets;
}

static int open_order(struct cli_locating *self)
{
    struct wetdbg **wets = passing_wets(self);
    struct wetdbg_order_options how = {.kind = WETDBG_ORDER_NEAR,
                                       .slice = self->slice,
                                       .unsure =
                                           self->prune ? wetdbg_prune_get_set(self->prune) : NULL,
                                       .passing = wets,
                                       .passing_count = self->passing_count};

    int err = wetdbg_order_open(self->candidates, &how, &self->order);
    free(wets);
    return err;
}

static bool is_candidate(void *arg, const struct wetdbg_predicate *predicate)
{
    const struct cli_locating *self = arg;

    return !self->right.harness || cli_harness_wants(self->right.harness, predicate);
}

static int find_candidates(struct cli_locating *self)
{
    bool is_missing = self->failure.kind == CLI_FAILURE_MISSING;
    struct wetdbg_candidates_options what = {
        .until = is_missing ? 0 : wetdbg_failure_time(self->criterion),
        .is_wanted = is_candidate,
        .is_unwanted = is_step_late,
        .arg = self};
    int err = wetdbg_candidates_find(self->session->wet, &what, &self->candidates);

    return err ? err : open_order(self);
}

static int search(struct cli_locating *self)
{
    struct wetdbg_search_options how = {
        .runner = wetdbg_trials_runner(self->trials, self->candidates),
        .budget_seconds = SWITCHING_SHARE * cli_locating_seconds_left(self),
        .interrupted = cli_interrupt_flag(),
        .enough = WETDBG_VERDICT_EXACT};

    self->step_until = INFINITY; /* the search ends by its own budget */
    int err = wetdbg_search(self->candidates, self->order, &how, &self->found);

    if (!err && *self->found.unresolved && !self->found.count)
        cli_locating_miss(self, "switched runs: some are unresolved: %s", self->found.unresolved);
    wetdbg_locate_take_findings(self->locate, &self->found);
    return err;
}

static int switch_decisions(struct cli_locating *self)
{
    struct wetdbg_expectation expected;
    int err = 0;

    if (!expect(self, &expected)) {
        cli_locating_miss(
            self, "switched runs: nothing says when one is right; --expect=FILE or --oracle=CMD "
                  "would");
        return 0;
    }
    if (!self->session->switcher)
        err = wetdbg_switcher_open(self->session->wet, &self->session->switcher);
    expected.budget_s = SWITCHING_SHARE * cli_locating_seconds_left(self);
    self->step_until = cli_seconds() + fmax(expected.budget_s, READY_SECONDS);
    if (!err)
        err = wetdbg_trials_new(self->session->switcher, &expected, &self->trials);
    if (!err)
        err = find_candidates(self);
    if (!err && cli_locating_seconds_left(self) > LEAST_SECONDS)
        err = search(self);
    return cli_locating_miss_step(self, "switched runs", err);
}

/* ---- replaced values ---- */

/* Needs the judge of switched runs: without one, it was said what is missing. */
static int replace_values(struct cli_locating *self)
{
    if (!self->trials)
        return 0;
    bool is_missing = self->failure.kind == CLI_FAILURE_MISSING;
    struct wetdbg **wets = passing_wets(self);
    struct wetdbg_replacement_options how = {
        .until = is_missing ? 0 : wetdbg_failure_time(self->criterion),
        .passing = wets,
        .passing_count = self->passing_count,
        .budget_seconds = REPLACING_SHARE * cli_locating_seconds_left(self),
        .interrupted = cli_interrupt_flag()};
    int err = wetdbg_replacements_find(self->trials, self->slice, &how, &self->replaced);

    free(wets);
    if (!err)
        err = wetdbg_locate_take_replacements(self->locate, self->slice, &self->replaced);
    if (!err && self->replaced.is_interrupted)
        err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    return cli_locating_miss_step(self, "replaced values", err);
}

/* ---- mutants ---- */

/* What makes the failing run right should leave right what was right. */
static int hold_mutants(struct cli_locating *self)
{
    const struct wetdbg_mutant_options how = {.budget_seconds =
                                                  HOLDING_SHARE * cli_locating_seconds_left(self),
                                              .interrupted = cli_interrupt_flag()};
    struct wetdbg **wets = passing_wets(self);
    int err = wetdbg_mutants_hold_against(self->session->wet, &self->mutants, wets,
                                          self->passing_count, &how);

    free(wets);
    return cli_locating_miss_step(self, "mutants in passing runs", err);
}

static int try_mutants(struct cli_locating *self)
{
    if (!self->trials)
        return 0;
    bool is_missing = self->failure.kind == CLI_FAILURE_MISSING;
    struct wetdbg_mutant_options how = {
        .rank = wetdbg_locate_rank,
        .rank_arg = self->locate,
        .until = is_missing ? 0 : wetdbg_failure_time(self->criterion),
        .budget_seconds = MUTATING_SHARE * cli_locating_seconds_left(self),
        .interrupted = cli_interrupt_flag()};
    const struct wetdbg_suspect *suspects;
    size_t count;
    int err = wetdbg_locate_suspects(self->locate, &suspects, &count);

    if (!err)
        err = wetdbg_mutants_find(self->trials, &how, &self->mutants);
    if (!err && self->passing_count)
        err = hold_mutants(self);
    if (!err)
        err = wetdbg_locate_take_mutants(self->locate, &self->mutants);
    if (!err && self->mutants.is_interrupted)
        err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    return cli_locating_miss_step(self, "mutants", err);
}

/* ---- implicit dependences ---- */

static bool is_repaired(const struct cli_locating *self)
{
    return self->found.count && self->found.findings[0].verdict == WETDBG_VERDICT_EXACT;
}

static int find_implicit(struct cli_locating *self)
{
    struct wetdbg_implicit_options how = {.session = self->session->slices,
                                          .unsure = self->prune ? wetdbg_prune_get_set(self->prune)
                                                                : NULL,
                                          .expected = self->right.expected,
                                          .expected_size = self->right.expected_size,
                                          .budget_seconds = cli_locating_seconds_left(self),
                                          .interrupted = cli_interrupt_flag()};
    int err = 0;

    if (is_repaired(self) || how.budget_seconds < LEAST_SECONDS)
        return 0;
    if (!self->session->switcher)
        err = wetdbg_switcher_open(self->session->wet, &self->session->switcher);
    if (!err)
        err = wetdbg_implicit_find(self->session->wet, self->session->switcher, self->criterion,
                                   &how, &self->implicit);
    if (!err)
        err = wetdbg_locate_take_implicit(self->locate, &self->implicit);
    if (!err && self->implicit.is_cut)
        err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    return cli_locating_miss_step(self, "implicit dependences", err);
}

/* ---- all of it ---- */

static int begin(struct cli_locating *self)
{
    int err = wetdbg_locate_new(self->session->wet, &self->locate);

    if (!err)
        err = find_criterion(self);
    if (!err)
        err = slice_into(self, FIRST_LOOK, 0);
    return err;
}

static void forget_missing(struct cli_locating *self)
{
    for (size_t i = 0; i < self->missing_count; i++)
        free(self->missing[i]);
    self->missing_count = 0;
}

int cli_locating_turn(struct cli_locating *self, struct cli_session *session, const char *wet_path)
{
    forget_missing(self);
    wetdbg_locate_free(self->locate);
    wetdbg_slice_free(self->slice);
    wetdbg_criterion_free(self->criterion);
    cli_failure_fini(&self->failure);
    self->locate = NULL;
    self->slice = NULL;
    self->criterion = NULL;
    self->session = session;
    self->wet_path = wet_path;
    return begin(self);
}

/* Steps that only prepare what others ask bring no better answer. */
static bool is_better(const struct cli_locating *self, int (*step)(struct cli_locating *self))
{
    if (step == cli_reduce)
        return self->reduced.file != NULL;
    return step != open_passing && step != cli_neighbours_find && step != cli_prefix_find;
}

int cli_locating_run(struct cli_locating *self, int (*answer)(struct cli_locating *self))
{
    static int (*const steps[])(struct cli_locating * self) = {
        cli_reduce,     make_slice,    open_passing, cli_prefix_find,  cli_neighbours_find,
        hold_against,   cut,           prune,        switch_decisions, try_mutants,
        replace_values, find_implicit,
    };
    const size_t count = sizeof(steps) / sizeof(*steps);
    bool is_over = false;
    int err = begin(self);

    self->has_more = true;
    if (!err)
        err = answer(self);
    for (size_t i = 0; i < count && !err; i++) {
        bool is_passing = steps[i] == open_passing || steps[i] == hold_against;
        bool is_first = steps[i] == cli_reduce || steps[i] == make_slice;
        if (is_passing && !self->passing_count)
            continue;
        if (!is_first && !is_passing && cli_locating_seconds_left(self) < LEAST_SECONDS) {
            is_over = true;
            continue;
        }
        err = steps[i](self);
        if (!err && is_better(self, steps[i]) && i + 1 < count)
            err = answer(self);
    }
    if (is_over)
        cli_locating_miss(self, "the time of --budget is over");
    self->has_more = false;
    if (!err || (err == -WETDBG_ERR_INTERRUPTED && self->slice)) {
        int last = answer(self);
        err = err ? err : last;
    }
    return err;
}

void cli_locating_fini(struct cli_locating *self)
{
    forget_missing(self);
    free(self->missing);
    wetdbg_implicit_result_fini(&self->implicit);
    wetdbg_replacement_result_fini(&self->replaced);
    wetdbg_mutant_result_fini(&self->mutants);
    wetdbg_search_result_fini(&self->found);
    wetdbg_trials_free(self->trials);
    wetdbg_order_close(self->order);
    wetdbg_candidates_free(self->candidates);
    wetdbg_prune_free(self->prune);
    wetdbg_profile_free(self->profile);
    wetdbg_locate_free(self->locate);
    wetdbg_slice_free(self->slice);
    wetdbg_criterion_free(self->criterion);
    cli_failure_fini(&self->failure);
    for (size_t i = 0; i < self->passing_count; i++)
        cli_passing_run_close(&self->passing[i]);
    cli_neighbours_fini(&self->found_passing);
    cli_prefix_fini(&self->prefix);
    cli_reduced_fini(&self->reduced);
}
