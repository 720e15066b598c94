/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Round trips of a word between two threads: five medians, in nanoseconds. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define ROUNDS 20000

static volatile unsigned turn;

static void *answer(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 5 * ROUNDS; i++) {
        while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != 2 * i + 1)
            __builtin_ia32_pause();
        __atomic_store_n(&turn, 2 * i + 2, __ATOMIC_RELEASE);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, answer, NULL))
        return 1;
    for (unsigned run = 0; run < 5; run++) {
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (unsigned i = run * ROUNDS; i < (run + 1) * ROUNDS; i++) {
            __atomic_store_n(&turn, 2 * i + 1, __ATOMIC_RELEASE);
            while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != 2 * i + 2)
                __builtin_ia32_pause();
        }
        clock_gettime(CLOCK_MONOTONIC, &to);
        double ns = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
        printf("%.0f\n", ns / ROUNDS);
    }
    pthread_join(thread, NULL);
    return 0;
}
