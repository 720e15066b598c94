/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slc_follow() over compiled instructions, where nobody asks which user wanted a place: the same
 * three steps on bit sets.
 */
#include "slicer/fast.h"

#include <errno.h>

#define WORDS(op) ((op)->flags & SLC_OP_NARROW ? 1u : 4u)

struct hit {
    unsigned ways;         /* bit f: flow f is followed */
    uint64_t store;        /* wanted bytes of the store */
    struct slc_page *page; /* that holds them */
};

/* Up to five pieces from location `base` on. */
static inline unsigned pieces_at(const uint64_t *bits, unsigned base)
{
    unsigned word = base / 64, shift = base % 64;
    uint64_t value = bits[word] >> shift;

    if (shift > 59 && word < 3)
        value |= bits[word + 1] << (64 - shift);
    return (unsigned)value & 31;
}

static inline void add_pieces(struct ins_regset *set, unsigned base, uint64_t pieces)
{
    unsigned word = base / 64, shift = base % 64;

    set->bits[word] |= pieces << shift;
    if (shift > 59 && word < 3)
        set->bits[word + 1] |= pieces >> (64 - shift);
}

/* ---- step 1 ---- */

/* Wanted bytes of a store; saved registers that end here are given back. */
static inline int hit_store(struct slc_scan *scan, struct slc_task *task,
                            const struct wet_exec *exec, const struct slc_op *op, uint64_t address,
                            struct hit *hit)
{
    struct slc_memory *memory = &scan->memory;
    unsigned off = address % 64, size = op->store_bytes;

    hit->page = slc_memory_look(memory, address);
    if (!hit->page)
        return 0;
    unsigned group = address % SLC_PAGE_BYTES / 64;
    if (slc_page_slots(hit->page, group)) {
        if (scan->draft)
            scan->draft->is_void = true;
        int error = slc_bypass_write(&scan->bypass, memory, &task->regs, exec->task, op->pushed,
                                     address, size);
        if (error)
            return error;
    }
    hit->store = hit->page->bytes[group] >> off & (UINT64_MAX >> (64 - size));
    return 0;
}

static inline unsigned hit_ways(const struct slc_op *op, const struct slc_regs *regs,
                                const struct hit *hit, bool is_control)
{
    unsigned ways = 0, words = WORDS(op);

    for (unsigned f = 0; f < op->way_count; f++) {
        const struct slc_way *way = &op->ways[f];
        uint64_t found = 0;
        for (unsigned i = 0; i < words; i++)
            found |= (regs->value.bits[i] & way->word[i].value_hits) |
                     (regs->address.bits[i] & way->word[i].address_hits);
        if (found || (hit->store && way->has_store) || (is_control && way->is_branch))
            ways |= 1u << f;
    }
    return ways;
}

/* ---- step 3 ---- */

/* The statement whose instance is followed. */
struct place {
    const uint64_t *slots; /* of the execution */
    uint32_t statement;
};

static inline int want_operand(struct slc_scan *scan, const struct place *place, unsigned slot,
                               uint64_t mask)
{
    if (scan->draft && mask)
        slc_draft_step(scan->draft, place->statement, slot, mask, false);
    return slc_memory_add_bytes(&scan->memory, place->slots[slot], mask);
}

static int want_loads(struct slc_scan *scan, const struct slc_op *op, const struct slc_way *way,
                      const struct place *place)
{
    int error = 0;

    for (unsigned m = 0; way->loads >> m && !error; m++)
        if (way->loads >> m & 1)
            error = want_operand(scan, place, op->slot + m, UINT64_MAX >> (64 - op->load_bytes[m]));
    return error;
}

