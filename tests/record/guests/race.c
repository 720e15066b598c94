/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Four threads start together, work a little, and append their letters: prints who came first. */
#include <pthread.h>
#include <stdio.h>

#define THREADS 4
#define WORK    20000

static pthread_barrier_t start;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char order[THREADS + 1];
static int count;

static void *run(void *letter)
{
    volatile unsigned x = 1;

    pthread_barrier_wait(&start);
    for (int i = 0; i < WORK; i++)
        x = x * 1103515245 + 12345;
    pthread_mutex_lock(&lock);
    order[count++] = *(const char *)letter;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    static const char letters[THREADS] = "abcd";
    pthread_t threads[THREADS];

    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)&letters[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts(order);
    return 0;
}
