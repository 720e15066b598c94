/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tests of candidates in slots: by a real run, or by a live one (live_runs.h) where that is
 * possible and quicker. A live run that is not resolved is followed by a real one, so an outcome is
 * what a real run's would be, unless the program depends on what the engine cannot know; so what a
 * search found has to be confirmed by real runs.
 *
 * Live runs are prepared when real ones have taken DLT_PATIENCE_SECONDS, and used from when they
 * are ready. Before that the failing and the passing input have to have their known outcomes; then
 * some candidates are tested in both ways, whose outcomes have to agree. With
 * WETDBG_DD_RUNS_QUICKEST they end when an outcome takes them longer than real runs.
 *
 * On a machine that is busier than it was when the default time limit was measured, a run may pass
 * that limit though nothing is wrong with it. So the failing input is run again then; if it takes
 * longer than before, the limit grows, and the candidate is run once more.
 */
#ifndef DELTA_CANDIDATE_TEST_H
#define DELTA_CANDIDATE_TEST_H

#include "common/buf.h"
#include "delta/judge.h"
#include "delta/live_runs.h"
#include "delta/trial.h"

#define DLT_PATIENCE_SECONDS 1.0

struct dlt_candidate_test {
    /* PACE: the failing input is run, to see how long it takes now */
    enum { DLT_TEST_NONE, DLT_TEST_REAL, DLT_TEST_LIVE, DLT_TEST_PACE } state;
    struct wd_buf candidate; /* kept for a further run */
    double limit_s;          /* of the real run */
    bool is_repeated;        /* as its limit was too short */
    double begin_s;
    bool is_compared;   /* tested in both ways */
    bool is_unresolved; /* a live run could not tell */
    enum wetdbg_delta_outcome live_outcome;
};

struct dlt_tester {
    /* set by the holder, who may begin with all else zero */
    struct dlt_plan *plan; /* whose timeout_s grows here, if it is a default one */
    const struct dlt_reference *reference;
    const struct dlt_live_engine *engine;      /* NULL: there is none */
    const struct wetdbg_dd_bytes *fail, *pass; /* whose outcomes are known */
    enum wetdbg_delta_outcome pass_outcome;
    unsigned jobs;
    double until_s; /* by wd_seconds(): then no test is waited for, as if interrupted; 0: never */
    /* counted here */
    uint64_t tests, live_tests; /* outcomes that were asked for, and those that live runs gave */

    struct dlt_trial trials[WETDBG_DELTA_JOBS_MAX];
    struct dlt_candidate_test slots[WETDBG_DELTA_JOBS_MAX];
    struct dlt_live *live;
    bool is_checked, is_given_up;
    uint64_t unresolved; /* live runs that could not tell, and were followed by real ones */
    char unresolved_because[256]; /* the first of them */
    char reason[320];             /* why there are no live runs (any more), or "" */
    double begin_s;
    unsigned compared; /* candidates that were tested in both ways */
    /* What real runs took, but for those behind a live one that was not resolved; and what live
     * ones took since enough were compared: the first ones translate what others find there. */
    double real_s, live_s;
    uint64_t real_count, live_count, live_resolved;
};

/* Starts a test in a free slot; `is_real`: by a real run. Errors of dlt_trial_start();
 * -WETDBG_ERR_INTERRUPTED. */
int dlt_test_start(struct dlt_tester *tester, unsigned slot,
                   const struct wetdbg_dd_bytes *candidate, bool is_real);

/* Waits until a test has ended; *is_live: a live run alone gave the outcome. -ESTALE without a
 * message: a live run and a real one disagree, live runs are given up, and outcomes that they gave
 * do not hold; errors of dlt_trial_finish(). */
int dlt_test_finish(struct dlt_tester *tester, unsigned *slot, enum wetdbg_delta_outcome *outcome,
                    bool *is_live);

void dlt_test_cancel(struct dlt_tester *tester, unsigned slot);

/* There will be no live runs any more, for this reason. */
void dlt_tester_give_up(struct dlt_tester *tester, const char *reason);

void dlt_tester_close(struct dlt_tester *tester);

#endif
