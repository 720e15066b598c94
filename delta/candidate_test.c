/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/candidate_test.h"

#include <errno.h>
#include <float.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include <wetdbg/errors.h>

#define COMPARED 4  /* candidates that are tested in both ways */
#define WEIGHED  16 /* live runs, before it is judged how quick they are */

static const struct wetdbg_dd_options *options_of(const struct dlt_tester *tester)
{
    return tester->plan->options;
}

static int look_interrupted(const struct dlt_tester *tester)
{
    const volatile sig_atomic_t *interrupted = options_of(tester)->interrupted;
    bool is_over = tester->until_s > 0 && wd_seconds() > tester->until_s;
    return is_over || (interrupted && *interrupted)
               ? wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted")
               : 0;
}

/* ---- live runs come and go ---- */

void dlt_tester_give_up(struct dlt_tester *tester, const char *reason)
{
    if (!tester->is_given_up)
        snprintf(tester->reason, sizeof(tester->reason), "%s", reason);
    tester->is_given_up = true;
    dlt_live_close(tester->live);
    tester->live = NULL;
}

/* Why this program's questions cannot be asked live; NULL: they can. */
static const char *why_never(const struct dlt_tester *tester)
{
    const struct dlt_plan *plan = tester->plan;
    if (!tester->engine || !plan->program)
        return "there is no program that could be recorded";
    if (plan->options->memory_bytes || plan->options->disk_bytes)
        return "limits of memory and disk are those of real runs";
    if (plan->way == DLT_WAY_ARGV || plan->way == DLT_WAY_ENV)
        return "words and variables lie on the first stack, whose addresses their lengths change";
    if (plan->way != DLT_WAY_STDIN && plan->way != DLT_WAY_WORD)
        return "live runs are given other standard input or another file, and here what changes is "
               "neither: arguments, variables, or a directory";
    return NULL;
}

static int live_open(struct dlt_tester *tester)
{
    const char *why = why_never(tester);
    if (why) {
        dlt_tester_give_up(tester, why);
        return 0;
    }
    return dlt_live_open(tester->engine, tester->plan, tester->fail, tester->jobs, &tester->live);
}

/* Waits for something to take; -ETIMEDOUT without a message. */
static int live_wait(const struct dlt_tester *tester, unsigned slot, double seconds)
{
    struct pollfd ready = {.fd = dlt_live_fd(tester->live, slot), .events = POLLIN};
    double end = wd_seconds() + seconds;
    int err = 0;
    while (!err && poll(&ready, 1, DLT_TRIAL_LOOK_MS) <= 0) {
        err = look_interrupted(tester);
        if (!err && wd_seconds() > end)
            err = wetdbg_fail_plain(-ETIMEDOUT);
    }
    return err;
}

/* Whether an input has its known outcome when it is tested live. 0 or 1, or an error. */
static int agrees(struct dlt_tester *tester, unsigned slot, const struct wetdbg_dd_bytes *input,
                  enum wetdbg_delta_outcome known, const char *name)
{
    struct dlt_live_answer answer;
    char reason[320];
    int err = dlt_live_ask(tester->live, slot, input)
                  ? 0
                  : live_wait(tester, slot, tester->plan->timeout_s);
    if (err && err != -ETIMEDOUT)
        return err;
    if (err)
        snprintf(reason, sizeof(reason), "%s takes too long in a live run", name);
    else if (!dlt_live_take(tester->live, slot, &answer) || !answer.is_resolved)
        snprintf(reason, sizeof(reason), "%s: %s", name, answer.reason);
    else if (dlt_judge(tester->reference, &answer.report) != known)
        snprintf(reason, sizeof(reason), "%s has another outcome in a live run", name);
    else
        return 1;
    dlt_tester_give_up(tester, reason);
    return 0;
}

/* A process is ready for the first time: can its answers be trusted? */
static int check(struct dlt_tester *tester, unsigned slot)
{
    int good = agrees(tester, slot, tester->fail, WETDBG_DELTA_FAIL, "the failing input");
    if (good == 1)
        good = agrees(tester, slot, tester->pass, tester->pass_outcome, "the passing input");
    tester->is_checked = good == 1;
    return good < 0 ? good : 0;
}

