/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Values of everything that an interval wrote. A second replayee collects them in its ring, behind
 * the addresses (dbi_value_words()); memory is followed in a replica, which gives what was there
 * before, and what rep movs copied.
 *
 * The wet's functions for running intervals know one engine: the second one takes its place while
 * an interval is run here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/once.h"
#include "recorder/insn/insn_ranges.h"
#include "wet/query/public_events.h"
#include "wet/query/replica.h"
#include "wet/query/wet_priv.h"
#include "wet/trace/stored_entry.h"
#include <wetdbg/errors.h>

/* With results an instruction can fill some hundred words of the ring: so many are sure to fit. */
#define PIECE_INSTRUCTIONS (256u << 10)

enum kind {
    KIND_STORE,
    KIND_REGISTER,
    KIND_COPY, /* rep movs */
    KIND_FILL, /* rep stos */
    KIND_CALL, /* pushes the address behind it */
    KIND_UNKNOWN,
};

/* One result of a fragment's instructions. */
struct item {
    uint64_t pc;
    uint8_t kind;
    uint8_t reg;
    uint16_t insn;     /* in the fragment */
    uint16_t slot;     /* of the address */
    uint16_t value;    /* slot */
    uint16_t counters; /* of a rep instruction: slot */
    uint16_t size;     /* bytes; of one element */
};

struct fragment_items {
    struct item *items;
    uint16_t count, slots, statements;
    bool is_known;
};

struct wetdbg_effects {
    struct wetdbg *wet;
    struct rep_engine *engine; /* while it is not at work */
    struct wet_fragments *fragments;
    struct fragment_items *known; /* by the engine's fragment id */
    size_t known_count;
    struct wet_replica *replica;
    struct wd_buf events; /* struct wet_event: taken, not yet passed on */
    size_t event_at;
    struct wd_buf before, after;
    struct wd_buf slots; /* of the record at work, out of the replayee's reach */
    uint64_t unknown;
    /* the interval at work */
    struct wet_rerun *rerun;
    wetdbg_time first,
        piece_start;  /* times of the first instruction of the interval, of the piece */
    wetdbg_time done; /* all up to here has been passed on */
    bool registers;
    wetdbg_effect_fn fn;
    void *arg;
};

int wetdbg_effects_open(struct wetdbg *wet, struct wetdbg_effects **out)
{
    struct wetdbg_effects *effects = calloc(1, sizeof(*effects));
    if (!effects)
        return -ENOMEM;
    effects->wet = wet;
    int err = wet_replica_new(wet, &effects->replica);
    if (err)
        free(effects);
    else
        *out = effects;
    return err;
}

void wetdbg_effects_close(struct wetdbg_effects *effects)
{
    if (!effects)
        return;
    rep_engine_free(effects->engine);
    wet_fragments_free(effects->fragments);
    for (size_t i = 0; i < effects->known_count; i++)
        free(effects->known[i].items);
    free(effects->known);
    wet_replica_free(effects->replica);
    wd_buf_fini(&effects->events);
    wd_buf_fini(&effects->before);
    wd_buf_fini(&effects->after);
    wd_buf_fini(&effects->slots);
    free(effects);
}

uint64_t wetdbg_effects_unknown(const struct wetdbg_effects *effects)
{
    return effects->unknown;
}

int wetdbg_effects_read(struct wetdbg_effects *effects, uint64_t address, void *bytes, size_t size)
{
    return wet_replica_read(effects->replica, address, bytes, size);
}

/* ---- what a fragment writes ---- */

static void memory_items(const struct ins_info *info, const struct item *like, unsigned *value,
                         struct fragment_items *to)
{
    unsigned slot = like->slot;
    for (unsigned m = 0; m < info->mem_count; m++) {
        const struct ins_mem *mem = &info->mems[m];
        unsigned words = info->klass == INS_PLAIN ? dbi_value_words(mem) : 0;
        struct item *item = &to->items[to->count];
        *item = *like;
        item->slot = (uint16_t)slot;
        item->value = (uint16_t)*value;
        item->size = mem->size_bytes;
        item->kind = KIND_UNKNOWN;
        if (mem->flags & INS_MEM_REP && words) {
            item->kind = info->mem_count > 1 ? KIND_COPY : KIND_FILL;
            item->counters = (uint16_t)(like->slot + info->mem_count);
        } else if (info->klass == INS_CALL || info->klass == INS_CALL_INDIRECT) {
            item->kind = KIND_CALL;
        } else if (words) {
            item->kind = KIND_STORE;
        }
        if (mem->flags & INS_MEM_WRITE)
            to->count++;
        *value += words;
        slot += mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64) ? 17 : 1;
    }
}

