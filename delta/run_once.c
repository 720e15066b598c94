/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sleeps until a child ends or stops, and looks now and then what the run takes. A traced program
 * is seized with all that it starts (PTRACE_SEIZE, so nothing stops that would not stop untraced);
 * its threads stop for us where a signal is about to be delivered, and go on at once, unless it
 * will end them: then their place is found.
 */
#include "delta/run_once.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "delta/delta_scratch.h"
#include "delta/offspring.h"
#include <wetdbg/errors.h>

/* Looking costs some system calls per process: not in the first moments, which most runs do not
 * outlive. */
#define LOOK_FIRST_S 0.03
#define LOOK_EVERY_S 0.1

/* More processes than few, and we look more often: they may double from one look to the next. */
#define PROCESSES_FEW 16
#define LOOK_OFTEN_S  0.01
#define PROCESSES_MAX 500
/* What a file system keeps free whatever the program writes. */
#define FREE_BYTES_MIN (UINT64_C(64) << 20)

struct run {
    const struct dlt_command *command;
    pid_t pid;
    bool has_ended, is_traced;
    struct dlt_how how;
    struct dlt_crash_place last_place; /* where the signal struck that may end its process */
    int last_signal;
    struct dlt_crash_place *place;
    int *crash_signal;
};

/* ---- the child ---- */

static int open_onto(const char *name, int flags, int fd)
{
    int opened = open(name, flags | O_CLOEXEC, 0600);
    if (opened < 0 || dup2(opened, fd) < 0)
        return -1;
    if (opened != fd)
        close(opened);
    else
        fcntl(fd, F_SETFD, 0);
    return 0;
}

static void limit(int what, rlim_t most)
{
    struct rlimit old;
    if (getrlimit(what, &old) == 0 && (old.rlim_cur == RLIM_INFINITY || old.rlim_cur > most))
        setrlimit(what, &(struct rlimit){most, old.rlim_max});
}

/* Writes errno to `fd` if the program cannot be executed. Goes on when `go` is closed. */
static _Noreturn void child(const struct dlt_command *command, int fd, int go, pid_t parent)
{
    sigset_t none;
    char byte;
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    setpriority(PRIO_PROCESS, 0, command->priority);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NPROC, (rlim_t)command->tasks_max);
    limit(RLIMIT_FSIZE, (rlim_t)command->disk_bytes);
    while (read(go, &byte, 1) < 0 && errno == EINTR)
        ;
    if (open_onto(command->input, O_RDONLY, 0) == 0 &&
        open_onto(command->output, O_WRONLY | O_CREAT | O_TRUNC, 1) == 0 &&
        open_onto(command->errors, O_WRONLY | O_CREAT | O_TRUNC, 2) == 0 &&
        (!command->directory || chdir(command->directory) == 0)) {
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        signal(SIGPIPE, SIG_DFL); /* who watches over the run ignores it */
        if (command->stand_in)
            _exit(command->stand_in->run(command->stand_in->arg, command->program, command->argv,
                                         command->environment));
        execvpe(command->program, command->argv, command->environment);
    }
    int err = errno;
    while (write(fd, &err, sizeof(err)) < 0 && errno == EINTR)
        ;
    _exit(127);
}

/* Seizes the child, if its crashes are to be looked at and the machine allows it. */
static void seize(struct run *run)
{
    const long options =
        PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    run->is_traced =
        run->command->is_traced && ptrace(PTRACE_SEIZE, run->pid, NULL, (void *)options) == 0;
}

/* *failed is the errno of execve(), or 0. */
static int start(struct run *run, int *failed_fd)
{
    int failed[2], go[2];
    pid_t parent = getpid();
    if (pipe2(failed, O_CLOEXEC))
        return wetdbg_fail_errno("cannot make a pipe");
    if (pipe2(go, O_CLOEXEC)) {
        close(failed[0]), close(failed[1]);
        return wetdbg_fail_errno("cannot make a pipe");
    }
    run->pid = dlt_fork();
    if (run->pid == 0) {
        close(go[1]);
        child(run->command, failed[1], go[0], parent);
    }
    int err = run->pid < 0 ? wetdbg_fail_errno("cannot start a process") : 0;
    close(failed[1]);
    close(go[0]);
    if (!err)
        seize(run);
    close(go[1]);
    *failed_fd = failed[0];
    return err;
}

/* ---- what the children do ---- */

/* Whether the process has a handler for it. */
static bool is_caught(pid_t tid, int number)
{
    char name[32], line[128];
    unsigned long long caught = 0;
    snprintf(name, sizeof(name), "/proc/%d/status", (int)tid);
    FILE *file = fopen(name, "re");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "SigCgt: %llx", &caught) == 1)
            break;
    if (file)
        fclose(file);
    return caught >> (number - 1) & 1;
}

