/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * By halves: a span that is needed has a needed half, if need is monotone. So each span costs one
 * or two tests a level: if its later half can go, the earlier one is needed without being asked.
 * Where that was wrong (what is needed may depend on what else is there) the rounds by items find
 * it out; they take one test for each item that is left, and begin again, where they are, after
 * each success.
 *
 * From the back, since what comes later in an input more often depends on what comes before it (R.
 * Hodován, Á. Kiss: Practical Improvements to the Minimizing Delta Debugging Algorithm, ICSOFT-EA
 * 2016, section 3, who also leave subsets out and do not begin anew).
 */
#include "delta/reduction.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"

/* A span of this level, and whether the one before it in the order of asking is its other half. */
struct part {
    struct dlt_span span;
    bool is_second;
    bool is_asked; /* false: it is known to be needed, and is one item */
    bool is_gone;
};

struct level {
    struct dlt_reduction *reduction;
    struct part *parts; /* the last first */
    size_t count, capacity;
    size_t at; /* what candidate 0 of the row takes away */
};

static int part_add(struct level *level, uint32_t first, uint32_t end, bool is_second, bool asks)
{
    int err = wd_grow(level->parts, level->capacity, level->count + 1);
    if (!err)
        level->parts[level->count++] =
            (struct part){{first, end, false}, .is_second = is_second, .is_asked = asks};
    return err;
}

static int level_make(struct level *level, const struct dlt_span *spans, size_t count)
{
    int err = 0;
    for (size_t i = count; i-- && !err;) {
        const struct dlt_span *span = &spans[i];
        uint32_t middle = span->first + (span->end - span->first) / 2;
        if (!span->is_needed || span->end - span->first == 1) {
            err = part_add(level, span->first, span->end, false, !span->is_needed);
            continue;
        }
        err = part_add(level, middle, span->end, false, true);
        if (!err)
            err = part_add(level, span->first, middle, true, true);
    }
    return err;
}

static unsigned without_part(void *arg, size_t i, struct dlt_set *set)
{
    struct level *level = arg;
    struct dlt_reduction *reduction = level->reduction;
    const struct part *part = &level->parts[level->at + i];
    dlt_set_copy(&reduction->tried, &reduction->items);
    dlt_set_remove(&reduction->tried, part->span.first, part->span.end);
    reduction->form(reduction->arg, &reduction->tried, set);
    return DLT_ONLY(WETDBG_DELTA_FAIL);
}

/* How many parts from `at` on are asked for without a gap. */
static size_t row_length(const struct level *level)
{
    size_t end = level->at;
    while (end < level->count && level->parts[end].is_asked)
        end++;
    return end - level->at;
}

static int level_ask(struct level *level)
{
    while (level->at < level->count) {
        size_t hit, count = row_length(level);
        if (!count) {
            level->at++;
            continue;
        }
        int err = dlt_ask_first(level->reduction->asker, count, without_part, level, &hit, NULL);
        if (err)
            return err;
        level->at += hit;
        if (hit == count)
            continue;
        struct part *gone = &level->parts[level->at++];
        gone->is_gone = true;
        dlt_set_remove(&level->reduction->items, gone->span.first, gone->span.end);
        if (level->at < level->count && level->parts[level->at].is_second)
            level->at++; /* the other half is needed, then */
    }
    return 0;
}

/* The spans of the next level: what is left, in order. */
static int spans_of(const struct level *level, struct dlt_span **spans, size_t *count,
                    bool *is_done)
{
    size_t left = 0;
    struct dlt_span *made = malloc((level->count + 1) * sizeof(*made));
    if (!made)
        return -ENOMEM;
    *is_done = true;
    for (size_t i = level->count; i--;) {
        if (level->parts[i].is_gone)
            continue;
        made[left] = level->parts[i].span;
        made[left].is_needed = true;
        *is_done = *is_done && made[left].end - made[left].first == 1;
        left++;
    }
    free(*spans);
    *spans = made;
    *count = left;
    return 0;
}

static bool is_split(const struct dlt_span *spans, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!spans[i].is_needed || spans[i].end - spans[i].first > 1)
            return false;
    return true;
}

int dlt_reduce_by_halves(struct dlt_reduction *reduction, struct dlt_span **spans, size_t *count)
{
    bool is_done = is_split(*spans, *count);
    int err = 0;
    while (!err && !is_done) {
        struct level level = {.reduction = reduction};
        dlt_asker_set_left(reduction->asker, dlt_set_size(&reduction->items));
        err = level_make(&level, *spans, *count);
        if (!err)
            err = level_ask(&level);
        if (!err)
            err = spans_of(&level, spans, count, &is_done);
        free(level.parts);
    }
    return err;
}

/* ---- by items ---- */

struct round {
    struct dlt_reduction *reduction;
    uint32_t *items; /* the last first */
    size_t count;
    size_t at; /* what candidate 0 of the row takes away */
};

static unsigned without_item(void *arg, size_t i, struct dlt_set *set)
{
    struct round *round = arg;
    struct dlt_reduction *reduction = round->reduction;
    uint32_t item = round->items[(round->at + i) % round->count];
    dlt_set_copy(&reduction->tried, &reduction->items);
    dlt_set_remove(&reduction->tried, item, item + 1);
    if (reduction->settle)
        reduction->settle(reduction->arg, &reduction->tried);
    reduction->form(reduction->arg, &reduction->tried, set);
    return DLT_ONLY(WETDBG_DELTA_FAIL);
}

/* Drops what is no longer there; the next one to ask for is the next that is. */
static void round_settle(struct round *round)
{
    size_t left = 0, at = 0;
    for (size_t i = 0; i < round->count; i++) {
        if (i == round->at)
            at = left;
        if (dlt_set_has(&round->reduction->items, round->items[i]))
            round->items[left++] = round->items[i];
    }
    round->count = left;
    round->at = at < left ? at : 0;
}

static int round_init(struct round *round, struct dlt_reduction *reduction)
{
    *round = (struct round){.reduction = reduction};
    size_t size = dlt_set_size(&reduction->items);
    round->items = malloc((size + 1) * sizeof(*round->items));
    if (!round->items)
        return -ENOMEM;
    for (size_t i = dlt_set_next(&reduction->items, 0); i < reduction->items.count;
         i = dlt_set_next(&reduction->items, i + 1))
        round->items[size - ++round->count] = (uint32_t)i;
    return 0;
}

int dlt_reduce_by_items(struct dlt_reduction *reduction, size_t *gone)
{
    struct round round;
    int err = round_init(&round, reduction);
    *gone = 0;
    while (!err && round.count) {
        size_t hit;
        dlt_asker_set_left(reduction->asker, round.count);
        err = dlt_ask_first(reduction->asker, round.count, without_item, &round, &hit, NULL);
        if (err || hit == round.count)
            break;
        ++*gone;
        round.at = (round.at + hit) % round.count;
        uint32_t item = round.items[round.at];
        dlt_set_remove(&reduction->items, item, item + 1);
        if (reduction->settle)
            reduction->settle(reduction->arg, &reduction->items);
        round_settle(&round);
    }
    free(round.items);
    return err;
}
