/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long things take. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <time.h>

/* Seconds since some fixed moment; never goes back. */
static inline double wd_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#endif
