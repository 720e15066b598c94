/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc, calloc, realloc and free in a fixed pseudo-random order, small and mmap-sized blocks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLOTS = 24,
    ROUNDS = 400,
};

static unsigned seed = 12345;

static unsigned next_random(void)
{
    seed = seed * 1103515245u + 12345u;
    return seed >> 16 & 0x7fff;
}

static size_t pick_size(void)
{
    unsigned kind = next_random() % 50;

    if (kind == 0)
        return 150000 + next_random();
    return kind < 10 ? 512 + next_random() % 2048 : 1 + next_random() % 200;
}

int main(void)
{
    char *slots[SLOTS] = {NULL};
    size_t sizes[SLOTS] = {0};
    unsigned long digest = 0;

    for (int round = 0; round < ROUNDS; round++) {
        unsigned i = next_random() % SLOTS;
        size_t size = pick_size();
        if (slots[i] && next_random() % 3 == 0) {
            char *moved = realloc(slots[i], size);
            if (!moved)
                return 1;
            slots[i] = moved;
        } else {
            if (slots[i])
                digest = digest * 131 + (unsigned char)slots[i][sizes[i] - 1];
            free(slots[i]);
            slots[i] = next_random() % 4 ? malloc(size) : calloc(size, 1);
            if (!slots[i])
                return 1;
        }
        sizes[i] = size;
        slots[i][0] = (char)round;
        slots[i][size - 1] = (char)(round ^ (int)i);
    }
    for (int i = 0; i < SLOTS; i++)
        free(slots[i]);
    printf("digest %016lx\n", digest);
    return 0;
}
