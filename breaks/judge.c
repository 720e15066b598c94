/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which candidates stop. What has to be looked at (conditions, whether bytes changed) is looked at
 * in order of time, since a state goes on cheaply and back only by running the interval again:
 * backward, in blocks that grow.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "breaks/breaks_priv.h"
#include "common/array.h"

#define FIRST_BLOCK 16

struct judging {
    struct brk_search *search;
    struct wetdbg_state *state; /* at `time`; NULL: none yet */
    wetdbg_time time;
    uint8_t *before, *after; /* watched bytes around a write */
    size_t capacity_before, capacity_after;
};

static void forget_state(struct judging *judging)
{
    wetdbg_state_close(judging->state);
    judging->state = NULL;
}

static int go(struct judging *judging, wetdbg_time time)
{
    int err = 0;
    if (judging->state && time >= judging->time) {
        err = time > judging->time ? wetdbg_state_advance(judging->state, time) : 0;
    } else {
        forget_state(judging);
        err = wetdbg_state_open(judging->search->breaks->wet, time, &judging->state);
    }
    judging->time = time;
    if (err)
        forget_state(judging);
    return err;
}

/* Reads the watched bytes; what is not mapped is zeros. */
static int read_range(struct judging *judging, const struct wetdbg_range *range, uint8_t *to)
{
    int err = wetdbg_state_read(judging->state, range->start, to, brk_size(range));
    if (err == -EFAULT) {
        memset(to, 0, brk_size(range));
        err = 0;
    }
    return err;
}

static int ask(struct judging *judging, const struct wetdbg_break *is,
               struct brk_candidate *candidate)
{
    int result = 1;
    if (is->holds && !candidate->stop.is_scope_end)
        result = is->holds(is->arg, &candidate->stop, judging->state);
    candidate->holds = result > 0;
    return result < 0 ? result : 0;
}

/* A write: whether it changed something, and whether the condition holds where it stops. */
static int judge_write(struct judging *judging, const struct wetdbg_break *is,
                       struct brk_candidate *candidate)
{
    const struct wetdbg_range *range = &is->range;
    size_t size = brk_size(range);
    bool is_back = judging->search->is_back, holds = true;
    if (wd_grow(judging->before, judging->capacity_before, size) ||
        wd_grow(judging->after, judging->capacity_after, size))
        return -ENOMEM;
    int err = go(judging, candidate->stop.at);
    if (!err)
        err = read_range(judging, range, judging->before);
    if (!err && is_back) {
        err = ask(judging, is, candidate);
        holds = candidate->holds;
    }
    if (!err)
        err = go(judging, candidate->stop.at + 1);
    if (!err)
        err = read_range(judging, range, judging->after);
    bool is_access = is->kind == WETDBG_BREAK_ACCESS_WATCH && !candidate->is_maybe;
    bool is_wanted = !err && (is_access || memcmp(judging->before, judging->after, size) != 0);
    if (is_wanted && !is_back) {
        err = ask(judging, is, candidate);
        holds = candidate->holds;
    }
    candidate->holds = is_wanted && holds;
    return err;
}

static int judge(struct judging *judging, struct brk_candidate *candidate)
{
    const struct wetdbg_break *is = judging->search->list[candidate->index];
    bool is_write = is->kind == WETDBG_BREAK_WATCH ||
                    (is->kind == WETDBG_BREAK_ACCESS_WATCH && !candidate->stop.is_read);
    candidate->holds = true;
    if (candidate->stop.is_scope_end)
        return 0;
    if (is_write)
        return judge_write(judging, is, candidate);
    if (!is->holds)
        return 0;
    int err = go(judging, candidate->stop.time);
    return err ? err : ask(judging, is, candidate);
}

/* Counts what holds; true if it stops. */
static bool count_hit(struct brk_search *search, const struct brk_candidate *candidate)
{
    struct wetdbg_break *is = search->list[candidate->index];
    if (!candidate->holds)
        return false;
    if (!candidate->stop.is_scope_end) {
        is->hits++;
        if (is->ignore) {
            is->ignore--;
            return false;
        }
    }
    is->is_hit = true;
    is->stop = candidate->stop;
    return true;
}

/* The first of the candidates from..end that has another state than `from` does. */
static size_t group_end(const struct brk_candidate *items, size_t from, size_t end)
{
    size_t i = from;
    while (i < end && items[i].stop.time == items[from].stop.time)
        i++;
    return i;
}

static bool count_group(struct brk_search *search, size_t from, size_t end, wetdbg_time *time)
{
    const struct brk_candidate *items = search->breaks->items;
    bool stops = false;
    for (size_t i = from; i < end; i++) {
        /* what an instruction reads and writes it accesses once */
        bool is_counted = i > from && items[i - 1].index == items[i].index && items[i - 1].holds;
        stops |= !is_counted && count_hit(search, &items[i]);
    }
    if (stops)
        *time = items[from].stop.time;
    return stops;
}

static int judge_forward(struct judging *judging, wetdbg_time *time)
{
    struct wetdbg_breaks *breaks = judging->search->breaks;
    int err = 0;
    for (size_t from = 0, end; from < breaks->count; from = end) {
        end = group_end(breaks->items, from, breaks->count);
        for (size_t i = from; i < end && !err; i++)
            err = judge(judging, &breaks->items[i]);
        if (err || count_group(judging->search, from, end, time))
            return err ? err : 1;
    }
    return 0;
}

/* Where the group begins that ends before `end`. */
static size_t group_start(const struct brk_candidate *items, size_t end)
{
    size_t i = end - 1;
    while (i && items[i - 1].stop.time == items[end - 1].stop.time)
        i--;
    return i;
}

static int judge_back(struct judging *judging, wetdbg_time *time)
{
    struct wetdbg_breaks *breaks = judging->search->breaks;
    int err = 0;
    for (size_t end = breaks->count, block = FIRST_BLOCK, start; end && !err;
         end = start, block *= 4) {
        start = end > block ? group_start(breaks->items, end - block + 1) : 0;
        for (size_t i = start; i < end && !err; i++)
            err = judge(judging, &breaks->items[i]);
        for (size_t stop = end, from; stop > start && !err; stop = from) {
            from = group_start(breaks->items, stop);
            if (count_group(judging->search, from, stop, time))
                return 1;
        }
    }
    return err;
}

int brk_judge(struct brk_search *search, wetdbg_time *time)
{
    struct judging judging = {.search = search};
    int result = search->is_back ? judge_back(&judging, time) : judge_forward(&judging, time);
    forget_state(&judging);
    free(judging.before);
    free(judging.after);
    return result;
}
