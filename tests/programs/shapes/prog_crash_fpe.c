/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dies of SIGFPE: divides by a count that has become zero. */
#include <stdio.h>

static int average(const int *values, volatile int *count)
{
    int sum = 0;

    for (int i = 0; i < *count; i++)
        sum += values[i];
    return sum / *count;
}

int main(void)
{
    static const int values[] = {5, 7, 12};

    for (volatile int count = 3; count >= 0; count--) {
        int mean = average(values, &count);
        printf("mean of %d is %d\n", count, mean);
        fflush(stdout);
    }
    return 0;
}
