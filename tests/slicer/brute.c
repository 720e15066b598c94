/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/slicer/brute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/insn/insn_pick.h"
#include "tests/slicer/brute_calls.h"
#include "tests/slicer/vec.h"
#include "wet/model/make_model.h"

/* ---- a map from u64 to u32 ---- */

struct map {
    uint64_t *keys;
    uint32_t *values; /* 0: absent */
    size_t capacity, count; /* a capacity is 0 or a power of two */
};

static uint32_t *map_at(struct map *map, uint64_t key)
{
    if (map->count * 2 >= map->capacity) {
        struct map old = *map;
        map->capacity = old.capacity ? old.capacity * 2 : 1024;
        map->keys = calloc(map->capacity, 8);
        map->values = calloc(map->capacity, 4);
        map->count = 0;
        for (size_t i = 0; i < old.capacity; i++)
            if (old.values[i])
                *map_at(map, old.keys[i]) = old.values[i];
        free(old.keys);
        free(old.values);
    }
    size_t i = (key * 0x9e3779b97f4a7c15u >> 20) & (map->capacity - 1);
    while (map->values[i] && map->keys[i] != key)
        i = (i + 1) & (map->capacity - 1);
    if (!map->values[i]) {
        map->keys[i] = key;
        map->count++; /* every caller that asks may set it; an over-count does no harm */
    }
    return &map->values[i];
}

static uint32_t map_get(const struct map *map, uint64_t key)
{
    if (!map->capacity)
        return 0;
    size_t i = (key * 0x9e3779b97f4a7c15u >> 20) & (map->capacity - 1);
    while (map->values[i] && map->keys[i] != key)
        i = (i + 1) & (map->capacity - 1);
    return map->values[i];
}

/* ---- the graph ---- */

#define KERNEL_FLOW 7
#define CALL_USES   3 /* of a syscall instruction: what its result and what it wrote depend on */
#define SENT_USES   4 /* what it only passes on */
#define BUFFER_USES 5 /* where that lies */
#define SENT_FLOW   9 /* a byte that a call put into a file or a queue */
#define JOIN_FLOW   8 /* no instance: stands for the definitions in `joins` */

/* Register places: the bytes of general registers and of vectors, then what is not made of
 * bytes. */
#define REG_BYTES   64u /* of each register; general ones have 8 */
#define REG_OTHERS  (48u * REG_BYTES)
#define PLACE_COUNT (REG_OTHERS + INS_LOC_COUNT)

/* A place got a value. Memory places are addresses. */
struct def {
    uint64_t place;
    uint32_t time;
    uint32_t before; /* definition that may shine through, or 0 */
    uint32_t join;   /* JOIN_FLOW: first of its list in joins, which ends with 0 */
    uint32_t source; /* what the kernel passed on: definition of the byte before; 0: from outside */
    uint8_t flow;
    bool is_memory;
};

/* What a flow read. */
struct use {
    uint64_t place;
    uint32_t def; /* 0: initial */
    uint8_t edge;
    bool is_memory;
};

struct edge {
    uint32_t user, definition;
    uint8_t kind;
};

struct instance {
    size_t uses[INS_FLOW_MAX + 3]; /* first use of each flow */
    uint32_t parent;               /* control */
};

struct frame {
    uint64_t slot;
    uint32_t creator;
    bool is_signal;      /* what a handler returns to; slot is the ucontext */
    struct map branches; /* pc to its last time in this frame */
    uint32_t *kept;      /* of a signal: definitions of the registers before it */
};

struct thread {
    uint32_t regs[PLACE_COUNT];
    VEC(struct frame) frames;
};

/* What the kernel holds of an object: definitions of its bytes. */
struct queue {
    VEC(uint32_t) defs;
    VEC(size_t) messages; /* where each begins */
    size_t taken, next;
};

/* Memory that shows a file. */
struct shown {
    uint64_t address, size;
    uint32_t object;
    uint64_t offset;
};

struct picture {
    VEC(struct use) uses;
};

