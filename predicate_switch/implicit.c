/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * <wetdbg/implicit.h>: rounds. A round slices, with the edges that are followed, finds which
 * switches to try, and tries them in small batches by time until one proves something to follow;
 * then what the predicate depends on is in the slice too, and the next round begins.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "predicate_switch/asked.h"
#include "predicate_switch/proof.h"
#include "predicate_switch/switcher.h"
#include "slicer/slicer.h"
#include <wetdbg/errors.h>
#include <wetdbg/implicit.h>

/* Instructions before the failure whose uses are asked about: distances take 32 bytes for each
 * instance, and what is nearer than others is rarely before that. */
#define LOOK  (UINT64_C(32) << 20)
#define BATCH 8 /* switches that are tried before the next slice, in the order of their times */

/* Instances of a predicate that are asked about for a use: at first, how many times as many when
 * nothing else is left to be tried, and at most. */
#define EACH      8
#define EACH_MORE 8
#define EACH_MOST 512

struct tried {
    wetdbg_time time;
    uint32_t way;
    size_t uses; /* that it was asked about, the last time */
    bool is_due; /* it is to be asked again: there are more now */
};

struct work {
    struct wetdbg *wet;
    const struct wetdbg_criterion *criterion;
    const struct wetdbg_implicit_options *options;
    struct wetdbg_implicit_result *result;
    struct wetdbg_candidates *candidates;
    struct psw_proving proving;
    struct tried *tried;
    size_t tried_count, tried_capacity;
    size_t item_capacity, edge_capacity;
    /* Edges that slices of rounds have: at once what gives its use another value; of what takes it
     * away that of the first items, so many, since decisions that end the program take away so much
     * that the rest would not come to its turn. */
    struct wetdbg_implicit_edge *followed;
    size_t followed_count, followed_capacity;
    size_t followed_items;
    uint32_t each;
    double began;
    /* Of the round: */
    struct wetdbg_slice *slice;
    struct psw_omissions omissions;
    struct psw_asked_list list;
    struct psw_uses uses;
};

/* ---- ends ---- */

static bool is_interrupted(const struct work *work)
{
    return work->options->interrupted && *work->options->interrupted;
}

static bool is_over(const struct work *work)
{
    const struct wetdbg_implicit_options *options = work->options;

    return is_interrupted(work) ||
           (options->budget_trials && work->result->tried >= options->budget_trials) ||
           (options->budget_seconds > 0 && wd_seconds() - work->began >= options->budget_seconds);
}

static bool is_unwanted(void *arg)
{
    return is_over(arg);
}

static void tell(struct work *work)
{
    const struct wetdbg_implicit_progress progress = {work->result->tried, work->result->count,
                                                      wd_seconds() - work->began};

    if (work->options->progress)
        work->options->progress(work->options->arg, &progress);
}

/* ---- what came of a switch ---- */

static int note_reason(struct wetdbg_implicit_result *result, const char *text)
{
    struct wetdbg_implicit_reason *reasons = result->reasons;
    size_t i = 0;

    result->unresolved++;
    while (i < result->reason_count && strcmp(reasons[i].text, text) != 0)
        i++;
    if (i == WETDBG_IMPLICIT_REASONS_MAX)
        i--; /* the last one stands for all further ones */
    if (i == result->reason_count) {
        result->reason_count++;
        snprintf(reasons[i].text, sizeof(reasons[i].text), "%s", text);
    }
    reasons[i].count++;
    return 0;
}

static bool has_edge(const struct wetdbg_implicit_result *result,
                     const struct wetdbg_implicit_edge *edge)
{
    for (size_t i = 0; i < result->count; i++)
        if (result->edges[i].use == edge->use && result->edges[i].predicate == edge->predicate)
            return true;
    return false;
}

static int follow(struct work *work, const struct wetdbg_implicit *item)
{
    if (wd_grow(work->followed, work->followed_capacity, work->followed_count + 1))
        return -ENOMEM;
    work->followed[work->followed_count++] = item->edge;
    return 0;
}

static int add_item(struct work *work, const struct wetdbg_implicit *item)
{
    struct wetdbg_implicit_result *result = work->result;

    if (has_edge(result, &item->edge))
        return 0;
    if (wd_grow(result->items, work->item_capacity, result->count + 1) ||
        wd_grow(result->edges, work->edge_capacity, result->count + 1))
        return -ENOMEM;
    result->edges[result->count] = item->edge;
    result->items[result->count] = *item;
    result->items[result->count++].round = result->rounds;
    return item->effect == WETDBG_IMPLICIT_VALUE ? follow(work, item) : 0;
}

/* The candidate of what is asked. *is_there: that is known. */
static int find_candidate(struct work *work, const struct psw_asked *asked,
                          struct wetdbg_candidate *candidate, bool *is_there)
{
    struct wetdbg_candidate list[64];
    size_t count;
    uint64_t to = psw_ways(&work->candidates->predicates, asked->predicate)[asked->way];
    int err = wetdbg_candidates_at(work->candidates, asked->time, list, 64, &count);

