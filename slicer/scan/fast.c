/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slc_follow() over compiled instructions, where nobody asks which user wanted a place: the same
 * three steps on bit sets.
 */
#include "slicer/scan/fast.h"

#include <assert.h>
#include <errno.h>

#include "recorder/insn/insn_pick.h"
#include "slicer/scan/plain.h"

/* ---- step 1 ---- */

void slc_draft_ending(struct slc_scan *scan, const struct wet_exec *exec, const struct slc_op *op,
                      uint64_t address, uint32_t s)
{
    const struct slc_saved *saved = slc_bypass_find(&scan->bypass, address);

    assert(scan->draft);
    if (saved && saved->reg == op->pushed && saved->task == exec->task && op->store_bytes == 8)
        slc_draft_step(scan->draft, s, op->store_slot, 0, SLC_STEP_PUSH);
    else
        scan->draft->is_void = true;
}

/* Of those flows that are `possible`. */
static inline unsigned hit_ways(const struct slc_op *op, const struct slc_regs *regs,
                                const struct slc_plain_hit *hit, bool is_control, unsigned possible)
{
    unsigned ways = 0, words = SLC_OP_WORDS(op);

    for (unsigned f = 0; f < op->way_count; f++) {
        const struct slc_way *way = &op->ways[f];
        uint64_t found = 0;
        for (unsigned i = 0; i < words; i++)
            found |= (regs->value.bits[i] & way->word[i].value_hits) |
                     (regs->address.bits[i] & way->word[i].address_hits);
        if (found || (hit->store && way->has_store) || (is_control && way->is_branch))
            ways |= 1u << f;
    }
    return ways & possible;
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
        slc_draft_step(scan->draft, place->statement, slot, mask, SLC_STEP_WANT);
    return slc_memory_add_bytes(&scan->memory, place->slots[slot], mask);
}

static int want_loads(struct slc_scan *scan, const struct slc_op *op, const struct slc_way *way,
                      const struct place *place)
{
    int err = 0;

    for (unsigned m = 0; way->loads >> m && !err; m++)
        if (way->loads >> m & 1)
            err = want_operand(scan, place, op->slot + m, UINT64_MAX >> (64 - op->load_bytes[m]));
    return err;
}

/* `wanted` bytes of the destination (of registers, before they were dropped). */
static int want_source(struct slc_scan *scan, struct slc_regs *regs, const struct slc_op *op,
                       const struct slc_move *move, const struct place *place, uint64_t wanted)
{
    uint64_t bytes = slc_move_source(move, wanted);

    if (move->from_memory)
        return want_operand(scan, place, op->slot + move->operand, bytes);
    slc_regs_add_bytes(regs, move->from, bytes << move->from_start, &slc_some_want);
    return 0;
}

/* ---- what was chosen ---- */

/* The key does not tell what chose: the memo is to hold where the same did. */
static void draft_pick(struct slc_draft *draft, const struct slc_op *op, const uint64_t *slots)
{
    unsigned first = slc_op_pick_slot(op), count = op->pick->choice.slots;

    if (draft->pick_count + count > SLC_MEMO_PICKS_MAX) {
        draft->is_void = true;
        return;
    }
    for (unsigned i = 0; i < count; i++)
        draft->picks[draft->pick_count++] =
            (struct slc_memo_pick){slots[first + i], UINT64_MAX, (uint16_t)(first + i)};
}

/* ... nor which registers st(i) are. */
static void draft_top(struct slc_draft *draft, const struct slc_op *op, const uint64_t *slots)
{
    for (unsigned i = 0; i < draft->pick_count; i++)
        if (draft->picks[i].slot == op->top_slot)
            return;
    if (draft->pick_count == SLC_MEMO_PICKS_MAX)
        draft->is_void = true;
    else
        draft->picks[draft->pick_count++] =
            (struct slc_memo_pick){slots[op->top_slot], SLC_TOP_BITS, op->top_slot};
}

static int want_computed(struct slc_scan *scan, struct slc_regs *regs, const struct slc_op *op,
                         const struct place *place)
{
    const struct ins_regset uses = ins_computed_uses(op->pick);
    int err = 0;

    for (unsigned l = ins_regset_next(&uses, 0); l < INS_LOC_COUNT;
         l = ins_regset_next(&uses, l + 1))
        slc_regs_add(regs, l, &slc_some_want, false);
    for (unsigned m = 0; m < op->pick->mem_count && !err; m++)
        if (op->pick->flows[0].mem_uses >> m & 1)
            err = want_operand(scan, place, op->slot + m, UINT64_MAX >> (64 - op->load_bytes[m]));
    return err;
}

