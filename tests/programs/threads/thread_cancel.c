/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How threads end: pthread_exit, deferred and asynchronous cancellation with clean-up handlers,
 * and detached ones that nobody joins. */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "../linger.h"

static sem_t begun, ended;
static volatile unsigned turns;
static int cleaned;

static void clean(void *arg)
{
    cleaned = cleaned * 10 + (int)(uintptr_t)arg;
}

static void *exits(void *arg)
{
    pthread_cleanup_push(clean, (void *)(uintptr_t)1);
    pthread_exit((char *)arg + 5);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *waits(void *arg)
{
    pthread_cleanup_push(clean, (void *)(uintptr_t)2);
    sem_post(&begun);
    for (;;)
        pause();
    pthread_cleanup_pop(0);
    return arg;
}

static void *computes(void *arg)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_cleanup_push(clean, (void *)(uintptr_t)3);
    sem_post(&begun);
    for (;;) {
        turns = turns + 1;
        linger();
    }
    pthread_cleanup_pop(0);
    return arg;
}

static void *detached(void *arg)
{
    pthread_detach(pthread_self());
    *(int *)arg += 1;
    sem_post(&ended);
    return NULL;
}

static const char *outcome(void *result)
{
    return result == PTHREAD_CANCELED ? "cancelled" : "returned";
}

int main(void)
{
    static int detached_runs;
    pthread_t thread;
    void *result;

    sem_init(&begun, 0, 0);
    sem_init(&ended, 0, 0);
    pthread_create(&thread, NULL, exits, NULL);
    pthread_join(thread, &result);
    printf("exit: %d\n", (int)(uintptr_t)result);

    pthread_create(&thread, NULL, waits, NULL);
    sem_wait(&begun);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("deferred: %s\n", outcome(result));

    pthread_create(&thread, NULL, computes, NULL);
    sem_wait(&begun);
    while (turns < 1000)
        usleep(1000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("asynchronous: %s\n", outcome(result));

    for (int i = 0; i < 4; i++) {
        pthread_create(&thread, NULL, detached, &detached_runs);
        sem_wait(&ended);
    }
    printf("detached: %d, cleaned %d\n", detached_runs, cleaned);
    return 0;
}
