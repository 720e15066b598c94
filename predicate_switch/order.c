/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "predicate_switch/order_priv.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>

struct wetdbg_order {
    struct wetdbg_candidates *candidates;
    struct psw_times list;
    struct given {
        wetdbg_time time;
        size_t at; /* in the list: its first place */
    } * given;     /* the list's times, sorted */
    size_t given_count;
    size_t at;        /* in the list */
    uint32_t *passes; /* by place in `ways`: the pass that gives instances which went there */
    uint32_t pass, pass_count;
    uint64_t interval; /* that the pass is in, and how many of its instances are left */
    size_t left;
    bool is_in_interval;
    struct psw_choices choices; /* of the latest instance */
    size_t choice;
};

static const char *const names[] = {"near", "lefs", "prior", "spectrum"};

const char *wetdbg_order_name(enum wetdbg_order_kind kind)
{
    return (size_t)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL;
}

int wetdbg_order_parse(const char *name, enum wetdbg_order_kind *kind)
{
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0) {
            *kind = (enum wetdbg_order_kind)i;
            return 0;
        }
    return wetdbg_fail(-WETDBG_ERR_USAGE,
                       "'%s' is no order: there are near, lefs, prior and spectrum", name);
}

/* ---- lists ---- */

struct member_finder {
    struct wetdbg_candidates *candidates;
    struct psw_members *members;
};

static int note_member(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct member_finder *finder = arg;
    struct psw_members *members = finder->members;
    uint32_t predicate = psw_predicates_at(&finder->candidates->predicates, instance->pc);

    if (predicate == PSW_NONE || instance->time >= finder->candidates->options.until)
        return 0;
    if (wd_grow(members->items, members->capacity, members->count + 1))
        return -ENOMEM;
    members->items[members->count++] =
        (struct psw_member){instance->time, predicate, instance->distance};
    return 0;
}

int psw_members_find(struct wetdbg_candidates *candidates, const struct wetdbg_slice *slice,
                     struct psw_members *members)
{
    struct member_finder finder = {candidates, members};

    return wetdbg_slice_each_instance(slice, NULL, 0, note_member, &finder);
}

struct prior_entry {
    struct psw_member member;
    bool is_chop;
};

static int by_prior(const void *a, const void *b)
{
    const struct prior_entry *x = a, *y = b;

    if (x->is_chop != y->is_chop)
        return x->is_chop ? -1 : 1;
    if (x->member.distance != y->member.distance)
        return x->member.distance < y->member.distance ? -1 : 1;
    return x->member.time > y->member.time ? -1 : x->member.time < y->member.time;
}

static int make_prior_list(struct wetdbg_candidates *candidates,
                           const struct wetdbg_order_options *options, struct psw_times *list)
{
    struct psw_members members = {.count = 0};
    struct prior_entry *entries = NULL;
    int err = psw_members_find(candidates, options->slice, &members);

    if (!err && !(entries = calloc(members.count + 1, sizeof(*entries))))
        err = -ENOMEM;
    for (size_t i = 0; i < members.count && !err; i++)
        entries[i] = (struct prior_entry){
            members.items[i],
            options->chop && wetdbg_set_contains_time(options->chop, members.items[i].time)};
    if (!err && members.count)
        qsort(entries, members.count, sizeof(*entries), by_prior);
    if (!err)
        err = wd_grow_exactly(list->items, list->capacity, members.count);
    for (size_t i = 0; i < members.count && !err; i++)
        list->items[list->count++] = entries[i].member.time;
    free(entries);
    free(members.items);
    return err;
}

static int by_time(const void *a, const void *b)
{
    const struct given *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int sort_given(struct wetdbg_order *order)
{
    size_t kept = 0;

    order->given = calloc(order->list.count + 1, sizeof(*order->given));
    if (!order->given)
        return -ENOMEM;
    for (size_t i = 0; i < order->list.count; i++)
        order->given[i] = (struct given){order->list.items[i], i};
    qsort(order->given, order->list.count, sizeof(*order->given), by_time);
    for (size_t i = 0; i < order->list.count; i++)
        if (!kept || order->given[kept - 1].time != order->given[i].time)
            order->given[kept++] = order->given[i];
    order->given_count = kept;
    return 0;
}

/* The first place of a time in the list, or SIZE_MAX. */
static size_t find_given(const struct wetdbg_order *order, wetdbg_time time)
{
    size_t at = wd_bisect(0, order->given_count, i, order->given[i].time < time);

    return at < order->given_count && order->given[at].time == time ? order->given[at].at
                                                                    : SIZE_MAX;
}

/* ---- passes ---- */

/* By how many passing runs took a way (NULL: that is no matter); the program's own code first. */
static int make_passes(struct wetdbg_order *order, const uint32_t *taken, size_t passing_count)
{
    const struct psw_predicates *predicates = &order->candidates->predicates;
    uint32_t passes = taken ? (uint32_t)passing_count + 1 : 1;

    order->pass_count = order->candidates->options.libraries ? 2 * passes : passes;
    order->passes = calloc((size_t)predicates->way_count + 1, sizeof(*order->passes));
    if (!order->passes)
        return -ENOMEM;
    for (uint32_t p = 0; p < predicates->count; p++) {
        bool is_late = order->candidates->options.libraries &&
                       !wetdbg_is_own(predicates->wet, predicates->items[p].pc);
        for (uint32_t w = 0; w < predicates->statics[p].way_count; w++) {
            uint32_t at = predicates->statics[p].first_way + w;
            order->passes[at] = (taken ? taken[at] : 0) + (is_late ? passes : 0);
        }
    }
    return 0;
}

static int check(const struct wetdbg_order_options *options)
{
    bool needs_slice = options->kind == WETDBG_ORDER_NEAR || options->kind == WETDBG_ORDER_PRIOR;

    if (!wetdbg_order_name(options->kind))
        return wetdbg_fail(-EINVAL, "there is no order %u", (unsigned)options->kind);
    if (needs_slice && !options->slice)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "the order '%s' needs a slice of what is wrong",
                           names[options->kind]);
    if (options->kind == WETDBG_ORDER_SPECTRUM && !options->passing_count)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "the order 'spectrum' needs a passing run");
    return 0;
}

