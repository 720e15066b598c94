/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intervals as arrays: run again, unpacked from the ring, cached. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "wet/query/wet_priv.h"
#include "wet/trace/entry.h"

/* What is gathered while an interval runs again. */
struct gather {
    struct wet *wet;
    struct wet_cached *cached;
    struct wd_buf ring_at; /* u64 per event */
    const uint8_t *entries_base;
};

static void gather_restart(void *arg)
{
    struct gather *gather = arg;
    gather->cached->events.size_bytes = 0;
    gather->ring_at.size_bytes = 0;
}

static int event_note(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes)
{
    struct gather *gather = arg;
    struct wet_event event = {.time = time, .task = entry->task, .entry = entry};
    int err = wd_buf_append(&gather->cached->events, &event, sizeof event);
    return err ? err : wd_buf_append_u64(&gather->ring_at, ring_bytes);
}

/* Makes room in the table for every fragment that the engine has. */
static int fragments_grow(struct wet *wet)
{
    size_t count = rep_engine_fragment_count(wet->engine);
    if (count <= wet->fragment_count)
        return 0;
    struct wet_fragment *fragments = realloc(wet->fragments, count * sizeof *fragments);
    if (!fragments)
        return -ENOMEM;
    memset(fragments + wet->fragment_count, 0, (count - wet->fragment_count) * sizeof *fragments);
    wet->fragments = fragments;
    wet->fragment_count = count;
    return 0;
}

/* Finds out about a fragment that is met for the first time. */
static int fragment_learn(struct wet *wet, uint32_t id)
{
    const struct dbi_fragment *fragment = rep_engine_fragment(wet->engine, id);
    const struct wet_node_entry *node = NULL;
    int err = 0;
    if (fragment)
        node = wet_node_find(wet, fragment->pc, fragment->code, fragment->code_bytes);
    if (fragment && !node)
        node = wet_node_meet(wet, fragment->pc, fragment->code, fragment->code_bytes,
                             fragment->insn_count, &err);
    if (err)
        return err;
    if (!node)
        return wd_fail(-WD_ERR_DIVERGED,
                       "%s does not reproduce itself: code at %#llx ran that is no node of it",
                       wet_store_path(wet->store),
                       fragment ? (unsigned long long)fragment->pc : 0ull);
    const struct wet_node *is = wet_get_node(wet, node->is.id);
    if (!is)
        return -ENOMEM;
    /* who walks an interval goes by the node, which is as the file says */
    if (is->statement_count != fragment->insn_count || is->slot_count != fragment->slot_count)
        return wd_fail(-WD_ERR_CORRUPT, "%s: damaged node %u", wet_store_path(wet->store), is->id);
    wet->fragments[id] = (struct wet_fragment){.has_lanes = node->has_lanes,
                                               .node = node->is.id + 1,
                                               .statements = fragment->insn_count,
                                               .slots = fragment->slot_count};
    return 0;
}

/*
 * The translated code stores 32 of the 64 bytes that a vector register has room for (AVX2 is the
 * most there is); beyond lies what some earlier run left in the ring.
 */
static void lanes_clear(const struct wet_node *node, uint64_t *slots)
{
    for (uint32_t i = 0; i < node->statement_count; i++) {
        const struct ins_info *info = node->statements[i].info;
        uint64_t *at = slots + node->statements[i].slot;
        for (unsigned m = 0; m < info->mem_count; m++, at++) {
            if (!(info->mems[m].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64)))
                continue;
            memset(at + 1 + 4, 0, 4 * sizeof *at);
            memset(at + 1 + 8 + 4, 0, 4 * sizeof *at);
            at += 16;
        }
    }
}

