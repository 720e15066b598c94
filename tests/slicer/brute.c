/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/insn/insn_pick.h"
#include "tests/slicer/brute_calls.h"
#include "tests/slicer/brute_priv.h"
#include "wet/model/make_model.h"

/* ---- a map from u64 to u32 ---- */

uint32_t *brute_map_at(struct map *map, uint64_t key)
{
    if (map->count * 2 >= map->capacity) {
        struct map old = *map;
        map->capacity = old.capacity ? old.capacity * 2 : 1024;
        map->keys = calloc(map->capacity, 8);
        map->values = calloc(map->capacity, 4);
        map->count = 0;
        for (size_t i = 0; i < old.capacity; i++)
            if (old.values[i])
                *brute_map_at(map, old.keys[i] - 1) = old.values[i];
        free(old.keys);
        free(old.values);
    }
    size_t i = (key * 0x9e3779b97f4a7c15u >> 20) & (map->capacity - 1);
    while (map->keys[i] && map->keys[i] != key + 1)
        i = (i + 1) & (map->capacity - 1);
    map->count += !map->keys[i];
    map->keys[i] = key + 1;
    return &map->values[i];
}

uint32_t brute_map_get(const struct map *map, uint64_t key)
{
    if (!map->capacity)
        return 0;
    size_t i = (key * 0x9e3779b97f4a7c15u >> 20) & (map->capacity - 1);
    while (map->keys[i] && map->keys[i] != key + 1)
        i = (i + 1) & (map->capacity - 1);
    return map->values[i];
}

/* ---- places ---- */

static void gpr_piece(unsigned loc, unsigned *from, unsigned *to)
{
    unsigned piece = loc % 3;
    *from = piece == 0 ? 0 : piece == 1 ? 1 : 2;
    *to = piece == 0 ? 1 : piece == 1 ? 2 : 8;
}

static void vector_piece(unsigned loc, unsigned *from, unsigned *to)
{
    static const unsigned bounds[] = {0, 4, 8, 16, 32, 64};
    *from = bounds[(loc - INS_LOC_VEC) % 5];
    *to = bounds[(loc - INS_LOC_VEC) % 5 + 1];
}

bool brute_is_gpr(unsigned loc)
{
    return loc < INS_LOC_CF;
}

bool brute_is_vector(unsigned loc)
{
    return loc >= INS_LOC_VEC && loc < INS_LOC_K;
}

/* Places [*from, *to) that a location is. */
void brute_loc_places(unsigned loc, unsigned *from, unsigned *to)
{
    unsigned reg = 0;

    if (brute_is_gpr(loc)) {
        gpr_piece(loc, from, to);
        reg = loc / 3;
    } else if (brute_is_vector(loc)) {
        vector_piece(loc, from, to);
        reg = 16 + (loc - INS_LOC_VEC) / 5;
    } else {
        *from = REG_OTHERS + loc;
        *to = *from + 1;
    }
    *from += reg * REG_BYTES;
    *to += reg * REG_BYTES;
}

/* The first byte of a general register. */
unsigned brute_gpr_place(unsigned gpr)
{
    return gpr * REG_BYTES;
}

struct span brute_operand_span(const struct wetdbg *wet, wetdbg_time t, unsigned m)
{
    const struct fake_step *step = fake_step(wet, t);
    const uint64_t *slots = fake_slots(wet) + step->slot_off;
    const struct ins_mem *mem = &step->info->mems[m];
    struct span span = {slots[m], mem->size_bytes, false};

    if (mem->flags & INS_MEM_REP) {
        const uint64_t *rep = slots + step->info->mem_count;
        span.size = (rep[0] - rep[1]) * mem->size_bytes;
        span.down = rep[2] < slots[0];
        if (span.down)
            span.address -= span.size - mem->size_bytes;
    }
    return span;
}

/* ---- forward: definitions and uses ---- */

#define FILE_KEY(object, offset) (UINT64_C(1) << 63 | (uint64_t)(object) << 44 | (offset))

/* A byte of memory that shows a file is that byte of the file. */
static uint64_t memory_key(const struct brute *b, uint64_t address)
{
    for (size_t i = 0; i < b->shown.count; i++)
        if (address - b->shown.at[i].address < b->shown.at[i].size)
            return FILE_KEY(b->shown.at[i].object,
                            b->shown.at[i].offset + (address - b->shown.at[i].address));
    return address;
}

static uint32_t memory_get(const struct brute *b, uint64_t address)
{
    return brute_map_get(&b->memory, memory_key(b, address));
}

static uint32_t last_def(struct brute *b, bool is_memory, uint64_t place)
{
    return is_memory ? memory_get(b, place) : b->now->regs[place];
}

