/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dies of SIGILL: reaches __builtin_trap. */
#include <stdio.h>

static int lookup(int key)
{
    switch (key) {
    case 1:
        return 10;
    case 2:
        return 20;
    default:
        __builtin_trap();
    }
}

int main(void)
{
    for (volatile int key = 1; key < 4; key++) {
        printf("%d ", lookup(key));
        fflush(stdout);
    }
    return 0;
}
