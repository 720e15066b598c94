/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/judgement.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/array.h"
#include "common/clock.h"
#include "delta/question.h"
#include "wet/whole.h"
#include <wetdbg/errors.h>

#define OUTPUT_MAX    (UINT64_C(256) << 20) /* bytes that a command is asked about */
#define ASKED_SECONDS 60.0

/* Bytes that a run which is judged may take beside as much again as there is. Some mutants ask for
 * all they can get, and to clear a gigabyte takes as long as a hundred runs. */
#define MEMORY_MORE (UINT64_C(64) << 20)

/* A run that is being judged. */
struct judging {
    const struct psw_judge *judge;
    uint64_t at;          /* bytes put out so far */
    uint64_t common;      /* of these, right from the first one on */
    struct wd_buf output; /* for a command, or the caller */
    bool is_too_much;
    /* What is known once the run has ended, for a command: files by their paths. */
    struct dlt_left_file *files;
    size_t file_count;
    int err;
};

/* ---- while it runs ---- */

static bool is_right_so_far(const struct judging *judging)
{
    return judging->common == judging->at;
}

static void compare(struct judging *judging, const uint8_t *bytes, uint64_t size)
{
    const struct wetdbg_expectation *expected = &judging->judge->expected;
    const uint8_t *right = expected->output;
    for (uint64_t i = 0; i < size && is_right_so_far(judging); i++) {
        bool is_same = judging->at < expected->output_size && bytes[i] == right[judging->at];
        judging->common += is_same;
        judging->at++;
    }
}

/* A wrong byte settles the verdict, unless the question is whether the run crashes. */
static int output_take(void *arg, const struct vk_output *output)
{
    struct judging *judging = arg;
    enum wetdbg_right kind = judging->judge->expected.kind;
    if (kind == WETDBG_RIGHT_EXIT ||
        (output->fd != 1 && !(kind == WETDBG_RIGHT_CALLER && output->fd == 2)))
        return 0;
    if (judging->judge->expected.kind == WETDBG_RIGHT_OUTPUT) {
        compare(judging, output->bytes, output->size);
        return !is_right_so_far(judging) && !judging->judge->is_crash;
    }
    judging->is_too_much = judging->output.size_bytes + output->size > OUTPUT_MAX;
    if (!judging->is_too_much)
        judging->err = wd_buf_append(&judging->output, output->bytes, output->size);
    return judging->is_too_much || judging->err;
}

/* ---- what it left ---- */

/* A file's name where the command works: from the program's own directory on, or else all of it. */
static const char *name_there(const struct psw_judge *judge, const char *path)
{
    size_t length = judge->directory ? strlen(judge->directory) : 0;
    if (length && !strncmp(path, judge->directory, length) && path[length] == '/')
        return path + length + 1;
    return path + strspn(path, "/");
}

static int file_take(struct judging *judging, struct vk_kernel *kernel, size_t index)
{
    char path[PATH_MAX];
    struct vk_file file;
    if (vk_kernel_file(kernel, index, &file, path, sizeof(path)) || file.is_gone ||
        file.size > OUTPUT_MAX || !dlt_left_name_is_below(name_there(judging->judge, path)))
        return 0;
    struct dlt_left_file left = {.name = strdup(name_there(judging->judge, path)),
                                 .bytes = {malloc(file.size + 1), file.size}};
    int err = left.name && left.bytes.data ? 0 : -ENOMEM;
    if (!err)
        err = vk_kernel_file_read(kernel, index, 0, left.bytes.data, file.size);
    if (!err && wd_grow_one(judging->files, judging->file_count))
        err = -ENOMEM;
    if (!err) {
        judging->files[judging->file_count++] = left;
        return 0;
    }
    free((char *)left.name);
    free(left.bytes.data);
    return err == -ENODATA ? 0 : err;
}

/* The files that the run changed, as far as all of their bytes are known. */
static void files_take(void *arg, struct vk_kernel *kernel)
{
    struct judging *judging = arg;
    size_t count = vk_kernel_file_count(kernel);
    for (size_t i = 0; i < count && !judging->err; i++)
        judging->err = file_take(judging, kernel, i);
}

static void judging_fini(struct judging *judging)
{
    for (size_t i = 0; i < judging->file_count; i++) {
        free((char *)judging->files[i].name);
        free(judging->files[i].bytes.data);
    }
    free(judging->files);
    wd_buf_fini(&judging->output);
}

/* ---- verdicts ---- */

static void unresolved(struct wetdbg_trial_answer *answer, const char *reason)
{
    answer->verdict = WETDBG_VERDICT_UNRESOLVED;
    snprintf(answer->reason, sizeof(answer->reason), "%.*s", WETDBG_TRIAL_REASON_MAX - 1, reason);
}

/* For how long a command may be waited for. */
static double seconds_left(const struct psw_judge *judge)
{
    double seconds = judge->expected.timeout_s > 0 ? judge->expected.timeout_s : ASKED_SECONDS;
    double left = judge->until > 0 ? judge->until - wd_seconds() : seconds;
    return left < seconds ? left : seconds;
}

