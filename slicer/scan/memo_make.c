/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making memos: following an execution, and writing down what that does. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/checked.h"
#include "slicer/scan/fast.h"
#include "slicer/scan/memo.h"

/* ---- operands that overlap ---- */

/* Moves rsp by a constant at most. */
static bool keeps_stack(const struct ins_info *info)
{
    struct ins_regset rsp = {0};
    bool is_implicit = false, is_stack = true, defines = false;

    ins_regset_add_gpr(&rsp, INS_RSP, 0, 8);
    for (unsigned f = 0; f < info->flow_count; f++)
        if (ins_regset_intersects(&info->flows[f].defs, &rsp) ||
            ins_regset_intersects(&info->flows[f].may_defs, &rsp)) {
            defines = true;
            is_stack &= (info->flows[f].kinds & INS_FLOW_STACK) != 0;
        }
    for (unsigned m = 0; m < info->mem_count; m++)
        is_implicit |= info->mems[m].flags & INS_MEM_IMPLICIT && info->mems[m].base == INS_RSP;
    return !defines || (is_stack && is_implicit);
}

static bool defines_gpr(const struct ins_info *info, int gpr)
{
    struct ins_regset all = ins_all_defs(info), own = {0};

    if (gpr < 0)
        return false;
    ins_regset_add_gpr(&own, (unsigned)gpr, 0, 8);
    return ins_regset_intersects(&all, &own);
}

static const struct ins_mem *operand_at(const struct slc_node *node, uint32_t s, unsigned slot)
{
    return &node->wet->statements[s].info->mems[slot - node->wet->statements[s].slot];
}

/* Whether operands of statements i < j lie the same way in all executions. */
static bool is_told_by_code(const struct slc_node *node, uint32_t i, unsigned store_slot,
                            uint32_t j, unsigned slot)
{
    const uint16_t odd = INS_MEM_BIT_OFFSET | INS_MEM_ADDR32 | INS_MEM_INDEX_BYTE | INS_MEM_LINE |
                         INS_MEM_FS | INS_MEM_GS;
    const struct ins_mem *a = operand_at(node, i, store_slot), *b = operand_at(node, j, slot);

    if (a->base != b->base || a->index != b->index || (a->index >= 0 && a->scale != b->scale) ||
        ((a->flags | b->flags) & odd))
        return false;
    for (uint32_t s = i; s < j; s++) {
        const struct ins_info *info = node->wet->statements[s].info;
        if (a->base == INS_RSP ? !keeps_stack(info) : defines_gpr(info, a->base))
            return false;
        if (defines_gpr(info, a->index))
            return false;
    }
    return true;
}

struct meetings {
    struct slc_meeting list[UINT8_MAX];
    unsigned count;
    bool is_full;
};

static void meetings_add(struct meetings *meetings, const struct slc_node *node,
                         const uint64_t *slots, const struct slc_store *store, uint32_t s,
                         unsigned slot, unsigned bytes)
{
    struct slc_meeting meeting = {.store_slot = store->slot,
                                  .slot = (uint16_t)slot,
                                  .store_bytes = (uint8_t)store->size_bytes,
                                  .bytes = (uint8_t)bytes};

    if (is_told_by_code(node, store->statement, store->slot, s, slot))
        return;
    if (meetings->count == UINT8_MAX) {
        meetings->is_full = true;
        return;
    }
    meeting.is_overlap = slc_overlaps(slots[store->slot], store->size_bytes, slots[slot], bytes);
    if (meeting.is_overlap)
        meeting.distance = (int8_t)(slots[slot] - slots[store->slot]);
    meetings->list[meetings->count++] = meeting;
}

/* What became of a store (its bytes are wanted, or something waits there) may come from, or be
 * taken by, what comes later in the node. False if a pop's slot was written in the node itself. */