/* A thread that stopped for us goes on as it would have without us. */
static void go_on(struct run *run, pid_t tid, int status)
{
    int number = WSTOPSIG(status), event = status >> 16;
    if (event == PTRACE_EVENT_STOP && number != SIGTRAP) {
        ptrace(PTRACE_LISTEN, tid, NULL, NULL); /* it was stopped by a signal, and stays so */
        return;
    }
    if (event) {
        ptrace(PTRACE_CONT, tid, NULL, NULL);
        return;
    }
    if (dlt_dumps_core(number) && !is_caught(tid, number)) {
        dlt_crash_place_find(tid, &run->last_place);
        run->last_signal = number;
    }
    ptrace(PTRACE_CONT, tid, NULL, (void *)(long)number);
}

static void child_ended(struct run *run, pid_t pid, int status)
{
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (number && number == run->last_signal && !*run->crash_signal) {
        *run->crash_signal = number;
        *run->place = run->last_place;
    }
    if (pid != run->pid)
        return;
    run->has_ended = true;
    if (run->how.ending == DLT_EXITED)
        run->how = number ? (struct dlt_how){DLT_SIGNALED, number}
                          : (struct dlt_how){DLT_EXITED, WEXITSTATUS(status)};
    if (number == SIGXFSZ)
        run->how = (struct dlt_how){DLT_TOO_MUCH_DISK, 0};
}

static void look_at_children(struct run *run)
{
    int status;
    pid_t pid;
    while (!run->has_ended && (pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
        if (WIFSTOPPED(status))
            go_on(run, pid, status);
        else
            child_ended(run, pid, status);
    }
}

/* ---- limits ---- */

static bool is_disk_full(const char *path)
{
    struct statvfs space;
    return statvfs(path, &space) == 0 && space.f_blocks &&
           (uint64_t)space.f_bavail * space.f_frsize < FREE_BYTES_MIN;
}

/* No file grows beyond the limit, so what fills it has come to it. */
static bool has_written_too_much(const struct run *run)
{
    const struct dlt_command *command = run->command;
    return dlt_scratch_bytes(command->scratch) >= command->disk_bytes ||
           is_disk_full(command->scratch) || is_disk_full(".");
}

/* Gives the seconds until the next look. */
static double look_at_limits(struct run *run, double seconds)
{
    const struct dlt_command *command = run->command;
    struct dlt_offspring offspring;
    dlt_offspring_measure(&offspring);
    if (seconds > command->timeout_s)
        run->how.ending = DLT_TOO_LONG;
    else if (offspring.processes > PROCESSES_MAX)
        run->how.ending = DLT_TOO_MANY_PROCESSES;
    else if (offspring.memory_bytes > command->memory_bytes)
        run->how.ending = DLT_TOO_MUCH_MEMORY;
    else if (has_written_too_much(run))
        run->how.ending = DLT_TOO_MUCH_DISK;
    return offspring.processes > PROCESSES_FEW ? LOOK_OFTEN_S : LOOK_EVERY_S;
}

static bool is_told_to_stop(int signals)
{
    struct signalfd_siginfo info;
    bool is_told = false;
    while (read(signals, &info, sizeof(info)) == sizeof(info))
        is_told = is_told || info.ssi_signo != SIGCHLD;
    return is_told;
}

static int wait_for_end(struct run *run)
{
    double begin = wd_seconds(), next = LOOK_FIRST_S;
    if (next > run->command->timeout_s)
        next = run->command->timeout_s;
    while (!run->has_ended && run->how.ending == DLT_EXITED) {
        struct pollfd ready = {.fd = run->command->signals, .events = POLLIN};
        double seconds = wd_seconds() - begin;
        if (seconds > next) {
            next = seconds + look_at_limits(run, seconds);
            if (seconds <= run->command->timeout_s && next > run->command->timeout_s)
                next = run->command->timeout_s;
            continue;
        }
        poll(&ready, 1, (int)((next - seconds) * 1000) + 1);
        if (is_told_to_stop(run->command->signals))
            return -ECANCELED;
        look_at_children(run);
    }
    /* a child of the program's may have been ended by that limit, and not the program */
    if (run->how.ending <= DLT_SIGNALED && has_written_too_much(run))
        run->how = (struct dlt_how){DLT_TOO_MUCH_DISK, 0};
    return 0;
}

int dlt_run_once(const struct dlt_command *command, struct dlt_how *how,
                 struct dlt_crash_place *place, int *crash_signal)
{
    struct run run = {.command = command, .place = place, .crash_signal = crash_signal};
    int failed_fd = -1, failed = 0;
    int err = start(&run, &failed_fd);
    if (!err)
        err = wait_for_end(&run);
    if (dlt_offspring_end() && !err)
        err = wetdbg_fail(-EBUSY, "%s: some of its processes do not end", command->program);
    if (failed_fd >= 0 && read(failed_fd, &failed, sizeof(failed)) == (ssize_t)sizeof(failed))
        run.how = (struct dlt_how){DLT_NOT_STARTED, failed};
    if (failed_fd >= 0)
        close(failed_fd);
    *how = run.how;
    return err;
}