/* Two flows of one instruction that define the same place are alternatives: both count. */
static void define(struct brute *b, uint32_t t, unsigned flow, bool is_memory, uint64_t place,
                   bool may)
{
    uint32_t last = last_def(b, is_memory, place);
    may |= last && b->defs.at[last].time == t;
    struct def def = {.place = place,
                      .time = t,
                      .flow = (uint8_t)flow,
                      .is_memory = is_memory,
                      .is_may = may,
                      .before = may ? last : 0};
    PUSH(b->defs, def);
    if (is_memory)
        *brute_map_at(&b->memory, memory_key(b, place)) = (uint32_t)b->defs.count - 1;
    else
        b->now->regs[place] = (uint32_t)b->defs.count - 1;
}

static void use_regs(struct brute *b, const struct ins_regset *set, enum wetdbg_edge edge)
{
    for (unsigned l = 0; l < INS_LOC_COUNT; l++) {
        if (!ins_regset_has(set, l))
            continue;
        unsigned from, to;
        brute_loc_places(l, &from, &to);
        for (unsigned p = from; p < to; p++) {
            struct use use = {p, b->now->regs[p], (uint8_t)edge, false};
            PUSH(b->uses, use);
        }
    }
}

/* Uses values; of a register in `halves` only four bytes. */
static void use_values(struct brute *b, const struct ins_flow *flow)
{
    size_t first = b->uses.count, kept = first;

    use_regs(b, &flow->value_uses, WETDBG_EDGE_VALUE);
    for (size_t i = first; i < b->uses.count; i++) {
        uint64_t place = b->uses.at[i].place;
        bool is_half = place < brute_gpr_place(16) && flow->halves >> place / REG_BYTES & 1;
        if (!is_half || place % REG_BYTES < 4)
            b->uses.at[kept++] = b->uses.at[i];
    }
    b->uses.count = kept;
}

/* What an instruction took that takes bytes by a mask or by indices. */
bool brute_pick_at(const struct wetdbg *wet, wetdbg_time t, struct ins_pick *pick)
{
    const struct fake_step *step = fake_step(wet, t);

    if (!ins_is_pick(step->info))
        return false;
    ins_pick_get(step->info, fake_slots(wet) + step->slot_off, pick);
    return true;
}

static void use_place(struct brute *b, uint64_t operand, unsigned place, unsigned byte,
                      enum wetdbg_edge edge)
{
    uint64_t at = place < INS_PLACE_MEMORY ? (16 + place) * REG_BYTES + byte : operand + byte;
    bool is_memory = place >= INS_PLACE_MEMORY;
    struct use use = {at, last_def(b, is_memory, at), (uint8_t)edge, is_memory};

    PUSH(b->uses, use);
}

/* Of what takes bytes by a mask or by indices: those that it took, and what chose them. */
static void use_pick(struct brute *b, wetdbg_time t, const struct ins_info *info,
                     const struct ins_pick *pick)
{
    const struct ins_choice *choice = &info->choice;
    uint64_t operand = fake_slots(b->wet)[fake_step(b->wet, t)->slot_off];
    bool touches_memory = false, is_computed = false;
    struct ins_regset set = {0};

    for (unsigned i = 0; i < (choice->to == INS_PLACE_MEMORY ? choice->bytes : 64u); i++) {
        bool is_written = pick->place[i] != INS_PLACE_KEPT;
        is_computed |= pick->place[i] == INS_PLACE_COMPUTED;
        if (pick->place[i] < INS_PLACE_COMPUTED)
            use_place(b, operand, pick->place[i], pick->from[i], WETDBG_EDGE_VALUE);
        if (is_written && pick->chooser[i] != INS_PLACE_NONE)
            use_place(b, operand, choice->selector, pick->chooser[i], WETDBG_EDGE_CONDITION);
        touches_memory |=
            pick->place[i] == INS_PLACE_MEMORY || (choice->to == INS_PLACE_MEMORY && is_written) ||
            (choice->selector == INS_PLACE_MEMORY && pick->chooser[i] != INS_PLACE_NONE);
        if (is_written && pick->masked >> i & 1)
            ins_regset_add(&set, INS_LOC_K + choice->mask);
    }
    if (is_computed) {
        struct ins_regset computed = ins_computed_uses(info);
        use_regs(b, &computed, WETDBG_EDGE_VALUE);
        for (unsigned i = 0; info->flows[0].mem_uses && i < info->mems[0].size_bytes; i++)
            use_place(b, operand, INS_PLACE_MEMORY, i, WETDBG_EDGE_VALUE);
        touches_memory |= info->flows[0].mem_uses != 0;
    }
    use_regs(b, &set, WETDBG_EDGE_CONDITION);
    if (touches_memory) {
        struct ins_regset address = ins_addr_uses(info, 0);
        use_regs(b, &address, WETDBG_EDGE_ADDRESS);
    }
}

