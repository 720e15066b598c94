/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread stores through a null pointer that another one left behind; others compute and wait. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "../linger.h"

static int value = 5;
static int *volatile shared = &value;
static volatile unsigned turns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *compute(void *arg)
{
    for (;;) {
        turns = turns + 1;
        linger();
    }
    return arg;
}

static void *spoil(void *arg)
{
    usleep(10000);
    pthread_mutex_lock(&lock);
    shared = NULL;
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *use(void *arg)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        *shared += 1;
        pthread_mutex_unlock(&lock);
        usleep(500);
    }
    return arg;
}

int main(void)
{
    pthread_t threads[3];

    puts("begins");
    fflush(stdout);
    pthread_create(&threads[0], NULL, compute, NULL);
    pthread_create(&threads[1], NULL, use, NULL);
    pthread_create(&threads[2], NULL, spoil, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
