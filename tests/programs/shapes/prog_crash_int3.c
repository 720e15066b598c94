/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dies of SIGTRAP: an int3 right behind a conditional jump, so that it is all of a straight line. */
#include <stdio.h>

static int check(int value)
{
    if (value > 2)
        __asm__ volatile("int3");
    return value * 3;
}

int main(void)
{
    for (volatile int value = 1; value < 4; value++) {
        printf("%d ", check(value));
        fflush(stdout);
    }
    return 0;
}
