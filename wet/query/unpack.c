/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the event ring to arrays, in one pass.
 *
 * A record of the ring is a fragment's id and the words that its slots are made from. The ids
 * become executions, the slots move together, so an interval takes 16 bytes for each execution and
 * 8 for each slot. This is done part by part while the run goes on, so memory has to grow; it is
 * mapped, not allocated, so that growing copies nothing and what is not touched costs nothing.
 */
#include <errno.h>
#include <immintrin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/once.h"
#include "common/page.h"
#include "wet/query/wet_priv.h"
#include "wet/trace/stored_entry.h"
#include <wetdbg/errors.h>

#define QUICK 4    /* so many slots are copied at once, needed or not ... */
#define SLACK 2048 /* ... and so many are room for any execution's */

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
    size_t page = bytes >= HUGE_BYTES ? HUGE_PAGE : WD_PAGE;
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

/* Makes the table of fragments; what is not used of it costs nothing. */
static int fragments_make(struct wetdbg *wet)
{
    if (!wet->fragments)
        wet->fragments = calloc(1, sizeof(*wet->fragments));
    return wet->fragments ? 0 : -ENOMEM;
}

void wet_fragments_free(struct wet_fragments *fragments)
{
    while (fragments && fragments->expansions) {
        struct wet_expansion *next = fragments->expansions->next;
        free(fragments->expansions);
        fragments->expansions = next;
    }
    free(fragments);
}

static int expansion_make(struct wet_fragments *fragments, const struct dbi_fragment *from,
                          uint32_t word, const struct wet_expansion **out)
{
    unsigned groups = (from->slot_count + 3u) / 4;
    struct wet_expansion *made = calloc(1, sizeof(*made) + groups * sizeof(made->groups[0]));
    if (!made)
        return -ENOMEM;
    made->slot_count = from->slot_count;
    made->group_count = groups;
    made->is_near = from->word_count < 4;
    for (unsigned i = 0; i < from->slot_count; i++) {
        const struct dbi_slot *slot = &from->slots[i];
        uint64_t first = slot->word ? 0 : (uint64_t)(int32_t)word;
        made->groups[i / 4].word[i % 4] = slot->word;
        made->groups[i / 4].halves[i % 4][0] = 2u * slot->word;
        made->groups[i / 4].halves[i % 4][1] = 2u * slot->word + 1;
        made->groups[i / 4].more[i % 4] = (uint64_t)slot->more - first;
    }
    made->next = fragments->expansions;
    fragments->expansions = made;
    *out = made;
    return 0;
}

/* Finds out about a fragment that is met for the first time. */
static int fragment_learn(struct wetdbg *wet, uint32_t id)
{
    const struct dbi_fragment *fragment = rep_engine_fragment(wet->engine, id);
    const struct wet_node_entry *node;
    int err = 0;
    if (!fragment)
        return wetdbg_fail(-WETDBG_ERR_DIVERGED,
                           "the event ring names a fragment that does not exist");
    node = wet_node_find(wet, fragment->pc, fragment->code, fragment->code_bytes);
    if (!node)
        node = wet_node_meet(wet, fragment->pc, fragment->code, fragment->code_bytes,
                             fragment->insn_count, &err);
    if (err)
        return err;
    if (!node)
        return wetdbg_fail(-WETDBG_ERR_DIVERGED,
                           "%s does not reproduce itself: code at %#llx ran that is no node of it",
                           wet_store_path(wet->store), (unsigned long long)fragment->pc);
    const struct wet_node *is = wet_get_node(wet, node->is.id);
    if (!is)
        return -ENOMEM;
    /* who walks an interval goes by the node, which is as the file says */
    if (is->statement_count != fragment->insn_count || is->slot_count != fragment->slot_count)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: damaged node %u", wet_store_path(wet->store),
                           is->id);
    struct wet_fragment *known = &wet->fragments->by_id[id];
    uint32_t word = agt_ring_word(id, fragment->insn_count, fragment->word_count);
    if (fragment->slots && expansion_make(wet->fragments, fragment, word, &known->expansion))
        return -ENOMEM;
    known->word = word;
    known->node = is->id;
    return 0;
}

/*
 * Clears what a list of addresses leaves unused in its slots. Of the 64 bytes that index and mask
 * have room for each, translated code stores 32 with AVX2, and 64 and 8 with a mask register;
 * beyond lies what some earlier run left in the ring.
 */
