/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Killed by a timer without a handler in the middle of a loop. */
#include <stdio.h>
#include <sys/time.h>

static volatile unsigned turns;

int main(void)
{
    const struct itimerval timer = {.it_value = {.tv_usec = 5000}};

    puts("begins");
    fflush(stdout);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (;;)
        turns = turns + 1;
}
