/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "predicate_switch/order_priv.h"

struct entry {
    wetdbg_time time;
    uint32_t predicate;
    uint32_t klass, round, distance;
};

static int by_predicate(const void *a, const void *b)
{
    const struct psw_member *x = a, *y = b;

    if (x->predicate != y->predicate)
        return x->predicate < y->predicate ? -1 : 1;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return x->time > y->time ? -1 : x->time < y->time;
}

static int by_rank(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->klass != y->klass)
        return x->klass < y->klass ? -1 : 1;
    if (x->round != y->round)
        return x->round < y->round ? -1 : 1;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return x->time > y->time ? -1 : x->time < y->time;
}

int psw_near_list(struct wetdbg_candidates *candidates, const struct wetdbg_order_options *options,
                  const uint32_t *taken, struct psw_times *list)
{
    struct psw_members members = {.count = 0};
    struct entry *entries = NULL;
    (void)taken;
    int err = psw_members_find(candidates, options->slice, &members);

    if (!err && !(entries = calloc(members.count + 1, sizeof(*entries))))
        err = -ENOMEM;
    if (!err && members.count)
        qsort(members.items, members.count, sizeof(*members.items), by_predicate);
    for (size_t i = 0, first = 0; i < members.count && !err; i++) {
        const struct psw_member *member = &members.items[i];
        if (i && members.items[first].predicate != member->predicate)
            first = i;
        entries[i] = (struct entry){member->time, member->predicate, 0, (uint32_t)(i - first),
                                    member->distance};
    }
    if (!err && members.count)
        qsort(entries, members.count, sizeof(*entries), by_rank);
    if (!err)
        err = wd_grow_exactly(list->items, list->capacity, members.count);
    for (size_t i = 0; i < members.count && !err; i++)
        list->items[list->count++] = entries[i].time;
    free(entries);
    free(members.items);
    return err;
}
