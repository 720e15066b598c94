/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The caretaker waits at a pipe, whose end means that nobody is left to remove the directory. */
#include "delta/caretaker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "delta/delta_scratch.h"
#include "delta/offspring.h"
#include <wetdbg/errors.h>

/* Closes what it has of its parent's: nobody should wait for it at the other end of an output. */
static void let_go(int fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0)
        for (int standard = 0; standard <= 2; standard++)
            dup2(null, standard);
    if (fd > 3)
        close_range(3, (unsigned)fd - 1, 0);
    close_range((unsigned)fd + 1, ~0u, 0);
}

static _Noreturn void life(int fd, const char *path)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP};
    char byte;
    ssize_t got;
    setsid();
    for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
        signal(ignored[i], SIG_IGN);
    let_go(fd);
    while ((got = read(fd, &byte, 1)) < 0 && errno == EINTR)
        ;
    if (got <= 0)
        dlt_scratch_remove(path);
    _exit(0);
}

int dlt_caretaker_start(struct dlt_caretaker *caretaker, const char *path)
{
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC))
        return wetdbg_fail_errno("cannot make a pipe");
    pid_t pid = dlt_fork();
    if (pid == 0) {
        close(pipes[1]);
        life(pipes[0], path);
    }
    int err = pid < 0 ? wetdbg_fail_errno("cannot start a process") : 0;
    close(pipes[0]);
    if (err)
        close(pipes[1]);
    else
        *caretaker = (struct dlt_caretaker){pid, pipes[1]};
    return err;
}

void dlt_caretaker_end(struct dlt_caretaker *caretaker, bool stays)
{
    if (caretaker->pid <= 0)
        return;
    if (stays)
        while (write(caretaker->fd, "", 1) < 0 && errno == EINTR)
            ;
    close(caretaker->fd);
    while (waitpid(caretaker->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *caretaker = (struct dlt_caretaker){0};
}
