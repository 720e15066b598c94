/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first thread leaves by pthread_exit; the others go on, and the last one ends the process. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_t first;

static void *work(void *arg)
{
    unsigned sum = 0;

    pthread_join(first, NULL);
    for (unsigned i = 0; i < 1000; i++)
        sum += i ^ (unsigned)(uintptr_t)arg;
    printf("thread: %u\n", sum);
    return (void *)(uintptr_t)sum;
}

static void *last(void *arg)
{
    pthread_t thread = *(pthread_t *)arg;
    void *sum;

    pthread_join(thread, &sum);
    printf("last: %u\n", (unsigned)(uintptr_t)sum);
    return NULL;
}

int main(void)
{
    static pthread_t threads[2];

    first = pthread_self();
    pthread_create(&threads[0], NULL, work, (void *)(uintptr_t)5);
    pthread_create(&threads[1], NULL, last, &threads[0]);
    puts("first: leaves");
    pthread_exit(NULL);
}
