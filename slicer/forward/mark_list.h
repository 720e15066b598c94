/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marks of many places as one sorted list, to be compared with others: which of two states has at
 * least what the other one has. What a key stands for is its user's.
 */
#ifndef SLICER_FORWARD_MARK_LIST_H
#define SLICER_FORWARD_MARK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slc_mark {
    uint64_t key, bits; /* some bit is set */
};

/* By key. Embedded by its holder; all zero is empty. `list` is to be freed. */
struct slc_mark_list {
    struct slc_mark *list;
    size_t count, capacity;
};

/* Adds bits, perhaps none, behind the last key, which may be the same. 0 or -ENOMEM. */
int slc_mark_list_add(struct slc_mark_list *marks, uint64_t key, uint64_t bits);

/* The marks with keys below one, as a list that is not to be freed. */
struct slc_mark_list slc_mark_list_below(const struct slc_mark_list *marks, uint64_t key);

/* Makes `to`, which is empty, the same. 0 or -ENOMEM. */
int slc_mark_list_copy(struct slc_mark_list *to, const struct slc_mark_list *from);

/* Adds all of `from`. 0, or -ENOMEM, and then `to` is as it was. */
int slc_mark_list_join(struct slc_mark_list *to, const struct slc_mark_list *from);

/* Whether `of` has all of `marks`. */
bool slc_mark_list_is_within(const struct slc_mark_list *marks, const struct slc_mark_list *of);

bool slc_mark_list_is_same(const struct slc_mark_list *a, const struct slc_mark_list *b);

#endif