/* Turns `words` words of ring into executions; *time becomes the number of instructions. */
static int execs_unpack(struct wet *wet, struct wet_cached *cached, size_t words, uint64_t *time)
{
    uint64_t *ring = (uint64_t *)cached->slots.data;
    int err = fragments_grow(wet);
    uint64_t now = 0;
    for (size_t at = 0; !err && at < words;) {
        uint32_t id = (uint32_t)ring[at];
        if (id >= wet->fragment_count)
            return wd_fail(-WD_ERR_DIVERGED, "the event ring names a fragment that does not exist");
        if (!wet->fragments[id].node) {
            err = fragment_learn(wet, id);
            continue;
        }
        const struct wet_fragment fragment = wet->fragments[id];
        if (fragment.slots > words - at - 1)
            return wd_fail(-WD_ERR_MACHINE, "the replay process sent a damaged ring");
        if (fragment.has_lanes)
            lanes_clear(wet_get_node(wet, fragment.node - 1), ring + at + 1);
        if (cached->execs.capacity_bytes - cached->execs.size_bytes < sizeof(struct wet_exec))
            err = wd_buf_reserve(&cached->execs, sizeof(struct wet_exec));
        if (err)
            break;
        struct wet_exec *exec = (struct wet_exec *)(cached->execs.data + cached->execs.size_bytes);
        *exec = (struct wet_exec){
            .node = fragment.node - 1, .time_off = (uint32_t)now, .slot_off = (uint32_t)(at + 1)};
        cached->execs.size_bytes += sizeof *exec;
        now += fragment.statements;
        at += 1 + (size_t)fragment.slots;
    }
    *time = now;
    return err;
}

/* The last execution that began in the ring before each event. */
static void events_place(struct gather *gather)
{
    struct wet_cached *cached = gather->cached;
    struct wet_event *events = (struct wet_event *)cached->events.data;
    const struct wet_exec *execs = (const struct wet_exec *)cached->execs.data;
    const uint64_t *ring_at = (const uint64_t *)gather->ring_at.data;
    size_t exec = 0, exec_count = cached->execs.size_bytes / sizeof *execs;
    for (size_t i = 0; i < cached->events.size_bytes / sizeof *events; i++) {
        while (exec < exec_count && execs[exec].slot_off - 1 < ring_at[i] / 8)
            exec++;
        events[i].exec = (uint32_t)exec - 1;
    }
}

static int ring_unpack(struct gather *gather)
{
    struct wet *wet = gather->wet;
    struct wet_cached *cached = gather->cached;
    size_t ring_bytes;
    const uint64_t *ring = rep_engine_ring(wet->engine, &ring_bytes);
    uint64_t time = 0;
    int err = wd_buf_append(&cached->slots, ring, ring_bytes);
    if (!err)
        err = execs_unpack(wet, cached, ring_bytes / 8, &time);
    if (!err && time != cached->is.instructions)
        err =
            wd_fail(-WD_ERR_DIVERGED, "%s: interval %llu: the ring holds %llu instructions of %llu",
                    wet_store_path(wet->store), (unsigned long long)cached->is.index,
                    (unsigned long long)time, (unsigned long long)cached->is.instructions);
    if (!err)
        events_place(gather);
    return err;
}

/* Executions before an event that is run to belong to that event's task. */
static int tasks_assign(struct gather *gather)
{
    struct wet_cached *cached = gather->cached;
    struct wet_exec *execs = (struct wet_exec *)cached->execs.data;
    const struct wet_event *events = (const struct wet_event *)cached->events.data;
    size_t exec_count = cached->execs.size_bytes / sizeof *execs, exec = 0;
    const struct agt_task *tasks;
    uint32_t running;
    int err = rep_engine_tasks(gather->wet->engine, &tasks, &running);
    for (size_t i = 0; i < cached->events.size_bytes / sizeof *events; i++) {
        if (!wet_entry_is_reached(events[i].entry))
            continue;
        for (; exec < exec_count && (int64_t)exec <= (int64_t)(int32_t)events[i].exec; exec++)
            execs[exec].task = events[i].task;
    }
    for (; exec < exec_count; exec++)
        execs[exec].task = running;
    return err;
}