struct brute {
    struct wetdbg *wet;
    uint32_t steps;
    bool no_exits;        /* as the option of slices */
    VEC(struct def) defs; /* from 1 */
    VEC(struct use) uses;
    struct instance *instances; /* by time */
    struct thread threads[FAKE_TASKS_MAX];
    struct thread *now;       /* of the instruction or happening that is looked at */
    struct map memory;        /* by address, or what memory_key() says */
    VEC(struct queue) queues; /* by object */
    VEC(struct shown) shown;
    VEC(uint32_t) joins;
    size_t *first_defs; /* by time: how many definitions there were before it */
    uint32_t *next;   /* by time: of the thread's next one; 0 if none, or a handler came between */
    struct map moved; /* pc: see moved_bytes(), + 1, and 256 for a sign */
    struct map saved; /* time of a push of a callee-saved register: index into saves */
    VEC(uint32_t) saves; /* eight definitions each */
    VEC(struct picture) pictures;
    VEC(struct edge) edges;
};

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

static bool is_gpr(unsigned loc)
{
    return loc < INS_LOC_CF;
}

static bool is_vector(unsigned loc)
{
    return loc >= INS_LOC_VEC && loc < INS_LOC_K;
}

/* Places [*from, *to) that a location is. */
static void loc_places(unsigned loc, unsigned *from, unsigned *to)
{
    unsigned reg = 0;

    if (is_gpr(loc)) {
        gpr_piece(loc, from, to);
        reg = loc / 3;
    } else if (is_vector(loc)) {
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
static unsigned gpr_place(unsigned gpr)
{
    return gpr * REG_BYTES;
}

struct span {
    uint64_t address, size;
    bool down;
};

static struct span operand_span(const struct wetdbg *wet, wetdbg_time t, unsigned m)
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
    return map_get(&b->memory, memory_key(b, address));
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
                      .before = may ? last : 0};
    PUSH(b->defs, def);
    if (is_memory)
        *map_at(&b->memory, memory_key(b, place)) = (uint32_t)b->defs.count - 1;
    else
        b->now->regs[place] = (uint32_t)b->defs.count - 1;
}

static void use_regs(struct brute *b, const struct ins_regset *set, enum wetdbg_edge edge)
{
    for (unsigned l = 0; l < INS_LOC_COUNT; l++) {
        if (!ins_regset_has(set, l))
            continue;
        unsigned from, to;
        loc_places(l, &from, &to);
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
        bool is_half = place < gpr_place(16) && flow->halves >> place / REG_BYTES & 1;
        if (!is_half || place % REG_BYTES < 4)
            b->uses.at[kept++] = b->uses.at[i];
    }
    b->uses.count = kept;
}

