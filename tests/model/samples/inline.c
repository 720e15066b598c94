/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Optimized code: inlined functions, values in registers, values that are gone. */
#include <stdio.h>
#include <stdlib.h>

volatile int source = 6;

static inline __attribute__((always_inline)) int square(int value)
{
    int result = value * value; /* @square */
    source = result;            /* @square_store */
    return result;
}

static inline __attribute__((always_inline)) int twice(int value)
{
    return square(value) + square(value + 1); /* @twice */
}

__attribute__((noinline)) int compute(int first, int second)
{
    int sum = twice(first); /* @compute */

    for (int i = 0; i < second; i++)
        sum += twice(i) ^ first; /* @compute_loop */
    return sum;
}

__attribute__((noinline)) int dispatch(int kind, int value)
{
    switch (kind) { /* @dispatch */
    case 0:
        return value + 1;
    case 1:
        source = 3;
        return value * 3;
    case 2:
        return compute(value, 2);
    case 3:
        return value - 9;
    case 4:
        source = value;
        return 8;
    case 5:
        return ~value;
    case 6:
        abort();
    default:
        return 0;
    }
}

int main(void)
{
    int total = 0;

    for (int i = 0; i < 6; i++)
        total += dispatch(i, source);
    printf("%d\n", total);
    return 0;
}