static int make_order(struct wetdbg_order *order, const struct wetdbg_order_options *options)
{
    struct wetdbg_candidates *candidates = order->candidates;
    bool is_spectrum = options->kind == WETDBG_ORDER_SPECTRUM;
    uint32_t *taken = NULL;
    int err = 0;

    if (options->passing_count && (is_spectrum || options->kind == WETDBG_ORDER_NEAR))
        err = psw_taken_count(candidates, options->passing, options->passing_count, &taken);
    if (!err && options->kind == WETDBG_ORDER_PRIOR)
        err = make_prior_list(candidates, options, &order->list);
    if (!err && options->kind == WETDBG_ORDER_NEAR)
        err = psw_near_list(candidates, options, taken, &order->list);
    if (!err)
        err = sort_given(order);
    if (!err)
        err = make_passes(order, is_spectrum ? taken : NULL, options->passing_count);
    free(taken);
    return err;
}

int wetdbg_order_open(struct wetdbg_candidates *candidates,
                      const struct wetdbg_order_options *options, struct wetdbg_order **out)
{
    int err = check(options);
    struct wetdbg_order *order = err ? NULL : calloc(1, sizeof(*order));

    if (!order)
        return err ? err : -ENOMEM;
    order->candidates = candidates;
    err = make_order(order, options);
    if (err)
        wetdbg_order_close(order);
    else
        *out = order;
    return err;
}

void wetdbg_order_close(struct wetdbg_order *order)
{
    if (!order)
        return;
    free(order->list.items);
    free(order->given);
    free(order->passes);
    free(order->choices.items);
    free(order);
}

/* ---- what comes next ---- */

/* The choices of the next instance of the list; none if it came before. */
static int take_listed(struct wetdbg_order *order)
{
    struct wetdbg_candidates *candidates = order->candidates;
    wetdbg_time time = order->list.items[order->at];
    const struct psw_list *list;
    size_t at;

    if (find_given(order, time) != order->at++)
        return 0;
    int err =
        psw_instances_of(&candidates->instances, wetdbg_interval_at(candidates->wet, time), &list);

    if (!err)
        err = psw_instance_find(list, time, &at);
    return err ? err : psw_choices_make(candidates, list, at, &order->choices);
}

/* Goes to the next interval, back in time, that has instances. 1, 0 if there is none, an error. */
static int next_interval(struct wetdbg_order *order)
{
    struct wetdbg_candidates *candidates = order->candidates;
    uint64_t k = order->is_in_interval
                     ? order->interval
                     : wetdbg_interval_at(candidates->wet, candidates->options.until) + 1;
    const struct psw_list *list;

    while (k-- > 0)
        if (psw_has_instances(&candidates->predicates, k)) {
            int err = psw_instances_of(&candidates->instances, k, &list);
            if (err)
                return err;
            order->is_in_interval = true;
            order->interval = k;
            order->left =
                wd_bisect(0, list->count, i,
                          list->first_time + list->items[i].time_off < candidates->options.until);
            return 1;
        }
    return 0;
}

/* The choices of the pass's next instance in its interval; none if the interval has none left. */
static int take_passed(struct wetdbg_order *order)
{
    struct wetdbg_candidates *candidates = order->candidates;
    const struct psw_predicates *predicates = &candidates->predicates;
    const struct psw_list *list;
    int err = psw_instances_of(&candidates->instances, order->interval, &list);

    while (!err && order->left) {
        const struct psw_instance *item = &list->items[--order->left];
        uint32_t place = predicates->statics[item->predicate].first_way +
                         (item->way == PSW_NONE ? 0 : item->way);
        if (order->passes[place] == order->pass &&
            find_given(order, list->first_time + item->time_off) == SIZE_MAX)
            return psw_choices_make(candidates, list, order->left, &order->choices);
    }
    return err;
}

/* Finds choices. 1, 0 at the end, an error. */
static int refill(struct wetdbg_order *order)
{
    order->choice = order->choices.count = 0;
    while (!order->choices.count) {
        int result;
        if (order->at < order->list.count) {
            result = take_listed(order);
        } else if (order->is_in_interval && order->left) {
            result = take_passed(order);
        } else if (order->pass == order->pass_count) {
            return 0;
        } else if ((result = next_interval(order)) == 0) {
            order->pass++;
            order->is_in_interval = false;
        }
        if (result < 0)
            return result;
    }
    return 1;
}

int wetdbg_order_next(struct wetdbg_order *order, struct wetdbg_candidate *candidate)
{
    if (order->choice == order->choices.count) {
        int result = refill(order);
        if (result <= 0)
            return result;
    }
    *candidate = order->choices.items[order->choice++];
    return 1;
}
