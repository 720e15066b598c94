/* SPDX-License-Identifier: GPL-3.0-or-later */
/* General-register instructions whose parts depend on different things. */
#include "recorder/insn/insn_priv.h"

static bool is_register_pair(const struct ins_work *work)
{
    return work->ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           work->ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           work->ops[0].reg.value == work->ops[1].reg.value;
}

static void add_flag_defs(struct ins_work *work, struct ins_regset *set)
{
    const ZydisAccessedFlags *flags = work->zi->cpu_flags;
    ins_add_flags(set, flags->modified | flags->set_0 | flags->set_1 | flags->undefined);
}

/* Both alternatives write the destination; see insn.h on how to choose. */
static void cmov_flows(struct ins_work *work)
{
    for (unsigned source = 1; source < 2; source--) {
        struct ins_flow *flow = ins_flow_new(work);
        ins_use_operand(work, flow, source);
        ins_def_operand(work, flow, 0);
        ins_add_flags(&flow->cond_uses, work->zi->cpu_flags->tested);
        flow->kinds = INS_FLOW_COPY | (source == 1 ? INS_FLOW_TAKEN : INS_FLOW_NOT_TAKEN);
    }
    work->info.flags |= INS_IS_CMOV;
}

static void copy_flow(struct ins_work *work, unsigned to, unsigned from)
{
    struct ins_flow *flow = ins_flow_new(work);
    ins_def_operand(work, flow, to);
    ins_use_operand(work, flow, from);
    flow->kinds = INS_FLOW_COPY;
}

static void xchg_flows(struct ins_work *work)
{
    copy_flow(work, 0, 1);
    if (!is_register_pair(work))
        copy_flow(work, 1, 0);
}

static void xadd_flows(struct ins_work *work)
{
    struct ins_flow *sum = ins_flow_new(work);
    ins_use_operand(work, sum, 0);
    ins_use_operand(work, sum, 1);
    ins_def_operand(work, sum, 0);
    add_flag_defs(work, &sum->defs);
    if (!is_register_pair(work))
        copy_flow(work, 1, 0);
}

/* The comparison, as what decides; flags take it as a value. */
static void add_comparison(struct ins_work *work, struct ins_flow *flow, bool decides)
{
    struct ins_flow compared = {0};
    ins_use_operand(work, &compared, 0);
    ins_use_operand(work, &compared, 2); /* the accumulator */
    ins_regset_join(decides ? &flow->cond_uses : &flow->value_uses, &compared.value_uses);
    flow->mem_uses |= compared.mem_uses;
}

static void cmpxchg_flows(struct ins_work *work)
{
    struct ins_flow *flags = ins_flow_new(work);
    add_comparison(work, flags, false);
    add_flag_defs(work, &flags->defs);

    struct ins_flow *stored = ins_flow_new(work);
    add_comparison(work, stored, true);
    ins_use_operand(work, stored, 1);
    ins_may_def_operand(work, stored, 0);

    struct ins_flow *loaded = ins_flow_new(work);
    add_comparison(work, loaded, true);
    ins_use_operand(work, loaded, 0);
    ins_may_def_operand(work, loaded, 2);
}

/* cmpxchg8b, cmpxchg16b: operands are the memory, edx, eax, ecx, ebx. */
static void cmpxchg_wide_flows(struct ins_work *work)
{
    struct ins_flow *flags = ins_flow_new(work);
    for (unsigned i = 0; i < 3; i++)
        ins_use_operand(work, flags, i);
    add_flag_defs(work, &flags->defs);

    struct ins_flow *stored = ins_flow_new(work);
    *stored = (struct ins_flow){.cond_uses = flags->value_uses, .mem_uses = flags->mem_uses};
    ins_use_operand(work, stored, 3);
    ins_use_operand(work, stored, 4);
    ins_may_def_operand(work, stored, 0);

    struct ins_flow *loaded = ins_flow_new(work);
    *loaded = (struct ins_flow){.cond_uses = flags->value_uses, .mem_uses = flags->mem_uses};
    ins_may_def_operand(work, loaded, 1);
    ins_may_def_operand(work, loaded, 2);
}

/* The registers of the address are what is computed with, here. */
static void lea_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    const ZydisDecodedOperand *source = &work->ops[1];
    unsigned bytes = work->ops[0].size / 8;
    ins_def_operand(work, flow, 0);
    if (source->mem.base != ZYDIS_REGISTER_RIP && source->mem.base != ZYDIS_REGISTER_EIP)
        ins_add_read(&flow->value_uses, source->mem.base, 0, bytes);
    ins_add_read(&flow->value_uses, source->mem.index, 0, bytes);
    ins_refine_generic(work, flow);
}

