/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long things take. */
#ifndef DBGCLI_SECONDS_H
#define DBGCLI_SECONDS_H

#include <time.h>

/* Seconds since some fixed moment; never goes back. */
static inline double cli_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#endif