static void register_items(const struct ins_info *info, const struct item *like, unsigned *value,
                           struct fragment_items *to)
{
    uint16_t registers = info->klass == INS_PLAIN ? dbi_value_registers(info) : 0;
    for (unsigned reg = 0; reg < INS_GPR_COUNT; reg++) {
        if (!(registers >> reg & 1))
            continue;
        struct item *item = &to->items[to->count++];
        *item = *like;
        item->kind = KIND_REGISTER;
        item->reg = (uint8_t)reg;
        item->value = (uint16_t)(*value)++;
    }
}

static int fragment_learn(const struct dbi_fragment *fragment, struct fragment_items *to)
{
    unsigned off = 0, slot = 0;
    struct ins_info info;
    to->items = calloc((size_t)fragment->insn_count * (INS_MEM_MAX + INS_GPR_COUNT) + 1,
                       sizeof(*to->items));
    if (!to->items)
        return -ENOMEM;
    for (unsigned i = 0; i < fragment->insn_count; i++) {
        int err =
            ins_decode(fragment->code + off, fragment->code_bytes - off, fragment->pc + off, &info);
        if (err)
            return err;
        struct item like = {.pc = fragment->pc + off, .insn = (uint16_t)i, .slot = (uint16_t)slot};
        unsigned value = slot + ins_slot_count(&info);
        memory_items(&info, &like, &value, to);
        register_items(&info, &like, &value, to);
        slot = value;
        off += info.length;
        if (info.klass == INS_CALL || info.klass == INS_CALL_INDIRECT)
            for (unsigned n = 0; n < to->count; n++)
                if (to->items[n].insn == i)
                    to->items[n].value = info.length;
    }
    to->slots = fragment->word_count;
    to->statements = fragment->insn_count;
    to->is_known = true;
    if (slot != fragment->word_count)
        return wetdbg_fail(
            -WETDBG_ERR_MACHINE,
            "the code at %#llx has %u ring words and not %u; this is a defect of wetdbg",
            (unsigned long long)fragment->pc, fragment->word_count, slot);
    struct item *exact = realloc(to->items, (to->count + 1u) * sizeof(*exact));
    to->items = exact ? exact : to->items;
    return 0;
}

static int fragment_get(struct wetdbg_effects *effects, uint32_t id,
                        const struct fragment_items **out)
{
    struct rep_engine *engine = effects->wet->engine;
    if (id >= effects->known_count || !effects->known[id].is_known) {
        size_t count = rep_engine_fragment_count(engine);
        if (id >= count)
            return wetdbg_fail(-WETDBG_ERR_DIVERGED,
                               "the event ring names a fragment that does not exist");
        int err = wd_grow_zeroed(effects->known, effects->known_count, count);
        if (!err)
            err = fragment_learn(rep_engine_fragment(engine, id), &effects->known[id]);
        if (err)
            return err;
    }
    *out = &effects->known[id];
    return 0;
}

/* ---- passing on ---- */

static int room(struct wd_buf *buf, uint64_t size)
{
    buf->size_bytes = 0;
    return wd_buf_append_zeros(buf, size);
}

/* `after` is not in effects->before. */
static int pass_write(struct wetdbg_effects *effects, struct wetdbg_effect *effect)
{
    int err = room(&effects->before, effect->size);
    if (!err)
        err =
            wet_replica_read(effects->replica, effect->address, effects->before.data, effect->size);
    if (!err)
        err = wet_replica_write(effects->replica, effect->address, effect->after, effect->size);
    effect->before = effects->before.data;
    return err ? err : effects->fn(effects->arg, effect);
}

/* Gives the range of a rep instruction: how many bytes, and where the lowest is. */
static uint64_t rep_bytes(const struct item *item, const uint64_t *slots, uint64_t first_operand,
                          uint64_t *start)
{
    const uint64_t *counters = slots + item->counters;
    uint64_t bytes = (counters[0] - counters[1]) * item->size;
    bool is_down = (int64_t)(counters[2] - first_operand) < 0;
    if (is_down)
        *start = *start + item->size - bytes;
    return bytes;
}

#define REP_MAX (1ull << 32)

/* Whether the range of a rep instruction is mapped. The size of its effect is the replayee's word:
 * memory for it is only taken if the program had so much there. */
static bool rep_is_mapped(const struct wetdbg_effects *effects, const struct item *item,
                          const struct wetdbg_effect *effect, uint64_t source)
{
    return wet_replica_is_mapped(effects->replica, effect->address, effect->size) &&
           (item->kind != KIND_COPY ||
            wet_replica_is_mapped(effects->replica, source, effect->size));
}

