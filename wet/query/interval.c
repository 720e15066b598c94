/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Intervals as arrays: run again, kept, and run ahead where somebody walks.
 *
 * A walk over a long run needs each interval once, and fresh memory for each of them would cost
 * more than running it. So an interval is only passing through at first: a few of them are there at
 * a time, and take over each other's memory. One that has been run again STAYS times is wanted
 * often; next time it gets memory of its own and stays, as long as the budget allows.
 */
#include "wet/query/interval.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/bisect.h"
#include "common/checked.h"
#include "wet/query/wet_priv.h"
#include <wetdbg/errors.h>

#define STAYS 2

/* ---- what is trusted ---- */

static int execs_validate(struct wetdbg *wet, const struct wet_interval *interval,
                          size_t slot_count)
{
    uint64_t time = 0, slot = 0;
    for (size_t i = 0; i < interval->exec_count; i++) {
        const struct wet_exec *exec = &interval->execs[i];
        const struct wet_node *node = wet_get_node(wet, exec->node);
        if (!node)
            return wd_fail_defect("execution %zu is of node %u, which does not exist", i,
                                  exec->node);
        if (exec->time_off != time)
            return wd_fail_defect("execution %zu is at %u and not at %llu", i, exec->time_off,
                                  (unsigned long long)time);
        if (exec->slot_off != slot || node->slot_count > slot_count - slot)
            return wd_fail_defect("execution %zu has slots from %u on, of %zu", i, exec->slot_off,
                                  slot_count);
        if (exec->task >= EVQ_TASKS_MAX)
            return wd_fail_defect("execution %zu is of task %u", i, exec->task);
        time += node->statement_count;
        slot += node->slot_count;
    }
    if (time != interval->instructions || slot != slot_count)
        return wd_fail_defect("executions have %llu instructions of %llu, and %llu slots of %zu",
                              (unsigned long long)time, (unsigned long long)interval->instructions,
                              (unsigned long long)slot, slot_count);
    return 0;
}

static int events_validate(const struct wet_interval *interval)
{
    wetdbg_time first = interval->first_time, time = first - 1;
    for (size_t i = 0; i < interval->event_count; i++) {
        const struct wet_event *event = &interval->events[i];
        if (event->time < time || event->time >= first + interval->instructions)
            return wd_fail_defect("event %zu is at %llu, which is before another one or outside", i,
                                  (unsigned long long)event->time);
        if (!event->entry || event->task >= EVQ_TASKS_MAX)
            return wd_fail_defect("event %zu is of task %u, or has no entry", i, event->task);
        size_t next = (size_t)(uint32_t)(event->exec + 1);
        if (next > interval->exec_count ||
            (next && first + interval->execs[next - 1].time_off > event->time) ||
            (next < interval->exec_count && first + interval->execs[next].time_off <= event->time))
            return wd_fail_defect("event %zu at %llu is not behind execution %u", i,
                                  (unsigned long long)event->time, event->exec);
        time = event->time;
    }
    return 0;
}

int wet_interval_validate(struct wetdbg *wet, const struct wet_interval *interval,
                          size_t slot_count)
{
    int err = execs_validate(wet, interval, slot_count);
    return err ? err : events_validate(interval);
}

/* ---- making one ---- */

/* What is gathered while an interval runs again. */
struct gather {
    struct wet_unpacking unpacking;
    struct wd_buf ring_at; /* u64 per event */
};

static void gather_restart(void *arg)
{
    struct gather *gather = arg;
    struct wet_unpacking *unpacking = &gather->unpacking;
    unpacking->events_done = unpacking->exec_count = unpacking->slot_count = unpacking->time = 0;
    unpacking->cached->events.size_bytes = 0;
    gather->ring_at.size_bytes = 0;
}

static int event_note(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes)
{
    struct gather *gather = arg;
    struct wet_event event = {.time = time, .task = entry->task, .entry = entry};
    int err = wd_buf_append(&gather->unpacking.cached->events, &event, sizeof(event));
    return err ? err : wd_buf_append_u64(&gather->ring_at, ring_bytes);
}

static int part_note(void *arg, const struct wet_part *part)
{
    struct gather *gather = arg;
    return wet_unpack(&gather->unpacking, part, (const uint64_t *)gather->ring_at.data);
}

void wet_cached_free(struct wetdbg *wet, struct wet_cached *cached)
{
    if (!cached)
        return;
    wet_arrays_free(__atomic_exchange_n(&wet->spare, cached->arrays, __ATOMIC_ACQ_REL));
    wd_buf_fini(&cached->events);
    wd_buf_fini(&cached->entries);
    free(cached);
}

static int whole_check(const struct wetdbg *wet, const struct wet_unpacking *unpacking)
{
    const struct wet_interval *is = &unpacking->cached->is;
    if (unpacking->time == is->instructions)
        return 0;
    return wetdbg_fail(-WETDBG_ERR_DIVERGED,
                       "%s: interval %llu: the ring holds %llu instructions of %llu",
                       wet_store_path(wet->store), (unsigned long long)is->index,
                       (unsigned long long)unpacking->time, (unsigned long long)is->instructions);
}

