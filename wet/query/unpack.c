/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the event ring to arrays, in one pass.
 *
 * A record of the ring is a fragment's id and its slots. The ids become executions, the slots move
 * together, so an interval takes 16 bytes for each execution and 8 for each slot. This is done part
 * by part while the run goes on, so memory has to grow; it is mapped, not allocated, so that growing
 * copies nothing and what is not touched costs nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/err.h"
#include "wet/query/wet_priv.h"
#include "wet/trace/entry.h"

#define QUICK 4 /* so many slots are copied at once, needed or not */

/* ---- memory ---- */

#define MAPPED_BYTES ((size_t)1 << 20) /* from here on an area is a mapping */
#define HUGE_BYTES   ((size_t)4 << 20) /* and from here on of huge pages, if there are any */
#define HUGE_PAGE    ((size_t)2 << 20)

static void area_free(struct wet_area *area)
{
    if (area->bytes >= MAPPED_BYTES)
        munmap(area->data, area->bytes);
    else
        free(area->data);
    *area = (struct wet_area){0};
}

static int area_map(struct wet_area *area, size_t bytes)
{
    bool is_mapped = area->bytes >= MAPPED_BYTES;
    void *data = is_mapped ? mremap(area->data, area->bytes, bytes, MREMAP_MAYMOVE)
                           : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        return -ENOMEM;
    if (!is_mapped && area->bytes) {
        memcpy(data, area->data, area->bytes);
        free(area->data);
    }
    if (bytes >= HUGE_BYTES)
        madvise(data, bytes, MADV_HUGEPAGE);
    *area = (struct wet_area){.data = data, .bytes = bytes};
    return 0;
}

static int area_reserve(struct wet_area *area, size_t bytes)
{
    if (bytes <= area->bytes)
        return 0;
    size_t page = bytes >= HUGE_BYTES ? HUGE_PAGE : 4096;
    if (bytes >= MAPPED_BYTES)
        return area_map(area, (bytes + page - 1) & ~(page - 1));
    uint8_t *data = realloc(area->data, bytes);
    if (!data)
        return -ENOMEM;
    *area = (struct wet_area){.data = data, .bytes = bytes};
    return 0;
}

void wet_arrays_free(struct wet_arrays *arrays)
{
    if (!arrays)
        return;
    area_free(&arrays->execs);
    area_free(&arrays->slots);
    free(arrays);
}

int wet_arrays_reserve(struct wet_arrays *arrays, size_t execs, size_t slots)
{
    size_t exec_bytes = execs * sizeof(struct wet_exec);
    size_t slot_bytes = (slots + QUICK) * sizeof(uint64_t);
    int err = area_reserve(&arrays->execs, exec_bytes);
    return err ? err : area_reserve(&arrays->slots, slot_bytes);
}

/* ---- fragments ---- */

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
                                               .statements = (uint8_t)fragment->insn_count,
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

/* ---- unpacking ---- */

/* A part of the ring, and where in the interval's arrays it goes. */
struct part {
    const uint64_t *ring;
    size_t words, at;
    struct wet_exec *execs;
    uint64_t *slots;
    size_t exec_count, slot_count;
    uint64_t time;
};

/*
 * Goes on to the next record. Where it is follows from two loads, which the next one would have to
 * wait for; most lengths are few, and as branches they are guessed. (The empty statements keep the
 * compiler from making an addition of it again.)
 */
static inline void record_pass(struct part *part, size_t slots)
{
    if (slots == 0) {
        __asm__ volatile("");
        part->at += 1;
    } else if (slots == 1) {
        __asm__ volatile("");
        part->slot_count += 1;
        part->at += 2;
    } else if (slots == 2) {
        __asm__ volatile("");
        part->slot_count += 2;
        part->at += 3;
    } else {
        part->slot_count += slots;
        part->at += 1 + slots;
    }
}