static int ask(struct judging *judging, int status, struct wetdbg_trial_answer *answer)
{
    const struct psw_judge *judge = judging->judge;
    bool has_exited = WIFEXITED(status);
    struct dlt_ended_run ended = {
        .how = {has_exited ? DLT_EXITED : DLT_SIGNALED,
                has_exited ? WEXITSTATUS(status) : WTERMSIG(status)},
        .files = judging->files,
        .file_count = judging->file_count,
    };
    struct wetdbg_dd_bytes output = {judging->output.data, judging->output.size_bytes};
    double seconds = seconds_left(judge);
    char text[DLT_SAID_BYTES];
    struct dlt_how said;
    if (seconds <= 0)
        return wetdbg_fail_plain(-ETIMEDOUT);
    int err = dlt_question_ask(judge->expected.command, seconds, judge->expected.jobs, &ended,
                               &output, psw_session_interrupted(judge->session), &said, text);
    if (!err && said.ending == DLT_TOO_LONG && judge->until > 0 && wd_seconds() >= judge->until)
        err = wetdbg_fail_plain(-ETIMEDOUT);
    if (err)
        return err;
    if (said.ending != DLT_EXITED || said.number > 1)
        unresolved(answer, text);
    else
        answer->verdict = said.number ? WETDBG_VERDICT_WRONG : WETDBG_VERDICT_EXACT;
    return 0;
}

static int ask_caller(struct judging *judging, int status, struct wetdbg_trial_answer *answer)
{
    const struct wetdbg_expectation *expected = &judging->judge->expected;
    size_t size = judging->output.size_bytes;
    int err = wd_buf_append(&judging->output, "", 1);
    if (err)
        return err;
    bool is_right =
        expected->is_right(expected->arg, (const char *)judging->output.data, size, status);
    answer->verdict = is_right ? WETDBG_VERDICT_EXACT : WETDBG_VERDICT_WRONG;
    return 0;
}

static enum wetdbg_verdict verdict_of(const struct judging *judging, int status)
{
    const struct wetdbg_expectation *expected = &judging->judge->expected;
    bool has_exited = status != -1 && WIFEXITED(status), is_crash = judging->judge->is_crash;
    bool is_whole = expected->kind == WETDBG_RIGHT_OUTPUT && is_right_so_far(judging) &&
                    judging->at == expected->output_size;
    if (is_whole && has_exited && WEXITSTATUS(status) == expected->exit_status)
        return WETDBG_VERDICT_EXACT;
    if (expected->kind == WETDBG_RIGHT_OUTPUT && !is_crash &&
        judging->common > judging->judge->wrong)
        return WETDBG_VERDICT_PREFIX;
    return is_crash && has_exited ? WETDBG_VERDICT_NO_CRASH : WETDBG_VERDICT_WRONG;
}

/* `status` as wait(2) has it; -1: more output could change nothing. */
static int judge_end(struct judging *judging, int status, struct wetdbg_trial_answer *answer)
{
    if (judging->judge->expected.kind == WETDBG_RIGHT_COMMAND)
        return ask(judging, status, answer);
    if (judging->judge->expected.kind == WETDBG_RIGHT_CALLER)
        return ask_caller(judging, status, answer);
    answer->verdict = verdict_of(judging, status);
    return 0;
}

/* ---- a run ---- */

static int judging_begin(struct judging *judging, const struct psw_judge *judge, wetdbg_time time)
{
    *judging = (struct judging){.judge = judge};
    judging->at = judging->common = psw_session_output(judge->session, 1, time);
    if (!judge->is_crash && judging->at > judge->wrong)
        judging->common = judge->wrong;
    if (judge->expected.kind == WETDBG_RIGHT_CALLER)
        return psw_session_output_read(judge->session, PSW_BOTH, time, &judging->output);
    if (judge->expected.kind == WETDBG_RIGHT_COMMAND)
        return psw_session_output_read(judge->session, 1, time, &judging->output);
    return 0;
}

static int result_judge(struct judging *judging, const struct psw_result *result,
                        struct wetdbg_trial_answer *answer)
{
    switch (result->end) {
    case PSW_EXIT:
        return judge_end(judging, result->status, answer);
    case PSW_STOPPED:
        if (judging->is_too_much)
            unresolved(answer, "too much output");
        else
            answer->verdict = verdict_of(judging, -1);
        return 0;
    case PSW_HANGS:
        answer->verdict = WETDBG_VERDICT_WRONG;
        return 0;
    default:
        unresolved(answer, result->reason);
        return 0;
    }
}

static enum wetdbg_trial_effect effect_of(const struct psw_judge *judge,
                                          const struct psw_difference *difference)
{
    if (!difference->is_there)
        return WETDBG_EFFECT_NONE;
    bool is_here = judge->expected.kind == WETDBG_RIGHT_OUTPUT && difference->fd == 1 &&
                   difference->offset >= judge->wrong;
    return is_here ? WETDBG_EFFECT_HERE : WETDBG_EFFECT_BEFORE;
}

