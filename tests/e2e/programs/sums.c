/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A loop with a decision in it: sums of the odd and the even numbers up to the one that is given. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 4;
    int odd = 0;
    int even = 0;
    int i = 1;
    while (i <= n) {
        if (i % 2)
            odd = odd + i;
        else
            even = even + i;
        i = i + 1;
    }
    printf("%d %d\n", odd, even);
    return 0;
}