/* `wanted` pieces of the destination register (before they were dropped), or the store's bytes. */
static int want_copied(struct slc_scan *scan, struct slc_regs *regs, const struct slc_op *op,
                       const struct slc_way *way, const struct place *place, unsigned wanted,
                       uint64_t stored)
{
    uint64_t mask = 0;

    switch (way->copy) {
    case SLC_COPY_REG_REG:
        for (unsigned p = 0; wanted >> p; p++)
            if (wanted >> p & 1)
                mask |= way->pieces[p];
        add_pieces(&regs->value, way->from, mask);
        return 0;
    case SLC_COPY_MEM_REG:
        for (unsigned p = 0; wanted >> p; p++)
            if (wanted >> p & 1)
                mask |= way->bytes[p];
        return want_operand(scan, place, op->slot + way->operand, mask);
    case SLC_COPY_REG_MEM:
        for (unsigned p = 0; p < 5; p++)
            mask |= (uint64_t)((stored & way->bytes[p]) != 0) << p;
        add_pieces(&regs->value, way->from, mask);
        return 0;
    default:
        return want_operand(scan, place, op->slot + way->operand, stored & way->bytes[0]);
    }
}

/* Pieces of a copy's destination that are wanted from it. */
static inline unsigned copied_pieces(const struct slc_way *way, const struct slc_regs *regs)
{
    unsigned pieces = 0;

    if (way->copy != SLC_COPY_REG_REG && way->copy != SLC_COPY_MEM_REG)
        return 0;
    struct ins_regset hits;
    for (unsigned i = 0; i < 4; i++)
        hits.bits[i] = (regs->value.bits[i] & way->word[i].value_hits) |
                       (regs->address.bits[i] & way->word[i].address_hits);
    pieces = pieces_at(hits.bits, way->to);
    return pieces;
}

/* ---- members ---- */

static inline int count_member(struct slc_scan *scan, const struct slc_op *op, uint32_t s,
                               wet_time time)
{
    uint64_t off = time - scan->interval->first_time;
    int error = 0;

    if (!scan->bits && (error = slc_slice_make_bits(scan->slice, scan->interval, &scan->bits)))
        return error;
    scan->bits[off / 64] |= UINT64_C(1) << (off % 64);
    slc_code_tally(scan->code, op->pc_index, 1, time, time, SLC_DISTANCE_UNKNOWN);
    if (scan->draft)
        scan->draft->members |= UINT64_C(1) << s;
    return 0;
}

static void draft_class(struct slc_draft *draft, uint32_t klass)
{
    for (unsigned i = 0; i < draft->class_count; i++)
        if (draft->classes[i] == klass)
            return;
    if (draft->class_count == SLC_MEMO_CLASS_MAX)
        draft->is_void = true;
    else
        draft->classes[draft->class_count++] = klass;
}

static int request_control(struct slc_scan *scan, struct slc_task *task, struct slc_op *op)
{
    struct slc_want want = {.distance = 1, .edge = SLC_EDGE_CONTROL, .location = INS_LOC_COUNT};

    if (op->klass == SLC_UNKNOWN) {
        op->klass = slc_code_class(scan->code, op->pc_index);
        if (op->klass == SLC_UNKNOWN)
            return -ENOMEM;
    }
    if (scan->draft)
        draft_class(scan->draft, op->klass);
    if (slc_frames_top(&task->frames)->last_klass == op->klass)
        return 0;
    return slc_frames_request(&task->frames, scan->code->classes, op->klass, &want);
}

static inline void drop_defined(struct slc_scan *scan, struct slc_regs *regs,
                                const struct slc_op *op, uint64_t address, const struct hit *hit)
{
    unsigned words = WORDS(op);

    for (unsigned i = 0; i < words; i++) {
        regs->value.bits[i] &= ~op->word[i].defines;
        regs->address.bits[i] &= ~op->word[i].defines;
    }
    if (hit->store) {
        uint64_t *word = &hit->page->bytes[address % SLC_PAGE_BYTES / 64];
        *word &= ~(hit->store << (address % 64));
        scan->memory.word_count -= *word == 0;
    }
}

