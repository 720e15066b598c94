/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A loop without conditional branches that counts in memory, left by the signal of a timer: neither
 * registers nor branches tell its turns apart. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static sigjmp_buf back;
static unsigned long turns;

static void on_tick(int signo)
{
    siglongjmp(back, signo);
}

int main(void)
{
    const struct itimerval timer = {.it_value = {.tv_usec = 3000}};

    signal(SIGALRM, on_tick);
    if (sigsetjmp(back, 1) == 0) {
        setitimer(ITIMER_REAL, &timer, NULL);
        __asm__ volatile("1: incq %0\n\tjmp 1b" : "+m"(turns) : : "cc");
    }
    puts("left");
    return 0;
}
