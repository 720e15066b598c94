/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Our order. Instances are listed for several reasons, each list is sorted by itself, and the lists
 * are put together like the teeth of a zip: no list is taken for better than another throughout.
 * The numbers come from trials with the programs of bench/switch and with 60 more that were made
 * of them by turning conditions round.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "predicate_switch/potential.h"

/* Why an instance is listed. */
enum reason {
    MEMBER,    /* the slice has it */
    POTENTIAL, /* a use in the slice depends on it potentially */
    FOLLOWER,  /* the next of a member's predicate that went another way: where a loop ended */
    NEARBY,    /* as POTENTIAL, with a store to the same line of memory */
    LAST,      /* of its predicate */
    FIRST,
    REASONS,
};

/* The i-th of a list stands at start + i * step; the n-th of a predicate in a list costs
 * crowd * log2(n) more. */
static const struct {
    double step, start, crowd;
} lists[REASONS] = {
    [MEMBER] = {1, 0, 2},   [POTENTIAL] = {2, 1.5, 3}, [FOLLOWER] = {4, 4, 3},
    [NEARBY] = {4, 4.5, 3}, [LAST] = {10, 10, 0},      [FIRST] = {10, 20, 0},
};

#define RARE_COST    0.3   /* by log2 of how often its predicate ran */
#define CHOICE_COST  2     /* of cmov and setcc, which mostly repeat what a branch decides */
#define CERTAIN_COST 0.5   /* of what confidence prunes */
#define NEVER_COST   (-10) /* of a way that no passing run took */

struct entry {
    wetdbg_time time;
    uint32_t predicate;
    uint32_t reason;
    uint32_t distance;
    double cost;
    double place;
};

struct entries {
    struct entry *items;
    size_t count, capacity;
};

struct near {
    struct wetdbg_candidates *candidates;
    const struct wetdbg_order_options *options;
    const uint32_t *taken;      /* may be NULL */
    struct psw_members members; /* by time */
    struct psw_omissions omissions;
    struct entries entries;
    /* While the run is gone through backward: */
    size_t members_before; /* this time */
    /* ... and by predicate: */
    struct later {
        wetdbg_time time;  /* of its instance that comes next, 0: none */
        wetdbg_time other; /* of the next that went another way than that, 0: none */
        uint32_t way;
        double cost, other_cost;
        wetdbg_time listed; /* the `other` that was listed last, and how near a member was */
        uint32_t listed_distance;
    } * later;
    uint32_t *first_active; /* its omissions that wait, plus 1 */
    struct active {
        uint32_t omission, next, left;
    } * active;
};

#define EACH_OMISSION 2 /* instances of a predicate that an omission lists, the latest */

/* What is known of an instance besides its distance. */
static double cost_of(const struct near *near, const struct psw_instance *item, wetdbg_time time)
{
    const struct psw_predicates *predicates = &near->candidates->predicates;
    const struct wetdbg_predicate *predicate = &predicates->items[item->predicate];
    const struct wetdbg_set *unsure = near->options->unsure;
    double cost = RARE_COST * log2((double)predicate->instances);

    if (predicate->kind == WETDBG_PREDICATE_CMOV || predicate->kind == WETDBG_PREDICATE_SETCC)
        cost += CHOICE_COST;
    if (unsure && !wetdbg_set_contains_time(unsure, time))
        cost += CERTAIN_COST;
    if (near->taken && item->way != PSW_NONE &&
        !near->taken[predicates->statics[item->predicate].first_way + item->way])
        cost += NEVER_COST;
    return cost;
}

static int add(struct near *near, wetdbg_time time, uint32_t predicate, uint32_t distance,
               double cost, enum reason reason)
{
    struct entries *entries = &near->entries;

    if (wd_grow(entries->items, entries->capacity, entries->count + 1))
        return -ENOMEM;
    entries->items[entries->count++] = (struct entry){.time = time,
                                                      .predicate = predicate,
                                                      .reason = reason,
                                                      .distance = distance,
                                                      .cost = cost + distance};
    return 0;
}

/* ---- going back over the run ---- */

static int meet_omissions(struct near *near, const struct psw_instance *item, wetdbg_time time)
{
    int err = 0;

    for (uint32_t *link = &near->first_active[item->predicate]; *link && !err;) {
        struct active *active = &near->active[*link - 1];
        const struct psw_omission *omission = &near->omissions.items[active->omission];
        if (time <= omission->after || !active->left) {
            *link = active->next;
            continue;
        }
        if (time < omission->before && item->way != omission->way) {
            err =
                add(near, time, item->predicate, omission->distance + 1, cost_of(near, item, time),
                    omission->kind == PSW_OMITS_PLACE ? POTENTIAL : NEARBY);
            active->left--;
        }
        link = &active->next;
    }
    return err;
}

static int meet(void *arg, const struct psw_instance *item, wetdbg_time time)
{
    struct near *near = arg;
    const struct psw_members *members = &near->members;
    size_t *member = &near->members_before;
    struct later *later = &near->later[item->predicate];
    struct later now = *later;
    int err = 0;

    now.time = time;
    now.way = item->way;
    now.cost = cost_of(near, item, time);
    if (later->way != item->way) {
        now.other = later->time;
        now.other_cost = later->cost;
    }
    while (*member && members->items[*member - 1].time > time)
        --*member;
    if (*member && members->items[*member - 1].time == time) {
        uint32_t distance = members->items[*member - 1].distance;
        err = add(near, time, item->predicate, distance, now.cost, MEMBER);
        if (!err && now.other && (now.other != now.listed || distance < now.listed_distance)) {
            err = add(near, now.other, item->predicate, distance + 1, now.other_cost, FOLLOWER);
            now.listed = now.other;
            now.listed_distance = distance;
        }
    }
    if (!err && !later->time)
        err = add(near, time, item->predicate, 0, now.cost, LAST);
    *later = now;
    return err ? err : meet_omissions(near, item, time);
}

