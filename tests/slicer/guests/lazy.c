/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two functions of other objects, each called for the first time with an argument worth following:
 * one in a general register, one in a vector register. Linked for lazy binding. */
#include <math.h>
#include <stdlib.h>

__attribute__((noinline)) static long make_integer(int argc)
{
    return -39L * argc;
}

__attribute__((noinline)) static double make_double(int argc)
{
    return 1.5 + argc;
}

int main(int argc, char **argv)
{
    (void)argv;
    long kept = argc + 5L;
    long integer = labs(make_integer(argc));
    double scaled = ldexp(make_double(argc), 2);
    return (int)(integer + (long)scaled + kept);
}
