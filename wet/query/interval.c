/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intervals as arrays: run again, unpacked from the ring, cached. */
#include "common/err.h"
#include "wet/query/wet_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is gathered while an interval runs again. */
struct gather {
    struct wet *wet;
    struct wet_cached *cached;
    struct wd_buf ring_at; /* u64 per event */
    const uint8_t *entries_base;
};

static int event_note(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes)
{
    struct gather *gather = arg;
    struct wet_event event = {.time = time, .task = entry->task, .entry = entry};
    int err = wd_buf_append(&gather->cached->events, &event, sizeof event);
    return err ? err : wd_buf_append_u64(&gather->ring_at, ring_bytes);
}

/* The node id of the engine's fragment. */
static int node_of(struct wet *wet, uint32_t fragment_id, const struct dbi_fragment **fragment,
                   uint32_t *node)
{
    *fragment = rep_engine_fragment(wet->engine, fragment_id);
    if (!*fragment)
        return wd_fail(-WD_ERR_DIVERGED, "the event ring names a fragment that does not exist");
    if (fragment_id >= wet->node_of_fragment_count) {
        size_t count = rep_engine_fragment_count(wet->engine);
        uint32_t *map = realloc(wet->node_of_fragment, count * sizeof *map);
        if (!map)
            return -ENOMEM;
        memset(map + wet->node_of_fragment_count, 0,
               (count - wet->node_of_fragment_count) * sizeof *map);
        wet->node_of_fragment = map;
        wet->node_of_fragment_count = count;
    }
    uint32_t *known = &wet->node_of_fragment[fragment_id];
    if (!*known) {
        const struct wet_node_entry *found =
            wet_node_find(wet, (*fragment)->pc, (*fragment)->code, (*fragment)->code_bytes);
        if (!found)
            return wd_fail(-WD_ERR_DIVERGED,
                           "%s does not reproduce itself: code at %#llx ran that is no node of it",
                           wet_store_path(wet->store), (unsigned long long)(*fragment)->pc);
        const struct wet_node *node_is = wet_get_node(wet, found->is.id);
        if (!node_is)
            return -ENOMEM;
        /* who walks an interval goes by the node */
        if (node_is->statement_count != (*fragment)->insn_count ||
            node_is->slot_count != (*fragment)->slot_count)
            return wd_fail(-WD_ERR_CORRUPT, "%s: damaged node %u", wet_store_path(wet->store),
                           node_is->id);
        *known = found->is.id + 1;
    }
    *node = *known - 1;
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

static int ring_unpack(struct gather *gather)
{
    struct wet *wet = gather->wet;
    struct wet_cached *cached = gather->cached;
    size_t ring_bytes, event = 0;
    const uint64_t *ring = rep_engine_ring(wet->engine, &ring_bytes);
    const uint64_t *ring_at = (const uint64_t *)gather->ring_at.data;
    size_t event_count = cached->events.size_bytes / sizeof(struct wet_event);
    struct wet_event *events = (struct wet_event *)cached->events.data;
    int err = wd_buf_append(&cached->slots, ring, ring_bytes);
    uint64_t *slots = (uint64_t *)cached->slots.data;
    uint64_t time = 0;
    for (size_t at = 0; !err && at < ring_bytes / 8;) {
        const struct dbi_fragment *fragment;
        uint32_t node = 0;
        while (event < event_count && ring_at[event] / 8 <= at)
            events[event++].exec = (uint32_t)(cached->execs.size_bytes / sizeof(struct wet_exec)) - 1;
        err = node_of(wet, (uint32_t)slots[at], &fragment, &node);
        if (!err && fragment->slot_count > ring_bytes / 8 - at - 1)
            err = wd_fail(-WD_ERR_MACHINE, "the replay process sent a damaged ring");
        if (err)
            break;
        const struct wet_node_entry *entry = &wet->nodes[wet->node_by_id[node] - 1];
        if (entry->has_lanes)
            lanes_clear(&entry->is, slots + at + 1);
        struct wet_exec exec = {.node = node, .time_off = (uint32_t)time,
                                .slot_off = (uint32_t)(at + 1)};
        time += fragment->insn_count;
        at += 1 + (size_t)fragment->slot_count;
        err = wd_buf_append(&cached->execs, &exec, sizeof exec);
    }
    while (event < event_count)
        events[event++].exec = (uint32_t)(cached->execs.size_bytes / sizeof(struct wet_exec)) - 1;
    if (!err && time != cached->is.instructions)
        err = wd_fail(-WD_ERR_DIVERGED, "%s: interval %llu: the ring holds %llu instructions of %llu",
                      wet_store_path(wet->store), (unsigned long long)cached->is.index,
                      (unsigned long long)time, (unsigned long long)cached->is.instructions);
    return err;
}

static bool needs_running(const struct evq_entry *entry)
{
    return entry->kind == EVQ_SYSCALL_ENTER || entry->kind == EVQ_TRAP || entry->kind == EVQ_FAULT;
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
        if (!needs_running(events[i].entry))
            continue;
        for (; exec < exec_count && (int64_t)exec <= (int64_t)(int32_t)events[i].exec; exec++)
            execs[exec].task = events[i].task;
    }
    for (; exec < exec_count; exec++)
        execs[exec].task = running;
    return err;
}

