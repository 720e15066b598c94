/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The trials of a search, made by live runs: what each has changed, and in which order. */
#include "predicate_switch/trials.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "predicate_switch/candidates_priv.h"
#include "predicate_switch/switcher.h"
#include <wetdbg/errors.h>
#include <wetdbg/switch.h>

#define CREW_LEAST 16 /* plans for which further replays are worth their start, some 50 ms */

/* ---- plans ---- */

/* Ways that are no addresses are those of a condition. */
static struct psw_change change_of(const struct wetdbg_candidate *candidate)
{
    bool is_place = candidate->to > 1;
    return (struct psw_change){.kind = is_place ? PSW_JUMP : PSW_SWITCH,
                               .time = candidate->time,
                               .target = is_place ? candidate->to : 0};
}

/* As often as in the recorded run, ten times, and somewhat more. */
static uint64_t most_executions(const struct wetdbg_candidates *candidates,
                                const struct wetdbg_candidate *candidate)
{
    return 10 * candidates->predicates.items[candidate->predicate].instances + 1000;
}

/* From its first instance on an extent is all detour: not each instance goes another way. */
static void extent_plan(const struct wetdbg_candidates *candidates,
                        const struct wetdbg_candidate *candidate, struct psw_plan *plan)
{
    plan->change = (struct psw_change){.kind = PSW_NOTHING, .time = candidate->time};
    plan->detours[0] = (struct psw_detour){.pc = candidate->pc,
                                           .to = candidate->to,
                                           .first = candidate->instance,
                                           .last = UINT64_MAX,
                                           .before = candidate->instance - 1,
                                           .most = most_executions(candidates, candidate)};
    plan->detour_count = 1;
}

/* A second switch is at an instance that the switched run need not come to at the same time. */
static int plan_make(struct wetdbg_candidates *candidates, const struct wetdbg_trial *trial,
                     struct psw_plan *plan)
{
    const struct wetdbg_candidate *first = &trial->switches[0], *second = &trial->switches[1];
    uint64_t before = 0;
    *plan = (struct psw_plan){.change = change_of(first)};
    if (first->extent != WETDBG_EXTENT_ONE)
        extent_plan(candidates, first, plan);
    if (trial->count < 2)
        return 0;
    int err = psw_instances_before(candidates, second->predicate, first->time + 1, &before);
    plan->detours[plan->detour_count++] =
        (struct psw_detour){.pc = second->pc,
                            .to = second->to,
                            .first = second->instance,
                            .last = second->instance,
                            .before = before,
                            .most = most_executions(candidates, second)};
    return err;
}

/* ---- batches ---- */

static int run_here(const struct wetdbg_trials *trials, const struct psw_plan *plans, size_t count,
                    double until, wetdbg_trial_fn answered, void *arg)
{
    struct psw_judge judge = trials->judge;
    struct wetdbg_trial_answer answer;
    int err = 0;
    judge.until = until;
    for (size_t i = 0; i < count && !err; i++) {
        err = psw_plan_run(&judge, &plans[i], &answer);
        if (!err)
            err = answered(arg, i, &answer);
    }
    return err;
}

int psw_trials_run(const struct wetdbg_trials *trials, const struct psw_plan *plans, size_t count,
                   double until, wetdbg_trial_fn answered, void *arg)
{
    return trials->crew && count >= CREW_LEAST
               ? psw_crew_run(trials->crew, plans, count, until, answered, arg)
               : run_here(trials, plans, count, until, answered, arg);
}

static int batch_run(void *context, const struct wetdbg_trial *list, size_t count, double seconds,
                     wetdbg_trial_fn answered, void *arg)
{
    struct wetdbg_trials *trials = context;
    struct psw_plan *plans = calloc(count + 1, sizeof(*plans));
    double until = seconds > 0 ? wd_seconds() + seconds : 0;
    int err = plans ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !err; i++)
        err = plan_make(trials->candidates, &list[i], &plans[i]);
    if (!err)
        err = psw_trials_run(trials, plans, count, until, answered, arg);
    free(plans);
    return err == -ETIMEDOUT ? 0 : err;
}

/* ---- life ---- */

/* Of output that ends too early it is that it ends. */
static void failure_name(struct wetdbg_trials *trials, uint64_t recorded_size)
{
    const struct psw_judge *judge = &trials->judge;
    bool is_output = judge->expected.kind == WETDBG_RIGHT_OUTPUT;
    size_t room = sizeof(trials->failure);
    if (judge->is_crash)
        snprintf(trials->failure, room, "crash");
    else if (is_output && judge->wrong < recorded_size)
        snprintf(trials->failure, room, "output:%llu", (unsigned long long)judge->wrong);
    else if (is_output && judge->wrong < judge->expected.output_size)
        snprintf(trials->failure, room, "output:end");
    else
        snprintf(trials->failure, room, "exit");
}

int wetdbg_trials_new(struct wetdbg_switcher *switcher, const struct wetdbg_expectation *expected,
                      struct wetdbg_trials **out)
{
    struct wetdbg_trials *trials = calloc(1, sizeof(*trials));
    if (!trials)
        return -ENOMEM;
    int err = expected->jobs > WETDBG_TRIAL_JOBS_MAX
                  ? wetdbg_fail(-WETDBG_ERR_USAGE, "at most %d switched runs at once",
                                WETDBG_TRIAL_JOBS_MAX)
                  : 0;
    if (!err)
        err = psw_judge_init(&trials->judge, switcher->session,
                             switcher->cwd[0] ? switcher->cwd : NULL, expected);
    if (!err && expected->jobs > 1)
        err = psw_crew_new(&trials->judge, expected->jobs, &trials->crew);
    if (err) {
        free(trials);
        return err;
    }
    trials->wet = switcher->wet;
    failure_name(trials, psw_session_output(switcher->session, 1, UINT64_MAX));
    *out = trials;
    return 0;
}

void wetdbg_trials_free(struct wetdbg_trials *trials)
{
    if (!trials)
        return;
    psw_crew_free(trials->crew);
    free(trials);
}

const char *wetdbg_trials_failure(const struct wetdbg_trials *trials)
{
    return trials->failure;
}

struct wetdbg_trial_runner wetdbg_trials_runner(struct wetdbg_trials *trials,
                                                struct wetdbg_candidates *candidates)
{
    trials->candidates = candidates;
    return (struct wetdbg_trial_runner){.context = trials, .run = batch_run};
}

/* ---- one run more ---- */

int wetdbg_trials_show(struct wetdbg_trials *trials, const struct wetdbg_trial *trial,
                       wetdbg_switch_output_fn output, void *arg,
                       struct wetdbg_switch_result *result)
{
    struct psw_plan plan;
    int err = plan_make(trials->candidates, trial, &plan);
    const struct psw_settings settings = {.detours = plan.detours,
                                          .detour_count = plan.detour_count};
    return err ? err
               : psw_switcher_run(trials->judge.session, &plan.change, &settings, output, arg,
                                  result);
}
