/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A loop that calls a function which bumps a global, printed: with optimisation every turn has the
 * same registers at every instruction. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

static volatile sig_atomic_t done;
static unsigned long bumps, seen[4];

static void on_alarm(int signo)
{
    (void)signo;
    seen[done] = bumps;
    done = done + 1;
}

__attribute__((noinline)) static void bump(void)
{
    bumps++;
    __asm__ volatile("" : : : "memory");
}

int main(void)
{
    const struct itimerval timer = {.it_value = {.tv_usec = 3000}};

    signal(SIGALRM, on_alarm);
    for (int i = 1; i <= 3; i++) {
        setitimer(ITIMER_REAL, &timer, NULL);
        while (done < i)
            bump();
    }
    printf("bumps %lu, at alarms %lu %lu %lu\n", bumps, seen[0], seen[1], seen[2]);
    return 0;
}