int psw_judge_run(const struct psw_judge *judge, const struct psw_change *change,
                  const struct psw_detour *detours, unsigned detour_count,
                  struct wetdbg_trial_answer *answer)
{
    struct judging judging;
    struct psw_settings settings = {.memory = MEMORY_MORE,
                                    .output = output_take,
                                    .arg = &judging,
                                    .detours = detours,
                                    .detour_count = detour_count};
    struct psw_result result;
    *answer = (struct wetdbg_trial_answer){0};
    if (judge->expected.kind == WETDBG_RIGHT_COMMAND)
        settings.ended = files_take;
    int err = judging_begin(&judging, judge, change->time);
    if (!err)
        err = psw_run(judge->session, change, &settings, &result);
    if (!err)
        err = judging.err ? judging.err : result_judge(&judging, &result, answer);
    if (!err)
        answer->effect = effect_of(judge, &result.difference);
    judging_fini(&judging);
    if (err != -WETDBG_ERR_NOT_FOUND)
        return err;
    unresolved(answer, wetdbg_error(err));
    return 0;
}

/* ---- the recorded run ---- */

static uint64_t wrong_find(const struct psw_judge *judge, const struct wd_buf *output)
{
    const uint8_t *right = judge->expected.output;
    uint64_t i = 0;
    while (i < output->size_bytes && i < judge->expected.output_size && right[i] == output->data[i])
        i++;
    return i;
}

static int recorded_judge(const struct psw_judge *judge, int status,
                          struct wetdbg_trial_answer *answer)
{
    struct judging judging;
    *answer = (struct wetdbg_trial_answer){0};
    int err = judging_begin(&judging, judge, UINT64_MAX);
    if (!err && judge->expected.kind == WETDBG_RIGHT_COMMAND)
        err = psw_session_at_end(judge->session, files_take, &judging);
    if (!err)
        err = judging.err ? judging.err : judge_end(&judging, status, answer);
    judging_fini(&judging);
    return err;
}

static int passes(const struct psw_judge *judge)
{
    static const char *const why[] = {
        [WETDBG_RIGHT_OUTPUT] = "its output and exit status are as expected",
        [WETDBG_RIGHT_COMMAND] = "the oracle says that it is right",
        [WETDBG_RIGHT_EXIT] = "it did not crash",
        [WETDBG_RIGHT_CALLER] = "what makes the test fail is in another process"};
    return wetdbg_fail(-WETDBG_ERR_USAGE, "the recorded run does not fail: %s",
                       why[judge->expected.kind]);
}

/* A command that knows the run has to say the same twice. */
static int command_check(const struct psw_judge *judge, int status,
                         struct wetdbg_trial_answer *first)
{
    struct wetdbg_trial_answer second;
    struct psw_judge bounded = *judge;
    if (judge->expected.budget_s > 0)
        bounded.until = wd_seconds() + judge->expected.budget_s;
    int err = recorded_judge(&bounded, status, first);
    if (err || first->verdict == WETDBG_VERDICT_UNRESOLVED)
        return err;
    err = recorded_judge(&bounded, status, &second);
    if (!err && first->verdict != second.verdict)
        err = wetdbg_fail(-WETDBG_ERR_USAGE,
                          "the oracle gave two answers to the recorded run: first '%s', then '%s'",
                          wetdbg_verdict_name(first->verdict), wetdbg_verdict_name(second.verdict));
    return err;
}

static int recorded_check(const struct psw_judge *judge, int status)
{
    struct wetdbg_trial_answer answer;
    if (judge->expected.kind == WETDBG_RIGHT_EXIT && !judge->is_crash)
        return passes(judge);
    int err = judge->expected.kind == WETDBG_RIGHT_COMMAND ? command_check(judge, status, &answer)
                                                           : recorded_judge(judge, status, &answer);
    if (err == -ETIMEDOUT)
        return wetdbg_fail(
            -WETDBG_ERR_USAGE,
            "of the recorded run nothing is known: the oracle, which is asked twice, "
            "did not answer within the budget of %.3g s",
            judge->expected.budget_s);
    if (err)
        return err;
    if (answer.verdict == WETDBG_VERDICT_UNRESOLVED)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "of the recorded run nothing is known: %s",
                           answer.reason);
    return answer.verdict == WETDBG_VERDICT_EXACT ? passes(judge) : 0;
}

int psw_judge_init(struct psw_judge *judge, struct psw_session *session, const char *directory,
                   const struct wetdbg_expectation *expected)
{
    const struct wetdbg_info *info = psw_session_info(session);
    struct wd_buf output = {0};
    *judge = (struct psw_judge){.expected = *expected,
                                .session = session,
                                .directory = directory,
                                .is_crash = info->signal != 0};
    int err = psw_session_output_read(session, 1, UINT64_MAX, &output);
    if (!err && expected->kind == WETDBG_RIGHT_OUTPUT)
        judge->wrong = wrong_find(judge, &output);
    wd_buf_fini(&output);
    return err ? err : recorded_check(judge, info->wait_status);
}
