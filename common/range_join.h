/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of ranges of addresses, [start, end). */
#ifndef COMMON_RANGE_JOIN_H
#define COMMON_RANGE_JOIN_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sorts ranges and joins those that touch or overlap, in place; returns how many are left. They are
 * of any type that is two uint64_t, start and end: struct wetdbg_range, struct rep_range. `ranges`
 * may be NULL if there are none.
 */
#define wd_ranges_join(ranges, count)                                                              \
    ({                                                                                             \
        _Static_assert(sizeof(*(ranges)) == 16 && sizeof((ranges)->start) == 8 &&                  \
                           offsetof(__typeof__(*(ranges)), end) == 8,                              \
                       "start and end");                                                           \
        wd_pairs_join((ranges), (count));                                                          \
    })

/* Sorts and joins ranges as wd_ranges_join() does: uint64_t[count][2], each start and end. */
size_t wd_pairs_join(void *pairs, size_t count);

#endif
