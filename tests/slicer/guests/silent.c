/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A run that puts out nothing. Lines marked GUARD are the branches that kept it from calls that would have;
 * lines marked OTHER only look like them.
 */
#include <stdio.h>
#include <unistd.h>

static void (*volatile hook)(int);
static volatile int given = 2, wanted = 7, is_loud, sink;

__attribute__((noinline)) static void report(int value)
{
    printf("%d\n", value);
}

__attribute__((noinline)) static void deeper(int value)
{
    if (value > 3) /* OTHER unreached */
        report(value);
}

__attribute__((noinline)) static void say(int value)
{
    sink = value;
    if (is_loud) { /* GUARD callee */
        sink = 1;
        if (value > 1) /* OTHER behind */
            puts("loud");
    }
}

__attribute__((noinline)) static void apply(void (*what)(int), int value)
{
    what(value);
}

int main(void)
{
    for (int i = 0; i < given; i++) {
        if (i == wanted) /* GUARD loop */
            report(i);
        if (i == given) /* OTHER mute */
            sink = i;
        say(i);
    }
    if (given == 50) /* OTHER complaint */
        fprintf(stderr, "%d\n", given);
    if (given == 51) { /* OTHER end */
        fputs("bad\n", stderr);
        _exit(2);
    }
    if (given > 100) /* GUARD nested */
        deeper(given);
    if (given == 9) /* GUARD pointer */
        apply(report, given);
    if (given == 10) /* GUARD setting */
        hook = report;
    if (hook) /* GUARD hook */
        hook(given);
    return 0;
}