static int want_place(struct slc_scan *scan, struct slc_regs *regs, const struct slc_op *op,
                      const struct place *place, unsigned from, uint64_t bytes)
{
    if (from == INS_PLACE_COMPUTED)
        return want_computed(scan, regs, op, place);
    if (from >= INS_PLACE_MEMORY)
        return want_operand(scan, place, op->slot + from - INS_PLACE_MEMORY, bytes);
    slc_regs_add_bytes(regs, INS_LOC_VEC + INS_VEC_PIECES * from, bytes, &slc_some_want);
    return 0;
}

/* Wants what `wanted` bytes of the destination were taken from, and what chose them. */
static int want_picked(struct slc_scan *scan, struct slc_regs *regs, const struct slc_op *op,
                       const struct slc_way *way, const struct place *place, uint64_t wanted)
{
    const struct ins_choice *choice = &op->pick->choice;
    struct ins_picked picked;
    struct ins_pick pick;
    bool has_memory = false;
    int err = 0;

    if (scan->draft)
        draft_pick(scan->draft, op, place->slots);
    ins_pick_get(op->pick, place->slots + op->slot, &pick);
    ins_pick_sources(&pick, wanted, &picked);
    for (unsigned i = 0; i < picked.count && !err; i++) {
        has_memory |= ins_place_is_memory(op->pick, picked.place[i]);
        err = want_place(scan, regs, op, place, picked.place[i], picked.bytes[i]);
    }
    if (picked.selector && !err) {
        has_memory |= choice->selector >= INS_PLACE_MEMORY;
        err = want_place(scan, regs, op, place, choice->selector, picked.selector);
    }
    if (picked.is_masked)
        slc_regs_add(regs, INS_LOC_K + choice->mask, &slc_some_want, false);
    for (unsigned i = 0; i < 4 && has_memory; i++)
        regs->address.bits[i] |= way->word[i].address_uses;
    return err;
}

/* ---- members ---- */

