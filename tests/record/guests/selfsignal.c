/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals itself three times at one place; only before the third does a variable change. What
 * counts the turns lies outside of what the digest covers. */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define TURNS 3

volatile int changing = 1;

static void ignore(int signal)
{
    (void)signal;
}

int main(void)
{
    volatile int *turn =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    signal(SIGUSR1, ignore);
    while ((*turn)++ < TURNS) {
        if (*turn == TURNS)
            changing = 2;
        kill(getpid(), SIGUSR1);
    }
    return 0;
}
