/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two numbers that are right, and one that is not: test_prune.py finds the fault from the right ones. */
#include <stdio.h>

static int square(int x)
{
    return x * x; /* SQUARE */
}

static int cube(int x)
{
    int result = x * x;
    result += x; /* FAULT: *= */
    return result;
}

int main(int argc, char **argv)
{
    int sum = 0, i;
    (void)argv;
    for (i = 1; i <= 4; i++)
        sum += square(i); /* SUM */
    printf("%d\n", sum);
    printf("%d\n", square(argc + 6)); /* SECOND */
    int side = sum - 21;              /* SIDE */
    printf("%d\n", cube(side));       /* THIRD */
    return 0;
}
