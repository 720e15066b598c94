/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/switch_judge.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include <wetdbg/errors.h>

#define EXPECTED_MAX   (UINT64_C(256) << 20) /* bytes of a file with the right output */
#define ORACLE_SECONDS 60                    /* that a command may take */

/* ---- what was recorded ---- */

static int read_piece(struct cli_switch_judge *judge, struct wetdbg *wet,
                      const struct wetdbg_output *output)
{
    struct wetdbg_state *state;
    size_t end = judge->recorded_size + output->size;

    judge->recorded = cli_realloc(judge->recorded, end + 1, 1);
    judge->pieces = cli_realloc(judge->pieces, judge->piece_count + 1, sizeof(*judge->pieces));
    int err = wetdbg_state_open(wet, output->time, &state);
    if (err)
        return err;
    err = wetdbg_state_read(state, output->address, judge->recorded + judge->recorded_size,
                            output->size);
    wetdbg_state_close(state);
    judge->recorded_size = end;
    judge->pieces[judge->piece_count++] = (struct cli_switch_piece){output->time, end};
    return err;
}

static int read_recorded(struct cli_switch_judge *judge, struct wetdbg *wet)
{
    size_t count;
    const struct wetdbg_output *outputs = wetdbg_outputs(wet, &count);
    int err = 0;

    for (size_t i = 0; i < count && !err; i++)
        if (outputs[i].fd == 1 && outputs[i].size)
            err = read_piece(judge, wet, &outputs[i]);
    return err;
}

size_t cli_switch_put_before(const struct cli_switch_judge *judge, wetdbg_time time)
{
    size_t end = 0;

    for (size_t i = 0; i < judge->piece_count && judge->pieces[i].time < time; i++)
        end = judge->pieces[i].end;
    return end;
}

/* ---- the right output ---- */

static int read_expected(struct cli_switch_judge *judge, const char *path)
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
    if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size > EXPECTED_MAX) {
        close(fd);
        return wetdbg_fail(-WETDBG_ERR_USAGE, "switch: %s is no file of at most 256 MiB", path);
    }
    judge->expected_size = (size_t)status.st_size;
    judge->expected = cli_malloc(judge->expected_size + 1);
    while (done < judge->expected_size &&
           (got = read(fd, judge->expected + done, judge->expected_size - done)) > 0)
        done += (size_t)got;
    int err = got < 0 ? wetdbg_fail_errno("%s", path) : 0;
    judge->expected_size = done;
    close(fd);
    return err;
}

static size_t common_bytes(const struct cli_switch_judge *judge, const uint8_t *output, size_t size)
{
    size_t i = 0;

    while (i < size && i < judge->expected_size && output[i] == judge->expected[i])
        i++;
    return i;
}

bool cli_switch_is_lost(const struct cli_switch_judge *judge, const uint8_t *output, size_t size)
{
    return judge->oracle == CLI_SWITCH_EXPECT && common_bytes(judge, output, size) < size;
}

/* ---- a command ---- */

