/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Thousands of instructions of which each needs the flag that the one before left, in pieces too short to stop
 * in: with an argument until two signals have come, else once, and an illegal instruction ends that.
 */
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

static volatile int came;

static void on_alarm(int signal)
{
    came += signal == SIGALRM;
}

#define CARRIED "clc\n.rept 4000\nadc $1, %0\njmp 1f\n1:\n.endr\n"

int main(int argc, char **argv)
{
    const struct itimerval timer = {.it_value = {.tv_usec = 2000},
                                    .it_interval = {.tv_usec = 2000}};
    uint64_t sum = (uint64_t)(argv[0] == 0);
    if (argc > 1) {
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &timer, NULL);
        while (came < 2)
            __asm__ volatile(CARRIED : "+r"(sum) : : "cc");
        return sum == 0;
    }
    __asm__ volatile(CARRIED "carried_end: ud2" : "+r"(sum) : : "cc");
    return 1;
}
