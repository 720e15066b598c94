/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/switch_wrap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/out.h"
#include "dbgcli/verbs/child_run.h"
#include "dbgcli/verbs/ctest_list.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

#define WRAPPED   "WETDBG_WRAPPED"
#define IS_JUDGED "WETDBG_TEST_IS_JUDGED"
#define SECONDS   "WETDBG_TEST_SECONDS"

#define ALL_SECONDS      900.0 /* of an explanation, where nobody says when the test is killed */
#define SPARE_SECONDS    1.0   /* that it ends before that */
#define STATUS_NOT_FOUND 127
#define STATUS_NOT_RUN   126

bool cli_switch_is_wrapped(void)
{
    return getenv(WRAPPED) != NULL;
}

void cli_switch_wrap_begin(void)
{
    setenv(WRAPPED, "1", 1);
}

/* ---- text on its way ---- */

static double seconds_since(const struct timespec *begin)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begin->tv_sec) + 1e-9 * (double)(now.tv_nsec - begin->tv_nsec);
}

struct text {
    char *bytes; /* with a 0 behind them */
    size_t size;
};

/* Adds what a descriptor has, as long as there is room; false at its end. `fd`: where it goes on,
 * or -1. */
static bool pass_on(int from, int fd, struct text *text)
{
    char bytes[4096];
    ssize_t got = read(from, bytes, sizeof(bytes));

    if (got <= 0)
        return got < 0 && errno == EINTR;
    if (text->size + (size_t)got <= CLI_CHILD_TEXT_MAX) {
        text->bytes = cli_realloc(text->bytes, text->size + (size_t)got + 1, 1);
        memcpy(text->bytes + text->size, bytes, (size_t)got);
        text->size += (size_t)got;
        text->bytes[text->size] = 0;
    }
    for (ssize_t done = 0, put; fd >= 0 && done < got; done += put)
        if ((put = write(fd, bytes + done, (size_t)(got - done))) <= 0)
            break;
    return true;
}

/* Until the process has ended and the pipe is empty: what it started may hold that open. True if it
 * ended in time; seconds 0: whenever. */
static bool follow(pid_t pid, int from, int fd, double seconds, struct text *text, int *status)
{
    struct pollfd both[2] = {{.fd = from, .events = POLLIN},
                             {.fd = pidfd_open(pid, 0), .events = POLLIN}};
    struct timespec begin;
    bool is_late = false;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    text->bytes = cli_strdup("");
    while (!is_late && both[1].fd >= 0) {
        both[0].revents = both[1].revents = 0;
        poll(both, 2, 100);
        if (both[0].revents && !pass_on(from, fd, text))
            both[0].fd = -1;
        else if (!both[0].revents && both[1].revents)
            break;
        is_late = seconds > 0 && seconds_since(&begin) > seconds;
    }
    if (both[1].fd >= 0)
        close(both[1].fd);
    return !is_late && cli_child_wait(pid, 0, status);
}

/* ---- the test ---- */

/* `out` is where it prints; -1: where we do. */
static _Noreturn void run_test(char **argv, int out)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cli_switch_wrap_begin();
    if (out < 0 || (dup2(out, 1) == 1 && dup2(out, 2) == 2))
        execvp(argv[0], argv);
    int error = errno;
    fputs("wetdbg: switch: cannot run ", stderr);
    cli_out_text(&(struct cli_out){.stream = stderr}, argv[0]);
    fprintf(stderr, ": %s\n", strerror(error));
    _exit(error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN);
}

/* What ends a job from the terminal is for the test, which has it, too. */
static void ignore_terminal(bool is_on)
{
    signal(SIGINT, is_on ? SIG_IGN : SIG_DFL);
    signal(SIGQUIT, is_on ? SIG_IGN : SIG_DFL);
}

/* Runs the test; *text is what it prints, if somebody wants to know (to be freed); else NULL. */
static int run_and_wait(char **argv, struct text *text, int *status)
{
    int ends[2] = {-1, -1};

    fflush(NULL);
    if (text && pipe2(ends, O_CLOEXEC))
        return wetdbg_fail_errno("cannot run %s", argv[0]);
    pid_t pid = fork();
    if (pid == 0)
        run_test(argv, ends[1]);
    int err = pid < 0 ? wetdbg_fail_errno("cannot run %s", argv[0]) : 0;
    if (text)
        close(ends[1]);
    ignore_terminal(true);
    if (pid > 0 && text)
        follow(pid, ends[0], 1, 0, text, status);
    else if (pid > 0)
        cli_child_wait(pid, 0, status);
    ignore_terminal(false);
    if (text)
        close(ends[0]);
    return err;
}

