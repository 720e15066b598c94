/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Faults that take more than the other way at one branch. The first argument says which:
 *   all         each decision of one branch is wrong
 *   onward      those from the fifth on
 *   pair        two of different branches
 *   table       a switch statement goes to the wrong case
 *   expression  neither side of an `a && b` holds, and the whole of it should
 *   file        what is written to a file, the second argument
 */
#include <stdio.h>
#include <string.h>

#ifdef FIXED
#define QUIET      0
#define QUIET_FROM 100
#define SCALE      3
#define LIMIT      50
#define KIND       4
#define LEAST      1
#else
#define QUIET      1 /* FAULT */
#define QUIET_FROM 4
#define SCALE      1
#define LIMIT      5
#define KIND       2
#define LEAST      60
#endif

static volatile int quiet = QUIET, quiet_from = QUIET_FROM, scale = SCALE, limit = LIMIT;
static volatile int kind = KIND, least = LEAST;

static void list(int from)
{
    for (int i = 0; i < 9; i++) {
        if (from < 0 ? quiet : i >= from) /* ALL */
            continue;
        printf("line %d\n", i);
    }
}

static void pair(void)
{
    int sum = 10;

    if (scale == 3) /* PAIR */
        sum *= 7;
    if (sum > limit)
        sum = sum / 5 + sum % 9;
    if (limit == 50) /* PAIR */
        sum += 1000;
    printf("sum %d\n", sum);
}

static int apply(int what, int value)
{
    switch (what) { /* TABLE */
    case 0:
        return value + 3;
    case 1:
        return value * 5;
    case 2:
        return value - 7;
    case 3:
        return value % 11;
    case 4:
        return value * value;
    case 5:
        return -value;
    case 6:
        return value << 3;
    default:
        return 0;
    }
}

static void table(void)
{
    int value = 12;

    for (int i = 0; i < 7; i++)
        value = apply(i == 3 ? kind : (i * 3) % 7, value) & 0xfff;
    printf("value %d\n", value);
}

static void expression(void)
{
    int width = 40, height = 50;

    if (width > least && height > least) /* EXPRESSION */
        printf("large\n");
    else
        printf("small\n");
    printf("%d x %d\n", width, height);
}

static void file(const char *name)
{
    FILE *to = fopen(name, "w");

    if (!to)
        return;
    if (scale == 3)
        fputs("right\n", to);
    else
        fputs("wrong\n", to);
    fclose(to);
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "";

    printf("%s:\n", which);
    if (!strcmp(which, "all"))
        list(-1);
    else if (!strcmp(which, "onward"))
        list(quiet_from);
    else if (!strcmp(which, "pair"))
        pair();
    else if (!strcmp(which, "table"))
        table();
    else if (!strcmp(which, "expression"))
        expression();
    else if (!strcmp(which, "file") && argc > 2)
        file(argv[2]);
    return 0;
}