static void lanes_clear(const struct wet_node *node, uint64_t *slots)
{
    for (uint32_t i = 0; i < node->statement_count; i++) {
        const struct ins_info *info = node->statements[i].info;
        uint64_t *at = slots + node->statements[i].slot;
        for (unsigned m = 0; m < info->mem_count; m++, at++) {
            bool has_k = info->mems[m].flags & INS_MEM_K;
            if (!(info->mems[m].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64)))
                continue;
            if (!has_k)
                memset(at + 1 + 4, 0, 4 * sizeof(*at));
            memset(at + 1 + 8 + (has_k ? 1 : 4), 0, (has_k ? 7 : 4) * sizeof(*at));
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
    size_t slot_room; /* but for SLACK */
    uint64_t time;
};

/*
 * Goes on to the next record. Where that is follows from the record's own word, for which the next
 * one would have to wait; most lengths are few, and as branches they are guessed. (The empty
 * statements keep the compiler from making an addition of it again.)
 */
static inline size_t record_words(unsigned words)
{
    if (words == 0) {
        __asm__ volatile("");
        return 1;
    }
    if (words == 1) {
        __asm__ volatile("");
        return 2;
    }
    if (words == 2) {
        __asm__ volatile("");
        return 3;
    }
    return 1 + words;
}

/* The slots of a record; some of what lies behind them is written, too. */
static inline void slots_expand(const struct wet_expansion *expansion, const uint64_t *record,
                                uint64_t *to)
{
    for (unsigned g = 0; g < expansion->group_count; g++, to += 4)
        for (unsigned i = 0; i < 4; i++)
            to[i] = record[expansion->groups[g].word[i]] + expansion->groups[g].more[i];
}

/* slots_expand() with four words at once where all come from the first four. */
__attribute__((target("avx2"))) static inline void
slots_expand_avx2(const struct wet_expansion *expansion, const uint64_t *record, uint64_t *to)
{
    if (!expansion->is_near) {
        slots_expand(expansion, record, to);
        return;
    }
    __m256i words = _mm256_loadu_si256((const __m256i *)record);
    for (unsigned g = 0; g < expansion->group_count; g++, to += 4) {
        __m256i order = _mm256_loadu_si256((const __m256i *)expansion->groups[g].halves);
        __m256i more = _mm256_loadu_si256((const __m256i *)expansion->groups[g].more);
        __m256i slots = _mm256_add_epi64(_mm256_permutevar8x32_epi32(words, order), more);
        _mm256_storeu_si256((__m256i *)to, slots);
    }
}

typedef void expand_fn(const struct wet_expansion *expansion, const uint64_t *record, uint64_t *to);

/*
 * Unpacks the executions of known fragments that begin before `end`, as long as there is room.
 * Words that are not just as the translator made them end it: what is in the ring need not be from
 * there, and may change meanwhile, so each is read once. A last record may claim more than the part
 * has; some words more can be read and kept.
 */
__attribute__((always_inline)) static inline void known_unpack_by(expand_fn expand,
                                                                  const struct wetdbg *wet,
                                                                  struct part *part, size_t end,
                                                                  uint32_t task)
{
    const struct wet_fragment *fragments = wet->fragments->by_id;
    const uint64_t *from = part->ring + part->at, *stop = part->ring + end;
    uint64_t *to = part->slots + part->slot_count, *full = part->slots + part->slot_room;
    struct wet_exec *exec = part->execs + part->exec_count;
    uint32_t time = (uint32_t)part->time;

    while (from < stop && to <= full) {
        uint32_t word = wd_once_u32(from);
        const struct wet_fragment *fragment = &fragments[agt_ring_fragment(word)];
        unsigned words = agt_ring_words(word), slots = words;
        if (fragment->word != word || words == AGT_RING_MANY)
            break;
        *exec++ = (struct wet_exec){.node = fragment->node,
                                    .time_off = time,
                                    .slot_off = (uint32_t)(to - part->slots),
                                    .task = task};
        if (fragment->expansion) {
            slots = fragment->expansion->slot_count;
            expand(fragment->expansion, from, to);
        } else {
            memcpy(to, from + 1, QUICK * sizeof(*to));
            if (words > QUICK)
                memcpy(to + QUICK, from + 1 + QUICK, (AGT_RING_FEW - QUICK) * sizeof(*to));
        }
        time += agt_ring_instructions(word);
        from += record_words(words);
        to += slots;
    }
    part->at = (size_t)(from - part->ring);
    part->exec_count = (size_t)(exec - part->execs);
    part->slot_count = (size_t)(to - part->slots);
    part->time += (uint32_t)(time - (uint32_t)part->time);
}

__attribute__((target("avx2"))) static void
known_unpack_avx2(const struct wetdbg *wet, struct part *part, size_t end, uint32_t task)
{
    known_unpack_by(slots_expand_avx2, wet, part, end, task);
}

static void known_unpack(const struct wetdbg *wet, struct part *part, size_t end, uint32_t task)
{
    if (__builtin_cpu_supports("avx2"))
        known_unpack_avx2(wet, part, end, task);
    else
        known_unpack_by(slots_expand, wet, part, end, task);
}

/* Unpacks an execution with more words than its first one, `word`, can tell. */
static int large_unpack(struct wetdbg *wet, struct part *part, uint32_t task, uint32_t word)
{
    const uint64_t *record = part->ring + part->at;
    uint32_t id = agt_ring_fragment(word);
    const struct dbi_fragment *fragment = rep_engine_fragment(wet->engine, id);
    const struct wet_node *node = wet_get_node(wet, wet->fragments->by_id[id].node);
    uint64_t *to = part->slots + part->slot_count;
    if (fragment->word_count > part->words - part->at - 1)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process sent a damaged ring");
    part->execs[part->exec_count++] = (struct wet_exec){.node = node->id,
                                                        .time_off = (uint32_t)part->time,
                                                        .slot_off = (uint32_t)part->slot_count,
                                                        .task = task};
    for (unsigned i = 0; i < fragment->slot_count; i++)
        to[i] = dbi_slot_value(fragment, i, record);
    lanes_clear(node, to);
    part->time += agt_ring_instructions(word);
    part->slot_count += fragment->slot_count;
    part->at += 1 + (size_t)fragment->word_count;
    return 0;
}

/* Makes room for `more` slots, and half as much again. */
static int slots_grow(struct wet_arrays *arrays, struct part *part, size_t more)
{
    size_t slots = (part->slot_count + more) / 2 * 3;
    int err = area_reserve(&arrays->slots, (slots + SLACK) * sizeof(uint64_t));
    part->slots = (uint64_t *)arrays->slots.data;
    part->slot_room = arrays->slots.bytes / sizeof(uint64_t) - SLACK;
    return err;
}

/* Unpacks the next record, which is of a fragment that is not known, or takes more than
 * known_unpack() has. */
static int rare_unpack(struct wetdbg *wet, struct part *part, uint32_t task)
{
    uint32_t word = wd_once_u32(&part->ring[part->at]), id = agt_ring_fragment(word);
    const struct wet_fragment *fragment = &wet->fragments->by_id[id];
    int err = fragment->word ? 0 : fragment_learn(wet, id);
    if (err)
        return err;
    if (!word || fragment->word != word)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process sent a damaged ring");
    return agt_ring_words(word) == AGT_RING_MANY ? large_unpack(wet, part, task, word) : 0;
}

/* Unpacks all executions that begin before `end`; they are of `task`. */
static int task_unpack(struct wet_unpacking *unpacking, struct part *part, size_t end,
                       uint32_t task)
{
    int err = 0;
    while (!err) {
        known_unpack(unpacking->wet, part, end, task);
        if (part->at >= end)
            return part->at <= part->words
                       ? 0
                       : wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process sent a damaged ring");
        if (part->slot_count > part->slot_room)
            err = slots_grow(unpacking->cached->arrays, part, part->words - part->at);
        else
            err = rare_unpack(unpacking->wet, part, task);
    }
    return err;
}

/* The task that runs. Executions before an event that is run to belong to that event's task, those
 * after the last one to the task that the part ends in. */
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
    size_t count = unpacking->cached->events.size_bytes / sizeof(*events);
    size_t first = unpacking->events_done;
    uint32_t task = 0;
    for (size_t i = first; i < count; i++) {
        if (i == first || wet_entry_is_reached(events[i - 1].entry))
            task = task_before(events, i, count, last);
        size_t end = ring_at[i] / 8 < part->words ? ring_at[i] / 8 : part->words;
        int err = task_unpack(unpacking, part, end, task);
        if (err)
            return err;
        events[i].exec = (uint32_t)part->exec_count - 1;
    }
    unpacking->events_done = count;
    return task_unpack(unpacking, part, part->words, last);
}

/*
 * Makes room for a part. At first for what few intervals exceed, since it costs nothing before it
 * is used, and moving small pages that were used keeps them small.
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
                        .slot_room =
                            unpacking->cached->arrays->slots.bytes / sizeof(uint64_t) - SLACK,
                        .time = unpacking->time};
    err = part_unpack(unpacking, &part, from->task, ring_at);
    unpacking->exec_count = part.exec_count;
    unpacking->slot_count = part.slot_count;
    unpacking->time = part.time;
    return err;
}