/* Takes that a process is ready, or has ended. */
static void live_settle(struct dlt_tester *tester, unsigned slot)
{
    struct dlt_live_answer answer;
    dlt_live_take(tester->live, slot, &answer);
    if (dlt_live_is_over(tester->live))
        dlt_tester_give_up(tester, dlt_live_reason(tester->live));
}

/* Has live runs prepared when it is time, and waits for them if nothing else is wanted. */
static int live_prepare(struct dlt_tester *tester, unsigned slot)
{
    enum wetdbg_dd_runs runs = options_of(tester)->runs;
    int err = 0;
    if (!tester->begin_s)
        tester->begin_s = wd_seconds();
    bool is_time =
        runs == WETDBG_DD_RUNS_LIVE ||
        (runs == WETDBG_DD_RUNS_QUICKEST && wd_seconds() - tester->begin_s >= DLT_PATIENCE_SECONDS);
    if (is_time && !tester->live && !tester->is_given_up)
        err = live_open(tester);
    if (!err && tester->live && runs == WETDBG_DD_RUNS_LIVE &&
        dlt_live_is_coming(tester->live, slot)) {
        err = live_wait(tester, slot, DBL_MAX);
        if (!err)
            live_settle(tester, slot);
    }
    if (!err && tester->live && !tester->is_checked && dlt_live_is_free(tester->live, slot))
        err = check(tester, slot);
    return err;
}

/* Ends live runs that cost more than they spare. */
static void weigh(struct dlt_tester *tester)
{
    char reason[120];
    if (options_of(tester)->runs != WETDBG_DD_RUNS_QUICKEST || tester->live_count < WEIGHED ||
        !tester->real_count)
        return;
    double real = tester->real_s / (double)tester->real_count;
    double live = tester->live_s / (tester->live_resolved ? (double)tester->live_resolved : 1);
    if (live < real)
        return;
    snprintf(reason, sizeof(reason), "real runs are quicker: %.1f ms, live ones %.1f ms",
             real * 1000, live * 1000);
    dlt_tester_give_up(tester, reason);
}

/* ---- tests ---- */

static int real_start(struct dlt_tester *tester, unsigned slot)
{
    struct dlt_candidate_test *test = &tester->slots[slot];
    test->state = DLT_TEST_REAL;
    test->begin_s = wd_seconds();
    test->limit_s = tester->plan->timeout_s;
    return dlt_trial_start(
        &tester->trials[slot], tester->plan,
        &(struct wetdbg_dd_bytes){test->candidate.data, test->candidate.size_bytes});
}

int dlt_test_start(struct dlt_tester *tester, unsigned slot,
                   const struct wetdbg_dd_bytes *candidate, bool is_real)
{
    struct dlt_candidate_test *test = &tester->slots[slot];
    int err = is_real ? 0 : live_prepare(tester, slot);
    test->candidate.size_bytes = 0;
    test->is_unresolved = test->is_compared = test->is_repeated = false;
    if (!err)
        err = wd_buf_reserve(&test->candidate, 1);
    if (!err)
        err = wd_buf_append(&test->candidate, candidate->data, candidate->size);
    if (err)
        return err;
    tester->tests++;
    test->begin_s = wd_seconds();
    bool is_live = !is_real && tester->live && tester->is_checked &&
                   dlt_live_is_free(tester->live, slot) &&
                   !dlt_live_ask(tester->live, slot, candidate);
    if (!is_live)
        return real_start(tester, slot);
    test->state = DLT_TEST_LIVE;
    test->is_compared = tester->compared < COMPARED;
    return 0;
}

