/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stopped in the middle of computing and made to go on by another process, with a handler for
 * SIGCONT. The child is the one that computes and prints last. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../linger.h"

enum {
    STOPS = 3,
};

static volatile unsigned continued;
static volatile unsigned long turns;

static void on_continue(int signo)
{
    (void)signo;
    continued = continued + 1;
}

static int compute(void)
{
    signal(SIGCONT, on_continue);
    if (write(1, "computing\n", 10) < 0)
        return 1;
    while (continued < STOPS) {
        turns = turns + 1;
        linger();
    }
    printf("continued %u times\n", continued);
    fflush(stdout);
    return 0;
}

int main(void)
{
    int status, stops = 0;
    pid_t child = fork();

    if (child == 0)
        _exit(compute());
    for (int i = 0; i < STOPS; i++) {
        usleep(20000);
        kill(child, SIGSTOP);
        if (waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status))
            stops++;
        kill(child, SIGCONT);
    }
    waitpid(child, &status, 0);
    printf("stopped %d times, ended with %d\n", stops, WEXITSTATUS(status));
    return 0;
}
