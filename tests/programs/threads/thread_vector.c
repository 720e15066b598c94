/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads whose state is in vector, x87 and mask registers, with different rounding modes: a
 * switch in the middle must keep them apart. */
#include <fenv.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum {
    THREADS = 3,
    TURNS = 400000,
};

typedef double vec __attribute__((vector_size(16)));

struct result {
    double sse, vector;
    long double x87;
};

static const int modes[THREADS] = {FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO};
static struct result results[THREADS];

static void *work(void *arg)
{
    unsigned self = (unsigned)(uintptr_t)arg;
    vec v = {1.0 + self, 2.0};
    double x = 1.0 + self;
    long double y = 1.0L + self;

    fesetround(modes[self]);
    for (int i = 0; i < TURNS; i++) {
        v = v * 1.0000001 + (vec){1e-9, 1e-8};
        x = x / 1.0000003 + 1e-7;
        y = y / 1.0000001L + 1e-9L;
        __asm__ volatile("" : "+x"(v), "+x"(x));
    }
    results[self] = (struct result){x, v[0] + v[1], y};
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        printf("%a %a %La\n", results[i].sse, results[i].vector, results[i].x87);
    return 0;
}
