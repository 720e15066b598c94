/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/delta_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t words_of(size_t count)
{
    return (count + 63) / 64;
}

int dlt_set_init(struct dlt_set *set, size_t count)
{
    set->words = calloc(words_of(count) + 1, sizeof(*set->words));
    set->count = count;
    return set->words ? 0 : -ENOMEM;
}

void dlt_set_fini(struct dlt_set *set)
{
    free(set->words);
    *set = (struct dlt_set){0};
}

void dlt_set_copy(struct dlt_set *to, const struct dlt_set *from)
{
    memcpy(to->words, from->words, words_of(to->count) * sizeof(*to->words));
}

/* The bits of word `w` that are in [first, end). */
static uint64_t mask_of(size_t w, size_t first, size_t end)
{
    uint64_t mask = UINT64_MAX;
    if (w == first / 64)
        mask &= UINT64_MAX << (first % 64);
    if (w == end / 64)
        mask &= end % 64 ? UINT64_MAX >> (64 - end % 64) : 0;
    return mask;
}

void dlt_set_add(struct dlt_set *set, size_t first, size_t end)
{
    for (size_t w = first / 64; first < end && w <= (end - 1) / 64; w++)
        set->words[w] |= mask_of(w, first, end);
}

void dlt_set_remove(struct dlt_set *set, size_t first, size_t end)
{
    for (size_t w = first / 64; first < end && w <= (end - 1) / 64; w++)
        set->words[w] &= ~mask_of(w, first, end);
}

void dlt_set_take(struct dlt_set *set, const struct dlt_set *from, size_t first, size_t end)
{
    for (size_t w = first / 64; first < end && w <= (end - 1) / 64; w++) {
        uint64_t mask = mask_of(w, first, end);
        set->words[w] = (set->words[w] & ~mask) | (from->words[w] & mask);
    }
}

size_t dlt_set_size(const struct dlt_set *set)
{
    size_t size = 0;
    for (size_t w = 0; w < words_of(set->count); w++)
        size += (size_t)__builtin_popcountll(set->words[w]);
    return size;
}

size_t dlt_set_next(const struct dlt_set *set, size_t from)
{
    for (size_t w = from / 64; w < words_of(set->count); w++) {
        uint64_t word = set->words[w];
        if (w == from / 64)
            word &= UINT64_MAX << (from % 64);
        if (word)
            return 64 * w + (size_t)__builtin_ctzll(word);
    }
    return set->count;
}