/* ---- the explanation ---- */

/* This program with the options of `args`, so that it explains what stands behind them. To be
 * freed, with its words. */
static char **words_of(const struct cli_args *args)
{
    size_t count = 0;
    bool is_ctest = cli_args_has(args, "ctest");
    char **words = cli_malloc((args->given_count + args->operand_count + 6) * sizeof(*words));

    words[count++] = cli_strdup("wetdbg");
    words[count++] = cli_strdup("switch");
    if (!is_ctest)
        words[count++] = cli_strdup("--harness");
    for (size_t i = 0; i < args->given_count; i++) {
        const struct cli_given *given = &args->given[i];
        bool is_ours = strcmp(given->option->name, "wrap") == 0 ||
                       (strcmp(given->option->name, "harness") == 0 && !is_ctest);
        if (!is_ours)
            words[count++] = given->value
                                 ? cli_asprintf("--%s=%s", given->option->name, given->value)
                                 : cli_asprintf("--%s", given->option->name);
    }
    if (!cli_args_has(args, "budget"))
        words[count++] = cli_strdup("--budget=60s");
    if (!is_ctest)
        words[count++] = cli_strdup("--");
    for (size_t i = 0; i < args->operand_count && !is_ctest; i++)
        words[count++] = cli_strdup(args->operands[i]);
    words[count] = NULL;
    return words;
}

/* In a group of its own, so that all of it can be ended. */
static _Noreturn void explain_here(char **words, int out)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cli_switch_wrap_begin();
    if (dup2(out, 1) == 1 && dup2(out, 2) == 2)
        execv("/proc/self/exe", words);
    _exit(STATUS_NOT_RUN);
}

static void end(pid_t pid, int *status)
{
    fprintf(stderr, "wetdbg: switch: no time is left to find out why the test fails\n");
    kill(-pid, SIGTERM);
    if (!cli_child_wait(pid, SPARE_SECONDS / 2, status)) {
        kill(-pid, SIGKILL);
        cli_child_wait(pid, 0, status);
    }
}

/* What there is to say, to be freed. */
static int find_out(const struct cli_args *args, double seconds, struct text *text)
{
    char **words = words_of(args);
    int ends[2], status;

    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC))
        return wetdbg_fail_errno("cannot explain the failure");
    pid_t pid = fork();
    if (pid == 0)
        explain_here(words, ends[1]);
    close(ends[1]);
    if (pid > 0 && !follow(pid, ends[0], -1, seconds, text, &status))
        end(pid, &status);
    close(ends[0]);
    for (char **at = words; *at; at++)
        free(*at);
    free(words);
    return pid < 0 ? wetdbg_fail(-EAGAIN, "cannot explain the failure") : 0;
}

/* On standard error: standard output may be read as TAP. `test`: NULL, or who must not be
 * swayed. */
static void explain(const struct cli_args *args, const struct cli_ctest *test, double seconds)
{
    struct text text = {0};

    if (seconds > SPARE_SECONDS && find_out(args, seconds, &text) == 0 && text.bytes &&
        !(test && cli_ctest_is_swayed(test, text.bytes)))
        fputs(text.bytes, stderr);
    free(text.bytes);
}

/* A test of which CTest knows more than its exit status. */
static int wrap_judged(const struct cli_args *args, double seconds)
{
    struct text text = {0};
    struct cli_ctest test;
    struct timespec begin;
    int status = 0;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    int err = run_and_wait(args->operands, &text, &status);
    if (!err &&
        cli_ctest_find(cli_args_value(args, "build"), cli_args_value(args, "ctest"), &test) == 0) {
        if (!cli_ctest_passes(&test, status, text.bytes))
            explain(args, &test, seconds - seconds_since(&begin));
        cli_ctest_fini(&test);
    }
    free(text.bytes);
    return err ? err : cli_child_end_as(status);
}

int cli_switch_wrap(const struct cli_args *args)
{
    const char *limit = getenv(SECONDS);
    double seconds = limit ? strtod(limit, NULL) - SPARE_SECONDS : ALL_SECONDS;
    struct timespec begin;
    int status = 0;

    if (!args->operand_count)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "switch: --wrap needs the test's command");
    bool is_nested = cli_switch_is_wrapped();
    if (getenv(IS_JUDGED) && cli_args_has(args, "ctest") && !is_nested)
        return wrap_judged(args, seconds);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    int err = run_and_wait(args->operands, NULL, &status);
    if (err)
        return err;
    if (status != 0 && !is_nested)
        explain(args, NULL, seconds - seconds_since(&begin));
    return cli_child_end_as(status);
}