static void use_flow(struct brute *b, wetdbg_time t, const struct ins_info *info, unsigned f)
{
    const struct ins_flow *flow = &info->flows[f];
    struct ins_pick pick;

    if (f == 0 && brute_pick_at(b->wet, t, &pick)) {
        use_pick(b, t, info, &pick);
        return;
    }
    use_values(b, flow);
    use_regs(b, &flow->cond_uses, WETDBG_EDGE_CONDITION);
    for (unsigned m = 0; m < info->mem_count; m++) {
        if (flow->mem_uses >> m & 1) {
            struct span span = brute_operand_span(b->wet, t, m);
            for (uint64_t i = 0; i < span.size; i++) {
                struct use use = {span.address + i, memory_get(b, span.address + i),
                                  WETDBG_EDGE_VALUE, true};
                PUSH(b->uses, use);
            }
        }
        if ((flow->mem_uses | flow->mem_defs | flow->mem_may_defs) >> m & 1) {
            struct ins_regset address = ins_addr_uses(info, m);
            use_regs(b, &address, WETDBG_EDGE_ADDRESS);
        }
    }
}

static void define_flow(struct brute *b, wetdbg_time t, const struct ins_info *info, unsigned f)
{
    const struct ins_flow *flow = &info->flows[f];

    for (unsigned l = 0; l < INS_LOC_COUNT; l++) {
        bool must = ins_regset_has(&flow->defs, l);
        if (!must && !ins_regset_has(&flow->may_defs, l))
            continue;
        unsigned from, to;
        brute_loc_places(l, &from, &to);
        for (unsigned p = from; p < to; p++)
            define(b, (uint32_t)t, f, false, p, !must);
    }
    for (unsigned m = 0; m < info->mem_count; m++) {
        if (!((flow->mem_defs | flow->mem_may_defs) >> m & 1))
            continue;
        struct span span = brute_operand_span(b->wet, t, m);
        struct ins_pick pick;
        bool is_pick = brute_pick_at(b->wet, t, &pick);
        bool must = flow->mem_defs >> m & 1 || info->mems[m].flags & INS_MEM_REP || is_pick;
        for (uint64_t i = 0; i < span.size; i++)
            if (!is_pick || pick.place[i] != INS_PLACE_KEPT)
                define(b, (uint32_t)t, f, true, span.address + i, !must);
    }
}

/* ---- saved registers ---- */

static int saved_gpr(const struct ins_regset *set)
{
    const int kept[] = {3, 5, 12, 13, 14, 15};
    for (unsigned i = 0; i < 6; i++) {
        struct ins_regset want = {0};
        for (unsigned p = 0; p < 3; p++)
            ins_regset_add(&want, (unsigned)kept[i] * 3 + p);
        if (memcmp(&want, set, sizeof(want)) == 0)
            return kept[i];
    }
    return -1;
}

/* The register of a push (is_push) or pop, and its slot. */
static int stack_copy(const struct wetdbg *wet, wetdbg_time t, bool is_push, unsigned *flow,
                      uint64_t *slot)
{
    const struct ins_info *info = fake_step(wet, t)->info;

    for (unsigned f = 0; f < info->flow_count; f++) {
        unsigned mask = is_push ? info->flows[f].mem_defs : info->flows[f].mem_uses;
        if (!(info->flows[f].kinds & INS_FLOW_COPY) || !mask || info->klass != INS_PLAIN)
            continue;
        unsigned m = (unsigned)__builtin_ctz(mask);
        if (mask != 1u << m || !(info->mems[m].flags & INS_MEM_IMPLICIT) ||
            info->mems[m].size_bytes != 8 || info->mems[m].flags & INS_MEM_REP)
            continue;
        *flow = f;
        *slot = brute_operand_span(wet, t, m).address;
        return saved_gpr(is_push ? &info->flows[f].value_uses : &info->flows[f].defs);
    }
    return -1;
}

static void note_push(struct brute *b, wetdbg_time t)
{
    unsigned f;
    uint64_t slot;
    int reg = stack_copy(b->wet, t, true, &f, &slot);

    if (reg < 0)
        return;
    *brute_map_at(&b->saved, t) = (uint32_t)b->saves.count + 1;
    for (unsigned p = 0; p < 8; p++)
        PUSH(b->saves, b->now->regs[brute_gpr_place((unsigned)reg) + p]);
}

/* The definitions of before the push if the pop restores them, or NULL. */
static const uint32_t *restored(struct brute *b, wetdbg_time t, int *reg)
{
    unsigned f, push_flow;
    uint64_t slot, push_slot;

    *reg = stack_copy(b->wet, t, false, &f, &slot);
    if (*reg < 0 || slot % 8)
        return NULL;
    uint32_t first = memory_get(b, slot);
    for (unsigned i = 0; i < 8; i++) {
        uint32_t def = memory_get(b, slot + i);
        if (!def || b->defs.at[def].time != b->defs.at[first].time)
            return NULL;
    }
    wetdbg_time push = b->defs.at[first].time;
    if (push && fake_step(b->wet, push)->task != fake_step(b->wet, t)->task)
        return NULL;
    if (!brute_map_get(&b->saved, push) ||
        stack_copy(b->wet, push, true, &push_flow, &push_slot) != *reg || push_slot != slot)
        return NULL;
    return b->saves.at + brute_map_get(&b->saved, push) - 1;
}

