/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Crashes in one function or another, by what its input says; the first word of these decides. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int *nowhere;
static void (*volatile nothing)(void);

static void *first(void *arg)
{
    *nowhere = 1;
    return arg;
}

static void second(void)
{
    memset((void *)nowhere, 1, 100);
}

static void checks(void)
{
    if (!nowhere)
        abort();
}

static int deep(int depth);

static int deeper(int depth)
{
    volatile char room[1000];
    room[0] = (char)depth;
    return deep(depth + 1) + room[0];
}

static int deep(int depth)
{
    volatile char room[300];
    room[0] = (char)depth;
    return deeper(depth + 1) + room[0];
}

static void jumps(void)
{
    nothing();
}

static void on_signal(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

static void in_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, first, NULL);
    pthread_join(thread, NULL);
}

static void in_child(void)
{
    if (fork() == 0)
        second();
    wait(NULL);
}

int main(void)
{
    static char input[4096];
    if (fread(input, 1, sizeof(input) - 1, stdin) && strstr(input, "one"))
        first(NULL);
    if (strstr(input, "two"))
        second();
    if (strstr(input, "abort"))
        checks();
    if (strstr(input, "handler")) {
        signal(SIGSEGV, on_signal);
        second();
    }
    if (strstr(input, "deep"))
        return deep(0);
    if (strstr(input, "wild"))
        jumps();
    if (strstr(input, "thread"))
        in_thread();
    if (strstr(input, "child"))
        in_child();
    return 0;
}
