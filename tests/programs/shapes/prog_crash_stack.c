/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dies of SIGSEGV: endless recursion runs out of stack (8 MiB by default). */
#include <stdio.h>

__attribute__((noinline)) static unsigned long digits(volatile unsigned long *value)
{
    volatile char pad[4000];
    unsigned long below;

    pad[0] = (char)*value;
    if (*value == ~0ul)
        return 0;
    *value = *value / 10;
    below = digits(value);
    return below + 1 + (unsigned long)(pad[0] & 0);
}

int main(void)
{
    volatile unsigned long value = 1234567;

    puts("counting");
    fflush(stdout);
    printf("%lu digits\n", digits(&value));
    return 0;
}