/* ---- frames ---- */

static struct frame *top(struct brute *b)
{
    return &b->now->frames.at[b->now->frames.count - 1];
}

static void push_frame(struct brute *b, uint64_t slot, wetdbg_time creator)
{
    struct frame frame = {.slot = slot, .creator = (uint32_t)creator};
    PUSH(b->now->frames, frame);
}

static void clear_branches(struct frame *frame)
{
    free(frame->branches.keys);
    free(frame->branches.values);
    frame->branches = (struct map){0};
}

static void pop_frame(struct brute *b)
{
    clear_branches(top(b));
    free(top(b)->kept);
    b->now->frames.count--;
}

static uint32_t control_parent(struct brute *b, uint64_t pc)
{
    const uint64_t *branches;
    size_t count;
    uint32_t parent = 0;

    if ((b->no_exits ? wetdbg_controllers_no_exits : wetdbg_controllers)(wetdbg_get_model(b->wet),
                                                                         pc, &branches, &count))
        count = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t at = brute_map_get(&top(b)->branches, branches[i]);
        parent = at > parent ? at : parent;
    }
    return parent ? parent : top(b)->creator;
}

static bool enters_function(struct brute *b, uint64_t from, uint64_t to)
{
    struct wetdbg_function source = {0}, target;
    struct wetdbg_model *model = wetdbg_get_model(b->wet);

    if (wetdbg_function_at(model, to, &target) || target.start != to ||
        target.flags & WETDBG_FUNCTION_COLD)
        return false;
    return wetdbg_function_at(model, from, &source) || source.start != target.start;
}

static void step_frames(struct brute *b, wetdbg_time t)
{
    const struct fake_step *step = fake_step(b->wet, t);
    const struct ins_info *info = step->info;
    bool jumps =
        info->klass == INS_JMP || info->klass == INS_JMP_INDIRECT || info->klass == INS_JCC;

    if (info->klass == INS_CALL || info->klass == INS_CALL_INDIRECT)
        push_frame(b, step->rsp - 8, t);
    if (jumps)
        *brute_map_at(&top(b)->branches, step->pc) = (uint32_t)t;
    while (info->klass == INS_RET && !top(b)->is_signal && top(b)->slot <= step->rsp)
        pop_frame(b);
    if (!b->next[t])
        return;
    /* Not before the jump: longjmp sets rsp a little earlier. */
    const struct fake_step *next = fake_step(b->wet, b->next[t]);
    while (b->now->frames.count > 1 && top(b)->slot < next->rsp && info->klass == INS_JMP_INDIRECT)
        pop_frame(b);
    if (jumps && enters_function(b, step->pc, next->pc)) {
        clear_branches(top(b));
        top(b)->creator = (uint32_t)t;
    }
}

/* ---- threads and signals ---- */

/* Definitions of several bytes or pieces as one; 0 if there is none. */
static uint32_t join(struct brute *b, const uint32_t *defs, size_t count)
{
    uint32_t first = 0;
    bool is_one = true;

    for (size_t i = 0; i < count; i++) {
        is_one &= !first || !defs[i] || defs[i] == first;
        first = first ? first : defs[i];
    }
    if (is_one)
        return first;
    struct def def = {.flow = JOIN_FLOW, .join = (uint32_t)b->joins.count};
    for (size_t i = 0; i < count; i++)
        if (defs[i])
            PUSH(b->joins, defs[i]);
    PUSH(b->joins, 0);
    PUSH(b->defs, def);
    return (uint32_t)b->defs.count - 1;
}

static uint32_t join_memory(struct brute *b, uint64_t address, uint64_t size)
{
    uint32_t defs[64];

    for (uint64_t i = 0; i < size; i++)
        defs[i] = memory_get(b, address + i);
    return join(b, defs, size);
}

static void thread_begins(struct brute *b, const struct fake_happening *h)
{
    struct thread *parent = &b->threads[h->task], *child = &b->threads[h->other];

    b->now = child;
    while (child->frames.count)
        pop_frame(b);
    push_frame(b, UINT64_MAX, h->time);
    memcpy(child->regs, parent->regs, sizeof(child->regs));
    for (unsigned p = 0; p < 8 && h->stack_is_given; p++)
        child->regs[brute_gpr_place(INS_RSP) + p] =
            h->clone_args ? join_memory(b, h->clone_args + 40, 16)
                          : parent->regs[brute_gpr_place(INS_RSI) + p];
    if (h->tls_is_given)
        child->regs[REG_OTHERS + INS_LOC_FS_BASE] =
            h->clone_args ? join_memory(b, h->clone_args + 56, 8)
                          : join(b, &parent->regs[brute_gpr_place(8)], 8);
}

