/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that pass values through memory, a lock, their arguments and their results; the second
 * round uses the first one's slots and stacks again. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    THREADS = 3,
    ROUNDS = 2,
    TURNS = 12,
};

struct job {
    unsigned start;
    unsigned result;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned shared[4] = {1, 2, 3, 4};
static volatile unsigned ready;
static __thread unsigned own;

static unsigned mix(unsigned a, unsigned b)
{
    if (a & 1)
        return a * 3 + b;
    return (a ^ b) + 7;
}

static void *work(void *arg)
{
    struct job *job = arg;
    own = job->start;
    for (unsigned i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&lock);
        shared[i % 4] = mix(shared[(i + own) % 4], own);
        pthread_mutex_unlock(&lock);
        own = mix(own, i);
    }
    __atomic_fetch_add(&ready, 1, __ATOMIC_SEQ_CST);
    job->result = own;
    return (void *)(unsigned long)mix(own, job->start);
}

int main(void)
{
    unsigned sum = 0;
    pthread_attr_t attributes;

    pthread_attr_init(&attributes); /* brute force follows each byte of a stack */
    pthread_attr_setstacksize(&attributes, 64 << 10);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct job jobs[THREADS];
        pthread_t threads[THREADS];
        for (unsigned i = 0; i < THREADS; i++) {
            jobs[i] = (struct job){.start = i + 5 * round + sum};
            if (pthread_create(&threads[i], &attributes, work, &jobs[i]))
                return 1;
        }
        while (ready < 1)
            ;
        for (unsigned i = 0; i < THREADS; i++) {
            void *result;
            pthread_join(threads[i], &result);
            sum = mix(sum, (unsigned)(unsigned long)result) + jobs[i].result;
        }
    }
    printf("%u %u\n", sum, shared[sum % 4]);
    return (int)(sum & 1);
}
