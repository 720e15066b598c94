/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/native_run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dbgcli/verbs/child_run.h"
#include <wetdbg/errors.h>

static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

#define SIGNAL_COUNT (sizeof(signals) / sizeof(*signals))

/* The program, and what came for it. */
static volatile sig_atomic_t child, is_told;

/* What comes from the terminal, the program has by itself. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (number != SIGUSR1 && number != SIGUSR2)
        is_told = 1;
    if (info->si_code <= 0 && child > 0)
        kill((pid_t)child, number);
}

/* What is ignored stays so, as for a program that nohup(1) starts. */
static void catch_signals(struct sigaction old[SIGNAL_COUNT])
{
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNAL_COUNT; i++) {
        sigaction(signals[i], NULL, &old[i]);
        if (old[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &action, NULL);
    }
}

static void release_signals(const struct sigaction old[SIGNAL_COUNT])
{
    for (size_t i = 0; i < SIGNAL_COUNT; i++)
        sigaction(signals[i], &old[i], NULL);
}

/* What goes wrong is told as an errno. */
static _Noreturn void run_here(char *const *argv, const struct sigaction old[SIGNAL_COUNT],
                               const sigset_t *mask, int tell)
{
    release_signals(old);
    sigprocmask(SIG_SETMASK, mask, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(argv[0], argv);
    int error = errno;
    while (write(tell, &error, sizeof(error)) < 0 && errno == EINTR)
        ;
    _exit(127);
}

int cli_native_run(char *const *argv, struct cli_native *run)
{
    struct sigaction old[SIGNAL_COUNT];
    sigset_t all, mask;
    int tell[2];

    *run = (struct cli_native){0};
    fflush(NULL);
    if (pipe2(tell, O_CLOEXEC))
        return wetdbg_fail_errno("cannot run %s", argv[0]);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &mask); /* until it is known whose the signals are */
    catch_signals(old);
    pid_t pid = fork();
    if (pid == 0)
        run_here(argv, old, &mask, tell[1]);
    int error = pid < 0 ? errno : 0;
    child = pid;
    is_told = 0;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(tell[1]);
    if (!error)
        error = cli_child_hear(tell[0]);
    close(tell[0]);
    while (pid > 0 && waitpid(pid, &run->status, 0) < 0 && errno == EINTR)
        ;
    child = 0;
    release_signals(old);
    run->was_told = is_told;
    errno = error;
    if (error == ENOENT)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there is no program %s", argv[0]);
    return error ? wetdbg_fail_errno("cannot run %s", argv[0]) : 0;
}
