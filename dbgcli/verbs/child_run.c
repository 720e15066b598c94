/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/child_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/verbs/until_fail.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

/* ---- what it prints ---- */

/* From an offset on. */
static int read_text(int fd, off_t begin, struct cli_child_result *result)
{
    struct stat status;
    size_t done = 0;
    ssize_t got;

    if (fstat(fd, &status))
        return wetdbg_fail_errno("cannot read what was printed");
    uint64_t all = status.st_size > begin ? (uint64_t)(status.st_size - begin) : 0;
    size_t size = all < CLI_CHILD_TEXT_MAX ? (size_t)all : CLI_CHILD_TEXT_MAX;
    result->text = cli_malloc(size + 1);
    while (done < size &&
           (got = pread(fd, result->text + done, size - done, begin + (off_t)done)) > 0)
        done += (size_t)got;
    result->text[done] = 0;
    result->size = done;
    return 0;
}

void cli_child_result_fini(struct cli_child_result *result)
{
    free(result->text);
    *result = (struct cli_child_result){0};
}

/* ---- a run ---- */

#define LOOK_SECONDS 0.1 /* between looks at how much was printed */

bool cli_child_wait(int pid, double seconds, int *status)
{
    struct timespec begin, now;
    int fd = pidfd_open(pid, 0);
    bool has_ended = seconds <= 0 || fd < 0;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (double left = seconds; !has_ended && left > 0;) {
        struct pollfd end = {.fd = fd, .events = POLLIN};
        has_ended = poll(&end, 1, left < 1e6 ? (int)(left * 1000) + 1 : 1000000000) > 0;
        clock_gettime(CLOCK_MONOTONIC, &now);
        left = seconds - (double)(now.tv_sec - begin.tv_sec) -
               1e-9 * (double)(now.tv_nsec - begin.tv_nsec);
    }
    if (fd >= 0)
        close(fd);
    while (has_ended && waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    return has_ended;
}

/* In the child. What goes wrong is told as an errno. */
static _Noreturn void run_here(const struct cli_child *child, int out, int tell)
{
    int null = open("/dev/null", O_RDONLY);

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (null >= 0 && dup2(null, 0) == 0 && dup2(out, 1) == 1 && dup2(out, 2) == 2 &&
        (!child->directory || chdir(child->directory) == 0)) {
        if (child->environment)
            execvpe(child->argv[0], child->argv, child->environment);
        else
            execvp(child->argv[0], child->argv);
    }
    int error = errno;
    while (write(tell, &error, sizeof(error)) < 0 && errno == EINTR)
        ;
    _exit(127);
}

int cli_child_hear(int fd)
{
    int error;
    ssize_t got;

    while ((got = read(fd, &error, sizeof(error))) < 0 && errno == EINTR)
        ;
    return got == (ssize_t)sizeof(error) ? error : 0;
}

static bool is_too_much(int out)
{
    struct stat status;

    return fstat(out, &status) == 0 && (uint64_t)status.st_size > CLI_CHILD_TEXT_MAX;
}

/* Waits for its end, or ends it: when its time is over (0: never), or it prints without end. */
static void wait_for(int pid, double seconds, int out, struct cli_child_result *result)
{
    bool has_ended = false;

    for (double left = seconds; !has_ended && !result->is_too_much && left > 0;
         left -= LOOK_SECONDS) {
        has_ended = cli_child_wait(pid, left < LOOK_SECONDS ? left : LOOK_SECONDS, &result->status);
        result->is_too_much = !has_ended && is_too_much(out);
    }
    if (has_ended)
        return;
    if (seconds > 0) {
        result->is_late = !result->is_too_much;
        kill(-pid, SIGKILL);
    }
    cli_child_wait(pid, 0, &result->status);
}

static int run_into(const struct cli_child *child, int out, struct cli_child_result *result)
{
    int tell[2];

    if (pipe2(tell, O_CLOEXEC))
        return wetdbg_fail_errno("cannot run %s", child->argv[0]);
    pid_t pid = fork();
    if (pid == 0)
        run_here(child, out, tell[1]);
    int error = pid < 0 ? errno : 0;
    close(tell[1]);
    if (!error)
        error = cli_child_hear(tell[0]);
    close(tell[0]);
    if (pid > 0)
        wait_for(pid, error ? 0 : child->seconds, out, result);
    if (error == ENOENT)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there is no program %s (in %s)", child->argv[0],
                           child->directory ? child->directory : "this directory");
    errno = error;
    return error ? wetdbg_fail_errno("cannot run %s", child->argv[0]) : 0;
}

