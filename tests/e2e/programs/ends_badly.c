/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ends as `wetdbg locate` has to notice it: with a report like a sanitizer's or, with an argument, by
 * a signal as if somebody had lost patience with its loop. */
#include <signal.h>
#include <stdio.h>

static int next(int n)
{
    return n % 7 == 3 ? n : n + 1;
}

int main(int argc, char **argv)
{
    int n = 0;

    (void)argv;
    for (int round = 0; n < 9; round++) {
        n = next(n);
        if (argc > 1 && round == 50)
            raise(SIGTERM); /* LOOP */
        if (argc == 1 && n == 3) {
            fprintf(stderr, "ends_badly.c:%d:3: runtime error: %d is no number\n", __LINE__, n);
            return 1;
        }
    }
    return 0;
}
