/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/scan/implied.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <wetdbg/errors.h>

static int by_predicate(const void *a, const void *b)
{
    const struct wetdbg_implicit_edge *x = a, *y = b;

    if (x->predicate != y->predicate)
        return x->predicate > y->predicate ? -1 : 1;
    return x->use > y->use ? -1 : x->use < y->use;
}

/* Latest first; at one time the criterion's own goes first, and the other is not needed. */
static int by_time(const void *a, const void *b)
{
    const struct slc_seed *x = a, *y = b;

    if (x->is_fault != y->is_fault)
        return x->is_fault ? -1 : 1;
    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return x->implicit_count < y->implicit_count ? -1 : x->implicit_count > y->implicit_count;
}

static void add_seeds(struct wetdbg_criterion *criterion, const struct wetdbg_implicit_edge *edges,
                      size_t count)
{
    size_t kept = 0;

    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && edges[next].predicate == edges[i].predicate;)
            next++;
        criterion->seeds[criterion->seed_count++] = (struct slc_seed){.time = edges[i].predicate,
                                                                      .uses = SLC_USES_ALL,
                                                                      .implicit = &edges[i],
                                                                      .implicit_count = next - i};
    }
    qsort(criterion->seeds, criterion->seed_count, sizeof(*criterion->seeds), by_time);
    for (size_t i = 0; i < criterion->seed_count; i++) {
        const struct slc_seed *seed = &criterion->seeds[i];
        bool is_known = seed->implicit_count && kept && !criterion->seeds[kept - 1].is_fault &&
                        criterion->seeds[kept - 1].time == seed->time;
        if (!is_known)
            criterion->seeds[kept++] = *seed;
    }
    criterion->seed_count = kept;
}

int slc_implicit_init(struct slc_implicit *self, const struct wetdbg_criterion *criterion,
                      const struct wetdbg_slice_options *options)
{
    size_t count = options->implicit_count, seeds = criterion->seed_count;

    *self = (struct slc_implicit){.criterion = *criterion};
    self->criterion.seeds = NULL; /* its own are made below */
    for (size_t i = 0; i < count; i++) {
        const struct wetdbg_implicit_edge *edge = &options->implicit[i];
        if (!edge->predicate || edge->predicate >= edge->use)
            return wetdbg_fail(-EINVAL, "time %llu cannot depend on time %llu",
                               (unsigned long long)edge->use, (unsigned long long)edge->predicate);
    }
    self->criterion.seeds = calloc(seeds + count + 1, sizeof(*criterion->seeds));
    self->edges = calloc(count + 1, sizeof(*self->edges));
    if (!self->criterion.seeds || !self->edges)
        return -ENOMEM;
    memcpy(self->criterion.seeds, criterion->seeds, seeds * sizeof(*criterion->seeds));
    if (!count)
        return 0;
    memcpy(self->edges, options->implicit, count * sizeof(*self->edges));
    qsort(self->edges, count, sizeof(*self->edges), by_predicate);
    add_seeds(&self->criterion, self->edges, count);
    return 0;
}

void slc_implicit_fini(struct slc_implicit *self)
{
    free(self->criterion.seeds);
    free(self->edges);
}

/* The instance that uses, as who wants something: at its distance plus 1. */
static struct slc_want want_of(const struct wetdbg_slice *slice, wetdbg_time use)
{
    struct slc_want want = {.user = use, .distance = 1, .edge = WETDBG_EDGE_IMPLICIT};
    const struct slc_share *share;

    if (slice->has_fault && use == slice->fault_time)
        want.user = SLC_USER_FAULT;
    else if (use > wetdbg_get_info(slice->wet)->last_time ||
             !wetdbg_slice_contains_time(slice, use))
        return slc_no_want();
    else if (slice->options.record_parents) {
        const struct slc_member *member = slc_slice_find(slice, use, &share);
        want.distance = member ? member->distance + 1 : SLC_NOT_WANTED;
    }
    return want;
}

struct slc_want slc_implicit_want(const struct wetdbg_slice *slice, const struct slc_seed *seed)
{
    struct slc_want best = slc_no_want();

    for (size_t i = 0; i < seed->implicit_count; i++) {
        struct slc_want want = want_of(slice, seed->implicit[i].use);
        slc_want_merge(&best, &want);
    }
    return best;
}
