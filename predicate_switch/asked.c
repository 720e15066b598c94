/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/asked.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/bisect.h"

#define ASKED_MOST ((size_t)1 << 20) /* switches of a list, the latest */

struct finder {
    const struct wetdbg_slice *slice;
    const struct psw_omissions *omissions;
    const struct wetdbg_set *unsure;
    struct psw_asked_list *list;
    uint32_t each;
    uint32_t *turns; /* by omission: instances that it has asked */
};

/* The first omission of a predicate. */
static size_t first_of(const struct psw_omissions *omissions, uint32_t predicate)
{
    return wd_bisect(0, omissions->count, i, omissions->items[i].predicate < predicate);
}

static bool concerns(const struct psw_omission *omission, wetdbg_time time)
{
    return omission->after < time && time < omission->before;
}

/* How far down the list: its distance, and somewhat more for each instance that stands before. */
static uint32_t cost_of(const struct psw_asked *asked)
{
    uint32_t more = 2 * asked->turn;

    return asked->distance < UINT32_MAX - more ? asked->distance + more : UINT32_MAX;
}

/* The surest kind, then the least confident, the nearest, the latest. */
static int by_order(const void *a, const void *b)
{
    const struct psw_asked *x = a, *y = b;
    uint32_t cost = cost_of(x), other = cost_of(y);

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->is_sure != y->is_sure)
        return x->is_sure ? 1 : -1;
    if (cost != other)
        return cost < other ? -1 : 1;
    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return x->way < y->way ? -1 : x->way > y->way;
}

/* Adds a switch, of which the best reason is enough. Instances come one by one: what is known of
 * this one's switches stands at the end of the list. */
static int ask(struct finder *finder, const struct psw_omission *omission, wetdbg_time time,
               uint32_t turn)
{
    struct psw_asked_list *list = finder->list;
    const struct psw_asked asked = {.time = time,
                                    .predicate = omission->predicate,
                                    .way = omission->way,
                                    .distance = omission->distance,
                                    .kind = omission->kind,
                                    .turn = turn,
                                    .is_sure =
                                        finder->unsure && omission->after &&
                                        !wetdbg_set_contains_time(finder->unsure, omission->after)};

    for (size_t i = list->count; i-- > 0 && list->items[i].time == time;) {
        if (list->items[i].way != asked.way)
            continue;
        if (by_order(&asked, &list->items[i]) < 0)
            list->items[i] = asked;
        return 0;
    }
    if (list->count == ASKED_MOST) {
        list->is_cut = true;
        return 0;
    }
    if (wd_grow(list->items, list->capacity, list->count + 1))
        return -ENOMEM;
    list->items[list->count++] = asked;
    return 0;
}

/* What is in the slice already needs no proof. */
static int meet(void *arg, const struct psw_instance *item, wetdbg_time time)
{
    struct finder *finder = arg;
    const struct psw_omissions *omissions = finder->omissions;
    int err = 0;

    if (item->way == PSW_NONE || wetdbg_slice_contains_time(finder->slice, time))
        return 0;
    for (size_t i = first_of(omissions, item->predicate);
         i < omissions->count && omissions->items[i].predicate == item->predicate && !err; i++) {
        const struct psw_omission *omission = &omissions->items[i];
        if (!concerns(omission, time) || item->way == omission->way)
            continue;
        if (finder->turns[i] < finder->each)
            err = ask(finder, omission, time, finder->turns[i]++);
        else
            finder->list->is_cut = true;
    }
    return err;
}

int psw_asked_find(struct wetdbg_candidates *candidates, const struct wetdbg_slice *slice,
                   const struct psw_omissions *omissions, const struct wetdbg_set *unsure,
                   uint32_t each, struct psw_asked_list *list)
{
    struct finder finder = {slice, omissions, unsure, list, each, NULL};

    finder.turns = calloc(omissions->count + 1, sizeof(*finder.turns));
    if (!finder.turns)
        return -ENOMEM;
    int err = psw_instances_back(&candidates->instances, candidates->options.until, meet, &finder);
    free(finder.turns);
    if (!err && list->count)
        qsort(list->items, list->count, sizeof(*list->items), by_order);
    return err;
}

/* ---- uses ---- */

static int by_time(const void *a, const void *b)
{
    const struct psw_use *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->location < y->location ? -1 : x->location > y->location;
}

int psw_asked_uses(const struct psw_asked *asked, const struct psw_omissions *omissions,
                   struct psw_uses *uses)
{
    size_t kept = 0;

    uses->count = 0;
    for (size_t i = first_of(omissions, asked->predicate);
         i < omissions->count && omissions->items[i].predicate == asked->predicate; i++) {
        const struct psw_omission *omission = &omissions->items[i];
        if (omission->way != asked->way || !concerns(omission, asked->time))
            continue;
        if (wd_grow(uses->items, uses->capacity, uses->count + 1))
            return -ENOMEM;
        uses->items[uses->count++] =
            (struct psw_use){omission->before, omission->address, omission->location};
    }
    if (uses->count)
        qsort(uses->items, uses->count, sizeof(*uses->items), by_time);
    for (size_t i = 0; i < uses->count; i++)
        if (!kept || by_time(&uses->items[kept - 1], &uses->items[i]) != 0)
            uses->items[kept++] = uses->items[i];
    uses->count = kept;
    return 0;
}