static int pass_rep(struct wetdbg_effects *effects, const struct item *item, const uint64_t *slots,
                    struct wetdbg_effect *effect)
{
    uint64_t source = slots[item->slot + 1u];
    effect->address = slots[item->slot];
    effect->size = rep_bytes(item, slots, slots[item->slot], &effect->address);
    if (!effect->size)
        return 0;
    if (item->kind == KIND_COPY)
        rep_bytes(item, slots, slots[item->slot], &source);
    if (effect->size > REP_MAX || !rep_is_mapped(effects, item, effect, source))
        return wetdbg_fail(
            -WETDBG_ERR_DIVERGED,
            "the rep instruction at %#llx is said to have written %llu bytes at %#llx",
            (unsigned long long)item->pc, (unsigned long long)effect->size,
            (unsigned long long)effect->address);
    int err = room(&effects->after, effect->size);
    if (!err && item->kind == KIND_COPY) {
        err = wet_replica_read(effects->replica, source, effects->after.data, effect->size);
        /* element by element, where the ranges overlap: what was copied is copied again */
        uint64_t gap = effect->address - source;
        bool is_down = effect->address != slots[item->slot];
        if (!err && !is_down && gap && gap < effect->size)
            for (uint64_t i = gap; i < effect->size; i++)
                effects->after.data[i] = effects->after.data[i - gap];
        gap = source - effect->address;
        if (!err && is_down && gap && gap < effect->size)
            for (uint64_t i = effect->size - gap; i-- > 0;)
                effects->after.data[i] = effects->after.data[i + gap];
    } else if (!err) {
        for (uint64_t i = 0; i < effect->size; i++)
            effects->after.data[i] = (uint8_t)(slots[item->value] >> 8 * (i % item->size));
    }
    effect->after = effects->after.data;
    return err ? err : pass_write(effects, effect);
}

static int pass_item(struct wetdbg_effects *effects, const struct item *item, const uint64_t *slots,
                     wetdbg_time time)
{
    uint8_t bytes[DBI_VALUE_BYTES_MAX];
    struct wetdbg_effect effect = {
        .time = time, .pc = item->pc, .reg = -1, .size = item->size, .after = bytes};
    const uint64_t *value = slots + item->value;
    uint64_t next;
    switch (item->kind) {
    case KIND_REGISTER:
        if (!effects->registers)
            return 0;
        effect.reg = item->reg;
        effect.size = 8;
        effect.after = (const uint8_t *)value;
        return effects->fn(effects->arg, &effect);
    case KIND_COPY:
    case KIND_FILL:
        return pass_rep(effects, item, slots, &effect);
    case KIND_CALL: /* item->value is its length */
        next = item->pc + item->value;
        memcpy(bytes, &next, sizeof(next));
        break;
    case KIND_STORE:
        for (unsigned off = 0, size = 8; off < item->size; off += size) {
            while (size > item->size - off)
                size /= 2;
            memcpy(bytes + off, value++, size);
        }
        break;
    default:
        effects->unknown++;
        effect.address = slots[item->slot];
        effect.after = NULL;
        return effects->fn(effects->arg, &effect);
    }
    effect.address = slots[item->slot];
    return pass_write(effects, &effect);
}

static int pass_event(struct wetdbg_effects *effects, const struct wet_event *event)
{
    int err = 0;
    const struct wetdbg_event is = wet_event_of(event);
    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(event->entry, op));) {
        struct wetdbg_effect effect = {.time = event->time,
                                       .event = &is,
                                       .reg = -1,
                                       .address = op->range.start,
                                       .size = op->range.size,
                                       .after = evq_op_payload(op)};
        if (op->op == EVQ_OP_WRITE)
            err = pass_write(effects, &effect);
        else
            err = wet_replica_op(effects->replica, op);
    }
    return err;
}

/* Passes on events that came after instructions before `time`. */
static int pass_events_before(struct wetdbg_effects *effects, wetdbg_time time)
{
    const struct wet_event *events = (const struct wet_event *)effects->events.data;
    size_t count = effects->events.size_bytes / sizeof(*events);
    int err = 0;
    while (effects->event_at < count && events[effects->event_at].time < time && !err)
        err = pass_event(effects, &events[effects->event_at++]);
    return err;
}

/* ---- a piece of an interval ---- */

