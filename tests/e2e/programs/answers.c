/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers line by line: add N, sub N (wrong from 10 on), at N (crashes from 100 on), log N (leaves a
 * file), end N (exits with N). Each line that it understands has the sum so far put out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long total, steps;

static void subtract(long n)
{
    if (n > 9)
        total -= n - 1; /* FAULT */
    else
        total -= n;
}

static void touch(long n)
{
    long *where = &steps;

    if (n > 99)
        where = (long *)(n * 8);
    *where += 1; /* CRASH */
}

static void leave(long n)
{
    FILE *file = fopen("left", "a");

    if (file) {
        fprintf(file, "%ld\n", n);
        fclose(file);
    }
}

int main(int argc, char **argv)
{
    FILE *in = argc > 1 ? fopen(argv[1], "r") : stdin;
    char line[80];

    while (in && fgets(line, sizeof(line), in)) {
        long n = strlen(line) > 4 ? atol(line + 4) : 0;
        if (!strncmp(line, "add ", 4))
            total += n;
        else if (!strncmp(line, "sub ", 4))
            subtract(n);
        else if (!strncmp(line, "at ", 3))
            touch(atol(line + 3));
        else if (!strncmp(line, "log ", 4))
            leave(n);
        else if (!strncmp(line, "end ", 4))
            return (int)n;
        else
            continue;
        printf("%ld\n", total);
    }
    return 0;
}