static int follow(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                  uint32_t s, struct slc_op *op, struct hit *hit, bool is_control)
{
    const struct place place = {scan->interval->slots + exec->slot_off, s};
    struct slc_regs *regs = &task->regs;
    unsigned words = WORDS(op), wanted[INS_FLOW_MAX] = {0};
    int error = 0;

    hit->ways = hit_ways(op, regs, hit, is_control);
    for (unsigned f = 0; hit->ways >> f; f++)
        if (hit->ways >> f & 1)
            wanted[f] = copied_pieces(&op->ways[f], regs);
    drop_defined(scan, regs, op, op->flags & SLC_OP_STORE ? place.slots[op->store_slot] : 0, hit);
    if (hit->store && scan->draft)
        slc_draft_step(scan->draft, s, op->store_slot, hit->store, true);
    if (!hit->ways && !is_control)
        return 0;
    error = count_member(scan, op, s, scan->interval->first_time + exec->time_off + s);
    for (unsigned f = 0; hit->ways >> f && scan->follows_data && !error; f++) {
        const struct slc_way *way = &op->ways[f];
        if (!(hit->ways >> f & 1))
            continue;
        for (unsigned i = 0; i < words; i++) {
            regs->value.bits[i] |= way->word[i].uses;
            regs->address.bits[i] |= way->word[i].address_uses;
        }
        error = way->copy ? want_copied(scan, regs, op, way, &place, wanted[f], hit->store)
                          : want_loads(scan, op, way, &place);
    }
    return error || !scan->follows_control ? error : request_control(scan, task, op);
}

static inline bool touches(const struct slc_op *op, const struct slc_regs *regs)
{
    uint64_t found = (regs->value.bits[0] | regs->address.bits[0]) & op->word[0].touches;

    if (!(op->flags & SLC_OP_NARROW))
        for (unsigned i = 1; i < 4; i++)
            found |= (regs->value.bits[i] | regs->address.bits[i]) & op->word[i].touches;
    return found != 0;
}

static int pop_saved(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                     const struct slc_op *op, uint32_t s)
{
    struct ins_regset pieces = {0};

    ins_regset_add_gpr(&pieces, (unsigned)op->popped, 0, 8);
    if (scan->slice->options.no_bypass || !slc_regs_intersect(&task->regs, &pieces))
        return 0;
    if (scan->draft)
        scan->draft->is_void = true;
    int taken =
        slc_bypass_pop(&scan->bypass, &scan->memory, &task->regs, exec->task, (unsigned)op->popped,
                       scan->interval->slots[exec->slot_off + op->slot + op->pop_operand],
                       scan->interval->first_time + exec->time_off + s);
    return taken < 0 ? taken : 0;
}

static void forget_hit(struct slc_hits *hits)
{
    hits->best = slc_no_want();
    hits->best_address = 0;
    hits->is_guard = false;
}

static int follow_hard(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                       const struct slc_node *node, uint32_t s)
{
    if (scan->draft)
        scan->draft->is_void = true;
    int error = slc_follow(scan, task, exec, node, s, NULL);
    forget_hit(&scan->hits);
    return error;
}

/* One instance of a plain instruction; the control hit, if any, is in scan->hits. */
static inline int pass_plain(struct slc_scan *scan, struct slc_task *task,
                             const struct wet_exec *exec, const struct slc_node *node, uint32_t s,
                             struct slc_op *op, bool is_control)
{
    struct hit hit = {0};
    int error = 0;

    if (op->flags & SLC_OP_STORE) {
        uint64_t address = scan->interval->slots[exec->slot_off + op->store_slot];
        if (address % 64 + op->store_bytes > 64) {
            if (slc_memory_wants_long(&scan->memory, address, op->store_bytes))
                return follow_hard(scan, task, exec, node, s);
        } else {
            error = hit_store(scan, task, exec, op, address, &hit);
        }
    }
    if (!is_control && !hit.store && !touches(op, &task->regs))
        return error;
    if (op->popped >= 0 && !error)
        error = pop_saved(scan, task, exec, op, s);
    return error ? error : follow(scan, task, exec, s, op, &hit, is_control);
}

int slc_fast_exec(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                  const struct slc_node *node, uint32_t count)
{
    bool is_control = scan->hits.best.distance != SLC_NOT_WANTED;
    int error = 0;

    for (uint32_t s = count; s-- > 0 && !error; is_control = false) {
        struct slc_op *op = &node->compiled.ops[s];
        if (op->flags & SLC_OP_HARD || (is_control && !scan->follows_control))
            error = follow_hard(scan, task, exec, node, s);
        else
            error = pass_plain(scan, task, exec, node, s, op, is_control);
        if (is_control)
            forget_hit(&scan->hits);
    }
    return error;
}