/* As <sys/ucontext.h> has them, from byte 40 of a ucontext on. */
static const uint8_t ucontext_gprs[] = {8, 9, 10, 11, 12, 13, 14, 15, 7, 6, 5, 3, 2, 0, 1, 4};

static void handler_begins(struct brute *b, const struct fake_happening *h)
{
    static const uint8_t given[] = {INS_RAX, INS_RDI, INS_RSI, INS_RDX, INS_RSP};
    struct thread *thread = &b->threads[h->task];
    uint64_t ucontext = h->address + 8;

    b->now = thread;
    wetdbg_time cause = h->is_own ? h->time : h->fault_pc ? control_parent(b, h->fault_pc) : 0;
    for (uint64_t i = 0; i < h->size; i++)
        *brute_map_at(&b->memory, memory_key(b, h->address + i)) = 0;
    for (unsigned i = 0; i < 16 * 8; i++)
        *brute_map_at(&b->memory, memory_key(b, ucontext + 40 + i)) =
            thread->regs[brute_gpr_place(ucontext_gprs[i / 8]) + i % 8];
    push_frame(b, ucontext, cause);
    top(b)->is_signal = true;
    top(b)->kept = malloc(sizeof(thread->regs));
    memcpy(top(b)->kept, thread->regs, sizeof(thread->regs));
    push_frame(b, h->address, cause);
    for (unsigned i = 0; i < sizeof(given) * 8; i++)
        thread->regs[brute_gpr_place(given[i / 8]) + i % 8] = 0;
    for (unsigned l = INS_LOC_DF; l < INS_LOC_FS_BASE; l++) {
        unsigned from, to;
        brute_loc_places(l, &from, &to);
        for (unsigned p = from; p < to; p++)
            thread->regs[p] = 0;
    }
}

static void handler_ends(struct brute *b, const struct fake_happening *h)
{
    struct thread *thread = &b->threads[h->task];

    b->now = thread;
    while (!top(b)->is_signal || top(b)->slot != h->address)
        pop_frame(b);
    memcpy(thread->regs, top(b)->kept, sizeof(thread->regs));
    for (unsigned i = 0; i < 16; i++)
        for (unsigned p = 0; p < 8; p++)
            thread->regs[brute_gpr_place(ucontext_gprs[i]) + p] =
                memory_get(b, h->address + 40 + 8 * i + p);
    pop_frame(b);
}

/* ---- bytes in the kernel ---- */

static struct queue *queue_of(struct brute *b, uint32_t object)
{
    while (b->queues.count <= object)
        PUSH(b->queues, (struct queue){0});
    return &b->queues.at[object];
}

/* Byte i of what is in an object at a place, or behind what was taken of a queue; 0 if nobody put
 * it there. */
static uint32_t held_byte(struct brute *b, const struct fake_end *end, uint64_t i)
{
    if (!fake_object(b->wet, end->object)->is_queue)
        return brute_map_get(&b->memory, FILE_KEY(end->object, end->offset + i));
    const struct queue *queue = queue_of(b, end->object);
    return queue->taken + i < queue->defs.count ? queue->defs.at[queue->taken + i] : 0;
}

static void put_byte(struct brute *b, const struct fake_end *end, uint64_t i, uint32_t def)
{
    if (fake_object(b->wet, end->object)->is_queue)
        PUSH(queue_of(b, end->object)->defs, def);
    else
        *brute_map_at(&b->memory, FILE_KEY(end->object, end->offset + i)) = def;
}

/* Takes bytes away that were delivered; a message whole. */
static void pass_taken(struct brute *b, const struct fake_happening *h)
{
    if (!fake_object(b->wet, h->from.object)->is_queue || h->is_peek)
        return;
    struct queue *queue = queue_of(b, h->from.object);
    queue->taken += h->size;
}

/* What is left of a message goes when the next one is taken. */
static void pass_message(struct brute *b, const struct fake_happening *h)
{
    struct queue *queue = queue_of(b, h->from.object);

    if (!h->is_message || !fake_object(b->wet, h->from.object)->has_messages ||
        queue->next >= queue->messages.count)
        return;
    queue->taken = queue->messages.at[queue->next];
    queue->next += !h->is_peek;
}

static void sent(struct brute *b, const struct fake_happening *h)
{
    if (fake_object(b->wet, h->to.object)->is_queue && h->is_message) {
        struct queue *queue = queue_of(b, h->to.object);
        PUSH(queue->messages, queue->defs.count);
    }
    for (uint64_t i = 0; i < h->size; i++) {
        struct def def = {.place = h->address + i,
                          .time = (uint32_t)h->call,
                          .flow = SENT_FLOW,
                          .is_memory = true,
                          .source = memory_get(b, h->address + i)};
        PUSH(b->defs, def);
        put_byte(b, &h->to, i, (uint32_t)b->defs.count - 1);
    }
}

