/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that add to one counter without a lock, and note who ran when. What comes out depends
 * on where time slices ended: to be printed again it has to be replayed exactly. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum {
    THREADS = 3,
    TURNS = 3000000,
    NOTES = 64,
};

static volatile unsigned counter;
static volatile unsigned last_runner;
static unsigned notes[NOTES];
static volatile unsigned note_count;

static void note(unsigned self)
{
    if (last_runner == self)
        return;
    last_runner = self;
    if (note_count < NOTES)
        notes[note_count++] = counter;
}

static void *work(void *arg)
{
    unsigned self = (unsigned)(uintptr_t)arg;

    for (unsigned i = 0; i < TURNS; i++) {
        counter = counter + 1;
        note(self);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("counter %u of %u\n", counter, THREADS * TURNS);
    for (unsigned i = 0; i < note_count; i++)
        printf("%u%c", notes[i], i % 8 == 7 || i + 1 == note_count ? '\n' : ' ');
    return 0;
}
