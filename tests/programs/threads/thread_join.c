/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that compute apart from each other and are joined, twice over: thread ids, stacks and
 * results are reused. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum {
    THREADS = 4,
    ROUNDS = 2,
};

static unsigned collatz_longest(unsigned from, unsigned to)
{
    unsigned best = 0, best_at = 0;

    for (unsigned i = from; i < to; i++) {
        unsigned length = 1;
        for (uint64_t n = i; n > 1; n = n & 1 ? 3 * n + 1 : n / 2)
            length++;
        if (length > best) {
            best = length;
            best_at = i;
        }
    }
    return best_at;
}

static void *work(void *arg)
{
    unsigned part = (unsigned)(uintptr_t)arg;

    return (void *)(uintptr_t)collatz_longest(part * 500 + 1, part * 500 + 500);
}

int main(void)
{
    pthread_t threads[THREADS];

    for (unsigned round = 0; round < ROUNDS; round++) {
        for (uintptr_t i = 0; i < THREADS; i++)
            if (pthread_create(&threads[i], NULL, work, (void *)(i + round * THREADS)) != 0)
                return 1;
        for (int i = 0; i < THREADS; i++) {
            void *result;
            if (pthread_join(threads[i], &result) != 0)
                return 1;
            printf("round %u thread %d: %u\n", round, i, (unsigned)(uintptr_t)result);
        }
    }
    return 0;
}