/* What a live run gave. 1 if that is the test's outcome; 0 if a real run follows. */
static int live_finish(struct dlt_tester *tester, unsigned slot, enum wetdbg_delta_outcome *outcome)
{
    struct dlt_candidate_test *test = &tester->slots[slot];
    struct dlt_live_answer answer;
    if (!dlt_live_take(tester->live, slot, &answer))
        return 0;
    if (tester->compared >= COMPARED || !answer.is_resolved) {
        tester->live_s += wd_seconds() - test->begin_s;
        tester->live_count++;
        tester->live_resolved += answer.is_resolved;
    }
    test->is_unresolved = !answer.is_resolved;
    if (!answer.is_resolved && !tester->unresolved++)
        memcpy(tester->unresolved_because, answer.reason, sizeof(tester->unresolved_because));
    test->is_compared = test->is_compared && answer.is_resolved;
    if (answer.is_resolved) {
        test->live_outcome = *outcome = dlt_judge(tester->reference, &answer.report);
    }
    weigh(tester);
    if (tester->live && dlt_live_is_over(tester->live))
        dlt_tester_give_up(tester, dlt_live_reason(tester->live));
    if (answer.is_resolved && !test->is_compared) {
        tester->live_tests++;
        test->state = DLT_TEST_NONE;
        return 1;
    }
    return real_start(tester, slot);
}

/* Whether a run was ended by a limit that nobody set, and that may be too short now. */
static bool is_doubtful(const struct dlt_tester *tester, const struct dlt_candidate_test *test,
                        const struct dlt_report *report)
{
    return dlt_is_too_long(report) && options_of(tester)->timeout_s <= 0 && !test->is_repeated;
}

/* Runs the candidate once more if the limit has grown since; 0, or an error. 1: it has not. */
static int repeat(struct dlt_tester *tester, unsigned slot)
{
    struct dlt_candidate_test *test = &tester->slots[slot];
    if (tester->plan->timeout_s <= test->limit_s)
        return 1;
    test->is_repeated = true;
    tester->tests++;
    return real_start(tester, slot);
}

static int pace_start(struct dlt_tester *tester, unsigned slot)
{
    int again = repeat(tester, slot);
    if (again < 1)
        return again;
    tester->slots[slot].state = DLT_TEST_PACE;
    tester->tests++;
    return dlt_trial_start(&tester->trials[slot], tester->plan, tester->fail);
}

/* How long the failing input takes now. 0: the candidate is run once more; 1: it is unresolved. */
static int pace_finish(struct dlt_tester *tester, unsigned slot, enum wetdbg_delta_outcome *outcome)
{
    struct dlt_report report;
    int err = dlt_trial_take(&tester->trials[slot], &report);
    if (err)
        return err;
    double limit_s = dlt_default_timeout_s(report.seconds);
    if (limit_s > tester->plan->timeout_s)
        tester->plan->timeout_s = limit_s;
    tester->slots[slot].state = DLT_TEST_NONE;
    *outcome = WETDBG_DELTA_UNRESOLVED;
    return repeat(tester, slot);
}

/* What a real run gave: 1; 0 if another one follows. */
static int real_finish(struct dlt_tester *tester, unsigned slot, enum wetdbg_delta_outcome *outcome)
{
    struct dlt_candidate_test *test = &tester->slots[slot];
    struct dlt_report report;
    if (test->state == DLT_TEST_PACE)
        return pace_finish(tester, slot, outcome);
    test->state = DLT_TEST_NONE;
    int err = dlt_trial_take(&tester->trials[slot], &report);
    if (err)
        return err;
    if (is_doubtful(tester, test, &report))
        return pace_start(tester, slot);
    *outcome = dlt_judge(tester->reference, &report);
    if (!test->is_unresolved) {
        tester->real_s += wd_seconds() - test->begin_s;
        tester->real_count++;
    }
    if (!test->is_compared)
        return 1;
    tester->compared++;
    if (test->live_outcome == *outcome)
        return 1;
    dlt_tester_give_up(tester, "a live run and a real one of the same input disagree");
    return wetdbg_fail_plain(-ESTALE);
}

static int poll_fd(const struct dlt_tester *tester, unsigned slot)
{
    switch (tester->slots[slot].state) {
    case DLT_TEST_REAL:
    case DLT_TEST_PACE:
        return tester->trials[slot].fd;
    case DLT_TEST_LIVE:
        return dlt_live_fd(tester->live, slot);
    default:
        return -1;
    }
}

