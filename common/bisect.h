/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bisection, in anything that is sorted. A header only, which freestanding code uses, too. */
#ifndef COMMON_BISECT_H
#define COMMON_BISECT_H

#include <stddef.h>

/*
 * The first index from `first` on of which `is_before` is false; `end` if it is true of all before
 * that. It is an expression in `i`, the name of the index: true of some first ones, false of all
 * after them. To find where `time` begins:
 *
 *     size_t at = wd_bisect(0, count, i, events[i].time < time);
 *
 * The last one that is still before, or the first if none is: wd_bisect(1, count, i, ...) - 1.
 */
#define wd_bisect(first, end, i, is_before)                                                        \
    ({                                                                                             \
        size_t wd_low_ = (first), wd_high_ = (end);                                                \
        while (wd_low_ < wd_high_) {                                                               \
            size_t i = wd_low_ + (wd_high_ - wd_low_) / 2;                                         \
            if (is_before)                                                                         \
                wd_low_ = i + 1;                                                                   \
            else                                                                                   \
                wd_high_ = i;                                                                      \
        }                                                                                          \
        wd_low_;                                                                                   \
    })

#endif
