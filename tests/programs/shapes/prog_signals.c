/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Synchronous signals that a program sends itself: handlers that nest, masks, a timer that is
 * waited for, int3 and a trap handler. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int depth;
static volatile int seen[65];

static void on_signal(int signo)
{
    depth++;
    seen[signo] = seen[signo] + depth;
    if (signo == SIGUSR1)
        raise(SIGUSR2);
    depth--;
}

int main(void)
{
    sigset_t block;
    sigset_t old;

    signal(SIGUSR1, on_signal);
    signal(SIGUSR2, on_signal);
    signal(SIGTRAP, on_signal);
    signal(SIGALRM, on_signal);
    raise(SIGUSR1);
    printf("usr1 %d usr2 %d\n", seen[SIGUSR1], seen[SIGUSR2]);
    sigemptyset(&block);
    sigaddset(&block, SIGUSR2);
    sigprocmask(SIG_BLOCK, &block, &old);
    kill(getpid(), SIGUSR2);
    printf("blocked: usr2 %d\n", seen[SIGUSR2]);
    sigprocmask(SIG_SETMASK, &old, NULL);
    printf("unblocked: usr2 %d\n", seen[SIGUSR2]);
    __asm__ volatile("int3");
    printf("trap %d\n", seen[SIGTRAP]);
    sigprocmask(SIG_BLOCK, &block, &old);
    alarm(1);
    while (!seen[SIGALRM])
        pause();
    printf("alarm %d\n", seen[SIGALRM]);
    return 0;
}
