/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/switch_runner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include <wetdbg/errors.h>

#define OUTPUT_MAX (UINT64_C(256) << 20) /* bytes of a run */

#define LOST     (-ECANCELED) /* the run can no longer be right */
#define TOO_MUCH (-EFBIG)

static void add_bytes(struct cli_switch_runner *runner, const void *bytes, size_t size)
{
    if (runner->size + size > runner->capacity) {
        runner->capacity = 2 * (runner->size + size);
        runner->output = cli_realloc(runner->output, runner->capacity, 1);
    }
    if (size)
        memcpy(runner->output + runner->size, bytes, size);
    runner->size += size;
}

static int on_output(void *arg, int fd, const void *bytes, size_t size)
{
    struct cli_switch_runner *runner = arg;

    if (fd != 1)
        return 0;
    if (runner->size + size > OUTPUT_MAX)
        return TOO_MUCH;
    add_bytes(runner, bytes, size);
    return cli_switch_is_lost(runner->judge, runner->output, runner->size) ? LOST : 0;
}

static void say_unresolved(struct wetdbg_trial_answer *answer, const char *reason)
{
    answer->verdict = WETDBG_VERDICT_UNRESOLVED;
    snprintf(answer->reason, sizeof(answer->reason), "%.*s", WETDBG_TRIAL_REASON_MAX - 1, reason);
}

/* What the engine cannot switch yet. NULL if it can. */
static const char *find_obstacle(struct cli_switch_runner *runner, const struct wetdbg_trial *trial)
{
    const struct wetdbg_candidate *candidate = &trial->switches[0];
    struct wetdbg_candidate direct;
    size_t count, predicate_count;
    const struct wetdbg_predicate *predicates =
        wetdbg_candidates_predicates(runner->candidates, &predicate_count);

    if (trial->count != 1 || candidate->extent != WETDBG_EXTENT_ONE)
        return "several switches in one run";
    if (predicates[candidate->predicate].kind == WETDBG_PREDICATE_TABLE)
        return "a switch table";
    if (wetdbg_candidates_at(runner->candidates, candidate->time, &direct, 1, &count) || !count ||
        direct.to != candidate->to)
        return "an expression as a whole";
    return NULL;
}

static int judge_end(struct cli_switch_runner *runner, const struct wetdbg_switch_result *result,
                     struct wetdbg_trial_answer *answer)
{
    if (result->end == WETDBG_SWITCH_EXIT)
        return cli_switch_judge(runner->judge, runner->output, runner->size, result->wait_status,
                                answer);
    if (result->end == WETDBG_SWITCH_HANGS)
        answer->verdict = WETDBG_VERDICT_WRONG;
    else
        say_unresolved(answer, result->end == WETDBG_SWITCH_LIMIT ? "too many instructions"
                                                                  : result->reason);
    return 0;
}

static int try_one(struct cli_switch_runner *runner, const struct wetdbg_trial *trial,
                   struct wetdbg_trial_answer *answer)
{
    const char *obstacle = find_obstacle(runner, trial);
    struct wetdbg_change change = {.kind = WETDBG_CHANGE_SWITCH, .time = trial->switches[0].time};
    struct wetdbg_switch_result result;

    *answer = (struct wetdbg_trial_answer){0};
    if (obstacle) {
        say_unresolved(answer, obstacle);
        return 0;
    }
    runner->size = 0;
    add_bytes(runner, runner->judge->recorded, cli_switch_put_before(runner->judge, change.time));
    int err = wetdbg_switcher_run(runner->switcher, &change, runner->instructions, on_output,
                                  runner, &result);
    if (err == LOST)
        return cli_switch_judge(runner->judge, runner->output, runner->size, -1, answer);
    if (err == TOO_MUCH) {
        say_unresolved(answer, "too much output");
        return 0;
    }
    return err ? err : judge_end(runner, &result, answer);
}

static int run(void *context, const struct wetdbg_trial *trials, size_t count,
               wetdbg_trial_fn answered, void *arg)
{
    struct wetdbg_trial_answer answer;
    int err = 0;

    for (size_t i = 0; i < count && !err; i++) {
        err = try_one(context, &trials[i], &answer);
        if (!err)
            err = answered(arg, i, &answer);
    }
    return err;
}

struct wetdbg_trial_runner cli_switch_runner(struct cli_switch_runner *runner)
{
    return (struct wetdbg_trial_runner){.context = runner, .run = run};
}