static int pass_record(struct wetdbg_effects *effects, const struct fragment_items *fragment,
                       const uint64_t *slots, wetdbg_time time, wetdbg_time last)
{
    int err = 0;
    for (unsigned i = 0; i < fragment->count && !err; i++) {
        const struct item *item = &fragment->items[i];
        wetdbg_time now = time + item->insn;
        if (now <= effects->done || now > last)
            continue;
        err = pass_events_before(effects, now);
        if (!err)
            err = pass_item(effects, item, slots, now);
    }
    return err;
}

/* The words of a record behind the first one, as they are now. */
static int slots_copy(struct wetdbg_effects *effects, const uint64_t *from, unsigned count,
                      const uint64_t **slots)
{
    effects->slots.size_bytes = 0;
    int err = wd_buf_reserve(&effects->slots, 8ull * count + 8);
    if (!err)
        wd_once_copy(effects->slots.data, from, 8ull * count);
    *slots = (const uint64_t *)effects->slots.data;
    return err;
}

static int pass_piece(void *arg)
{
    struct wetdbg_effects *effects = arg;
    struct wetdbg *wet = effects->wet;
    const struct wet_index_record *index = &wet->index[effects->rerun->k];
    wetdbg_time last = index->first_time + index->instructions - 1, time = effects->piece_start;
    size_t bytes;
    const uint64_t *ring = rep_engine_ring(wet->engine, &bytes);
    size_t words = bytes / 8;
    int err = 0;
    for (size_t at = 0; at < words && !err;) {
        const struct fragment_items *fragment = NULL;
        const uint64_t *slots = NULL;
        err = fragment_get(effects, agt_ring_fragment(wd_once_u64(&ring[at])), &fragment);
        if (!err && fragment->slots > words - at - 1)
            err = wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process sent a damaged ring");
        if (!err)
            err = slots_copy(effects, ring + at + 1, fragment->slots, &slots);
        if (!err)
            err = pass_record(effects, fragment, slots, time, last);
        if (!err) {
            time += fragment->statements;
            at += 1 + (size_t)fragment->slots;
        }
        if (wet->interrupted && !err)
            err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    }
    effects->piece_start = time;
    if (time - 1 > effects->done)
        effects->done = time - 1 < last ? time - 1 : last;
    return err;
}

static int event_note(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes)
{
    struct wetdbg_effects *effects = arg;
    struct wet_event event = {.time = time, .task = entry->task, .entry = entry};
    (void)ring_bytes;
    return wd_buf_append(&effects->events, &event, sizeof(event));
}

/* Begins the interval anew; what was passed on is not passed on again: effects->done and event_at
 * stay. */
static void restart(void *arg)
{
    struct wetdbg_effects *effects = arg;
    effects->events.size_bytes = 0;
    effects->piece_start = effects->first;
}

static void swap_engines(struct wetdbg_effects *effects)
{
    struct wetdbg *wet = effects->wet;
    struct wetdbg_effects other = *effects;
    effects->engine = wet->engine;
    effects->fragments = wet->fragments;
    wet->engine = other.engine;
    wet->fragments = other.fragments;
    wet->state_serial = 0;
    wet->collects_values = !wet->collects_values;
}

/* Forgets the fragments of an engine that was given up after an error: its fragments' numbers mean
 * nothing any more. */
static void forget_fragments(struct wetdbg_effects *effects)
{
    for (size_t i = 0; i < effects->known_count; i++)
        free(effects->known[i].items);
    free(effects->known);
    effects->known = NULL;
    effects->known_count = 0;
}

int wetdbg_effects_each(struct wetdbg_effects *effects, uint64_t k, bool registers,
                        wetdbg_effect_fn fn, void *arg)
{
    struct wetdbg *wet = effects->wet;
    if (k >= wet->info.intervals)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there is no interval %llu",
                           (unsigned long long)k);
    struct wet_rerun rerun = {
        .wet = wet, .k = k, .restart_fn = restart, .taken_fn = event_note, .arg = effects};
    effects->rerun = &rerun;
    effects->first = effects->piece_start = wet->index[k].first_time;
    effects->done = effects->first - 1;
    effects->registers = registers;
    effects->fn = fn;
    effects->arg = arg;
    effects->events.size_bytes = effects->event_at = 0;
    wet_engine_claim(wet);
    swap_engines(effects);
    int err = wet_replica_start(effects->replica, k);
    if (!err)
        err = wet_rerun_pieces(&rerun, PIECE_INSTRUCTIONS, pass_piece);
    if (!err)
        err = pass_events_before(effects, UINT64_MAX);
    if (!wet->engine)
        forget_fragments(effects);
    swap_engines(effects);
    wet_rerun_fini(&rerun);
    return err;
}