static int interval_fill(struct wetdbg *wet, struct wet_cached *cached)
{
    struct gather gather = {.unpacking = {.wet = wet, .cached = cached}};
    struct wet_rerun rerun = {.wet = wet,
                              .k = cached->is.index,
                              .restart_fn = gather_restart,
                              .taken_fn = event_note,
                              .part_fn = part_note,
                              .arg = &gather};
    int err = wet_rerun(&rerun, UINT64_MAX);
    if (!err)
        err = whole_check(wet, &gather.unpacking);
    /* events point into the entries: they stay with the interval */
    cached->entries = rerun.entries;
    rerun.entries = (struct wd_buf){0};
    wet_rerun_fini(&rerun);
    wd_buf_fini(&gather.ring_at);
    cached->slot_count = gather.unpacking.slot_count;
    cached->is.execs = (const struct wet_exec *)cached->arrays->execs.data;
    cached->is.exec_count = gather.unpacking.exec_count;
    cached->is.slots = (const uint64_t *)cached->arrays->slots.data;
    cached->is.events = (const struct wet_event *)cached->events.data;
    cached->is.event_count = cached->events.size_bytes / sizeof(struct wet_event);
    return err ? err : wd_checked(wet_interval_validate(wet, &cached->is, cached->slot_count));
}

/*
 * Arrays for interval k. One that is to stay gets memory of just the size that it had before; the
 * others use by turns what is there, which needs no new pages.
 */
static struct wet_arrays *arrays_get(struct wetdbg *wet, uint64_t k)
{
    const struct wet_size *size = &wet->sizes[k];
    bool stays = size->times >= STAYS;
    struct wet_arrays *arrays =
        stays ? NULL : __atomic_exchange_n(&wet->spare, NULL, __ATOMIC_ACQ_REL);
    if (!arrays)
        arrays = calloc(1, sizeof(*arrays));
    if (arrays && stays && wet_arrays_reserve(arrays, size->execs, size->slots)) {
        wet_arrays_free(arrays);
        arrays = NULL;
    }
    return arrays;
}

int wet_interval_make(struct wetdbg *wet, uint64_t k, struct wet_cached **out)
{
    assert(k < wet->info.intervals);
    struct wet_cached *cached = calloc(1, sizeof(*cached));
    if (!cached)
        return -ENOMEM;
    cached->is.index = k;
    cached->is.first_time = wet->index[k].first_time;
    cached->is.instructions = wet->index[k].instructions;
    cached->arrays = arrays_get(wet, k);
    int err = cached->arrays ? interval_fill(wet, cached) : -ENOMEM;
    if (err)
        wet_cached_free(wet, cached);
    else
        *out = cached;
    return err;
}

/* ---- keeping them ---- */

static uint64_t cached_bytes(const struct wet_cached *cached)
{
    return sizeof(*cached) + cached->is.exec_count * sizeof(struct wet_exec) +
           cached->slot_count * sizeof(uint64_t) + cached->events.capacity_bytes +
           cached->entries.capacity_bytes;
}

static void cached_drop(void *arg, struct wet_kept *kept)
{
    struct wetdbg *wet = arg;
    struct wet_cached *cached = (struct wet_cached *)kept;
    wet->cached[cached->is.index] = NULL;
    wet_cached_free(wet, cached);
}

static void cached_keep(struct wetdbg *wet, struct wet_cached *cached)
{
    if (!cached)
        return;
    assert(!wet->cached[cached->is.index]);
    struct wet_size *size = &wet->sizes[cached->is.index];
    bool stays = size->times >= STAYS;
    size->times += !stays;
    size->execs = (uint32_t)cached->is.exec_count;
    size->slots = (uint32_t)cached->slot_count;
    cached->kept.drop = cached_drop;
    wet->cached[cached->is.index] = cached;
    wet_keep(stays ? &wet->keeper : &wet->passing, &cached->kept, cached_bytes(cached));
}

void wet_engine_claim(struct wetdbg *wet)
{
    cached_keep(wet, wet_worker_settle(wet));
}

/* ---- what callers ask ---- */

/* Gets an interval that is not kept; perhaps it is just being run. */
static int interval_run(struct wetdbg *wet, uint64_t k)
{
    struct wet_cached *made = NULL;
    wet_engine_claim(wet);
    if (wet->cached[k])
        return 0;
    if (__atomic_load_n(&wet->interrupted, __ATOMIC_RELAXED))
        return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    int err = wet_interval_make(wet, k, &made);
    if (!err)
        cached_keep(wet, made);
    return err;
}

/* Runs ahead of a walk: the second step of the same direction shows where somebody is going. */
static void walk_on(struct wetdbg *wet, uint64_t k)
{
    int64_t step = (int64_t)(k - wet->last_got);
    if (step && step == wet->last_step && (step == 1 || step == -1))
        wet_prefetch(wet, k + (uint64_t)step);
    if (step)
        wet->last_step = step;
    wet->last_got = k;
}

int wet_interval_get(struct wetdbg *wet, uint64_t k, const struct wet_interval **out)
{
    if (k >= wet->info.intervals)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there is no interval %llu",
                           (unsigned long long)k);
    int err = wet->cached[k] ? 0 : interval_run(wet, k);
    if (err)
        return err;
    struct wet_cached *cached = wet->cached[k];
    cached->kept.users++;
    wet_keep_touch(&cached->kept);
    *out = &cached->is;
    walk_on(wet, k);
    return 0;
}

void wet_interval_put(struct wetdbg *wet, const struct wet_interval *interval)
{
    if (!interval)
        return;
    struct wet_kept *kept = &wet->cached[interval->index]->kept;
    kept->users--;
    wet_keep_trim(kept->keeper);
}

void wet_prefetch(struct wetdbg *wet, uint64_t k)
{
    cached_keep(wet, wet_worker_poll(wet));
    if (k < wet->info.intervals && !wet->cached[k])
        wet_worker_ask(wet, k);
}

uint64_t wetdbg_interval_at(const struct wetdbg *wet, wetdbg_time t)
{
    return wd_bisect(1, wet->info.intervals, i, wet->index[i].first_time <= t) - 1;
}

wetdbg_time wetdbg_interval_time(const struct wetdbg *wet, uint64_t k)
{
    return k < wet->info.intervals ? wet->index[k].first_time : wet->info.last_time + 1;
}
