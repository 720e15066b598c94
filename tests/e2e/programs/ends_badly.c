/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ends as `wetdbg locate` has to notice it: with a report like a sanitizer's or, with an argument, by
 * a signal as if somebody had lost patience with its loop, while it is in another one that ends; with
 * two arguments while it finds out whether to go on. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static int next(int n)
{
    return n % 7 == 3 ? n : n + 1;
}

static void spend(int round)
{
    for (int i = 0; i < 20; i++)
        if (round == 50 && i == 10)
            raise(SIGTERM);
}

static int goes_on(int round, int n)
{
    spend(round);
    return n < 9;
}

static void check(int n)
{
    for (int round = 0; goes_on(round, n); round++) { /* ASKED */
        n = next(n);
        if (n < 0)
            abort();
    }
}

int main(int argc, char **argv)
{
    int n = 0;

    (void)argv;
    if (argc > 2)
        check(n);
    for (int round = 0; n < 9; round++) { /* LOOP */
        n = next(n);
        if (argc > 1)
            spend(round);
        if (argc == 1 && n == 3) {
            fprintf(stderr, "ends_badly.c:%d:3: runtime error: %d is no number\n", __LINE__, n);
            return 1;
        }
    }
    return 0;
}
