/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * As omits.c, but what is used instead is used by other threads: by one that is there when it is
 * decided, and by one that begins later. FORCE makes a program in which the decision of that number
 * goes the other way, natively.
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef FORCE
#define FORCE 0
#endif
#define IS(number, mode, least) (FORCE == (number) || (mode) > (least))

static char out[2];
static int rate = 3, level = 2, ends[2];

static void *show_rate(void *arg)
{
    char byte;

    if (read(ends[0], &byte, 1) == 1)
        out[0] = (char)('0' + rate);
    return arg;
}

static void *show_level(void *arg)
{
    out[1] = (char)('0' + level);
    return arg;
}

int main(int argc, char **argv)
{
    int mode = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t early, late;

    if (pipe(ends) || pthread_create(&early, NULL, show_rate, NULL))
        return 1;
    if (IS(1, mode, 5)) /* RATE */
        rate = 7;
    if (IS(2, mode, 7)) /* LEVEL */
        level = 4;
    if (pthread_create(&late, NULL, show_level, NULL) || pthread_join(late, NULL))
        return 1;
    if (write(ends[1], out, 1) != 1 || pthread_join(early, NULL))
        return 1;
    return write(1, out, sizeof(out)) != sizeof(out);
}