static void exec_command(const char *command, const char *directory, int status)
{
    char *number =
        cli_asprintf("%d", WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    char *path = cli_asprintf("%s/output", directory);
    int in = open(path, O_RDONLY), null = open("/dev/null", O_WRONLY);

    if (in < 0 || null < 0 || chdir(directory) || dup2(in, 0) < 0 || dup2(null, 1) < 0 ||
        setenv("WETDBG_OUTPUT", path, 1) || setenv("WETDBG_STATUS", number, 1))
        _exit(125);
    alarm(ORACLE_SECONDS);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(125);
}

static int write_output(const char *directory, const uint8_t *output, size_t size)
{
    char *path = cli_asprintf("%s/output", directory);
    FILE *file = fopen(path, "wbe");
    bool is_written = file && fwrite(output, 1, size, file) == size;

    if (file && fclose(file))
        is_written = false;
    int err = is_written ? 0 : wetdbg_fail_errno("%s", path);
    free(path);
    return err;
}

/* Asks in a directory of its own. *answer is the command's exit status, or -1. */
static int ask_command(const struct cli_switch_judge *judge, const uint8_t *output, size_t size,
                       int status, int *answer)
{
    const char *place = getenv("TMPDIR");
    char *directory = cli_asprintf("%s/wetdbg-switch-XXXXXX", place && *place ? place : "/tmp");
    int ended;

    if (!mkdtemp(directory)) {
        int err = wetdbg_fail_errno("%s", directory);
        free(directory);
        return err;
    }
    int err = write_output(directory, output, size);
    pid_t pid = err ? -1 : fork();
    if (pid == 0)
        exec_command(judge->command, directory, status);
    if (pid > 0) {
        while (waitpid(pid, &ended, 0) < 0 && errno == EINTR)
            ;
        *answer = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
    } else if (!err) {
        err = wetdbg_fail_errno("cannot start the oracle");
    }
    char *path = cli_asprintf("%s/output", directory);
    unlink(path);
    rmdir(directory);
    free(path);
    free(directory);
    return err;
}

/* ---- verdicts ---- */

static int judge_by_command(const struct cli_switch_judge *judge, const uint8_t *output,
                            size_t size, int status, struct wetdbg_trial_answer *answer)
{
    int said;
    int err = ask_command(judge, output, size, status, &said);

    if (err)
        return err;
    answer->verdict = said == 0   ? WETDBG_VERDICT_EXACT
                      : said == 1 ? WETDBG_VERDICT_WRONG
                                  : WETDBG_VERDICT_UNRESOLVED;
    if (answer->verdict == WETDBG_VERDICT_UNRESOLVED)
        snprintf(answer->reason, sizeof(answer->reason),
                 said < 0 ? "the oracle was ended" : "the oracle's status is %d", said);
    return 0;
}

int cli_switch_judge(const struct cli_switch_judge *judge, const uint8_t *output, size_t size,
                     int status, struct wetdbg_trial_answer *answer)
{
    bool exits = status != -1 && WIFEXITED(status);

    answer->verdict = WETDBG_VERDICT_WRONG;
    if (judge->oracle == CLI_SWITCH_COMMAND)
        return judge_by_command(judge, output, size, status, answer);
    if (judge->oracle == CLI_SWITCH_NO_CRASH) {
        if (exits)
            answer->verdict = WETDBG_VERDICT_NO_CRASH;
        return 0;
    }
    size_t common = common_bytes(judge, output, size);
    if (exits && common == size && common == judge->expected_size &&
        WEXITSTATUS(status) == judge->status)
        answer->verdict = WETDBG_VERDICT_EXACT;
    else if (common > judge->wrong)
        answer->verdict = WETDBG_VERDICT_PREFIX;
    return 0;
}

/* ---- what is wrong ---- */

static int check_recorded(struct cli_switch_judge *judge, const struct wetdbg_info *info)
{
    struct wetdbg_trial_answer first = {0}, second = {0};
    int err =
        cli_switch_judge(judge, judge->recorded, judge->recorded_size, info->wait_status, &first);

    if (!err)
        err = cli_switch_judge(judge, judge->recorded, judge->recorded_size, info->wait_status,
                               &second);
    if (err)
        return err;
    if (first.verdict != second.verdict)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "switch: the oracle gave two answers to the recorded "
                           "run: first '%s', then '%s'",
                           wetdbg_verdict_name(first.verdict), wetdbg_verdict_name(second.verdict));
    if (first.verdict == WETDBG_VERDICT_UNRESOLVED)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "switch: of the recorded run nothing is known: %s",
                           first.reason);
    if (first.verdict >= WETDBG_VERDICT_NO_CRASH)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "switch: the recorded run does not fail: %s",
                           judge->oracle == CLI_SWITCH_NO_CRASH ? "it did not crash"
                           : judge->oracle == CLI_SWITCH_EXPECT
                               ? "its output and exit status are as expected"
                               : "the oracle says that it is right");
    return 0;
}

static char *find_criterion(const struct cli_switch_judge *judge, const struct wetdbg_info *info)
{
    if (info->signal)
        return cli_strdup("crash");
    if (judge->oracle == CLI_SWITCH_EXPECT &&
        (judge->wrong < judge->recorded_size || judge->wrong < judge->expected_size))
        return cli_asprintf("output:%zu", judge->wrong);
    return cli_strdup("exit");
}

int cli_switch_judge_check(const struct cli_args *args)
{
    unsigned given = cli_args_has(args, "expect") + cli_args_has(args, "oracle") +
                     cli_args_has(args, "no-crash");
    uint64_t status;

    if (given != 1)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "switch: %s of --expect, --oracle and --no-crash says what is right",
                           given ? "only one" : "one");
    int err = cli_args_number(args, "status", 0, &status);
    if (!err && status > 255)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "switch: --status is 0 to 255, not '%s'",
                          cli_args_value(args, "status"));
    return err;
}

int cli_switch_judge_init(struct cli_switch_judge *judge, const struct cli_args *args,
                          struct wetdbg *wet, char **criterion)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    const char *target = cli_args_value(args, "target");
    const char *expect = cli_args_value(args, "expect");
    bool exits = info->wait_status != -1 && WIFEXITED(info->wait_status);
    uint64_t status;

    *judge = (struct cli_switch_judge){.command = cli_args_value(args, "oracle")};
    judge->oracle = expect           ? CLI_SWITCH_EXPECT
                    : judge->command ? CLI_SWITCH_COMMAND
                                     : CLI_SWITCH_NO_CRASH;
    int err = cli_args_number(args, "status", exits ? WEXITSTATUS(info->wait_status) : 0, &status);
    if (!err && expect)
        err = read_expected(judge, expect);
    if (!err)
        err = read_recorded(judge, wet);
    if (err)
        return err;
    judge->status = (int)status;
    judge->wrong = common_bytes(judge, judge->recorded, judge->recorded_size);
    err = check_recorded(judge, info);
    if (!err)
        *criterion = target ? cli_strdup(target) : find_criterion(judge, info);
    return err;
}

void cli_switch_judge_fini(struct cli_switch_judge *judge)
{
    free(judge->expected);
    free(judge->recorded);
    free(judge->pieces);
}