static int interval_fill(struct wet *wet, struct wet_cached *cached, uint64_t k)
{
    struct gather gather = {.wet = wet, .cached = cached};
    struct wet_rerun rerun = {.wet = wet, .k = k, .taken_fn = event_note, .arg = &gather};
    cached->execs.size_bytes = cached->slots.size_bytes = cached->events.size_bytes = 0;
    cached->is = (struct wet_interval){.index = k, .first_time = wet->index[k].first_time,
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

static struct wet_cached *cache_victim(struct wet *wet)
{
    struct wet_cached *victim = NULL;
    for (unsigned i = 0; i < WET_CACHE_INTERVALS; i++) {
        struct wet_cached *cached = &wet->cache[i];
        if (!cached->users && (!victim || cached->last_use < victim->last_use))
            victim = cached;
    }
    return victim;
}

int wet_interval_get(struct wet *wet, uint64_t k, const struct wet_interval **out)
{
    if (k >= wet->info.intervals)
        return wd_fail(-WD_ERR_NOT_FOUND, "there is no interval %llu", (unsigned long long)k);
    for (unsigned i = 0; i < WET_CACHE_INTERVALS; i++) {
        struct wet_cached *cached = &wet->cache[i];
        if (cached->valid && cached->is.index == k) {
            cached->users++;
            cached->last_use = ++wet->uses;
            *out = &cached->is;
            return 0;
        }
    }
    struct wet_cached *cached = cache_victim(wet);
    if (!cached)
        return wd_fail(-ENOMEM, "too many intervals are held at once");
    cached->valid = false;
    int err = interval_fill(wet, cached, k);
    if (err)
        return err;
    cached->valid = true;
    cached->users = 1;
    cached->last_use = ++wet->uses;
    *out = &cached->is;
    return 0;
}

void wet_interval_put(struct wet *wet, const struct wet_interval *interval)
{
    for (unsigned i = 0; interval && i < WET_CACHE_INTERVALS; i++) {
        if (&wet->cache[i].is == interval)
            wet->cache[i].users--;
    }
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

/*
 * The lines of an interval are known by object, an address by the views at its end and at its
 * start; what was mapped and unmapped within the interval is in neither, so there "may" is the
 * answer for every address outside of both.
 */
bool wet_interval_may_write(const struct wet *wet, uint64_t k, uint64_t address, uint64_t size)
{
    (void)wet;
    (void)k;
    (void)address;
    (void)size;
    return true;
}
