/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two threads wait for each other in loops that make no system call. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define ROUNDS 20

static atomic_int turn;

static void *answer(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        while (turn != 1)
            continue;
        turn = 0;
    }
    return unused;
}

int main(void)
{
    pthread_t other;

    pthread_create(&other, NULL, answer, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        while (turn != 0)
            continue;
        turn = 1;
    }
    pthread_join(other, NULL);
    puts("done");
    return 0;
}
