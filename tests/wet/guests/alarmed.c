/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A handler changes what the program reads long after; registers live across it. */
#include <signal.h>
#include <sys/time.h>

static volatile int came;
static volatile unsigned setting = 1;

static void on_alarm(int signal)
{
    setting = (unsigned)signal + 5; /* HANDLER */
    came = came + 1;
}

__attribute__((noinline)) static unsigned turn(unsigned x)
{
    for (unsigned i = 0; i < 50; i++)
        x = x * 1664525 + i;
    return x;
}

int main(void)
{
    const struct itimerval timer = {.it_value = {.tv_usec = 2000},
                                    .it_interval = {.tv_usec = 2000}};
    const struct itimerval none = {.it_value = {0}};
    unsigned x = 1;

    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &timer, NULL);
    do
        x = turn(x); /* also if both alarms came early */
    while (came < 2);
    setitimer(ITIMER_REAL, &none, NULL);
    return (int)((x & 1) + setting + 1); /* RESULT */
}