static void taken(struct brute *b, const struct fake_happening *h)
{
    pass_message(b, h);
    for (uint64_t i = 0; i < h->size; i++) {
        uint32_t def = memory_get(b, h->address + i);
        if (def && b->defs.at[def].time == h->call)
            b->defs.at[def].source = held_byte(b, &h->from, i);
    }
    pass_taken(b, h);
}

static void lent(struct brute *b, const struct fake_happening *h)
{
    for (uint64_t i = 0; i < h->size; i++) {
        uint32_t def = memory_get(b, h->address + i);
        if (def && b->defs.at[def].time == h->call)
            b->defs.at[def].source = memory_get(b, h->lender + i);
    }
}

static void copied(struct brute *b, const struct fake_happening *h)
{
    for (uint64_t i = 0; i < h->size; i++) {
        struct def def = {.time = (uint32_t)h->call,
                          .flow = KERNEL_FLOW,
                          .is_memory = true,
                          .source = held_byte(b, &h->from, i)};
        PUSH(b->defs, def);
        put_byte(b, &h->to, i, (uint32_t)b->defs.count - 1);
    }
    pass_taken(b, h);
}

/* The mapping's bytes are the call's, as FAKE_WRITE has it, and the file's; calls that write the
 * file later write them, too. */
static void shown(struct brute *b, const struct fake_happening *h)
{
    taken(b, h);
    for (uint64_t i = 0; i < h->size; i++)
        *brute_map_at(&b->memory, FILE_KEY(h->from.object, h->from.offset + i)) =
            brute_map_get(&b->memory, h->address + i);
    struct shown shown = {h->address, h->size, h->from.object, h->from.offset};
    PUSH(b->shown, shown);
}

/* A mapping goes, or the part of it that lies there. */
static void hidden(struct brute *b, const struct fake_happening *h)
{
    size_t count = b->shown.count, kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct shown is = b->shown.at[i];
        uint64_t end = is.address + is.size, behind = h->address + h->size;
        if (is.address >= behind || end <= h->address)
            continue;
        b->shown.at[i].size = is.address < h->address ? h->address - is.address : 0;
        if (end > behind) {
            struct shown rest = {behind, end - behind, is.object,
                                 is.offset + (behind - is.address)};
            PUSH(b->shown, rest);
        }
    }
    for (size_t i = 0; i < b->shown.count; i++)
        if (b->shown.at[i].size)
            b->shown.at[kept++] = b->shown.at[i];
    b->shown.count = kept;
}

static void cut(struct brute *b, const struct fake_happening *h)
{
    uint64_t first = FILE_KEY(h->to.object, h->to.offset);
    uint64_t end = h->size ? first + h->size : FILE_KEY(h->to.object + 1, 0);

    for (size_t i = 0; i < b->memory.capacity && h->to.object != UINT32_MAX; i++)
        if (b->memory.keys[i] > first && b->memory.keys[i] - 1 < end)
            b->memory.values[i] = 0;
}

static void happen(struct brute *b, const struct fake_happening *h)
{
    switch (h->kind) {
    case FAKE_SENT:
        sent(b, h);
        break;
    case FAKE_TAKEN:
        taken(b, h);
        break;
    case FAKE_COPIED:
        copied(b, h);
        break;
    case FAKE_SHOWN:
        shown(b, h);
        break;
    case FAKE_HIDDEN:
        hidden(b, h);
        break;
    case FAKE_CUT:
        cut(b, h);
        break;
    case FAKE_LENT:
        lent(b, h);
        break;
    case FAKE_WRITE:
        b->now = &b->threads[h->task];
        for (uint64_t i = 0; i < h->size; i++)
            define(b, (uint32_t)h->call, KERNEL_FLOW, true, h->address + i, false);
        break;
    case FAKE_THREAD:
        thread_begins(b, h);
        break;
    case FAKE_HANDLER:
        handler_begins(b, h);
        break;
    case FAKE_HANDLER_END:
        handler_ends(b, h);
        break;
    }
}

static void find_next(struct brute *b)
{
    uint32_t last[FAKE_TASKS_MAX] = {0};
    size_t count, h = 0;
    const struct fake_happening *happenings = fake_happenings(b->wet, &count);

    b->next = calloc((size_t)b->steps + 2, sizeof(*b->next));
    for (wetdbg_time t = 1; t <= b->steps; t++) {
        for (; h < count && happenings[h].time < t; h++)
            if (happenings[h].kind == FAKE_HANDLER || happenings[h].kind == FAKE_HANDLER_END)
                last[happenings[h].task] = 0;
            else if (happenings[h].kind == FAKE_THREAD)
                last[happenings[h].other] = 0;
        uint32_t task = fake_step(b->wet, t)->task;
        b->next[last[task]] = (uint32_t)t;
        last[task] = (uint32_t)t;
    }
    b->next[0] = 0;
}

/* ---- the run ---- */

