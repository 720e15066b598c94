/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vector instructions with masks, lists of addresses, or parts that depend on different things. */
#include "recorder/insn/insn_priv.h"

/* Masks in vector registers decide per lane: they are conditions. */
static void mask_condition(struct ins_work *work, struct ins_flow *flow, unsigned i)
{
    struct ins_flow mask = {0};
    ins_use_operand(work, &mask, i);
    ins_regset_join(&flow->cond_uses, &mask.value_uses);
    flow->mem_uses |= mask.mem_uses;
}

/* vmaskmov, vpmaskmov: operand 1 is the mask. A load zeroes the lanes it leaves out. */
static void masked_move_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    mask_condition(work, flow, 1);
    ins_use_operand(work, flow, 2);
    if (work->ops[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
        ins_may_def_operand(work, flow, 0);
    else
        ins_def_operand(work, flow, 0);
}

/* maskmovq, maskmovdqu: source, mask, and [rdi] hidden. */
static void masked_store_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    ins_use_operand(work, flow, 0);
    mask_condition(work, flow, 1);
    flow->mem_may_defs = 1;
}

static unsigned find_operand(const struct ins_work *work, bool memory)
{
    for (unsigned i = 0; i < work->zi.operand_count_visible; i++) {
        if ((work->ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY) == memory)
            return i;
    }
    return 0;
}

/* The mask of a gather or scatter: a vector (VEX) or a mask register (EVEX); it ends as zero. */
static unsigned gather_mask(const struct ins_work *work)
{
    for (unsigned i = 0; i < work->zi.operand_count_visible; i++) {
        const ZydisDecodedOperand *op = &work->ops[i];
        if (op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
            ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_MASK)
            return i;
    }
    return 2;
}

static void gather_flows(struct ins_work *work, bool scatter)
{
    struct ins_flow *flow = ins_flow_new(work);
    unsigned mask = gather_mask(work);
    unsigned memory = find_operand(work, true);
    if (scatter) {
        ins_may_def_operand(work, flow, memory);
        ins_use_operand(work, flow, 2);
    } else {
        ins_may_def_operand(work, flow, 0);
        ins_use_operand(work, flow, memory);
    }
    mask_condition(work, flow, mask);
    ins_def_operand(work, ins_flow_new(work), mask);
}

static void zero_vectors_flow(struct ins_work *work, unsigned first)
{
    struct ins_flow *flow = ins_flow_new(work);
    for (unsigned vector = 0; vector < 16; vector++)
        ins_regset_add_vector(&flow->defs, vector, first, 64 - first);
    work->info.flags |= INS_IS_ZEROING;
}

/* Blends by a vector mask: the last source, which legacy encodings fix as xmm0. */
static void blend_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    unsigned mask = work->zi.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY ? 2 : 3;
    bool in_place = mask == 2;
    ins_def_operand(work, flow, 0);
    for (unsigned i = in_place ? 0 : 1; i < mask; i++)
        ins_use_operand(work, flow, i);
    mask_condition(work, flow, mask);
}

bool ins_rules_vector(struct ins_work *work)
{
    switch (work->zi.meta.category) {
    case ZYDIS_CATEGORY_AVX2GATHER:
    case ZYDIS_CATEGORY_GATHER:
    case ZYDIS_CATEGORY_SCATTER:
        if (work->info.mem_count != 1 || work->zi.operand_count_visible != 3)
            return false; /* the gather prefetches */
        gather_flows(work, work->zi.meta.category == ZYDIS_CATEGORY_SCATTER);
        return true;
    default:
        break;
    }
    switch (work->zi.mnemonic) {
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
        masked_move_flow(work);
        return true;
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
        masked_store_flow(work);
        return true;
    case ZYDIS_MNEMONIC_VZEROALL:
        zero_vectors_flow(work, 0);
        return true;
    case ZYDIS_MNEMONIC_VZEROUPPER:
        zero_vectors_flow(work, 16);
        return true;
    case ZYDIS_MNEMONIC_BLENDVPS:
    case ZYDIS_MNEMONIC_BLENDVPD:
    case ZYDIS_MNEMONIC_PBLENDVB:
    case ZYDIS_MNEMONIC_VBLENDVPS:
    case ZYDIS_MNEMONIC_VBLENDVPD:
    case ZYDIS_MNEMONIC_VPBLENDVB:
        blend_flow(work);
        return true;
    default:
        return false;
    }
}