/* The executions of known fragments that begin before `end`. */
static void known_unpack(struct wet *wet, struct part *part, size_t end, uint32_t task)
{
    struct part p = *part;
    const struct wet_fragment *fragments = wet->fragments;
    size_t fragment_count = wet->fragment_count;
    while (p.at < end) {
        uint32_t id = (uint32_t)p.ring[p.at];
        if (id >= fragment_count)
            break;
        const struct wet_fragment fragment = fragments[id];
        if (!fragment.node || fragment.slots > p.words - p.at - 1)
            break;
        p.execs[p.exec_count++] = (struct wet_exec){.node = fragment.node - 1,
                                                    .time_off = (uint32_t)p.time,
                                                    .slot_off = (uint32_t)p.slot_count,
                                                    .task = task};
        const uint64_t *from = p.ring + p.at + 1;
        if (fragment.slots <= QUICK && p.at + 1 + QUICK <= p.words)
            memcpy(p.slots + p.slot_count, from, QUICK * sizeof *from);
        else
            memcpy(p.slots + p.slot_count, from, fragment.slots * sizeof *from);
        if (fragment.has_lanes)
            lanes_clear(wet_get_node(wet, fragment.node - 1), p.slots + p.slot_count);
        p.time += fragment.statements;
        record_pass(&p, fragment.slots);
    }
    *part = p;
}

/* All executions that begin before `end`; of `task`. */
static int task_unpack(struct wet *wet, struct part *part, size_t end, uint32_t task)
{
    for (;;) {
        known_unpack(wet, part, end, task);
        if (part->at >= end)
            return 0;
        uint32_t id = (uint32_t)part->ring[part->at];
        if (id >= wet->fragment_count)
            return wd_fail(-WD_ERR_DIVERGED, "the event ring names a fragment that does not exist");
        if (wet->fragments[id].node)
            return wd_fail(-WD_ERR_MACHINE, "the replay process sent a damaged ring");
        int err = fragment_learn(wet, id);
        if (err)
            return err;
    }
}

/* Executions before an event that is run to belong to that event's task, those after the last one
 * to the task that the part ends in. */
static uint32_t task_before(const struct wet_event *events, size_t i, size_t count, uint32_t last)
{
    while (i < count && !wet_entry_is_reached(events[i].entry))
        i++;
    return i < count ? events[i].task : last;
}

static int part_unpack(struct wet_unpacking *unpacking, struct part *part, uint32_t last,
                       const uint64_t *ring_at)
{
    struct wet_event *events = (struct wet_event *)unpacking->cached->events.data;
    size_t count = unpacking->cached->events.size_bytes / sizeof *events;
    size_t first = unpacking->events_done;
    uint32_t task = 0;
    for (size_t i = first; i < count; i++) {
        if (i == first || wet_entry_is_reached(events[i - 1].entry))
            task = task_before(events, i, count, last);
        size_t end = ring_at[i] / 8 < part->words ? ring_at[i] / 8 : part->words;
        int err = task_unpack(unpacking->wet, part, end, task);
        if (err)
            return err;
        events[i].exec = (uint32_t)part->exec_count - 1;
    }
    unpacking->events_done = count;
    return task_unpack(unpacking->wet, part, part->words, last);
}

/*
 * Room for a part. At first for what few intervals exceed, since it costs nothing before it is used, and
 * moving small pages that were used keeps them small.
 */
static int room_make(struct wet_unpacking *unpacking, size_t words)
{
    struct wet_arrays *arrays = unpacking->cached->arrays;
    size_t execs = unpacking->exec_count + words, slots = unpacking->slot_count + words;
    size_t usual = unpacking->cached->is.instructions / 2;
    bool is_enough = execs * sizeof(struct wet_exec) <= arrays->execs.bytes &&
                     (slots + QUICK) * sizeof(uint64_t) <= arrays->slots.bytes;
    if (is_enough)
        return 0;
    execs += execs / 2;
    slots += slots / 2;
    return wet_arrays_reserve(arrays, execs > usual ? execs : usual, slots > usual ? slots : usual);
}

int wet_unpack(struct wet_unpacking *unpacking, const struct wet_part *from,
               const uint64_t *ring_at)
{
    int err = fragments_grow(unpacking->wet);
    if (!err)
        err = room_make(unpacking, from->words);
    if (err)
        return err;
    struct part part = {.ring = from->ring,
                        .words = from->words,
                        .execs = (struct wet_exec *)unpacking->cached->arrays->execs.data,
                        .slots = (uint64_t *)unpacking->cached->arrays->slots.data,
                        .exec_count = unpacking->exec_count,
                        .slot_count = unpacking->slot_count,
                        .time = unpacking->time};
    err = part_unpack(unpacking, &part, from->task, ring_at);
    unpacking->exec_count = part.exec_count;
    unpacking->slot_count = part.slot_count;
    unpacking->time = part.time;
    return err;
}
