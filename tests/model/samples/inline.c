/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Optimized code: inlined functions, values in registers, values that are gone. */
#include <stdio.h>
#include <stdlib.h>

volatile int our_source = 6;

static inline __attribute__((always_inline)) int square(int our_value)
{
    int our_result = our_value * our_value; /* @square */
    our_source = our_result;                /* @square_store */
    return our_result;
}

static inline __attribute__((always_inline)) int twice(int our_value)
{
    return square(our_value) + square(our_value + 1); /* @twice */
}

__attribute__((noinline)) int compute(int our_first, int our_second)
{
    int our_sum = twice(our_first); /* @compute */

    for (int our_turn = 0; our_turn < our_second; our_turn++)
        our_sum += twice(our_turn) ^ our_first; /* @compute_loop */
    return our_sum;
}

__attribute__((noinline)) int dispatch(int our_kind, int our_value)
{
    switch (our_kind) { /* @dispatch */
    case 0:
        return our_value + 1;
    case 1:
        our_source = 3;
        return our_value * 3;
    case 2:
        return compute(our_value, 2);
    case 3:
        return our_value - 9;
    case 4:
        our_source = our_value;
        return 8;
    case 5:
        return ~our_value;
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
        total += dispatch(i, our_source);
    printf("%d\n", total);
    return 0;
}