static bool meetings_find(struct meetings *meetings, const struct slc_node *node,
                          const uint64_t *slots, uint32_t met, const struct slc_draft *draft)
{
    meetings->count = 0;
    meetings->is_full = false;
    for (uint32_t i = 0; i < node->store_count; i++) {
        const struct slc_store *store = &node->stores[i];
        for (unsigned k = 0; k < draft->step_count; k++) {
            const struct slc_step *step = &draft->steps[k];
            bool is_pop = step->kind == SLC_STEP_POP;
            if ((!is_pop && step->kind != SLC_STEP_WANT) || step->statement <= store->statement)
                continue;
            if (is_pop && slc_overlaps(slots[store->slot], store->size_bytes, slots[step->slot], 8))
                return false;
            meetings_add(meetings, node, slots, store, step->statement, step->slot,
                         operand_at(node, step->statement, step->slot)->size_bytes);
        }
        for (uint32_t k = 0; k < node->store_count && met >> i & 1; k++)
            if (met >> k & 1 && node->stores[k].statement > store->statement)
                meetings_add(meetings, node, slots, store, node->stores[k].statement,
                             node->stores[k].slot, node->stores[k].size_bytes);
    }
    return !meetings->is_full;
}

/* ---- writing down ---- */

/* Copies a list to *at, which becomes its end. */
static void *put(uint8_t **at, const void *list, size_t bytes)
{
    void *copy = *at;

    if (bytes)
        memcpy(copy, list, bytes);
    *at += bytes;
    return copy;
}

/* What registers want after an execution, in the words that a memo needs. */
struct outcome {
    struct slc_memo_word words[4];
    uint64_t odd[SLC_MEMO_ODD_MAX];
    unsigned odd_count;
};

static void outcome_make(struct outcome *outcome, const struct slc_regs *regs)
{
    for (unsigned i = 0; i < 4; i++)
        outcome->words[i] =
            (struct slc_memo_word){.value = regs->value.bits[i] & ~regs->narrow.bits[i],
                                   .half = regs->narrow.bits[i] & ~regs->odd.bits[i],
                                   .address = regs->address.bits[i]};
    outcome->odd_count = slc_memo_odd(regs, regs->value.bits, 4, outcome->odd);
}

/* The lists behind it go from those of the largest elements to those of the smallest. */
static int memo_keep(struct slc_node *node, const struct slc_memo_key *key,
                     const struct slc_draft *draft, const struct outcome *outcome,
                     const struct meetings *meetings, uint64_t chosen)
{
    struct slc_memo *memo;
    size_t key_bytes = key->count * sizeof(*memo->key);
    size_t words_bytes = node->memos.words * sizeof(*memo->words);
    size_t steps_bytes = draft->step_count * sizeof(*memo->steps);
    size_t picks_bytes = draft->pick_count * sizeof(*memo->picks);
    size_t odd_bytes = outcome->odd_count * sizeof(*memo->odd);
    size_t meetings_bytes = meetings->count * sizeof(*memo->meetings);
    size_t classes_bytes = draft->class_count * sizeof(*memo->classes);

    assert(key->count && key->count <= SLC_MEMO_KEY_MAX);
    assert(node->statement_count <= 64 && outcome->odd_count <= SLC_MEMO_ODD_MAX);
    size_t bytes = sizeof(*memo) + key_bytes + words_bytes + steps_bytes + picks_bytes + odd_bytes +
                   meetings_bytes + classes_bytes;
    memo = aligned_alloc(SLC_MEMO_LINE, (bytes + SLC_MEMO_LINE - 1) & ~(size_t)(SLC_MEMO_LINE - 1));
    if (!memo)
        return -ENOMEM;
    memset(memo, 0, sizeof(*memo));
    uint8_t *at = (uint8_t *)memo->key;
    put(&at, key->words, key_bytes);
    memo->words = put(&at, outcome->words, words_bytes);
    memo->steps = put(&at, draft->steps, steps_bytes);
    memo->picks = put(&at, draft->picks, picks_bytes);
    memo->odd = put(&at, outcome->odd, odd_bytes);
    memo->meetings = put(&at, meetings->list, meetings_bytes);
    memo->classes = put(&at, draft->classes, classes_bytes);
    assert(at == (uint8_t *)memo + bytes);
    memo->step_count = (uint8_t)draft->step_count;
    memo->pick_count = (uint8_t)draft->pick_count;
    memo->odd_count = (uint8_t)outcome->odd_count;
    memo->meeting_count = (uint8_t)meetings->count;
    memo->class_count = (uint8_t)draft->class_count;
    memo->node = node;
    memo->members = draft->members;
    memo->choices = draft->choices;
    memo->chosen = chosen & draft->choices;
    for (unsigned k = 0; k < draft->step_count; k++)
        memo->pop_count += draft->steps[k].kind == SLC_STEP_POP;
    memo->next = node->memos.first;
    node->memos.first = memo;
    node->memos.count++;
    return 0;
}