static bool has_zero_count(const struct ins_work *work)
{
    unsigned last = work->zi->operand_count_visible - 1u;
    const ZydisDecodedOperand *count = &work->ops[last];
    if (count->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return false;
    return (count->imm.value.u & (work->ops[0].size == 64 ? 0x3f : 0x1f)) == 0;
}

static void shift_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_generic(work);
    if (has_zero_count(work)) {
        struct ins_regset flags = {0};
        ins_add_flags(&flags, ~0u);
        ins_regset_remove(&flow->defs, &flags);
        ins_regset_remove(&flow->cond_uses, &flags);
    }
    /* Zydis thinks that shld and shrd may leave the destination; it is then a use, too. */
    flow->may_defs = (struct ins_regset){0};
    flow->mem_may_defs = 0;
    ins_def_operand(work, flow, 0);
    if (work->ops[work->zi->operand_count_visible - 1u].type == ZYDIS_OPERAND_TYPE_REGISTER)
        add_flag_defs(work, &flow->may_defs);
}

static bool is_shift(const struct ins_work *work)
{
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_SHL:
    case ZYDIS_MNEMONIC_SHR:
    case ZYDIS_MNEMONIC_SAR:
    case ZYDIS_MNEMONIC_ROL:
    case ZYDIS_MNEMONIC_ROR:
    case ZYDIS_MNEMONIC_RCL:
    case ZYDIS_MNEMONIC_RCR:
    case ZYDIS_MNEMONIC_SHLD:
    case ZYDIS_MNEMONIC_SHRD:
        return true;
    default:
        return false;
    }
}

/* A zero source leaves the destination alone. */
static void bit_scan_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    ins_use_operand(work, flow, 1);
    ins_may_def_operand(work, flow, 0);
    add_flag_defs(work, &flow->defs);
}

/* cwd, cdq, cqo: copies of the sign bit. */
static void sign_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    unsigned bytes = work->zi->operand_width / 8;
    ins_def_operand(work, flow, 0);
    ins_regset_add_gpr(&flow->value_uses, INS_RAX, bytes - 1, 1);
}

static void xlat_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    flow->mem_uses = 1;
    ins_regset_add_gpr(&flow->defs, INS_RAX, 0, 1);
    flow->kinds = INS_FLOW_COPY;
}

static void segment_base_flow(struct ins_work *work, unsigned loc, bool write)
{
    struct ins_flow *flow = ins_flow_new(work);
    if (write) {
        ins_use_operand(work, flow, 0);
        ins_regset_add(&flow->defs, loc);
    } else {
        ins_def_operand(work, flow, 0);
        ins_regset_add(&flow->value_uses, loc);
    }
    flow->kinds = INS_FLOW_COPY;
}

static void xgetbv_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    ins_regset_add_gpr(&flow->value_uses, INS_RCX, 0, 8);
    ins_regset_add_gpr(&flow->defs, INS_RAX, 0, 8);
    ins_regset_add_gpr(&flow->defs, INS_RDX, 0, 8);
}

bool ins_rules_integer(struct ins_work *work)
{
    if (is_shift(work)) {
        shift_flow(work);
        return true;
    }
    if (work->zi->meta.category == ZYDIS_CATEGORY_CMOV) {
        cmov_flows(work);
        return true;
    }
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_XCHG:
        xchg_flows(work);
        return true;
    case ZYDIS_MNEMONIC_XADD:
        xadd_flows(work);
        return true;
    case ZYDIS_MNEMONIC_CMPXCHG:
        cmpxchg_flows(work);
        return true;
    case ZYDIS_MNEMONIC_CMPXCHG8B:
    case ZYDIS_MNEMONIC_CMPXCHG16B:
        cmpxchg_wide_flows(work);
        return true;
    case ZYDIS_MNEMONIC_LEA:
        lea_flow(work);
        return true;
    case ZYDIS_MNEMONIC_BSF:
    case ZYDIS_MNEMONIC_BSR:
        bit_scan_flow(work);
        return true;
    case ZYDIS_MNEMONIC_CWD:
    case ZYDIS_MNEMONIC_CDQ:
    case ZYDIS_MNEMONIC_CQO:
        sign_flow(work);
        return true;
    case ZYDIS_MNEMONIC_XLAT:
        xlat_flow(work);
        return true;
    case ZYDIS_MNEMONIC_RDFSBASE:
    case ZYDIS_MNEMONIC_WRFSBASE:
        segment_base_flow(work, INS_LOC_FS_BASE, work->zi->mnemonic == ZYDIS_MNEMONIC_WRFSBASE);
        return true;
    case ZYDIS_MNEMONIC_RDGSBASE:
    case ZYDIS_MNEMONIC_WRGSBASE:
        segment_base_flow(work, INS_LOC_GS_BASE, work->zi->mnemonic == ZYDIS_MNEMONIC_WRGSBASE);
        return true;
    case ZYDIS_MNEMONIC_XGETBV:
        xgetbv_flow(work);
        return true;
    case ZYDIS_MNEMONIC_CLZERO:
        ins_flow_new(work)->mem_defs = 1;
        return true;
    default:
        return false;
    }
}