int cli_child_run(const struct cli_child *child, struct cli_child_result *result)
{
    int out = memfd_create("wetdbg-output", MFD_CLOEXEC);

    *result = (struct cli_child_result){0};
    if (out < 0)
        return wetdbg_fail_errno("cannot keep what %s prints", child->argv[0]);
    int err = run_into(child, out, result);
    if (!err)
        err = read_text(out, 0, result);
    close(out);
    return err;
}

int cli_child_end_as(int status)
{
    if (WIFSIGNALED(status)) {
        fflush(NULL);
        wetdbg_die_of(WTERMSIG(status));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- a recording ---- */

/* What this process had before: standard streams and its directory. */
struct before {
    int fds[3], directory;
};

static int redirect(const struct cli_child *child, int out, struct before *before)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int err = 0;

    fflush(NULL);
    before->directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 3; i++)
        before->fds[i] = fcntl(i, F_DUPFD_CLOEXEC, 3);
    if (null < 0 || before->directory < 0 || before->fds[0] < 0 || before->fds[1] < 0 ||
        before->fds[2] < 0 || (!child->has_input && dup2(null, 0) < 0) || dup2(out, 1) < 0 ||
        dup2(out, 2) < 0)
        err = wetdbg_fail_errno("cannot record %s", child->argv[0]);
    else if (child->directory && chdir(child->directory))
        err = wetdbg_fail_errno("%s", child->directory);
    if (null >= 0)
        close(null);
    return err;
}

static int put_back(const struct before *before)
{
    int err = before->directory < 0 || fchdir(before->directory)
                  ? wetdbg_fail_errno("cannot return to the working directory")
                  : 0;

    for (int i = 0; i < 3; i++)
        if (before->fds[i] >= 0) {
            dup2(before->fds[i], i);
            close(before->fds[i]);
        }
    if (before->directory >= 0)
        close(before->directory);
    return err;
}

/* Once, or until a run fails. */
static int record(const struct cli_child *child, struct wetdbg_record_outcome *outcome,
                  struct cli_until_fail *found)
{
    struct wetdbg_record_options how = {
        .quiet = true, .environment = child->environment, .keep_input = WETDBG_KEEP_INPUT};

    *found = (struct cli_until_fail){.runs = 1};
    if (!child->runs)
        return wetdbg_record(&how, child->argv, outcome);
    int err = cli_record_until_fail(&how, child->argv, child->runs, outcome, found);
    if (!err && found->was_told && !found->has_failed) {
        wetdbg_record_outcome_fini(outcome);
        err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    }
    return err;
}

int cli_child_record(const struct cli_child *child, struct cli_child_result *result,
                     char **trace_dir)
{
    struct wetdbg_record_outcome outcome = {.trace_dir = NULL};
    struct cli_until_fail found;
    struct before before;
    int out = memfd_create("wetdbg-output", MFD_CLOEXEC);

    *result = (struct cli_child_result){0};
    *trace_dir = NULL;
    if (out < 0)
        return wetdbg_fail_errno("cannot keep what %s prints", child->argv[0]);
    int err = redirect(child, out, &before);
    if (!err)
        err = record(child, &outcome, &found);
    int back = put_back(&before);
    if (!err && !back)
        back = read_text(out, found.output_begin, result);
    close(out);
    if (err)
        return err;
    result->status = outcome.signal ? outcome.signal : outcome.exit_status << 8;
    result->runs = found.runs;
    result->drew_lots = found.drew_lots;
    if (back)
        wetdbg_record_outcome_fini(&outcome);
    else
        *trace_dir = outcome.trace_dir;
    return back;
}
