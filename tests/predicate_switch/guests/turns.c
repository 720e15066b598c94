/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that take turns: a mutex, a condition with and without a timeout, memory of their own,
 * and an end of each that somebody waits for. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 3
#define ROUNDS  8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned turn, sum, late;

static void wait_a_moment(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 2000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&lock);
    late += pthread_cond_timedwait(&changed, &lock, &until) != 0;
    pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
    unsigned me = (unsigned)(size_t)arg;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned *own = malloc(1000 * sizeof(*own));
        memset(own, (int)(me + round), 1000 * sizeof(*own));
        pthread_mutex_lock(&lock);
        while (turn % THREADS != me)
            pthread_cond_wait(&changed, &lock);
        sum = sum * 31 + own[me]; /* SUM */
        turn++;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        free(own);
        if (round % 4 == me)
            wait_a_moment();
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%u turns, %#x\n", turn, sum);
    return late > 2 * ROUNDS;
}
