/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * wait_loop CHILDREN MICROSECONDS: waits for SIGVTALRM in a loop of registers only, as fast as the processor
 * can, while so many children compute. The handler ends it.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#define CHILD_TURNS 400000000u

static void on_time(int number)
{
    (void)number;
    _exit(7);
}

static void compute(void)
{
    for (volatile unsigned turn = 0; turn < CHILD_TURNS; turn++)
        ;
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc != 3 || signal(SIGVTALRM, on_time) == SIG_ERR)
        return 1;
    for (int child = atoi(argv[1]); child > 0; child--)
        if (fork() == 0)
            compute();
    struct itimerval time = {.it_value = {.tv_usec = atoi(argv[2])}};
    if (setitimer(ITIMER_VIRTUAL, &time, NULL))
        return 1;
    for (unsigned long turn = 0;;)
        __asm__ volatile("inc %0; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop"
                         : "+r"(turn));
}