/* Real runs for tests that were under way live when live runs were given up, or that take longer
 * than a real run may. */
static int live_replace(struct dlt_tester *tester)
{
    double now = wd_seconds();
    int err = 0;
    for (unsigned i = 0; i < tester->jobs && !err; i++) {
        struct dlt_candidate_test *test = &tester->slots[i];
        bool is_late = now > test->begin_s + tester->plan->timeout_s;
        if (test->state != DLT_TEST_LIVE || (tester->live && !is_late))
            continue;
        if (tester->live) {
            dlt_live_cancel(tester->live, i);
            tester->live_s += now - test->begin_s;
            tester->live_count++;
        }
        test->is_compared = false;
        test->is_unresolved = true;
        if (tester->live && !tester->unresolved++)
            snprintf(tester->unresolved_because, sizeof(tester->unresolved_because),
                     "it did not end within %.3g s", tester->plan->timeout_s);
        err = real_start(tester, i);
    }
    return err;
}

/* What has come of processes whose slots run no live test. */
static void live_listen(struct dlt_tester *tester, const struct pollfd *ready)
{
    for (unsigned i = 0; i < tester->jobs && tester->live; i++)
        if (ready[i].revents && dlt_live_fd(tester->live, i) == ready[i].fd &&
            tester->slots[i].state != DLT_TEST_LIVE)
            live_settle(tester, i);
}

/* Looks once whether a test has ended: 1, 0, or an error. */
static int finish_one(struct dlt_tester *tester, unsigned *slot, enum wetdbg_delta_outcome *outcome,
                      bool *is_live)
{
    struct pollfd ready[2 * WETDBG_DELTA_JOBS_MAX];
    unsigned jobs = tester->jobs;
    int done = live_replace(tester);
    for (unsigned i = 0; i < jobs; i++) {
        bool listens = tester->live && tester->slots[i].state != DLT_TEST_LIVE;
        ready[i] = (struct pollfd){.fd = poll_fd(tester, i), .events = POLLIN};
        ready[jobs + i] =
            (struct pollfd){.fd = listens ? dlt_live_fd(tester->live, i) : -1, .events = POLLIN};
    }
    int got = done ? 0 : poll(ready, 2 * jobs, DLT_TRIAL_LOOK_MS);
    if (got == 0)
        dlt_trials_look(tester->trials, jobs);
    for (unsigned i = 0; got > 0 && i < jobs && !done; i++) {
        *is_live = tester->slots[i].state == DLT_TEST_LIVE;
        *slot = i;
        if (ready[i].revents)
            done = *is_live ? tester->live ? live_finish(tester, i, outcome) : 0
                            : real_finish(tester, i, outcome);
    }
    if (got > 0)
        live_listen(tester, ready + jobs);
    return done;
}

int dlt_test_finish(struct dlt_tester *tester, unsigned *slot, enum wetdbg_delta_outcome *outcome,
                    bool *is_live)
{
    int done = 0;
    while (!done) {
        done = look_interrupted(tester);
        if (!done)
            done = finish_one(tester, slot, outcome, is_live);
    }
    return done < 0 ? done : 0;
}

void dlt_test_cancel(struct dlt_tester *tester, unsigned slot)
{
    struct dlt_candidate_test *test = &tester->slots[slot];
    if (test->state == DLT_TEST_LIVE && tester->live)
        dlt_live_cancel(tester->live, slot);
    test->state = DLT_TEST_NONE;
    dlt_trial_cancel(&tester->trials[slot]);
}

void dlt_tester_close(struct dlt_tester *tester)
{
    for (unsigned i = 0; i < WETDBG_DELTA_JOBS_MAX; i++) {
        dlt_trial_cancel(&tester->trials[i]);
        wd_buf_fini(&tester->slots[i].candidate);
    }
    dlt_live_close(tester->live);
    tester->live = NULL;
}
