/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One thread ends the process while others compute, wait and sleep. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../linger.h"

static volatile unsigned turns;

static void *compute(void *arg)
{
    for (;;) {
        turns = turns + 1;
        linger();
    }
    return arg;
}

static void *sleeper(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static void *ender(void *arg)
{
    while (turns < 2000)
        usleep(1000);
    puts("enough");
    exit(4);
    return arg;
}

int main(void)
{
    pthread_t threads[3];

    pthread_create(&threads[0], NULL, compute, NULL);
    pthread_create(&threads[1], NULL, sleeper, NULL);
    pthread_create(&threads[2], NULL, ender, NULL);
    pthread_join(threads[0], NULL);
    return 0;
}
