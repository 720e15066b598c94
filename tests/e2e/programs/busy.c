/* SPDX-License-Identifier: GPL-3.0-or-later */
/* busy TURNS: a long call in the middle; what is printed depends on every turn, and so does memory. */
#include <stdio.h>
#include <stdlib.h>

struct tally {
    unsigned long turns;
    unsigned last;
};

static struct tally tally;
static unsigned table[256];

static unsigned mix(unsigned state, unsigned long turn)
{
    unsigned mixed = state * 1664525u + 1013904223u + table[state & 255];
    tally.turns = turn; /* WRITE */
    return mixed;
}

static unsigned work(unsigned long turns)
{
    unsigned state = 1;
    for (unsigned long i = 0; i < turns; i++) {
        state = mix(state, i);
        table[state >> 24] ^= state; /* TURN */
    }
    return state;
}

static void never(void)
{
    puts("never");
}

int main(int argc, char **argv)
{
    unsigned long turns = strtoul(argv[1], NULL, 10);
    printf("%lu turns\n", turns);
    tally.last = work(turns); /* CALL */
    printf("%u\n", tally.last);
    if (argc > 2)
        never();
    return 0;
}