static void take_picture(struct brute *b, struct brute_criterion *criterion)
{
    struct picture picture = {0};

    for (unsigned l = 0; l < INS_LOC_COUNT; l++) {
        unsigned from, to;
        brute_loc_places(l, &from, &to);
        for (unsigned p = from; p < to && ins_regset_has(&criterion->regs, l); p++) {
            struct use use = {p, b->now->regs[p],
                              criterion->fault_pc ? WETDBG_EDGE_ADDRESS : WETDBG_EDGE_VALUE, false};
            PUSH(picture.uses, use);
        }
    }
    for (uint64_t i = 0; i < criterion->size; i++) {
        uint64_t at = criterion->address + i;
        struct use use = {at, memory_get(b, at), WETDBG_EDGE_VALUE, true};
        PUSH(picture.uses, use);
    }
    criterion->picture = b->pictures.count;
    PUSH(b->pictures, picture);
}

/* ---- system calls ---- */

static void use_memory(struct brute *b, uint64_t address, uint64_t size)
{
    for (uint64_t i = 0; address && i < size; i++) {
        struct use use = {address + i, memory_get(b, address + i), WETDBG_EDGE_VALUE, true};
        PUSH(b->uses, use);
    }
}

static void use_gpr(struct brute *b, unsigned gpr, enum wetdbg_edge edge)
{
    struct ins_regset set = {0};
    for (unsigned p = 0; p < 3; p++)
        ins_regset_add(&set, gpr * 3 + p);
    use_regs(b, &set, edge);
}

static uint64_t string_size(struct wetdbg_state *state, uint64_t address)
{
    uint64_t size = 0;
    char byte = 1;
    while (address && byte && wetdbg_state_read(state, address + size, &byte, 1) == 0)
        size++;
    return size;
}

static void use_call(struct brute *b, wetdbg_time t, unsigned uses)
{
    bool sent = uses != CALL_USES;
    static const unsigned gprs[] = {INS_RDI, INS_RSI, INS_RDX, 10, 8, 9};
    struct wetdbg_state *state;

    if (wetdbg_state_open(b->wet, t, &state))
        abort();
    const struct evq_regs *regs = wet_state_regs(state);
    const char *at = brute_signature(regs->r[EVQ_RAX]);
    if (!sent)
        use_gpr(b, INS_RAX, WETDBG_EDGE_VALUE);
    else if (!strchr(at, '>'))
        at = "";
    for (unsigned a = 0; *at; a++, at++) {
        uint64_t value = regs->r[evq_reg_of_gpr[gprs[a]]];
        uint64_t next = a < 5 ? regs->r[evq_reg_of_gpr[gprs[a + 1]]] : 0;
        if (sent != (*at == '>'))
            continue;
        use_gpr(b, gprs[a], *at == 'v' ? WETDBG_EDGE_VALUE : WETDBG_EDGE_ADDRESS);
        if (uses == BUFFER_USES)
            continue;
        if (*at == 's')
            use_memory(b, value, string_size(state, value));
        if (*at == '>' || *at == '<')
            use_memory(b, value, next);
        for (uint64_t i = 0; *at == 'm' && i < next; i++)
            use_memory(b, value + 64 * i, 56);
        if (*at == '*')
            use_memory(b, value, next * 16);
        if (*at == '[') {
            use_memory(b, value, strtoull(at + 1, NULL, 10));
            at = strchr(at, ']');
        }
    }
    wetdbg_state_close(state);
}

/* The location that an arch_prctl sets; INS_LOC_COUNT: it is none. */
static unsigned segment_base_set(const struct brute *b, wetdbg_time t)
{
    struct wetdbg_state *state;
    unsigned base = INS_LOC_COUNT;

    if (wetdbg_state_open(b->wet, t, &state))
        abort();
    const struct evq_regs *regs = wet_state_regs(state);
    if (regs->r[EVQ_RAX] == 158 && regs->r[EVQ_RDI] == 0x1002) /* arch_prctl, SET_FS */
        base = INS_LOC_FS_BASE;
    if (regs->r[EVQ_RAX] == 158 && regs->r[EVQ_RDI] == 0x1001) /* SET_GS */
        base = INS_LOC_GS_BASE;
    wetdbg_state_close(state);
    return base;
}

/* Whether a flow is the half of a cmov that did not happen. */
static bool is_other_half(const struct brute *b, wetdbg_time t, unsigned f)
{
    const struct fake_step *step = fake_step(b->wet, t);
    bool took = fake_slots(b->wet)[step->slot_off + step->info->mem_count];

    return step->info->flags & INS_IS_CMOV &&
           step->info->flows[f].kinds & (took ? INS_FLOW_NOT_TAKEN : INS_FLOW_TAKEN);
}