/* What an instruction took that takes bytes by a mask or by indices. */
static bool pick_at(const struct wetdbg *wet, wetdbg_time t, struct ins_pick *pick)
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
    bool touches_memory = false;
    struct ins_regset set = {0};

    for (unsigned i = 0; i < (choice->to == INS_PLACE_MEMORY ? choice->bytes : 64u); i++) {
        bool is_written = pick->place[i] != INS_PLACE_KEPT;
        if (pick->place[i] < INS_PLACE_ZERO)
            use_place(b, operand, pick->place[i], pick->from[i], WETDBG_EDGE_VALUE);
        if (is_written && pick->chooser[i] != INS_PLACE_NONE)
            use_place(b, operand, choice->selector, pick->chooser[i], WETDBG_EDGE_CONDITION);
        touches_memory |=
            pick->place[i] == INS_PLACE_MEMORY || (choice->to == INS_PLACE_MEMORY && is_written) ||
            (choice->selector == INS_PLACE_MEMORY && pick->chooser[i] != INS_PLACE_NONE);
        if (is_written && pick->masked >> i & 1)
            ins_regset_add(&set, INS_LOC_K + choice->mask);
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

    if (pick_at(b->wet, t, &pick)) {
        use_pick(b, t, info, &pick);
        return;
    }
    use_values(b, flow);
    use_regs(b, &flow->cond_uses, WETDBG_EDGE_CONDITION);
    for (unsigned m = 0; m < info->mem_count; m++) {
        if (flow->mem_uses >> m & 1) {
            struct span span = operand_span(b->wet, t, m);
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
        loc_places(l, &from, &to);
        for (unsigned p = from; p < to; p++)
            define(b, (uint32_t)t, f, false, p, !must);
    }
    for (unsigned m = 0; m < info->mem_count; m++) {
        if (!((flow->mem_defs | flow->mem_may_defs) >> m & 1))
            continue;
        struct span span = operand_span(b->wet, t, m);
        struct ins_pick pick;
        bool is_pick = pick_at(b->wet, t, &pick);
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
        *slot = operand_span(wet, t, m).address;
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
    *map_at(&b->saved, t) = (uint32_t)b->saves.count + 1;
    for (unsigned p = 0; p < 8; p++)
        PUSH(b->saves, b->now->regs[gpr_place((unsigned)reg) + p]);
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
    if (!map_get(&b->saved, push) ||
        stack_copy(b->wet, push, true, &push_flow, &push_slot) != *reg || push_slot != slot)
        return NULL;
    return b->saves.at + map_get(&b->saved, push) - 1;
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
        uint32_t at = map_get(&top(b)->branches, branches[i]);
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
        *map_at(&top(b)->branches, step->pc) = (uint32_t)t;
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
        child->regs[gpr_place(INS_RSP) + p] = h->clone_args ? join_memory(b, h->clone_args + 40, 16)
                                                            : parent->regs[gpr_place(INS_RSI) + p];
    if (h->tls_is_given)
        child->regs[REG_OTHERS + INS_LOC_FS_BASE] = h->clone_args
                                                        ? join_memory(b, h->clone_args + 56, 8)
                                                        : join(b, &parent->regs[gpr_place(8)], 8);
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
        *map_at(&b->memory, memory_key(b, h->address + i)) = 0;
    for (unsigned i = 0; i < 16 * 8; i++)
        *map_at(&b->memory, memory_key(b, ucontext + 40 + i)) =
            thread->regs[gpr_place(ucontext_gprs[i / 8]) + i % 8];
    push_frame(b, ucontext, cause);
    top(b)->is_signal = true;
    top(b)->kept = malloc(sizeof(thread->regs));
    memcpy(top(b)->kept, thread->regs, sizeof(thread->regs));
    push_frame(b, h->address, cause);
    for (unsigned i = 0; i < sizeof(given) * 8; i++)
        thread->regs[gpr_place(given[i / 8]) + i % 8] = 0;
    for (unsigned l = INS_LOC_DF; l < INS_LOC_FS_BASE; l++) {
        unsigned from, to;
        loc_places(l, &from, &to);
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
            thread->regs[gpr_place(ucontext_gprs[i]) + p] =
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
        return map_get(&b->memory, FILE_KEY(end->object, end->offset + i));
    const struct queue *queue = queue_of(b, end->object);
    return queue->taken + i < queue->defs.count ? queue->defs.at[queue->taken + i] : 0;
}

static void put_byte(struct brute *b, const struct fake_end *end, uint64_t i, uint32_t def)
{
    if (fake_object(b->wet, end->object)->is_queue)
        PUSH(queue_of(b, end->object)->defs, def);
    else
        *map_at(&b->memory, FILE_KEY(end->object, end->offset + i)) = def;
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

/* The mapping's bytes are the call's, as FAKE_WRITE has it, and the file's. */
static void shown(struct brute *b, const struct fake_happening *h)
{
    taken(b, h);
    for (uint64_t i = 0; i < h->size; i++)
        *map_at(&b->memory, FILE_KEY(h->from.object, h->from.offset + i)) =
            map_get(&b->memory, h->address + i);
    struct shown shown = {h->address, h->size, h->from.object, h->from.offset};
    PUSH(b->shown, shown);
}

/* Whole mappings go. */
static void hidden(struct brute *b, const struct fake_happening *h)
{
    size_t kept = 0;

    for (size_t i = 0; i < b->shown.count; i++)
        if (b->shown.at[i].address - h->address >= h->size)
            b->shown.at[kept++] = b->shown.at[i];
    b->shown.count = kept;
}

static void cut(struct brute *b, const struct fake_happening *h)
{
    for (size_t i = 0; i < b->memory.capacity && h->to.object != UINT32_MAX; i++)
        if (b->memory.values[i] && b->memory.keys[i] >> 44 == FILE_KEY(h->to.object, 0) >> 44 &&
            b->memory.keys[i] >= FILE_KEY(h->to.object, h->to.offset))
            *map_at(&b->memory, b->memory.keys[i]) = 0;
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
        loc_places(l, &from, &to);
        for (unsigned p = from; p < to && ins_regset_has(&criterion->regs, l); p++) {
            struct use use = {p, b->now->regs[p], WETDBG_EDGE_VALUE, false};
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
        memcpy(&b->now->regs[gpr_place((unsigned)reg)], kept, sizeof(kept));
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

/* ---- reachability ---- */

struct search {
    struct brute *b;
    enum wetdbg_slice_kinds kinds;
    uint8_t *defs;      /* bit 0: reached */
    uint8_t *instances; /* bit 0: in the slice, bit 1: branch flows done */
    VEC(uint32_t) todo; /* definitions */
    VEC(uint32_t) members;
};

static bool follows(const struct search *s, enum wetdbg_edge edge)
{
    if (s->kinds == WETDBG_SLICE_CONTROL)
        return edge == WETDBG_EDGE_CONTROL;
    if (edge == WETDBG_EDGE_ADDRESS)
        return s->kinds != WETDBG_SLICE_THIN;
    return edge != WETDBG_EDGE_CONTROL || s->kinds == WETDBG_SLICE_FULL;
}

static void add_edge(struct search *s, wetdbg_time user, wetdbg_time definition,
                     enum wetdbg_edge kind)
{
    struct edge edge = {(uint32_t)user, (uint32_t)definition, (uint8_t)kind};
    PUSH(s->b->edges, edge);
}

static void reach_instance(struct search *s, uint32_t t);

static void reach_use(struct search *s, wetdbg_time user, const struct use *use)
{
    if (!follows(s, (enum wetdbg_edge)use->edge))
        return;
    for (uint32_t d = use->def; d; d = s->b->defs.at[d].before) {
        if (s->b->defs.at[d].flow == JOIN_FLOW) {
            for (uint32_t i = s->b->defs.at[d].join; s->b->joins.at[i]; i++) {
                struct use one = {use->place, s->b->joins.at[i], use->edge, use->is_memory};
                reach_use(s, user, &one);
            }
            return;
        }
        const struct def *def = &s->b->defs.at[d];
        unsigned kinds = 0;
        if (def->flow != KERNEL_FLOW && def->flow != SENT_FLOW)
            kinds = fake_step(s->b->wet, def->time)->info->flows[def->flow].kinds;
        if (!def->is_memory && (kinds & INS_FLOW_STACK || (kinds & INS_FLOW_STACK_ADDRESS &&
                                                           use->edge == WETDBG_EDGE_ADDRESS)))
            continue;
        add_edge(s, user, def->time, (enum wetdbg_edge)use->edge);
        if (!s->defs[d]) {
            s->defs[d] = 1;
            PUSH(s->todo, d);
        }
        reach_instance(s, def->time);
    }
}

static void reach_flow(struct search *s, uint32_t t, unsigned f)
{
    const struct instance *in = &s->b->instances[t];
    for (size_t u = in->uses[f]; u < in->uses[f + 1]; u++)
        reach_use(s, t, &s->b->uses.at[u]);
}

static void reach_branch(struct search *s, uint32_t t)
{
    const struct ins_info *info = fake_step(s->b->wet, t)->info;

    if (s->instances[t] & 2)
        return;
    s->instances[t] |= 2;
    reach_instance(s, t);
    for (unsigned f = 0; f < info->flow_count && s->kinds != WETDBG_SLICE_CONTROL; f++)
        if (info->flows[f].kinds & INS_FLOW_BRANCH)
            reach_flow(s, t, f);
}

static void reach_instance(struct search *s, uint32_t t)
{
    if (s->instances[t] & 1)
        return;
    s->instances[t] |= 1;
    PUSH(s->members, t);
}

static bool is_sign_copy(const struct ins_flow *flow)
{
    return flow->kinds & INS_FLOW_SIGN_COPY;
}

static bool is_reversed_copy(const struct ins_flow *flow)
{
    return flow->kinds & INS_FLOW_REVERSED_COPY;
}

static bool is_plain_copy(const struct ins_flow *flow)
{
    if (!(flow->kinds & INS_FLOW_COPY) && !is_sign_copy(flow) && !is_reversed_copy(flow))
        return false;
    for (unsigned l = 0; l < INS_LOC_COUNT; l++)
        if ((ins_regset_has(&flow->value_uses, l) || ins_regset_has(&flow->defs, l) ||
             ins_regset_has(&flow->may_defs, l)) &&
            !is_gpr(l) && !is_vector(l))
            return false;
    return true;
}

/* The first place of the register pieces of a set. */
static unsigned first_place(const struct ins_regset *a, const struct ins_regset *b)
{
    unsigned first = 0, from, to;

    while (!ins_regset_has(a, first) && !ins_regset_has(b, first))
        first++;
    loc_places(first, &from, &to);
    return from;
}

/* How many bytes of a register an instruction moves, and whether it extends their sign. */
static unsigned moved_bytes(const struct search *s, wetdbg_time t, bool *is_sign)
{
    const struct fake_step *step = fake_step(s->b->wet, t);
    uint32_t *known = map_at(&s->b->moved, step->pc);
    uint8_t code[16];
    struct wetdbg_state *state;
    unsigned count = 0;

    if (*known) {
        *is_sign = *known >> 8;
        return (*known & 255) - 1;
    }
    if (wetdbg_state_open(s->b->wet, t, &state))
        abort();
    while (count < step->info->length &&
           wetdbg_state_read(state, step->pc + count, &code[count], 1) == 0)
        count++;
    wetdbg_state_close(state);
    unsigned moved = ins_moved_bytes(code, count, is_sign);
    *known = (moved + 1) | (uint32_t)*is_sign << 8;
    return moved;
}

/* Whether byte `at` of the destination (counted from its start) is that byte of the source. */
static bool is_source_byte(const struct search *s, const struct def *def, const struct use *use)
{
    const struct ins_info *info = fake_step(s->b->wet, def->time)->info;
    const struct ins_flow *flow = &info->flows[def->flow];
    uint64_t to, from, size = 8;
    bool is_sign = false;

    if (def->is_memory) {
        unsigned m = (unsigned)__builtin_ctz((unsigned)(flow->mem_defs | flow->mem_may_defs));
        struct span span = operand_span(s->b->wet, def->time, m);
        to = def->place - span.address;
        if (info->mems[m].flags & INS_MEM_REP && !flow->mem_uses)
            to %= info->mems[m].size_bytes;
    } else {
        to = def->place - first_place(&flow->defs, &flow->may_defs);
    }
    if (use->is_memory) {
        struct span span =
            operand_span(s->b->wet, def->time, (unsigned)__builtin_ctz(flow->mem_uses));
        from = use->place - span.address;
        size = span.size;
        if (is_sign_copy(flow))
            moved_bytes(s, def->time, &is_sign);
    } else {
        from = use->place - first_place(&flow->value_uses, &flow->value_uses);
        size = REG_BYTES;
        if (use->place < gpr_place(16))
            size = moved_bytes(s, def->time, &is_sign);
    }
    if (size && to >= size)
        return is_sign && from == size - 1;
    return is_reversed_copy(flow) ? from + to == size - 1 : from == to;
}

/* Whether a use is of what a byte of a pick's destination was taken from, or of what chose it. */
static bool is_picked(const struct search *s, const struct def *def, const struct use *use)
{
    const struct fake_step *step = fake_step(s->b->wet, def->time);
    const struct ins_choice *choice = &step->info->choice;
    uint64_t first = fake_slots(s->b->wet)[step->slot_off];
    uint64_t to = def->is_memory ? def->place - first : def->place % REG_BYTES;
    struct ins_pick pick;

    pick_at(s->b->wet, def->time, &pick);
    bool takes_memory = pick.place[to] == INS_PLACE_MEMORY;
    bool is_chosen = pick.chooser[to] != INS_PLACE_NONE;
    bool asks_memory = is_chosen && choice->selector == INS_PLACE_MEMORY;
    if (use->edge == WETDBG_EDGE_ADDRESS)
        return takes_memory || asks_memory || def->is_memory;
    if (use->is_memory)
        return (takes_memory && use->place == first + pick.from[to]) ||
               (asks_memory && use->place == first + pick.chooser[to]);
    if (use->place >= REG_OTHERS)
        return pick.masked >> to & 1;
    unsigned vector = (unsigned)(use->place / REG_BYTES) - 16, byte = use->place % REG_BYTES;
    if (use->place < gpr_place(16))
        return false;
    if (use->edge == WETDBG_EDGE_CONDITION)
        return is_chosen && vector == choice->selector && byte == pick.chooser[to];
    return vector == pick.place[to] && byte == pick.from[to];
}

/* rep movs, element after element, as the processor does it: where byte `at` came from. */
static uint64_t moved_from(const struct search *s, const struct def *def)
{
    const struct ins_info *info = fake_step(s->b->wet, def->time)->info;
    struct span to = operand_span(s->b->wet, def->time, 0);
    struct span from = operand_span(s->b->wet, def->time, 1);
    uint64_t size = info->mems[0].size_bytes, count = to.size / size;
    struct map origin = {0}; /* byte of the destination: where it came from, + 1 by offset */
    uint64_t result = 0;
    uint64_t *sources = calloc(to.size, sizeof(*sources));

    for (uint64_t e = 0; e < count; e++) {
        uint64_t base = (to.down ? count - 1 - e : e) * size;
        uint64_t read[8];
        for (uint64_t i = 0; i < size; i++) {
            uint64_t at = from.address + base + i;
            uint32_t earlier = map_get(&origin, at);
            read[i] = earlier ? sources[earlier - 1] : at;
        }
        for (uint64_t i = 0; i < size; i++) {
            sources[base + i] = read[i];
            *map_at(&origin, to.address + base + i) = (uint32_t)(base + i) + 1;
        }
    }
    result = sources[def->place - to.address];
    free(sources);
    free(origin.keys);
    free(origin.values);
    return result;
}

static void reach_def(struct search *s, uint32_t d)
{
    const struct def def = s->b->defs.at[d];
    const struct instance *in = &s->b->instances[def.time];

    bool is_call = fake_step(s->b->wet, def.time)->info->klass == INS_SYSCALL;
    if (is_call && (def.flow == KERNEL_FLOW || def.flow == SENT_FLOW || def.flow == 0))
        reach_flow(s, def.time, CALL_USES);
    if (def.flow == SENT_FLOW)
        reach_flow(s, def.time, BUFFER_USES);
    if (def.source) {
        const struct use passed = {def.place, def.source, WETDBG_EDGE_VALUE, true};
        reach_use(s, def.time, &passed);
    }
    if (def.flow == KERNEL_FLOW || is_call)
        return;
    const struct ins_info *info = fake_step(s->b->wet, def.time)->info;
    const struct ins_flow *flow = &info->flows[def.flow];
    bool copies = is_plain_copy(flow);
    bool moves = copies && def.is_memory && flow->mem_uses && info->flags & INS_IS_REP;
    uint64_t source = moves ? moved_from(s, &def) : 0;
    for (size_t u = in->uses[def.flow]; u < in->uses[def.flow + 1]; u++) {
        const struct use use = s->b->uses.at[u];
        if (ins_is_pick(info) && !is_picked(s, &def, &use))
            continue;
        if (use.edge == WETDBG_EDGE_VALUE && copies &&
            (moves ? use.place != source : !is_source_byte(s, &def, &use)))
            continue;
        reach_use(s, def.time, &use);
    }
}

static void reach_all(struct search *s)
{
    size_t member = 0;

    for (;;) {
        if (s->todo.count) {
            reach_def(s, s->todo.at[--s->todo.count]);
            continue;
        }
        if (member == s->members.count)
            return;
        uint32_t t = s->members.at[member++];
        uint32_t parent = s->b->instances[t].parent;
        if (follows(s, WETDBG_EDGE_CONTROL) && parent) {
            add_edge(s, t, parent, WETDBG_EDGE_CONTROL);
            reach_branch(s, parent);
        }
    }
}

static int by_user(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->user != y->user)
        return x->user < y->user ? -1 : 1;
    if (x->definition != y->definition)
        return x->definition < y->definition ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

static size_t first_edge(const struct brute *b, uint32_t user)
{
    size_t low = 0, high = b->edges.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (b->edges.at[middle].user < user)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t *distances(struct brute *b, wetdbg_time from)
{
    uint32_t *distance = malloc(((size_t)b->steps + 2) * sizeof(*distance));
    VEC(uint32_t) queue = {0};

    memset(distance, 0xff, ((size_t)b->steps + 2) * sizeof(*distance));
    if (b->edges.count)
        qsort(b->edges.at, b->edges.count, sizeof(*b->edges.at), by_user);
    distance[from] = 0;
    PUSH(queue, (uint32_t)from);
    for (size_t i = 0; i < queue.count; i++) {
        uint32_t user = queue.at[i];
        for (size_t e = first_edge(b, user); e < b->edges.count && b->edges.at[e].user == user;
             e++) {
            uint32_t to = b->edges.at[e].definition;
            if (distance[to] != UINT32_MAX)
                continue;
            distance[to] = distance[user] + 1;
            PUSH(queue, to);
        }
    }
    free(queue.at);
    return distance;
}

static void reach_all_flows(struct search *s, uint32_t t)
{
    const struct ins_info *info = fake_step(s->b->wet, t)->info;
    bool is_call = info->klass == INS_SYSCALL;

    for (unsigned f = is_call; f < (is_call ? SENT_USES + 1u : info->flow_count); f++)
        reach_flow(s, t, f);
    for (size_t d = is_call ? s->b->first_defs[t] : s->b->defs.count; d < s->b->defs.count; d++) {
        const struct def *def = &s->b->defs.at[d];
        const struct use passed = {def->place, def->source, WETDBG_EDGE_VALUE, true};
        if (def->time == t && def->flow != JOIN_FLOW && def->source)
            reach_use(s, t, &passed);
    }
}

uint32_t *brute_slice(struct brute *b, const struct brute_criterion *criterion,
                      enum wetdbg_slice_kinds kinds)
{
    struct search s = {.b = b, .kinds = kinds};
    uint32_t t = (uint32_t)criterion->time;
    const struct picture *picture = &b->pictures.at[criterion->picture];

    s.defs = calloc(b->defs.count, 1);
    s.instances = calloc((size_t)b->steps + 2, 1);
    b->edges.count = 0;
    reach_instance(&s, t);
    for (size_t i = 0; i < picture->uses.count; i++)
        reach_use(&s, t, &picture->uses.at[i]);
    if (picture->uses.count == 0)
        reach_all_flows(&s, t);
    reach_all(&s);
    free(s.defs);
    free(s.instances);
    free(s.todo.at);
    free(s.members.at);
    return distances(b, t);
}

bool brute_has_edge(const struct brute *b, wetdbg_time user, wetdbg_time definition,
                    enum wetdbg_edge kind)
{
    for (size_t e = first_edge(b, (uint32_t)user);
         e < b->edges.count && b->edges.at[e].user == user; e++)
        if (b->edges.at[e].definition == definition && b->edges.at[e].kind == kind)
            return true;
    return false;
}

/* ---- forward: what depends on a source ---- */

struct spread {
    struct search search; /* for kinds, and where bytes of copies come from */
    uint8_t *defs;        /* 1: the definition depends on the source */
    uint8_t *parents;     /* 1: what the instance lets run does */
    uint32_t *distance;   /* of instances */
    wetdbg_time source;
    uint32_t before; /* the last definition before the source, on which none up to it depends */
    const struct picture *picture; /* places of the source; NULL: the instance */
};

static bool is_of_picture(const struct spread *s, wetdbg_time user, const struct use *use)
{
    for (size_t i = 0; s->picture && user >= s->source && i < s->picture->uses.count; i++)
        if (s->picture->uses.at[i].def == use->def && s->picture->uses.at[i].place == use->place &&
            s->picture->uses.at[i].is_memory == use->is_memory)
            return true;
    return false;
}

static bool is_lost_stack(const struct spread *s, const struct def *def, const struct use *use)
{
    unsigned kinds = 0;

    if (def->flow != KERNEL_FLOW && def->flow != SENT_FLOW)
        kinds = fake_step(s->search.b->wet, def->time)->info->flows[def->flow].kinds;
    return !def->is_memory && (kinds & INS_FLOW_STACK || (kinds & INS_FLOW_STACK_ADDRESS &&
                                                          use->edge == WETDBG_EDGE_ADDRESS));
}

/* Whether what a use of `user` reads depends on the source; keeps the least distance. */
static bool spreads(struct spread *s, wetdbg_time user, const struct use *use)
{
    struct brute *b = s->search.b;
    bool found = false;

    if (!follows(&s->search, (enum wetdbg_edge)use->edge))
        return false;
    if (is_of_picture(s, user, use)) {
        found = true;
        if (s->distance[user] > 1)
            s->distance[user] = 1;
    }
    for (uint32_t d = use->def; d > s->before; d = b->defs.at[d].before) {
        const struct def *def = &b->defs.at[d];
        if (def->flow == JOIN_FLOW) {
            for (uint32_t i = def->join; b->joins.at[i]; i++) {
                struct use one = {use->place, b->joins.at[i], use->edge, use->is_memory};
                found |= spreads(s, user, &one);
            }
            return found;
        }
        if (!s->defs[d] || is_lost_stack(s, def, use))
            continue;
        found = true;
        if (s->distance[def->time] + 1 < s->distance[user])
            s->distance[user] = s->distance[def->time] + 1;
        add_edge(&s->search, user, def->time, (enum wetdbg_edge)use->edge);
    }
    return found;
}

static bool flow_spreads(struct spread *s, uint32_t t, unsigned f)
{
    const struct instance *in = &s->search.b->instances[t];
    bool found = false;

    for (size_t u = in->uses[f]; u < in->uses[f + 1]; u++)
        found |= spreads(s, t, &s->search.b->uses.at[u]);
    return found;
}

static bool is_let(struct spread *s, uint32_t t)
{
    uint32_t parent = s->search.b->instances[t].parent;

    return follows(&s->search, WETDBG_EDGE_CONTROL) && parent && s->parents[parent];
}

static void spread_instance(struct spread *s, uint32_t t)
{
    const struct ins_info *info = fake_step(s->search.b->wet, t)->info;
    bool is_call = info->klass == INS_SYSCALL, is_source = !s->picture && t == s->source;

    s->parents[t] = is_source;
    for (unsigned f = is_call; f < (is_call ? SENT_USES + 1u : info->flow_count); f++) {
        bool found = flow_spreads(s, t, f);
        if (found && f < info->flow_count && info->flows[f].kinds & INS_FLOW_BRANCH)
            s->parents[t] = 1;
    }
    if (is_let(s, t)) {
        uint32_t parent = s->search.b->instances[t].parent;
        s->parents[t] = 1;
        if (s->distance[parent] + 1 < s->distance[t])
            s->distance[t] = s->distance[parent] + 1;
        add_edge(&s->search, t, parent, WETDBG_EDGE_CONTROL);
    }
    if (is_source)
        s->distance[t] = 0;
    if (!follows(&s->search, WETDBG_EDGE_CONTROL))
        s->parents[t] = 0;
}

static bool def_spreads(struct spread *s, uint32_t d)
{
    struct brute *b = s->search.b;
    const struct def def = b->defs.at[d];
    const struct instance *in = &b->instances[def.time];

    if (def.flow == JOIN_FLOW)
        return false; /* looked through by whoever uses it */
    bool found = false;
    if (def.source) {
        const struct use passed = {def.place, def.source, WETDBG_EDGE_VALUE, true};
        found = spreads(s, def.time, &passed);
    }
    if ((!s->picture && def.time == s->source) || is_let(s, def.time))
        return true;
    bool is_call = fake_step(b->wet, def.time)->info->klass == INS_SYSCALL;
    if (is_call && (def.flow == KERNEL_FLOW || def.flow == SENT_FLOW || def.flow == 0))
        found |= flow_spreads(s, def.time, CALL_USES);
    if (def.flow == SENT_FLOW)
        found |= flow_spreads(s, def.time, BUFFER_USES);
    if (def.flow == KERNEL_FLOW || is_call)
        return found;
    const struct ins_info *info = fake_step(b->wet, def.time)->info;
    const struct ins_flow *flow = &info->flows[def.flow];
    bool copies = is_plain_copy(flow);
    bool moves = copies && def.is_memory && flow->mem_uses && info->flags & INS_IS_REP;
    uint64_t source = moves ? moved_from(&s->search, &def) : 0;
    for (size_t u = in->uses[def.flow]; u < in->uses[def.flow + 1]; u++) {
        const struct use use = b->uses.at[u];
        if (ins_is_pick(info) && !is_picked(&s->search, &def, &use))
            continue;
        if (use.edge == WETDBG_EDGE_VALUE && copies &&
            (moves ? use.place != source : !is_source_byte(&s->search, &def, &use)))
            continue;
        found |= spreads(s, def.time, &use);
    }
    return found;
}

uint32_t *brute_forward(struct brute *b, const struct brute_criterion *source,
                        enum wetdbg_slice_kinds kinds)
{
    const struct picture *picture = &b->pictures.at[source->picture];
    struct spread s = {.search = {.b = b, .kinds = kinds},
                       .source = source->time,
                       .before = (uint32_t)b->first_defs[source->time] - 1,
                       .picture = picture->uses.count ? picture : NULL};

    b->edges.count = 0;
    s.defs = calloc(b->defs.count, 1);
    s.parents = calloc((size_t)b->steps + 2, 1);
    s.distance = malloc(((size_t)b->steps + 2) * sizeof(*s.distance));
    memset(s.distance, 0xff, ((size_t)b->steps + 2) * sizeof(*s.distance));
    for (uint32_t t = (uint32_t)source->time; t <= b->steps; t++) {
        spread_instance(&s, t);
        for (size_t d = b->first_defs[t]; d < b->first_defs[t + 1]; d++)
            if (b->defs.at[d].flow != JOIN_FLOW)
                s.defs[d] = (b->defs.at[d].time >= source->time || b->defs.at[d].source) &&
                            def_spreads(&s, (uint32_t)d);
    }
    if (b->edges.count)
        qsort(b->edges.at, b->edges.count, sizeof(*b->edges.at), by_user);
    free(s.defs);
    free(s.parents);
    return s.distance;
}
