/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decisions that keep something from being done, and what is put out in spite of it: one digit for
 * each. FORCE makes a program in which the decision of that number goes the other way, natively.
 */
#include <stdlib.h>
#include <unistd.h>

#ifndef FORCE
#define FORCE 0
#endif
static char out[7];
static int marks[20] = {8};
static int rate = 3, total, other, level = 2, scale = 1, is_done, mark = 5;
/* Far from each other, so that none is asked about because another one is. */
static int base[64] = {5}, is_open[64], late[64] = {2};

static void raise_level(int by)
{
    level += by;
}

/* Where a number is added: the total, or elsewhere. */
static int *pick(int number)
{
    return number % 4 == 3 ? &total : &other;
}

/* The first time it stores to the total; the second time it would store elsewhere. */
static void add(int number)
{
    int *at = pick(number);
#if FORCE == 3
    if (number == 3 || number == 6)
#else
    if (number == 3)          /* TOTAL */
#endif
        *at = number;
}

int main(int argc, char **argv)
{
    int mode = argc > 1 ? atoi(argv[1]) : 0, end = 0;

    add(3);
#if FORCE == 1
    if (mode <= 5)
#else
    if (mode > 5)             /* RATE */
#endif
        rate = 7; /* a store that is missing */
#if FORCE == 2
    if (mode <= 7)
#else
    if (mode > 7)             /* LEVEL */
#endif
        raise_level(4); /* a call that is missing */
    add(6);
#if FORCE == 4
    if (mode <= 8) {
#else
    if (mode > 8) {           /* DONE */
#endif
        is_done = 1;
        scale = 2;
    }
#if FORCE == 5
    if (mode <= 9)
#else
    if (mode > 9)             /* SAME */
#endif
        mark = 5; /* what it is anyway */
    for (int turn = 0; turn < 10; turn++)
#if FORCE == 6
        if (mode + turn > 39 || turn == 0)
#else
        if (mode + turn > 39) /* EARLY */
#endif
            marks[turn] = 9; /* only the first turn's would be used, long before the last one */
#if FORCE == 7
    if (mode <= 10) {
#else
    if (mode > 10) {          /* AGAIN */
#endif
        base[0] = 5; /* what it is anyway; that another one uses what follows is known later */
        is_open[0] = 1;
    }
    if (is_open[0])
        late[0] = 8;
    if (!is_done)
        end = scale * 3; /* END */
    out[0] = (char)('0' + rate);
    out[1] = (char)('0' + level);
    out[2] = (char)('0' + total);
    out[3] = (char)('0' + end);
    out[4] = (char)('0' + mark);
    out[5] = (char)('0' + marks[0]);
    out[6] = (char)('0' + base[0] + late[0] - 5);
    if (write(1, out, sizeof(out)) != sizeof(out))
        return 1;
    return 0;
}