static void step_data(struct brute *b, wetdbg_time t, bool bypass)
{
    const struct ins_info *info = fake_step(b->wet, t)->info;
    int reg = -1;
    const uint32_t *before = bypass ? restored(b, t, &reg) : NULL;
    uint32_t kept[8];

    if (before)
        memcpy(kept, before, sizeof(kept));
    for (unsigned f = 0; f < info->flow_count; f++) {
        b->instances[t].uses[f] = b->uses.count;
        if (!is_other_half(b, t, f))
            use_flow(b, t, info, f);
    }
    for (unsigned f = info->flow_count; f <= INS_FLOW_MAX + 2; f++) {
        b->instances[t].uses[f] = b->uses.count;
        if (info->klass == INS_SYSCALL && f >= CALL_USES && f <= BUFFER_USES)
            use_call(b, t, f);
    }
    note_push(b, t);
    for (unsigned f = 0; f < info->flow_count; f++)
        if (!is_other_half(b, t, f))
            define_flow(b, t, info, f);
    if (before)
        memcpy(&b->now->regs[brute_gpr_place((unsigned)reg)], kept, sizeof(kept));
    unsigned base = info->klass == INS_SYSCALL ? segment_base_set(b, t) : INS_LOC_COUNT;
    if (base != INS_LOC_COUNT)
        define(b, (uint32_t)t, KERNEL_FLOW, false, REG_OTHERS + base, false);
}

/* The model must know where indirect jumps went before it is asked for controllers. */
static void teach_model(const struct brute *b)
{
    struct wetdbg *wet = b->wet;
    struct wetdbg_function from, to;

    for (wetdbg_time t = 1; t <= b->steps; t++) {
        if (!b->next[t])
            continue;
        uint64_t pc = fake_step(wet, t)->pc, next = fake_step(wet, b->next[t])->pc;
        if (fake_step(wet, t)->info->klass == INS_JMP_INDIRECT &&
            !wetdbg_function_at(wetdbg_get_model(wet), pc, &from) &&
            !wetdbg_function_at(wetdbg_get_model(wet), next, &to) && from.start == to.start)
            mdl_add_indirect_target(wetdbg_get_model(wet), pc, next);
    }
}

static struct brute *follow_run(struct wetdbg *wet, struct brute_criterion *criteria, size_t count,
                                bool bypass, bool no_exits)
{
    struct brute *b = calloc(1, sizeof(*b));
    size_t happening_count, h = 0;
    const struct fake_happening *happenings = fake_happenings(wet, &happening_count);

    b->wet = wet;
    b->no_exits = no_exits;
    b->steps = (uint32_t)wetdbg_get_info(wet)->instructions;
    b->instances = calloc((size_t)b->steps + 2, sizeof(*b->instances));
    b->first_defs = calloc((size_t)b->steps + 2, sizeof(*b->first_defs));
    find_next(b);
    teach_model(b);
    PUSH(b->defs, (struct def){0});
    PUSH(b->joins, 0);
    b->now = &b->threads[0];
    push_frame(b, UINT64_MAX, 0);
    for (wetdbg_time t = 1; t <= b->steps; t++) {
        b->now = &b->threads[fake_step(wet, t)->task];
        for (size_t i = 0; i < count; i++)
            if (criteria[i].time == t)
                take_picture(b, &criteria[i]);
        b->first_defs[t] = b->defs.count;
        b->instances[t].parent = control_parent(b, fake_step(wet, t)->pc);
        step_data(b, t, bypass);
        step_frames(b, t);
        for (; h < happening_count && happenings[h].time == t; h++)
            happen(b, &happenings[h]);
    }
    b->first_defs[b->steps + 1] = b->defs.count;
    if (count && criteria[count - 1].fault_pc) {
        b->has_fault = true;
        b->instances[b->steps + 1].parent = control_parent(b, criteria[count - 1].fault_pc);
        take_picture(b, &criteria[count - 1]);
    }
    return b;
}

struct brute *brute_new(struct wetdbg *wet, struct brute_criterion *criteria, size_t count,
                        bool bypass)
{
    return follow_run(wet, criteria, count, bypass, false);
}

struct brute *brute_new_no_exits(struct wetdbg *wet, struct brute_criterion *criteria, size_t count,
                                 bool bypass)
{
    return follow_run(wet, criteria, count, bypass, true);
}

void brute_free(struct brute *b)
{
    for (unsigned i = 0; i < FAKE_TASKS_MAX; i++) {
        b->now = &b->threads[i];
        while (b->now->frames.count)
            pop_frame(b);
        free(b->now->frames.at);
    }
    for (size_t i = 0; i < b->pictures.count; i++)
        free(b->pictures.at[i].uses.at);
    free(b->joins.at);
    free(b->first_defs);
    free(b->next);
    free(b->pictures.at);
    free(b->defs.at);
    free(b->uses.at);
    free(b->saves.at);
    free(b->edges.at);
    free(b->instances);
    for (size_t i = 0; i < b->queues.count; i++) {
        free(b->queues.at[i].defs.at);
        free(b->queues.at[i].messages.at);
    }
    free(b->queues.at);
    free(b->shown.at);
    free(b->memory.keys);
    free(b->memory.values);
    free(b->moved.keys);
    free(b->moved.values);
    free(b->saved.keys);
    free(b->saved.values);
    free(b);
}
