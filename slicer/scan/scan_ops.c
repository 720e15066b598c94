/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What slc_follow() finds out at each instance is found out once here. Whatever is not plain
 * (string instructions, lanes, more than one store, perhaps-stores, system calls) is left to it.
 */
#include "slicer/scan/scan_ops.h"

#include <errno.h>
#include <stdlib.h>

#include "recorder/insn/insn_pick.h"
#include "slicer/scan/code_summary.h"

#define UNPLAIN (INS_MEM_REP | INS_MEM_LANES | INS_MEM_VSIB32 | INS_MEM_VSIB64 | INS_MEM_SIZE_BOUND)

/* ---- ways ---- */

static bool compile_way(struct slc_way *way, const struct ins_info *info, unsigned f,
                        bool follows_address)
{
    const struct ins_flow *flow = &info->flows[f];
    unsigned operands = flow->mem_uses | flow->mem_defs | flow->mem_may_defs;
    struct ins_regset addresses = {0};
    struct slc_move move;
    bool is_move = slc_move_make(&move, flow);

    *way = (struct slc_way){.has_store = flow->mem_defs != 0,
                            .is_branch = flow->kinds & INS_FLOW_BRANCH,
                            .loads = is_move ? 0 : flow->mem_uses,
                            .is_move = is_move,
                            .move = move};
    for (unsigned m = 0; m < info->mem_count && follows_address; m++) {
        struct ins_regset uses = ins_addr_uses(info, m);
        if (operands & 1u << m)
            ins_regset_join(&addresses, &uses);
    }
    for (unsigned i = 0; i < 4; i++) {
        uint64_t defs = flow->defs.bits[i] | flow->may_defs.bits[i];
        bool is_stack = flow->kinds & INS_FLOW_STACK;
        way->word[i].value_hits = is_stack ? 0 : defs;
        way->word[i].address_hits = is_stack || flow->kinds & INS_FLOW_STACK_ADDRESS ? 0 : defs;
        way->word[i].uses = flow->cond_uses.bits[i] | (is_move ? 0 : flow->value_uses.bits[i]);
        way->word[i].address_uses = addresses.bits[i];
    }
    if (ins_is_pick_flow(info, f) && info->choice.to < INS_PLACE_MEMORY) {
        way->is_pick = true;
        way->move.to = (uint8_t)(INS_LOC_VEC + INS_VEC_PIECES * info->choice.to);
    }
    way->halves = is_move ? 0 : flow->halves;
    for (unsigned left = way->halves; left; left &= left - 1)
        way->word[0].uses &= ~(UINT64_C(1) << SLC_UPPER_PIECE((unsigned)__builtin_ctz(left)));
    return !(is_move && way->is_branch);
}

static bool is_narrow(const struct ins_info *info, const struct slc_way *ways)
{
    uint64_t high = 0;

    for (unsigned f = 0; f < info->flow_count; f++)
        for (unsigned i = 1; i < 4; i++)
            high |= ways[f].word[i].uses | ways[f].word[i].address_uses |
                    info->flows[f].defs.bits[i] | info->flows[f].may_defs.bits[i] |
                    info->flows[f].value_uses.bits[i];
    return high == 0;
}

/* ---- statements ---- */

/* Whether an operand is not plain. What a mask takes from one is known where it is asked. */
static bool is_unplain(const struct ins_info *info, const struct ins_mem *mem)
{
    unsigned plain = ins_is_pick(info) ? INS_MEM_LANES : 0;

    return mem->flags & UNPLAIN & ~plain || mem->size_bytes > 64 || mem->size_bytes == 0;
}

/* Finds the one store; false if the instruction is not plain. */
static bool find_store(struct slc_op *op, const struct ins_info *info)
{
    unsigned stores = 0;

    for (unsigned f = 0; f < info->flow_count; f++) {
        if (info->flows[f].mem_may_defs)
            return false;
        stores |= info->flows[f].mem_defs;
    }
    for (unsigned m = 0; m < info->mem_count; m++) {
        if (is_unplain(info, &info->mems[m]))
            return false;
        op->load_bytes[m] = (uint8_t)info->mems[m].size_bytes;
        if (info->mems[m].flags & INS_MEM_WRITE && !(stores & 1u << m))
            return false;
    }
    if (stores & (stores - 1))
        return false;
    if (stores) {
        unsigned m = (unsigned)__builtin_ctz(stores);
        op->flags |= SLC_OP_STORE;
        op->store_slot = (uint16_t)(op->slot + m);
        op->store_bytes = (uint8_t)info->mems[m].size_bytes;
    }
    return true;
}

