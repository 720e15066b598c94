/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * As omits.c, but what is not done would have been done in registers: one digit for each decision.
 * Empty asm statements keep the compiler from making one instruction of a decision and what it
 * guards. FORCE makes a program in which the decision of that number goes the other way, natively.
 */
#include <stdlib.h>
#include <unistd.h>

#ifndef FORCE
#define FORCE 0
#endif
#define IS(number, mode, least) (FORCE == (number) || some(mode) > (least))
#define NOT_MOVED()             __asm__ volatile("")

static char out[7];

/* The compiler does not know the value. */
static inline unsigned some(unsigned value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

/* What is returned. */
__attribute__((noinline)) static unsigned find(unsigned mode)
{
    unsigned found = some(2);

    NOT_MOVED();
    if (IS(2, mode, 7)) { /* RETURNED */
        NOT_MOVED();
        found = 6;
    }
    return found;
}

/* What is passed. */
__attribute__((noinline)) static void show(unsigned at, unsigned digit)
{
    __asm__ volatile("");
    out[at] = (char)('0' + digit);
}

/* What a function passes on. */
__attribute__((noinline)) static void show_other(unsigned mode, unsigned at)
{
    unsigned digit = some(1);

    if (IS(6, mode, 10)) { /* PASSED */
        NOT_MOVED();
        digit = 4;
    }
    show(at, digit);
}

__attribute__((noinline)) static unsigned sum(unsigned mode)
{
    unsigned all = 1;

    for (unsigned turn = 0; turn < 6; turn++) {
        all += some(0);
        if (IS(4, mode + turn, 15)) { /* SUM */
            NOT_MOVED();
            all += some(1);
        }
    }
    return all;
}

int main(int argc, char **argv)
{
    unsigned mode = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    unsigned rate = some(3), mark = some(5), last = some(8);
    double scale = some(1);

    if (IS(1, mode, 5)) { /* RATE */
        NOT_MOVED();
        rate = some(7);
    }
    if (IS(3, mode, 8)) { /* SCALE */
        NOT_MOVED();
        scale = some(4);
    }
    if (IS(5, mode, 9)) { /* SAME */
        NOT_MOVED();
        mark = some(5); /* what it is anyway */
    }
    if (IS(7, mode, 11)) { /* ENDED */
        NOT_MOVED();
        last = 9; /* in one of two ways that write it */
    } else if (some(mode) > 12) {
        last = some(1);
    }
    out[0] = (char)('0' + rate);
    out[1] = (char)('0' + find(mode));
    out[2] = (char)('0' + (unsigned)(scale * 2));
    out[3] = (char)('0' + sum(mode));
    out[4] = (char)('0' + mark);
    show_other(mode, 5);
    out[6] = (char)('0' + last);
    if (write(1, out, sizeof(out)) != sizeof(out))
        return 1;
    return 0;
}
