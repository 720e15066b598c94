/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two threads that take turns by spinning on an atomic, with no system call in between: only the
 * end of a time slice gets either further. What is printed first is the same in every run; the
 * turns that were spent waiting are not, with the argument "turns". */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    ROUNDS = 3,
};

static atomic_uint turn;
static unsigned long spent[2];
static unsigned sequence;

static void take_turns(unsigned self)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned long spins = 0;
        while (atomic_load_explicit(&turn, memory_order_acquire) % 2 != self)
            spins++;
        spent[self] += spins;
        sequence = sequence * 3 + self + 1;
        atomic_fetch_add(&turn, 1);
    }
}

static void *other(void *arg)
{
    (void)arg;
    take_turns(1);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    (void)argv;
    pthread_create(&thread, NULL, other, NULL);
    take_turns(0);
    pthread_join(thread, NULL);
    printf("turns %u sequence %u\n", atomic_load(&turn), sequence);
    if (argc > 1)
        printf("spent %lu %lu\n", spent[0], spent[1]);
    return 0;
}
