/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recursion that needs some megabytes of stack: the kernel grows the mapping many times. */
#include <stdio.h>

__attribute__((noinline)) static unsigned descend(unsigned depth, unsigned seed)
{
    volatile unsigned char frame[20000];
    unsigned below;

    frame[0] = (unsigned char)seed;
    frame[sizeof(frame) - 1] = (unsigned char)depth;
    if (depth == 0)
        return seed;
    below = descend(depth - 1, seed * 69069 + 1);
    return below + frame[0] + frame[sizeof(frame) - 1];
}

int main(void)
{
    printf("%u\n", descend(150, 7));
    return 0;
}
