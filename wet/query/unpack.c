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

#define QUICK 4 /* so many slots are copied at once, needed or not ... */
#define SLACK                                                                                      \
    (AGT_RING_FEW + 1) /* ... and behind the last ones is room for as many as a word tells */

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
    size_t slot_bytes = (slots + SLACK) * sizeof(uint64_t);
    int err = area_reserve(&arrays->execs, exec_bytes);
    return err ? err : area_reserve(&arrays->slots, slot_bytes);
}

/* ---- fragments ---- */

/* By fragment id; what is not used of it costs nothing. */
static int fragments_make(struct wet *wet)
{
    if (!wet->fragments)
        wet->fragments = calloc(AGT_COUNT_MAX, sizeof *wet->fragments);
    return wet->fragments ? 0 : -ENOMEM;
}

/* Finds out about a fragment that is met for the first time. */
static int fragment_learn(struct wet *wet, uint32_t id)
{
    const struct dbi_fragment *fragment = rep_engine_fragment(wet->engine, id);
    const struct wet_node_entry *node;
    int err = 0;
    if (!fragment)
        return wd_fail(-WD_ERR_DIVERGED, "the event ring names a fragment that does not exist");
    node = wet_node_find(wet, fragment->pc, fragment->code, fragment->code_bytes);
    if (!node)
        node = wet_node_meet(wet, fragment->pc, fragment->code, fragment->code_bytes,
                             fragment->insn_count, &err);
    if (err)
        return err;
    if (!node)
        return wd_fail(-WD_ERR_DIVERGED,
                       "%s does not reproduce itself: code at %#llx ran that is no node of it",
                       wet_store_path(wet->store), (unsigned long long)fragment->pc);
    const struct wet_node *is = wet_get_node(wet, node->is.id);
    if (!is)
        return -ENOMEM;
    /* who walks an interval goes by the node, which is as the file says */
    if (is->statement_count != fragment->insn_count || is->slot_count != fragment->slot_count)
        return wd_fail(-WD_ERR_CORRUPT, "%s: damaged node %u", wet_store_path(wet->store), is->id);
    wet->fragments[id] = (struct wet_fragment){
        .word = agt_ring_word(id, fragment->insn_count, fragment->slot_count), .node = is->id};
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
 * Goes on to the next record. Where that is follows from the record's own word, for which the next one
 * would have to wait; most lengths are few, and as branches they are guessed. (The empty statements keep the
 * compiler from making an addition of it again.)
 */
static inline size_t record_words(unsigned slots)
{
    if (slots == 0) {
        __asm__ volatile("");
        return 1;
    }
    if (slots == 1) {
        __asm__ volatile("");
        return 2;
    }
    if (slots == 2) {
        __asm__ volatile("");
        return 3;
    }
    return 1 + slots;
}

/*
 * The executions of known fragments that begin before `end`. Words that are not just as the translator
 * made them end it: what is in the ring need not be from there. A last record may claim more than the part
 * has; some slots more can be read and kept.
 */
static void known_unpack(const struct wet *wet, struct part *part, size_t end, uint32_t task)
{
    const struct wet_fragment *fragments = wet->fragments;
    const uint64_t *from = part->ring + part->at, *stop = part->ring + end;
    uint64_t *to = part->slots + part->slot_count;
    struct wet_exec *exec = part->execs + part->exec_count;
    uint32_t time = (uint32_t)part->time;

    while (from < stop) {
        uint32_t word = (uint32_t)*from;
        const struct wet_fragment *fragment = &fragments[agt_ring_fragment(word)];
        unsigned slots = agt_ring_slots(word);
        if (fragment->word != word || slots == AGT_RING_MANY)
            break;
        *exec++ = (struct wet_exec){.node = fragment->node,
                                    .time_off = time,
                                    .slot_off = (uint32_t)(to - part->slots),
                                    .task = task};
        memcpy(to, from + 1, QUICK * sizeof *to);
        if (slots > QUICK)
            memcpy(to + QUICK, from + 1 + QUICK, (AGT_RING_FEW - QUICK) * sizeof *to);
        time += agt_ring_instructions(word);
        size_t words = record_words(slots);
        to += words - 1;
        from += words;
    }
    part->at = (size_t)(from - part->ring);
    part->exec_count = (size_t)(exec - part->execs);
    part->slot_count = (size_t)(to - part->slots);
    part->time += (uint32_t)(time - (uint32_t)part->time);
}

/* An execution with more slots than its word can tell. */
static int large_unpack(struct wet *wet, struct part *part, uint32_t task)
{
    uint32_t word = (uint32_t)part->ring[part->at];
    const struct wet_node *node = wet_get_node(wet, wet->fragments[agt_ring_fragment(word)].node);
    size_t slots = node->slot_count;
    uint64_t *to = part->slots + part->slot_count;
    if (slots > part->words - part->at - 1)
        return wd_fail(-WD_ERR_MACHINE, "the replay process sent a damaged ring");
    part->execs[part->exec_count++] = (struct wet_exec){.node = node->id,
                                                        .time_off = (uint32_t)part->time,
                                                        .slot_off = (uint32_t)part->slot_count,
                                                        .task = task};
    memcpy(to, part->ring + part->at + 1, slots * sizeof *to);
    lanes_clear(node, to);
    part->time += agt_ring_instructions(word);
    part->slot_count += slots;
    part->at += 1 + slots;
    return 0;
}

/* All executions that begin before `end`; of `task`. */
static int task_unpack(struct wet *wet, struct part *part, size_t end, uint32_t task)
{
    for (;;) {
        known_unpack(wet, part, end, task);
        if (part->at >= end)
            return part->at <= part->words
                       ? 0
                       : wd_fail(-WD_ERR_MACHINE, "the replay process sent a damaged ring");
        uint32_t word = (uint32_t)part->ring[part->at], id = agt_ring_fragment(word);
        int err = wet->fragments[id].word ? 0 : fragment_learn(wet, id);
        if (!err && (!word || wet->fragments[id].word != word))
            err = wd_fail(-WD_ERR_MACHINE, "the replay process sent a damaged ring");
        else if (!err && agt_ring_slots(word) == AGT_RING_MANY)
            err = large_unpack(wet, part, task);
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
                     (slots + SLACK) * sizeof(uint64_t) <= arrays->slots.bytes;
    if (is_enough)
        return 0;
    execs += execs / 2;
    slots += slots / 2;
    return wet_arrays_reserve(arrays, execs > usual ? execs : usual, slots > usual ? slots : usual);
}

int wet_unpack(struct wet_unpacking *unpacking, const struct wet_part *from,
               const uint64_t *ring_at)
{
    int err = fragments_make(unpacking->wet);
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
