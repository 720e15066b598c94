/* SPDX-License-Identifier: GPL-3.0-or-later */
/* long_run [TURNS]: what is printed depends on every turn. Long to build, and long to slice. */
#include <stdio.h>
#include <stdlib.h>

static unsigned table[256];

int main(int argc, char **argv)
{
    unsigned long turns = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    unsigned state = 1;

    for (unsigned long i = 0; i < turns; i++) {
        state = state * 1664525u + 1013904223u + table[state & 255];
        table[state >> 24] ^= state;
    }
    printf("%u\n", state);
    return 0;
}
