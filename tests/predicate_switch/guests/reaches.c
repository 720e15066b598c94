/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes where `place` says, or, told to gather, reads there by a gather; where there is nothing,
 * says at which address. */
#include <immintrin.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define OFFSET 0x1230

volatile long place;

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    printf("nothing at %p\n", info->si_addr);
    fflush(stdout);
    _Exit(7);
}

__attribute__((target("avx2"))) static long gathered(long base)
{
    long long values[4];
    __m256i found = _mm256_i64gather_epi64((const long long *)base, _mm256_set1_epi64x(OFFSET), 1);

    _mm256_storeu_si256((__m256i *)values, found);
    return values[0];
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

    sigaction(SIGSEGV, &action, NULL);
    long base = place; /* BEGIN */
    if (base && argv[argc - 1][0] == 'g' && __builtin_cpu_supports("avx2"))
        printf("%ld\n", gathered(base));
    else if (base)
        *(long *)(base + OFFSET) = 0x4141414141414141;
    puts("end");
    return 0;
}
