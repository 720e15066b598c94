/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Producers and consumers around a short ring, with a mutex and two condition variables. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum {
    ROOM = 3,
    PRODUCERS = 2,
    CONSUMERS = 3,
    ITEMS = 40,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static unsigned ring[ROOM];
static unsigned head, count;

static void put(unsigned item)
{
    pthread_mutex_lock(&lock);
    while (count == ROOM)
        pthread_cond_wait(&not_full, &lock);
    ring[(head + count++) % ROOM] = item;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
}

static unsigned take(void)
{
    unsigned item;

    pthread_mutex_lock(&lock);
    while (count == 0)
        pthread_cond_wait(&not_empty, &lock);
    item = ring[head];
    head = (head + 1) % ROOM;
    count--;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&lock);
    return item;
}

static void *produce(void *arg)
{
    for (unsigned i = 1; i <= ITEMS; i++)
        put((unsigned)(uintptr_t)arg * 1000 + i);
    return NULL;
}

static void *consume(void *arg)
{
    uintptr_t sum = 0;

    (void)arg;
    for (unsigned item; (item = take()) != 0;)
        sum += item;
    return (void *)sum;
}

int main(void)
{
    pthread_t producers[PRODUCERS], consumers[CONSUMERS];
    uintptr_t sum = 0;

    for (int i = 0; i < CONSUMERS; i++)
        pthread_create(&consumers[i], NULL, consume, NULL);
    for (uintptr_t i = 0; i < PRODUCERS; i++)
        pthread_create(&producers[i], NULL, produce, (void *)(i + 1));
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(producers[i], NULL);
    for (int i = 0; i < CONSUMERS; i++)
        put(0);
    for (int i = 0; i < CONSUMERS; i++) {
        void *part;
        pthread_join(consumers[i], &part);
        sum += (uintptr_t)part;
    }
    printf("sum %u\n", (unsigned)sum);
    return 0;
}