static void cached_free(struct wet_cached *cached)
{
    if (!cached)
        return;
    wd_buf_fini(&cached->execs);
    wd_buf_fini(&cached->slots);
    wd_buf_fini(&cached->events);
    wd_buf_fini(&cached->entries);
    free(cached);
}

static int interval_fill(struct wet *wet, struct wet_cached *cached, uint64_t k)
{
    struct gather gather = {.wet = wet, .cached = cached};
    struct wet_rerun rerun = {
        .wet = wet, .k = k, .restart_fn = gather_restart, .taken_fn = event_note, .arg = &gather};
    cached->execs.size_bytes = cached->slots.size_bytes = cached->events.size_bytes = 0;
    cached->is = (struct wet_interval){.index = k,
                                       .first_time = wet->index[k].first_time,
                                       .instructions = wet->index[k].instructions};
    int err = wet_rerun(&rerun, UINT64_MAX);
    if (!err)
        err = ring_unpack(&gather);
    if (!err)
        err = tasks_assign(&gather);
    /* events point into the entries: they stay with the interval */
    wd_buf_fini(&cached->entries);
    cached->entries = rerun.entries;
    rerun.entries = (struct wd_buf){0};
    wet_rerun_fini(&rerun);
    wd_buf_fini(&gather.ring_at);
    cached->is.execs = (const struct wet_exec *)cached->execs.data;
    cached->is.exec_count = cached->execs.size_bytes / sizeof(struct wet_exec);
    cached->is.slots = (const uint64_t *)cached->slots.data;
    cached->is.events = (const struct wet_event *)cached->events.data;
    cached->is.event_count = cached->events.size_bytes / sizeof(struct wet_event);
    return err;
}

static void cached_drop(void *arg, struct wet_kept *kept)
{
    struct wet *wet = arg;
    struct wet_cached *cached = (struct wet_cached *)kept;
    wet->cached[cached->is.index] = NULL;
    cached_free(cached);
}

/* Runs interval k again and keeps it. */
static int interval_run(struct wet *wet, uint64_t k, struct wet_cached **out)
{
    struct wet_cached *cached = calloc(1, sizeof *cached);
    int err = cached ? interval_fill(wet, cached, k) : -ENOMEM;
    if (err) {
        cached_free(cached);
        return err;
    }
    cached->kept.drop = cached_drop;
    wet->cached[k] = cached;
    wet_keep(&wet->keeper, &cached->kept,
             sizeof *cached + cached->execs.capacity_bytes + cached->slots.capacity_bytes +
                 cached->events.capacity_bytes + cached->entries.capacity_bytes);
    *out = cached;
    return 0;
}

int wet_interval_get(struct wet *wet, uint64_t k, const struct wet_interval **out)
{
    if (k >= wet->info.intervals)
        return wd_fail(-WD_ERR_NOT_FOUND, "there is no interval %llu", (unsigned long long)k);
    struct wet_cached *cached = wet->cached[k];
    int err = cached ? 0 : interval_run(wet, k, &cached);
    if (err)
        return err;
    wet_keep_touch(&wet->keeper, &cached->kept);
    cached->kept.users++;
    *out = &cached->is;
    return 0;
}

void wet_interval_put(struct wet *wet, const struct wet_interval *interval)
{
    if (!interval)
        return;
    wet->cached[interval->index]->kept.users--;
    wet_keep_trim(&wet->keeper);
}

void wet_prefetch(struct wet *wet, uint64_t k)
{
    struct wet_cached *cached;
    if (k < wet->info.intervals && !wet->cached[k])
        interval_run(wet, k, &cached);
}

uint64_t wet_interval_at(const struct wet *wet, wet_time t)
{
    uint64_t low = 0, high = wet->info.intervals;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (wet->index[middle].first_time <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}