static void compile_op(struct slc_op *op, struct slc_way *ways,
                       const struct wet_statement *statement, const struct ins_info *info,
                       bool follows_address)
{
    *op = (struct slc_op){.ways = ways,
                          .way_count = info->flow_count,
                          .pushed = (int8_t)slc_pushed_register(info),
                          .popped = (int8_t)slc_popped_register(info),
                          .slot = statement->slot,
                          .klass = SLC_UNKNOWN,
                          .pc_index = SLC_UNKNOWN};
    bool is_plain = info->klass != INS_SYSCALL && find_store(op, info);
    for (unsigned f = 0; f < info->flow_count && is_plain; f++) {
        is_plain = compile_way(&ways[f], info, f, follows_address);
        op->flags |= ways[f].is_branch ? SLC_OP_BRANCH : 0;
    }
    if (is_plain && ins_is_pick(info))
        op->pick = info;
    op->choice_slot = (uint16_t)(statement->slot + info->mem_count);
    for (unsigned f = 0; f < info->flow_count && info->flags & INS_IS_CMOV; f++) {
        op->taken |= (uint8_t)((info->flows[f].kinds & INS_FLOW_TAKEN ? 1u : 0) << f);
        op->kept |= (uint8_t)((info->flows[f].kinds & INS_FLOW_NOT_TAKEN ? 1u : 0) << f);
    }
    for (unsigned f = 0; f < info->flow_count; f++)
        for (unsigned i = 0; i < 4; i++) {
            op->word[i].defines |= info->flows[f].defs.bits[i];
            op->word[i].touches |= info->flows[f].defs.bits[i] | info->flows[f].may_defs.bits[i];
        }
    if (!is_plain)
        op->flags |= SLC_OP_HARD;
    else if (is_narrow(info, ways))
        op->flags |= SLC_OP_NARROW;
}

static bool names_st(const struct ins_info *info)
{
    return info->choice.kind == INS_CHOICE_TOP;
}

/* What an instruction that names st(i) is for each TOP. */
static void compile_tops(struct slc_op *op, struct slc_op *tops, struct slc_way *ways,
                         const struct wet_statement *statement, bool follows_address)
{
    uint64_t slots[INS_MEM_MAX + 1] = {0};
    struct ins_info settled;

    for (unsigned top = 0; top < 8; top++) {
        slots[statement->info->mem_count] = top << 11;
        compile_op(&tops[top], ways + (size_t)top * statement->info->flow_count, statement,
                   ins_settle(statement->info, slots, &settled), follows_address);
    }
    op->tops = tops;
}

/* Finds which slot tells TOP at each instruction that names st(i): that of an earlier one, if what
 * is between changes TOP as the code says. */
static void find_tops(struct slc_op_list *list, const struct wet_node *node)
{
    uint32_t slot = UINT32_MAX;

    for (uint32_t s = 0; s < node->statement_count; s++) {
        const struct ins_choice *choice = &node->statements[s].info->choice;
        if (list->ops[s].tops) {
            list->pick_slots += slot == UINT32_MAX;
            slot = slot == UINT32_MAX ? list->ops[s].choice_slot : slot;
            list->ops[s].top_slot = (uint16_t)slot;
        }
        if (choice->loses_top)
            slot = UINT32_MAX;
    }
}

int slc_op_list_make(struct slc_op_list *list, const struct wet_node *node, bool follows_address)
{
    size_t way_count = 0, choices = 0, op_count = node->statement_count;

    for (uint32_t s = 0; s < node->statement_count; s++) {
        const struct ins_info *info = node->statements[s].info;
        way_count += info->flow_count * (names_st(info) ? 9u : 1u);
        op_count += names_st(info) ? 8 : 0;
        choices += (info->flags & INS_IS_CMOV) != 0;
    }
    list->choice_count = list->pick_slots = 0;
    list->choices = choices ? malloc(choices * sizeof(*list->choices)) : NULL;
    list->ops = malloc(op_count * sizeof(*list->ops));
    list->ways = malloc((way_count + 1) * sizeof(*list->ways));
    if (!list->ops || !list->ways || (choices && !list->choices)) {
        slc_op_list_free(list);
        return -ENOMEM;
    }
    struct slc_way *ways = list->ways;
    struct slc_op *tops = list->ops + node->statement_count;
    for (uint32_t s = 0; s < node->statement_count; s++) {
        const struct ins_info *info = node->statements[s].info;
        compile_op(&list->ops[s], ways, &node->statements[s], info, follows_address);
        ways += info->flow_count;
        if (names_st(info) && !(list->ops[s].flags & SLC_OP_HARD)) {
            compile_tops(&list->ops[s], tops, ways, &node->statements[s], follows_address);
            ways += (size_t)8 * info->flow_count;
            tops += 8;
        }
        list->pick_slots += list->ops[s].pick ? list->ops[s].pick->choice.slots : 0;
        if (node->statements[s].info->flags & INS_IS_CMOV)
            list->choices[list->choice_count++] = (struct slc_choice){s, list->ops[s].choice_slot};
    }
    find_tops(list, node);
    return 0;
}

void slc_op_list_free(struct slc_op_list *list)
{
    free(list->ops);
    free(list->ways);
    free(list->choices);
    *list = (struct slc_op_list){0};
}
