/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loop of signal_waitloop.c with its counter in allocated memory, and registers that repeat. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

struct state {
    volatile unsigned long turns;
    volatile int done;
};

static struct state *state;

static void on_alarm(int signo)
{
    (void)signo;
    state->done = 1;
}

int main(void)
{
    const struct itimerval timer = {.it_value = {.tv_usec = 3000}};

    state = calloc(1, sizeof(*state));
    if (!state)
        return 1;
    signal(SIGALRM, on_alarm);
    for (int i = 0; i < 3; i++) {
        state->done = 0;
        setitimer(ITIMER_REAL, &timer, NULL);
        while (!state->done)
            state->turns = state->turns + 1;
        printf("%lu turns\n", state->turns);
    }
    free(state);
    return 0;
}