    *is_there = false;
    for (size_t i = 0; i < count && i < 64 && !err && !*is_there; i++) {
        *candidate = list[i];
        *is_there = list[i].to == to;
    }
    return err;
}

static struct tried *find_tried(const struct work *work, const struct psw_asked *asked)
{
    for (size_t i = 0; i < work->tried_count; i++)
        if (work->tried[i].time == asked->time && work->tried[i].way == asked->way)
            return &work->tried[i];
    return NULL;
}

/* Makes one switched run and asks it about all uses that the switch might concern. */
static int try_switch(struct work *work, const struct psw_asked *asked)
{
    struct wetdbg_implicit_result *result = work->result;
    struct wetdbg_candidate candidate;
    struct psw_proof proof;
    bool is_there;
    int err = find_candidate(work, asked, &candidate, &is_there);

    if (!err)
        err = psw_asked_uses(asked, &work->omissions, &work->uses);
    if (err || !is_there)
        return err;
    find_tried(work, asked)->uses = work->uses.count;
    err = psw_prove(&work->proving, &candidate, &work->uses, &proof);
    result->tried += proof.is_tried;
    for (size_t i = 0; i < proof.count && !err; i++)
        err = add_item(work, &proof.items[i]);
    if (!err && proof.count)
        result->proving++;
    else if (!err && *proof.reason)
        err = note_reason(result, proof.reason);
    else if (!err)
        result->refuted++;
    free(proof.items);
    tell(work);
    return err;
}

/* ---- rounds ---- */

static bool was_tried(const struct work *work, const struct psw_asked *asked)
{
    const struct tried *tried = find_tried(work, asked);

    return tried && !tried->is_due;
}

/* Notes that it is tried now. */
static int note_tried(struct work *work, const struct psw_asked *asked)
{
    struct tried *tried = find_tried(work, asked);

    if (tried) {
        tried->is_due = false;
        return 0;
    }
    if (wd_grow(work->tried, work->tried_capacity, work->tried_count + 1))
        return -ENOMEM;
    work->tried[work->tried_count++] = (struct tried){.time = asked->time, .way = asked->way};
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct psw_asked *x = a, *y = b;

    return x->time < y->time ? -1 : x->time > y->time;
}

/* The next ones that were not tried, by time: *count of them. */
static int take_batch(struct work *work, size_t *at, struct psw_asked batch[BATCH], size_t *count)
{
    *count = 0;
    for (; *at < work->list.count && *count < BATCH; ++*at) {
        const struct psw_asked *asked = &work->list.items[*at];
        if (was_tried(work, asked))
            continue;
        if (note_tried(work, asked))
            return -ENOMEM;
        batch[(*count)++] = *asked;
    }
    if (*count)
        qsort(batch, *count, sizeof(*batch), by_time);
    return 0;
}

static void forget_round(struct work *work)
{
    wetdbg_slice_free(work->slice);
    free(work->omissions.items);
    free(work->list.items);
    work->slice = NULL;
    work->omissions = (struct psw_omissions){0};
    work->list = (struct psw_asked_list){0};
}

/* When the instruction faulted that the criterion is about; 0: it is about something else. */
static wetdbg_time find_fault(const struct work *work)
{
    const struct wetdbg_info *info = wetdbg_get_info(work->wet);
    bool is_it = info->signal && wetdbg_failure_time(work->criterion) == info->signal_time &&
                 slc_slice_pc_at(work->slice, info->signal_time);

    return is_it ? info->signal_time : 0;
}

/* Lists the switches that the round's slice asks for. */
static int list_switches(struct work *work)
{
    free(work->list.items);
    work->list = (struct psw_asked_list){0};
    return psw_asked_find(work->candidates, work->slice, &work->omissions, work->options->unsure,
                          work->each, &work->list);
}

static int begin_round(struct work *work)
{
    const struct wetdbg_slice_options how = {.kinds = WETDBG_SLICE_FULL,
                                             .implicit = work->followed,
                                             .implicit_count = work->followed_count,
                                             .session = work->options->session,
                                             .record_parents = true,
                                             .no_exits = work->options->no_exits,
                                             .look = LOOK,
                                             .copies_are_near = true};

    forget_round(work);
    work->result->rounds++;
    int err = wetdbg_slice_backward(work->wet, work->criterion, &how, &work->slice);
    if (!err)
        work->proving.fault = find_fault(work);
    if (!err)
        err = psw_omissions_find(work->candidates, work->slice, true, &work->omissions);
    return err ? err : list_switches(work);
}

