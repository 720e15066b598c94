/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bisection, in anything that is sorted. */
#ifndef DBGCLI_SORTED_H
#define DBGCLI_SORTED_H

#include <stdbool.h>
#include <stddef.h>

/* The first index below `count` of which is_before() is false; `count` if it is true of all. It is
 * true of some first ones, false of all after them. */
static inline size_t cli_sorted_find(size_t count, bool (*is_before)(const void *arg, size_t i),
                                     const void *arg)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(arg, middle))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