static inline int count_member(struct slc_scan *scan, const struct slc_op *op, uint32_t s,
                               wetdbg_time time)
{
    uint64_t off = time - scan->interval->first_time;
    int err = 0;

    if (!scan->bits && (err = slc_slice_make_bits(scan->slice, scan->interval, &scan->bits)))
        return err;
    scan->bits[off / 64] |= UINT64_C(1) << (off % 64);
    slc_code_tally(scan->code, op->pc_index, 1, time, time, WETDBG_DISTANCE_UNKNOWN);
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

static int demand_control(struct slc_scan *scan, struct slc_task *task, struct slc_op *op)
{
    struct slc_want want = {.distance = 1, .edge = WETDBG_EDGE_CONTROL, .location = INS_LOC_COUNT};

    if (op->klass == SLC_UNKNOWN) {
        op->klass = slc_code_class(scan->code, op->pc_index);
        if (op->klass == SLC_UNKNOWN)
            return -ENOMEM;
    }
    if (scan->draft)
        draft_class(scan->draft, op->klass);
    if (slc_frames_top(&task->frames)->last_klass == op->klass)
        return 0;
    return slc_frames_demand(&task->frames, scan->code->classes, op->klass, &want);
}

static inline void drop_defined(struct slc_scan *scan, struct slc_regs *regs,
                                const struct slc_op *op, uint64_t address,
                                const struct slc_plain_hit *hit)
{
    unsigned words = SLC_OP_WORDS(op);

    for (unsigned i = 0; i < words; i++) {
        regs->value.bits[i] &= ~op->word[i].defines;
        regs->address.bits[i] &= ~op->word[i].defines;
        regs->narrow.bits[i] &= ~op->word[i].defines;
    }
    if (hit->store) {
        uint64_t *word = &hit->page->bytes[address % SLC_PAGE_BYTES / 64];
        *word &= ~(hit->store << (address % 64));
        scan->memory.word_count -= *word == 0;
    }
}

static int follow(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                  uint32_t s, struct slc_op *op, struct slc_plain_hit *hit, bool is_control)
{
    const struct place place = {scan->interval->slots + exec->slot_off, s};
    struct slc_regs *regs = &task->regs;
    unsigned words = SLC_OP_WORDS(op);
    uint64_t wanted[INS_FLOW_MAX];
    int err = 0;

    hit->ways = hit_ways(op, regs, hit, is_control, slc_op_flows(op, place.slots));
    if (op->taken && scan->draft)
        scan->draft->choices |= UINT64_C(1) << s % 64;
    for (unsigned f = 0; hit->ways >> f; f++)
        if (hit->ways >> f & 1 && (op->ways[f].is_move || op->ways[f].is_pick))
            wanted[f] = slc_plain_wanted(&op->ways[f], regs, hit);
    drop_defined(scan, regs, op, op->flags & SLC_OP_STORE ? place.slots[op->store_slot] : 0, hit);
    if (hit->store && scan->draft)
        slc_draft_step(scan->draft, s, op->store_slot, hit->store, SLC_STEP_DROP);
    if (!hit->ways && !is_control)
        return 0;
    err = count_member(scan, op, s, scan->interval->first_time + exec->time_off + s);
    for (unsigned f = 0; hit->ways >> f && scan->follows_data && !err; f++) {
        const struct slc_way *way = &op->ways[f];
        if (!(hit->ways >> f & 1))
            continue;
        if (way->is_pick) {
            err = want_picked(scan, regs, op, way, &place, wanted[f]);
            continue;
        }
        for (unsigned i = 0; i < words; i++) {
            regs->value.bits[i] |= way->word[i].uses;
            regs->narrow.bits[i] &= ~way->word[i].uses;
            regs->address.bits[i] |= way->word[i].address_uses;
        }
        for (unsigned left = way->halves; left; left &= left - 1)
            slc_regs_add_mask(regs, SLC_UPPER_PIECE((unsigned)__builtin_ctz(left)), SLC_HALF_MASK,
                              &slc_some_want);
        err = way->is_move ? want_source(scan, regs, op, &way->move, &place, wanted[f])
                           : want_loads(scan, op, way, &place);
    }
    return err || !scan->follows_control ? err : demand_control(scan, task, op);
}

int slc_plain_pop(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                  const struct slc_node *node, uint32_t s)
{
    struct ins_regset pieces = {0};
    uint64_t slot;

    ins_regset_add_gpr(&pieces, (unsigned)node->popped[s], 0, 8);
    if (scan->slice->options.no_bypass || !slc_regs_intersect(&task->regs, &pieces))
        return 0;
    int taken = 0;
    int reg = slc_restored_register(node, s, scan->interval->slots + exec->slot_off, &slot);
    if (reg >= 0)
        taken = slc_bypass_pop(&scan->bypass, &scan->memory, &task->regs, exec->task, (unsigned)reg,
                               slot, scan->interval->first_time + exec->time_off + s);
    if (scan->draft && taken == 1)
        slc_draft_step(scan->draft, s, slc_stack_slot(&node->wet->statements[s]),
                       slc_saved_word(&scan->bypass.saved[scan->bypass.count - 1]), SLC_STEP_POP);
    else if (scan->draft)
        scan->draft->is_void = true;
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
    int err = slc_follow(scan, task, exec, node, s, NULL);
    forget_hit(&scan->hits);
    return err;
}

/* Follows one instance of a plain instruction; the control hit, if any, is in scan->hits. */
static inline int pass_plain(struct slc_scan *scan, struct slc_task *task,
                             const struct wet_exec *exec, const struct slc_node *node, uint32_t s,
                             struct slc_op *op, bool is_control)
{
    struct slc_plain_hit hit = {0};
    int err = 0;

    if (op->flags & SLC_OP_STORE) {
        uint64_t address = scan->interval->slots[exec->slot_off + op->store_slot];
        if (address % 64 + op->store_bytes > 64) {
            if (slc_memory_wants_long(&scan->memory, address, op->store_bytes))
                return follow_hard(scan, task, exec, node, s);
        } else {
            err = slc_plain_store(scan, task, exec, s, op, address, &hit);
        }
    }
    if (!is_control && !hit.store && !slc_plain_touches(op, &task->regs))
        return err;
    if (op->popped >= 0 && !err)
        err = slc_plain_pop(scan, task, exec, node, s);
    return err ? err : follow(scan, task, exec, s, op, &hit, is_control);
}

int slc_fast_exec(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                  const struct slc_node *node, uint32_t count)
{
    bool is_control = scan->hits.best.distance != SLC_NOT_WANTED;
    uint32_t joint = node->joining.joint_count;
    int err = 0;

    assert(!joint || count == node->statement_count);
    for (uint32_t s = count; s-- > 0 && !err; is_control = false) {
        const uint64_t *slots = scan->interval->slots + exec->slot_off;
        struct slc_op *op = &node->compiled.ops[s];
        if (joint && node->joining.joints[joint - 1].statement == s)
            is_control = slc_joint_pass(scan, task, node, --joint);
        if (op->tops && scan->draft)
            draft_top(scan->draft, op, slots);
        op = slc_op_settled(op, slots);
        if (op->flags & SLC_OP_HARD || (is_control && !scan->follows_control))
            err = follow_hard(scan, task, exec, node, s);
        else
            err = pass_plain(scan, task, exec, node, s, op, is_control);
        if (is_control)
            forget_hit(&scan->hits);
    }
    return err;
}