/* With nothing wanted of registers but what the key says, what is wanted of them afterwards is what
 * the memo holds. */
int slc_memo_make(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                  struct slc_node *node, const struct slc_memo_key *key)
{
    const uint64_t *slots = scan->interval->slots + exec->slot_off;
    struct slc_regs *regs = &task->regs, passed = *regs;
    struct slc_draft draft = {.step_count = 0};
    struct meetings meetings;
    struct outcome outcome;

    assert(!scan->draft && !regs->wants && node->memos.is_fit);
    slc_regs_remove(&passed, &node->defs);
    slc_regs_keep(regs, &node->defs);
    scan->draft = &draft;
    int err = slc_fast_exec(scan, task, exec, node, node->statement_count);
    scan->draft = NULL;
    outcome_make(&outcome, regs);
    if (!err && !draft.is_void && outcome.odd_count <= SLC_MEMO_ODD_MAX &&
        meetings_find(&meetings, node, slots, key->met, &draft)) {
        err = memo_keep(node, key, &draft, &outcome, &meetings,
                        slc_op_list_chosen(&node->compiled, slots));
        if (!err)
            err = wd_checked(slc_memo_validate(node->memos.first, scan->code->class_count));
    }
    slc_regs_join(regs, &passed);
    return err;
}

/* ---- what is trusted ---- */

static int steps_validate(const struct slc_memo *memo)
{
    unsigned pops = 0, last = memo->node->statement_count;

    for (unsigned k = 0; k < memo->step_count; k++) {
        const struct slc_step *step = &memo->steps[k];
        if (step->statement > last || step->statement >= memo->node->statement_count ||
            step->slot >= memo->node->wet->slot_count || step->kind > SLC_STEP_PUSH)
            return wd_fail_defect("step %u of a memo is of statement %u and slot %u", k,
                                  step->statement, step->slot);
        last = step->statement;
        pops += step->kind == SLC_STEP_POP;
    }
    return pops == memo->pop_count
               ? 0
               : wd_fail_defect("a memo has %u pops, and not %u", memo->pop_count, pops);
}

int slc_memo_validate(const struct slc_memo *memo, uint32_t class_count)
{
    const struct slc_node *node = memo->node;

    if (node->statement_count < 64 && memo->members >> node->statement_count)
        return wd_fail_defect("a memo has members %#llx of %u statements",
                              (unsigned long long)memo->members, node->statement_count);
    if (memo->chosen & ~memo->choices)
        return wd_fail_defect("a memo has choices %#llx of %#llx", (unsigned long long)memo->chosen,
                              (unsigned long long)memo->choices);
    for (unsigned k = 0; k < memo->pick_count; k++)
        if (memo->picks[k].slot >= node->wet->slot_count)
            return wd_fail_defect("pick %u of a memo is of slot %u", k, memo->picks[k].slot);
    for (unsigned k = 0; k < memo->meeting_count; k++)
        if (memo->meetings[k].store_slot >= node->wet->slot_count ||
            memo->meetings[k].slot >= node->wet->slot_count)
            return wd_fail_defect("meeting %u of a memo is of slots %u and %u", k,
                                  memo->meetings[k].store_slot, memo->meetings[k].slot);
    for (unsigned k = 0; k < memo->class_count; k++)
        if (memo->classes[k] >= class_count)
            return wd_fail_defect("a memo waits for class %u of %u", memo->classes[k], class_count);
    return steps_validate(memo);
}
