/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of one's own per thread: __thread and pthread_key with destructors. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    THREADS = 3,
};

static __thread unsigned mine = 7;
static __thread char text[32] = "fresh";
static pthread_key_t key;
static pthread_barrier_t meet;
static unsigned destroyed[THREADS];

static void destroy(void *value)
{
    unsigned *own = value;

    destroyed[own[0]] = own[1];
    free(own);
}

static void *work(void *arg)
{
    unsigned number = (unsigned)(uintptr_t)arg;
    unsigned *own = malloc(2 * sizeof(*own));

    if (!own)
        abort();
    own[0] = number;
    own[1] = 0;
    pthread_setspecific(key, own);
    mine += number;
    snprintf(text, sizeof(text), "%s %u", text[0] == 'f' ? "thread" : "stale", number);
    pthread_barrier_wait(&meet);
    for (int i = 0; i < 100; i++) {
        mine += number + 1;
        ((unsigned *)pthread_getspecific(key))[1] += mine;
    }
    pthread_barrier_wait(&meet);
    return (void *)(uintptr_t)(mine + (unsigned)text[7]);
}

int main(void)
{
    pthread_t threads[THREADS];

    pthread_key_create(&key, destroy);
    pthread_barrier_init(&meet, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        printf("thread %d: %u, destroyed %u\n", i, (unsigned)(uintptr_t)result, destroyed[i]);
    }
    printf("main: %u %s\n", mine, text);
    return 0;
}
