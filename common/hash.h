/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Open hashing: tables of a power of two of places, of which some are always free; a key that finds
 * its place taken goes to the next free one. Nothing is taken out of them.
 *
 * Not uthash: it adds 56 bytes to each element, and ours have 16 to 40, a hundred thousand of them.
 */
#ifndef COMMON_HASH_H
#define COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Spreads a key over 64 bits, of which the upper ones are the better. */
static inline uint64_t wd_hash_u64(uint64_t key)
{
    return key * UINT64_C(0x9e3779b97f4a7c15);
}

/*
 * The place of a key among `capacity` ones: the first from `hash` on, in a circle, of which `is_it`
 * is true. It is an expression in `i`, the name of the place's index: that the place is free or has
 * the key.
 */
#define wd_hash_find(hash, capacity, i, is_it)                                                     \
    ({                                                                                             \
        size_t wd_mask_ = (capacity)-1, i = (hash)&wd_mask_;                                       \
        while (!(is_it))                                                                           \
            i = (i + 1) & wd_mask_;                                                                \
        i;                                                                                         \
    })

/* Where the elements of an array are, by hash: the array may move, and knows nothing of it.
 * Embedded by its holder; all zero has no places, and cannot be searched. */
struct wd_index {
    uint32_t *places; /* 1 + the element's index in the array, or 0 */
    size_t capacity;
};

void wd_index_fini(struct wd_index *index);

/* Replaces the table by one of free places, a power of two of them; the holder enters its elements
 * again. 0 or -ENOMEM, and then the table is as it was. */
int wd_index_renew(struct wd_index *index, size_t capacity);

/* Makes all places free. */
void wd_index_clear(struct wd_index *index);

/*
 * Makes room for one more of `count` elements: at most half of the places are taken then. A new
 * table, if one is needed, has at least `least` places, and the elements are entered again: `place`
 * is an expression in `n`, the name of an index, that is the place of that element. 0 or -ENOMEM,
 * and then the table is as it was.
 */
#define wd_index_room(index, count, least, n, place)                                               \
    ({                                                                                             \
        struct wd_index *wd_room_of_ = (index);                                                    \
        size_t wd_there_ = (count), wd_places_ = wd_room_of_->capacity;                            \
        int wd_room_err_ = 0;                                                                      \
        if (2 * (wd_there_ + 1) > wd_places_) {                                                    \
            wd_room_err_ = wd_index_renew(wd_room_of_, wd_places_ ? 2 * wd_places_ : (least));     \
            for (size_t n = 0; !wd_room_err_ && n < wd_there_; n++)                                \
                *(place) = (uint32_t)n + 1;                                                        \
        }                                                                                          \
        wd_room_err_;                                                                              \
    })

/*
 * The place (uint32_t *) of the element of which `is_it` is true, an expression in `n`, the name of
 * its index in the array. If there is none, the free place where 1 + its index goes.
 */
#define wd_index_find(index, hash, n, is_it)                                                       \
    ({                                                                                             \
        const struct wd_index *wd_index_ = (index);                                                \
        size_t wd_mask_ = wd_index_->capacity - 1, wd_at_ = (hash)&wd_mask_;                       \
        for (size_t n; (n = wd_index_->places[wd_at_]) != 0; wd_at_ = (wd_at_ + 1) & wd_mask_) {   \
            n--;                                                                                   \
            if (is_it)                                                                             \
                break;                                                                             \
        }                                                                                          \
        &wd_index_->places[wd_at_];                                                                \
    })

#endif
