/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The trials of a search, made by live runs, and judged. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "predicate_switch/switcher.h"
#include <wetdbg/errors.h>
#include <wetdbg/switch.h>

struct wetdbg_trials {
    struct psw_session *session;
    struct wetdbg_expectation expected;
};

/* How far a run's output is what it should be. */
struct judging {
    const struct wetdbg_expectation *expected;
    uint64_t at;     /* bytes put out so far */
    uint64_t common; /* of these, right from the first one on */
};

static bool is_right_so_far(const struct judging *judging)
{
    return judging->common == judging->at;
}

static void judge_bytes(struct judging *judging, const uint8_t *bytes, uint64_t size)
{
    const struct wetdbg_expectation *expected = judging->expected;
    const uint8_t *right = expected->output;
    for (uint64_t i = 0; i < size && is_right_so_far(judging); i++) {
        bool is_same = judging->at < expected->output_size && bytes[i] == right[judging->at];
        judging->common += is_same;
        judging->at++;
    }
}

/* A wrong byte settles the verdict, unless the question is whether the run crashes. */
static int output_judge(void *arg, const struct vk_output *output)
{
    struct judging *judging = arg;
    if (output->fd == 1)
        judge_bytes(judging, output->bytes, output->size);
    return !is_right_so_far(judging) && !judging->expected->is_crash;
}

static enum wetdbg_verdict verdict_of(const struct judging *judging,
                                      const struct psw_result *result)
{
    const struct wetdbg_expectation *expected = judging->expected;
    bool has_exited = result->end == PSW_EXIT && WIFEXITED(result->status);
    bool is_whole = is_right_so_far(judging) && judging->at == expected->output_size;
    if (result->end != PSW_EXIT && result->end != PSW_STOPPED)
        return WETDBG_VERDICT_UNRESOLVED;
    if (is_whole && has_exited && WEXITSTATUS(result->status) == expected->exit_status)
        return WETDBG_VERDICT_EXACT;
    if (!expected->is_crash && judging->common > expected->wrong)
        return WETDBG_VERDICT_PREFIX;
    return expected->is_crash && has_exited ? WETDBG_VERDICT_NO_CRASH : WETDBG_VERDICT_WRONG;
}

static void unresolved(struct wetdbg_trial_answer *answer, const char *reason)
{
    answer->verdict = WETDBG_VERDICT_UNRESOLVED;
    snprintf(answer->reason, sizeof(answer->reason), "%.*s", WETDBG_TRIAL_REASON_MAX - 1, reason);
}

/* Ways that are no addresses are those of a condition. */
static struct psw_change change_of(const struct wetdbg_candidate *candidate)
{
    bool is_place = candidate->to > 1;
    return (struct psw_change){.kind = is_place ? PSW_JUMP : PSW_SWITCH,
                               .time = candidate->time,
                               .target = is_place ? candidate->to : 0};
}

static int try_one(struct wetdbg_trials *trials, const struct wetdbg_trial *trial,
                   struct wetdbg_trial_answer *answer)
{
    const struct wetdbg_candidate *candidate = &trial->switches[0];
    struct judging judging = {.expected = &trials->expected};
    struct psw_settings settings = {.output = output_judge, .arg = &judging};
    struct psw_change change = change_of(candidate);
    struct psw_result result;
    *answer = (struct wetdbg_trial_answer){0};
    if (trial->count != 1 || candidate->extent != WETDBG_EXTENT_ONE) {
        unresolved(answer, "several switches in one run");
        return 0;
    }
    judging.at = psw_session_output(trials->session, 1, candidate->time);
    judging.common = judging.at;
    if (!trials->expected.is_crash && judging.at > trials->expected.wrong)
        judging.common = trials->expected.wrong;
    int err = psw_run(trials->session, &change, &settings, &result);
    if (err == -WETDBG_ERR_NOT_FOUND)
        unresolved(answer, wetdbg_error(err));
    if (err)
        return err == -WETDBG_ERR_NOT_FOUND ? 0 : err;
    answer->verdict = verdict_of(&judging, &result);
    if (answer->verdict == WETDBG_VERDICT_UNRESOLVED)
        unresolved(answer, result.reason);
    return 0;
}

static int batch_run(void *context, const struct wetdbg_trial *list, size_t count,
                     wetdbg_trial_fn answered, void *arg)
{
    int err = 0;
    for (size_t i = 0; i < count && !err; i++) {
        struct wetdbg_trial_answer answer;
        err = try_one(context, &list[i], &answer);
        if (!err)
            err = answered(arg, i, &answer);
    }
    return err;
}

int wetdbg_trials_new(struct wetdbg_switcher *switcher, const struct wetdbg_expectation *expected,
                      struct wetdbg_trials **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return -ENOMEM;
    **out = (struct wetdbg_trials){.session = switcher->session, .expected = *expected};
    return 0;
}

void wetdbg_trials_free(struct wetdbg_trials *trials)
{
    free(trials);
}

struct wetdbg_trial_runner wetdbg_trials_runner(struct wetdbg_trials *trials)
{
    return (struct wetdbg_trial_runner){.context = trials, .run = batch_run};
}