/* Tries what a slice has until something is proven that is followed: *goes_on. */
static int try_round(struct work *work, bool *goes_on)
{
    struct psw_asked batch[BATCH];
    size_t at = 0, count = 1, known = work->followed_count;
    int err = 0;

    while (!err && count && !is_over(work) && work->followed_count == known) {
        err = take_batch(work, &at, batch, &count);
        for (size_t i = 0; i < count && !err; i++) {
            if (is_over(work)) { /* the rest of the batch is left */
                work->result->left += count - i;
                break;
            }
            err = try_switch(work, &batch[i]);
        }
    }
    *goes_on = !err && work->followed_count > known && !is_over(work);
    for (; at < work->list.count && !*goes_on; at++)
        work->result->left += !was_tried(work, &work->list.items[at]);
    return err;
}

/* Follows all that was proven: *has_more if that is more than before. */
static int follow_all(struct work *work, bool *has_more)
{
    const struct wetdbg_implicit_result *result = work->result;
    size_t known = work->followed_count;
    int err = 0;

    for (; work->followed_items < result->count && !err; work->followed_items++)
        if (result->items[work->followed_items].effect == WETDBG_IMPLICIT_MISSING)
            err = follow(work, &result->items[work->followed_items]);
    *has_more = work->followed_count > known;
    return err;
}

/* Has switches asked again that concern more uses now, as the slice has grown since; not those that
 * are mere guesses. */
static int ask_again(struct work *work, bool *has_more)
{
    int err = 0;

    for (size_t i = 0; i < work->list.count && !err; i++) {
        const struct psw_asked *asked = &work->list.items[i];
        struct tried *tried = find_tried(work, asked);
        if (!tried || !tried->uses || asked->kind > PSW_OMITS_NEAR)
            continue;
        err = psw_asked_uses(asked, &work->omissions, &work->uses);
        if (err || work->uses.count <= tried->uses)
            continue;
        tried->is_due = true;
        *has_more = true;
    }
    return err;
}

static int search(struct work *work)
{
    bool goes_on = true, is_same = false;
    int err = 0;

    while (goes_on && !err) {
        err = is_same ? list_switches(work) : begin_round(work);
        is_same = false;
        if (!err)
            err = try_round(work, &goes_on);
        if (err || goes_on || is_over(work))
            continue;
        bool is_cut = work->list.is_cut && work->each < EACH_MOST;
        err = follow_all(work, &goes_on);
        if (!goes_on && is_cut) {
            work->each *= EACH_MORE;
            goes_on = is_same = true;
        } else if (!err && !goes_on) {
            err = ask_again(work, &goes_on);
            is_same = goes_on;
        }
    }
    forget_round(work);
    return err;
}

/* ---- the most telling first ---- */

static unsigned rank_of(const struct wetdbg_implicit *item)
{
    return 2 * (item->effect == WETDBG_IMPLICIT_MISSING) + !item->is_strong;
}

static int rank_items(struct wetdbg_implicit_result *result)
{
    struct wetdbg_implicit *ranked = malloc((result->count + 1) * sizeof(*ranked));
    size_t count = 0;

    if (!ranked)
        return -ENOMEM;
    for (unsigned rank = 0; rank < 4; rank++)
        for (size_t i = 0; i < result->count; i++)
            if (rank_of(&result->items[i]) == rank)
                ranked[count++] = result->items[i];
    for (size_t i = 0; i < count; i++)
        result->edges[i] = ranked[i].edge;
    free(result->items);
    result->items = ranked;
    return 0;
}

/* ---- all of it ---- */

static int find_candidates(struct work *work)
{
    const struct wetdbg_candidates_options what = {
        .until = wetdbg_failure_time(work->criterion), .is_unwanted = is_unwanted, .arg = work};

    return wetdbg_candidates_find(work->wet, &what, &work->candidates);
}

int wetdbg_implicit_find(struct wetdbg *wet, struct wetdbg_switcher *switcher,
                         const struct wetdbg_criterion *criterion,
                         const struct wetdbg_implicit_options *options,
                         struct wetdbg_implicit_result *result)
{
    struct work work = {.wet = wet,
                        .criterion = criterion,
                        .options = options,
                        .result = result,
                        .each = EACH,
                        .began = wd_seconds()};

    *result = (struct wetdbg_implicit_result){0};
    int err = find_candidates(&work);
    if (!err)
        work.proving = (struct psw_proving){.wet = wet,
                                            .session = switcher->session,
                                            .predicates = &work.candidates->predicates,
                                            .options = options};
    if (!err)
        err = search(&work);
    psw_proving_fini(&work.proving);
    wetdbg_candidates_free(work.candidates);
    free(work.tried);
    free(work.followed);
    free(work.uses.items);
    result->is_interrupted = is_interrupted(&work);
    if (err == -WETDBG_ERR_INTERRUPTED && is_over(&work)) {
        result->is_cut = !result->is_interrupted;
        err = 0;
    }
    if (!err)
        err = rank_items(result);
    result->seconds = wd_seconds() - work.began;
    if (err)
        wetdbg_implicit_result_fini(result);
    return err;
}

void wetdbg_implicit_result_fini(struct wetdbg_implicit_result *result)
{
    free(result->items);
    free(result->edges);
    *result = (struct wetdbg_implicit_result){0};
}
