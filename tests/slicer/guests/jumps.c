/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jumps back into a function that is active several times, to another one than its latest frame:
 * what a frame's branches let run goes on there. */
#include <setjmp.h>
#include <stdint.h>

#define DEPTH 5

static jmp_buf back[DEPTH];
static volatile uint32_t words[DEPTH], sink;

static uint32_t next(void)
{
    static uint32_t state = 12345;

    return state = state * 1103515245u + 12345u;
}

__attribute__((noinline)) static void dig(unsigned depth, unsigned to)
{
    volatile uint32_t before = words[depth];

    if (before & 1) {
        if (!setjmp(back[depth])) {
            if (depth + 1 < DEPTH)
                dig(depth + 1, to);
            else
                longjmp(back[to], 1);
            sink += 1;
        }
        sink += before;
    } else if (!setjmp(back[depth])) {
        if (depth + 1 < DEPTH)
            dig(depth + 1, to);
        else
            longjmp(back[to], 1);
        sink += 2;
    }
    if (words[depth] & 2)
        sink += depth;
}

int main(void)
{
    for (unsigned i = 0; i < 40; i++) {
        for (unsigned k = 0; k < DEPTH; k++)
            words[k] = next() >> 16;
        dig(0, i % DEPTH);
    }
    return 0;
}
