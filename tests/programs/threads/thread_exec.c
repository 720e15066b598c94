/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread that is not the first one runs exec while others spin and wait: they vanish, and it
 * takes the process's id. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../linger.h"

static volatile unsigned turns;

static void *spin(void *arg)
{
    for (;;) {
        turns = turns + 1;
        linger();
    }
    return arg;
}

static void *run(void *arg)
{
    char *argv[] = {arg, "again", NULL};

    while (turns < 1000)
        usleep(500);
    execv("/proc/self/exe", argv);
    perror("exec");
    _exit(1);
}

int main(int argc, char **argv)
{
    pthread_t thread;

    if (argc > 1 && strcmp(argv[1], "again") == 0) {
        unsigned sum = 0;
        for (unsigned i = 0; i < 10000; i++)
            sum = sum * 31 + i;
        printf("after: %u, %s\n", sum, getpid() == syscall(SYS_gettid) ? "leader" : "other");
        return 0;
    }
    puts("before");
    fflush(stdout);
    pthread_create(&thread, NULL, spin, NULL);
    pthread_create(&thread, NULL, run, argv[0]);
    for (;;)
        pause();
}
