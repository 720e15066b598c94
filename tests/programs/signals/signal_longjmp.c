/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Handlers that never return: siglongjmp out of computation, with and without the mask. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

enum {
    JUMPS = 5,
};

static sigjmp_buf back;
static volatile unsigned total;

static void on_alarm(int signo)
{
    siglongjmp(back, signo);
}

__attribute__((noinline)) static void compute(unsigned x)
{
    for (;;) {
        x = x * 1664525 + 1013904223;
        total = total + (x >> 16);
    }
}

int main(void)
{
    const struct itimerval timer = {.it_value = {.tv_usec = 3000}};
    volatile unsigned jumps = 0;

    signal(SIGALRM, on_alarm);
    if (sigsetjmp(back, 1) != 0)
        jumps = jumps + 1;
    if (jumps < JUMPS) {
        setitimer(ITIMER_REAL, &timer, NULL);
        compute(jumps);
    }
    printf("jumps %u\n", jumps);
    printf("total %u\n", total);
    return 0;
}