static int go_back(struct near *near)
{
    struct wetdbg_candidates *candidates = near->candidates;
    int err;

    near->members_before = near->members.count;
    err = psw_instances_back(&candidates->instances, candidates->options.until, meet, near);
    for (uint32_t p = 0; p < candidates->predicates.count && !err; p++)
        if (near->later[p].time)
            err = add(near, near->later[p].time, p, 0, near->later[p].cost, FIRST);
    return err;
}

/* ---- the list ---- */

static int by_time(const void *a, const void *b)
{
    const struct psw_member *x = a, *y = b;

    return x->time < y->time ? -1 : x->time > y->time;
}

static int by_instance(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->reason != y->reason)
        return x->reason < y->reason ? -1 : 1;
    return x->cost < y->cost ? -1 : x->cost > y->cost;
}

static int by_list(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->reason != y->reason)
        return x->reason < y->reason ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->time > y->time ? -1 : x->time < y->time;
}

static int by_place(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->reason < y->reason ? -1 : x->reason > y->reason;
}

static void sort(struct entries *entries, int (*compare)(const void *a, const void *b))
{
    if (entries->count)
        qsort(entries->items, entries->count, sizeof(*entries->items), compare);
}

/* An instance is on each list once, for what costs least. */
static void thin_out(struct entries *entries)
{
    size_t kept = 0;

    sort(entries, by_instance);
    for (size_t i = 0; i < entries->count; i++) {
        const struct entry *entry = &entries->items[i], *last = &entries->items[kept - !!kept];
        if (!kept || last->time != entry->time || last->reason != entry->reason)
            entries->items[kept++] = *entry;
    }
    entries->count = kept;
}

/* The more of a list are of one predicate, the more the next costs. */
static void spread(struct entries *entries, uint32_t *numbers, size_t predicate_count)
{
    sort(entries, by_list);
    for (size_t i = 0; i < entries->count; i++) {
        struct entry *entry = &entries->items[i];
        if (i == 0 || entry->reason != entries->items[i - 1].reason)
            memset(numbers, 0, predicate_count * sizeof(*numbers));
        entry->cost += lists[entry->reason].crowd * log2((double)++numbers[entry->predicate]);
    }
}

static void zip(struct entries *entries)
{
    size_t first = 0;

    sort(entries, by_list);
    for (size_t i = 0; i < entries->count; i++) {
        struct entry *entry = &entries->items[i];
        if (entry->reason != entries->items[first].reason)
            first = i;
        entry->place = lists[entry->reason].start + lists[entry->reason].step * (double)(i - first);
    }
    sort(entries, by_place);
}

/* The times of what is in its place; each may come several times. */
static int make_list(struct near *near, struct psw_times *list)
{
    struct entries *entries = &near->entries;
    uint32_t predicate_count = near->candidates->predicates.count;
    uint32_t *numbers = calloc((size_t)predicate_count + 1, sizeof(*numbers));

    if (!numbers)
        return -ENOMEM;
    thin_out(entries);
    spread(entries, numbers, predicate_count);
    zip(entries);
    free(numbers);
    int err = wd_grow_exactly(list->items, list->capacity, entries->count);
    for (size_t i = 0; i < entries->count && !err; i++)
        list->items[list->count++] = entries->items[i].time;
    return err;
}

static int activate(struct near *near)
{
    size_t count = near->omissions.count;

    near->active = calloc(count + 1, sizeof(*near->active));
    for (size_t i = 0; i < count && near->active; i++) {
        uint32_t *first = &near->first_active[near->omissions.items[i].predicate];
        near->active[i] = (struct active){(uint32_t)i, *first, EACH_OMISSION};
        *first = (uint32_t)i + 1;
    }
    return near->active ? 0 : -ENOMEM;
}

int psw_near_list(struct wetdbg_candidates *candidates, const struct wetdbg_order_options *options,
                  const uint32_t *taken, struct psw_times *list)
{
    struct near near = {.candidates = candidates, .options = options, .taken = taken};
    size_t count = (size_t)candidates->predicates.count + 1;

    near.later = calloc(count, sizeof(*near.later));
    near.first_active = calloc(count, sizeof(*near.first_active));
    int err = near.later && near.first_active ? 0 : -ENOMEM;
    if (!err)
        err = psw_members_find(candidates, options->slice, &near.members);
    if (!err && near.members.count)
        qsort(near.members.items, near.members.count, sizeof(*near.members.items), by_time);
    if (!err)
        err = psw_omissions_find(candidates, options->slice, false, &near.omissions);
    if (!err)
        err = activate(&near);
    if (!err)
        err = go_back(&near);
    if (!err)
        err = make_list(&near, list);
    free(near.later);
    free(near.first_active);
    free(near.active);
    free(near.members.items);
    free(near.omissions.items);
    free(near.entries.items);
    return err;
}
