/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A loop that waits for a flag and counts, the counter printed. Without optimisation it lives on
 * the stack and all registers are the same in every turn: only memory tells one from another. */
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

/* clang takes it through a register, where it would tell the turns apart. */
#ifdef __OPTIMIZE__
#define COUNT(i) (i)++
#else
#define COUNT(i) __asm__ volatile("addq $1, %0" : "+m"(i) : : "cc")
#endif

static volatile sig_atomic_t done;

static void on_alarm(int signo)
{
    (void)signo;
    done = 1;
}

static unsigned long wait_and_count(void)
{
    const struct itimerval timer = {.it_value = {.tv_usec = 3000}};
    unsigned long i;

    done = 0;
    setitimer(ITIMER_REAL, &timer, NULL);
    for (i = 0; !done;)
        COUNT(i);
    return i;
}

int main(void)
{
    signal(SIGALRM, on_alarm);
    for (int i = 0; i < 3; i++)
        printf("waited %lu turns\n", wait_and_count());
    return 0;
}
