/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Arrays that grow: an ordinary pointer, a count and a capacity, all in their holder's hands. What
 * these macros are given as `items` and `capacity` are lvalues, the capacity of any unsigned type;
 * all NULL and 0 is an empty array, and free() ends one. Elements move when it grows.
 *
 * Not utarray: its elements have no type, and it ends the program where memory runs out.
 */
#ifndef COMMON_ARRAY_H
#define COMMON_ARRAY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Room for `needed` elements in all, at least twice the capacity if there is too little: to append
 * costs constant time. 0; or -ENOMEM, and then all is as it was. More elements than the capacity's
 * type can count are -ENOMEM, too.
 */
#define wd_grow(items, capacity, needed) WD_GROW(items, capacity, needed, WD_GROW_DOUBLE)

/* wd_grow() to exactly `needed` elements: for an array that stays as it is from then on, or that
 * has a copy elsewhere. */
#define wd_grow_exactly(items, capacity, needed) WD_GROW(items, capacity, needed, WD_GROW_EXACT)

/* wd_grow(), and the elements beyond the old capacity are zero. */
#define wd_grow_zeroed(items, capacity, needed)                                                    \
    WD_GROW(items, capacity, needed, WD_GROW_DOUBLE | WD_GROW_ZEROED)

/*
 * Room for one more element behind `count` in an array that has no capacity: there is room up to
 * the next power of two. It must have grown by nothing else, one element at a time. 0 or -ENOMEM.
 */
#define wd_grow_one(items, count)                                                                  \
    ({                                                                                             \
        size_t wd_count_ = (count);                                                                \
        size_t wd_room_ = wd_count_;                                                               \
        (wd_count_ & (wd_count_ - 1)) == 0                                                         \
            ? WD_GROW(items, wd_room_, wd_count_ ? 2 * wd_count_ : 1, WD_GROW_EXACT)               \
            : 0;                                                                                   \
    })

enum {
    WD_GROW_EXACT = 0,
    WD_GROW_DOUBLE = 1,
    WD_GROW_ZEROED = 2,
};

/* What the macros call if there is too little room: the array with the room that it has now in
 * *capacity, or NULL. The capacity stays at or below `most`. */
void *wd_array_grown(void *items, size_t *capacity, size_t needed, size_t item_bytes, size_t most,
                     unsigned how);

#define WD_GROW(items, capacity, needed, how)                                                      \
    ({                                                                                             \
        size_t wd_needed_ = (needed);                                                              \
        int wd_grow_err_ = 0;                                                                      \
        if (wd_needed_ > (capacity)) {                                                             \
            size_t wd_capacity_ = (capacity);                                                      \
            void *wd_items_ = wd_array_grown((items), &wd_capacity_, wd_needed_, sizeof(*(items)), \
                                             (__typeof__(capacity))-1, (how));                     \
            if (wd_items_) {                                                                       \
                (items) = wd_items_;                                                               \
                (capacity) = (__typeof__(capacity))wd_capacity_;                                   \
            } else {                                                                               \
                wd_grow_err_ = -ENOMEM;                                                            \
            }                                                                                      \
        }                                                                                          \
        wd_grow_err_;                                                                              \
    })

#endif
