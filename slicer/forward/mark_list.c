/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/forward/mark_list.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"

int slc_mark_list_add(struct slc_mark_list *marks, uint64_t key, uint64_t bits)
{
    struct slc_mark *last = marks->count ? &marks->list[marks->count - 1] : NULL;

    assert(!last || last->key <= key);
    if (!bits)
        return 0;
    if (last && last->key == key) {
        last->bits |= bits;
        return 0;
    }
    if (wd_grow(marks->list, marks->capacity, marks->count + 1))
        return -ENOMEM;
    marks->list[marks->count++] = (struct slc_mark){key, bits};
    return 0;
}

struct slc_mark_list slc_mark_list_below(const struct slc_mark_list *marks, uint64_t key)
{
    size_t count = wd_bisect(0, marks->count, i, marks->list[i].key < key);

    return (struct slc_mark_list){.list = marks->list, .count = count};
}

int slc_mark_list_copy(struct slc_mark_list *to, const struct slc_mark_list *from)
{
    assert(!to->count);
    if (wd_grow_exactly(to->list, to->capacity, from->count))
        return -ENOMEM;
    if (from->count)
        memcpy(to->list, from->list, from->count * sizeof(*to->list));
    to->count = from->count;
    return 0;
}

int slc_mark_list_join(struct slc_mark_list *to, const struct slc_mark_list *from)
{
    struct slc_mark_list both = {.list = NULL};
    size_t i = 0, k = 0;

    if (slc_mark_list_is_within(from, to))
        return 0;
    if (wd_grow_exactly(both.list, both.capacity, to->count + from->count))
        return -ENOMEM;
    while (i < to->count || k < from->count) {
        const struct slc_mark *a = i < to->count ? &to->list[i] : NULL;
        const struct slc_mark *b = k < from->count ? &from->list[k] : NULL;
        bool has_a = a && (!b || a->key <= b->key), has_b = b && (!a || b->key <= a->key);
        both.list[both.count++] = (struct slc_mark){has_a ? a->key : b->key,
                                                    (has_a ? a->bits : 0) | (has_b ? b->bits : 0)};
        i += has_a;
        k += has_b;
    }
    free(to->list);
    *to = both;
    return 0;
}

bool slc_mark_list_is_within(const struct slc_mark_list *marks, const struct slc_mark_list *of)
{
    const struct slc_mark *other = of->list, *end = of->list + of->count;

    if (marks->count > of->count)
        return false;
    for (size_t i = 0; i < marks->count; i++) {
        while (other < end && other->key < marks->list[i].key)
            other++;
        if (other == end || other->key != marks->list[i].key || marks->list[i].bits & ~other->bits)
            return false;
    }
    return true;
}

bool slc_mark_list_is_same(const struct slc_mark_list *a, const struct slc_mark_list *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->list, b->list, a->count * sizeof(*a->list)) == 0);
}
