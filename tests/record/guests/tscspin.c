/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two threads wait for each other in loops that read the time stamp: every turn is a trap, but
 * none a system call. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <x86intrin.h>

#define ROUNDS 5

static atomic_int turn;

static void take_turns(int own)
{
    for (int i = 0; i < ROUNDS; i++) {
        while (turn != own)
            __rdtsc();
        turn = !own;
    }
}

static void *answer(void *unused)
{
    take_turns(1);
    return unused;
}

int main(void)
{
    pthread_t other;

    pthread_create(&other, NULL, answer, NULL);
    take_turns(0);
    pthread_join(other, NULL);
    puts("done");
    return 0;
}
