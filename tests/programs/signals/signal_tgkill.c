/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that signal each other and the process, while the receivers compute. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../linger.h"

enum {
    SIGNALS = 4,
};

static volatile unsigned to_thread, to_process, in_thread;
static volatile pid_t receiver;
static volatile unsigned long turns, at[SIGNALS];

static void on_thread(int signo)
{
    (void)signo;
    if (syscall(SYS_gettid) == receiver)
        in_thread = in_thread + 1;
    at[to_thread] = turns;
    to_thread = to_thread + 1;
}

static void on_process(int signo)
{
    (void)signo;
    to_process = to_process + 1;
}

static void *receive(void *arg)
{
    receiver = (pid_t)syscall(SYS_gettid);
    while (to_thread < SIGNALS) {
        turns = turns + 1;
        linger();
    }
    return arg;
}

int main(void)
{
    pthread_t thread;

    signal(SIGUSR1, on_thread);
    signal(SIGUSR2, on_process);
    pthread_create(&thread, NULL, receive, NULL);
    while (turns == 0)
        usleep(1000);
    for (unsigned i = 0; i < SIGNALS; i++) {
        if (i % 2 == 0)
            pthread_kill(thread, SIGUSR1);
        else
            syscall(SYS_tgkill, getpid(), receiver, SIGUSR1);
        while (to_thread == i)
            usleep(500);
        kill(getpid(), SIGUSR2);
    }
    pthread_join(thread, NULL);
    printf("thread %u (%u in it), process %u\n", to_thread, in_thread, to_process);
    printf("turns %lu %lu %lu %lu\n", at[0], at[1], at[2], at[3]);
    return 0;
}
