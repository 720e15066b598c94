/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A repeating timer over a loop of few instructions that keeps nothing in registers: signal after
 * signal strikes at the same instruction with the same registers, and only memory has moved. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

enum {
    TICKS = 8,
};

static volatile unsigned ticks;
static volatile unsigned long turns;
static unsigned long at[TICKS];

static void on_tick(int signo)
{
    (void)signo;
    if (ticks < TICKS)
        at[ticks] = turns;
    ticks = ticks + 1;
}

int main(void)
{
    const struct itimerval timer = {{.tv_usec = 1000}, {.tv_usec = 1000}};

    signal(SIGPROF, on_tick);
    setitimer(ITIMER_PROF, &timer, NULL);
    while (ticks < TICKS)
        __asm__ volatile("addq $1, %0" : "+m"(turns) : : "cc");
    for (int i = 0; i < TICKS; i++)
        printf("%lu%c", at[i], i % 4 == 3 ? '\n' : ' ');
    return 0;
}
