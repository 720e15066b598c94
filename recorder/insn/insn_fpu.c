/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x87, MMX and the instructions that save or restore whole register files.
 *
 * The eight x87 registers are one location because which of them st(i) is depends on TOP. So an
 * x87 instruction uses that location and defines a part of it: may_defs, never a kill, but for
 * the instructions that load all of it.
 */

#include "common/cpuid.h"
#include "recorder/insn/insn_priv.h"

/* ---- x87 ---- */

static void add_x87(struct ins_regset *set)
{
    ins_regset_add(set, INS_LOC_X87);
    ins_regset_add(set, INS_LOC_X87_STATUS);
}

static bool is_x87(const struct ins_work *work)
{
    switch (work->zi->meta.isa_ext) {
    case ZYDIS_ISA_EXT_X87:
        return true;
    default:
        return work->zi->meta.category == ZYDIS_CATEGORY_X87_ALU ||
               work->zi->meta.category == ZYDIS_CATEGORY_FCMOV;
    }
}

/* Adds what operands outside the x87 registers give and take. */
static void add_outside_operands(struct ins_work *work, struct ins_flow *flow)
{
    for (unsigned i = 0; i < work->zi->operand_count; i++) {
        const ZydisDecodedOperand *op = &work->ops[i];
        bool outside = work->mem_of[i] != INS_NO_MEM || (op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
                                                         ins_gpr_number(op->reg.value) >= 0);
        if (!outside)
            continue;
        if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
            ins_use_operand(work, flow, i);
        if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            ins_def_operand(work, flow, i);
    }
    if (work->zi->cpu_flags != NULL) {
        ins_add_flags(&flow->cond_uses, work->zi->cpu_flags->tested);
        ins_add_flags(&flow->defs, work->zi->cpu_flags->modified | work->zi->cpu_flags->set_0);
    }
}

static void x87_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    add_outside_operands(work, flow);
    add_x87(&flow->value_uses);
    ins_regset_add(&flow->value_uses, INS_LOC_X87_CONTROL);
    add_x87(&flow->may_defs);
}

/* fnstcw, fnstsw: the destination gets one word. */
static void store_word_flow(struct ins_work *work, unsigned loc)
{
    struct ins_flow *flow = ins_flow_new(work);
    ins_def_operand(work, flow, 0);
    ins_regset_add(&flow->value_uses, loc);
    flow->kinds = INS_FLOW_COPY;
}

/* The summary bit of the status word follows from its flags and the masks in the control word. */
static void load_control_flows(struct ins_work *work)
{
    struct ins_flow *control = ins_flow_new(work);
    control->mem_uses = 1;
    ins_regset_add(&control->defs, INS_LOC_X87_CONTROL);
    struct ins_flow *summary = ins_flow_new(work);
    summary->mem_uses = 1;
    ins_regset_add(&summary->value_uses, INS_LOC_X87_STATUS);
    ins_regset_add(&summary->may_defs, INS_LOC_X87_STATUS);
}

static void reset_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    ins_regset_add(&flow->may_defs, INS_LOC_X87); /* tags and pointers */
    ins_regset_add(&flow->defs, INS_LOC_X87_STATUS);
    ins_regset_add(&flow->defs, INS_LOC_X87_CONTROL);
}

static void add_x87_all(struct ins_regset *set)
{
    add_x87(set);
    ins_regset_add(set, INS_LOC_X87_CONTROL);
}

/* fnsave, fnstenv: the image, then what becomes of the registers. */
static void store_environment_flows(struct ins_work *work)
{
    struct ins_flow *image = ins_flow_new(work);
    image->mem_defs = 1;
    add_x87_all(&image->value_uses);
    if (work->zi->mnemonic == ZYDIS_MNEMONIC_FNSAVE) {
        reset_flow(work);
        return;
    }
    struct ins_flow *masked = ins_flow_new(work); /* fnstenv masks all exceptions */
    add_x87_all(&masked->value_uses);
    ins_regset_add(&masked->defs, INS_LOC_X87_CONTROL);
    ins_regset_add(&masked->may_defs, INS_LOC_X87_STATUS);
}

static void load_environment_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    flow->mem_uses = 1;
    ins_regset_add(&flow->defs, INS_LOC_X87_STATUS);
    ins_regset_add(&flow->defs, INS_LOC_X87_CONTROL);
    if (work->zi->mnemonic == ZYDIS_MNEMONIC_FRSTOR)
        ins_regset_add(&flow->defs, INS_LOC_X87);
    else
        ins_regset_add(&flow->may_defs, INS_LOC_X87);
}

static bool x87_control_rules(struct ins_work *work)
{
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_FNSTCW:
        store_word_flow(work, INS_LOC_X87_CONTROL);
        return true;
    case ZYDIS_MNEMONIC_FNSTSW:
        store_word_flow(work, INS_LOC_X87_STATUS);
        return true;
    case ZYDIS_MNEMONIC_FLDCW:
        load_control_flows(work);
        return true;
    case ZYDIS_MNEMONIC_FNINIT:
        reset_flow(work);
        return true;
    case ZYDIS_MNEMONIC_FNSAVE:
    case ZYDIS_MNEMONIC_FNSTENV:
        store_environment_flows(work);
        return true;
    case ZYDIS_MNEMONIC_FRSTOR:
    case ZYDIS_MNEMONIC_FLDENV:
        load_environment_flow(work);
        return true;
    case ZYDIS_MNEMONIC_FNCLEX: {
        struct ins_flow *flow = ins_flow_new(work);
        ins_regset_add(&flow->value_uses, INS_LOC_X87_STATUS);
        ins_regset_add(&flow->defs, INS_LOC_X87_STATUS);
        return true;
    }
    case ZYDIS_MNEMONIC_FNOP: /* some processors keep its address as the last instruction's */
        ins_regset_add(&ins_flow_new(work)->may_defs, INS_LOC_X87);
        return true;
    case ZYDIS_MNEMONIC_FWAIT:
        return true;
    default:
        return false;
    }
}

/* ---- MMX: the x87 registers by another name; any use resets TOP and the tags ---- */

static bool touches_mmx(const struct ins_work *work)
{
    for (unsigned i = 0; i < work->zi->operand_count; i++) {
        if (work->ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            ZydisRegisterGetClass(work->ops[i].reg.value) == ZYDIS_REGCLASS_MMX)
            return true;
    }
    return work->zi->mnemonic == ZYDIS_MNEMONIC_EMMS || work->zi->mnemonic == ZYDIS_MNEMONIC_FEMMS;
}

static void mmx_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_generic(work);
    struct ins_regset x87 = {0};
    ins_refine_generic(work, flow);
    add_x87(&x87);
    ins_regset_remove(&flow->defs, &x87);
    ins_regset_join(&flow->may_defs, &x87);
    flow->kinds &= (uint8_t)~INS_FLOW_COPY; /* one location holds all eight */
    if (work->zi->mnemonic == ZYDIS_MNEMONIC_MASKMOVQ) {
        flow->mem_may_defs = flow->mem_defs;
        flow->mem_defs = 0;
    }
}

/* ---- whole register files ---- */

static void add_vectors(struct ins_regset *set, unsigned count, unsigned bytes)
{
    for (unsigned vector = 0; vector < count; vector++)
        ins_regset_add_vector(set, vector, 0, bytes);
}

static void add_mxcsr(struct ins_regset *set)
{
    ins_regset_add(set, INS_LOC_MXCSR_STATUS);
    ins_regset_add(set, INS_LOC_MXCSR_CONTROL);
}

static void add_extended_state(struct ins_regset *set)
{
    add_x87_all(set);
    add_mxcsr(set);
    add_vectors(set, 32, 64);
    for (unsigned k = 0; k < 8; k++)
        ins_regset_add(set, INS_LOC_K + k);
    ins_regset_add(set, INS_LOC_PKRU);
}

static void fxsave_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    add_x87_all(&flow->value_uses);
    add_mxcsr(&flow->value_uses);
    add_vectors(&flow->value_uses, 16, 16);
    flow->mem_may_defs = 1; /* reserved bytes stay */
}

static void fxrstor_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    flow->mem_uses = 1;
    ins_regset_add(&flow->defs, INS_LOC_X87_STATUS);
    ins_regset_add(&flow->defs, INS_LOC_X87_CONTROL);
    add_mxcsr(&flow->defs);
    add_vectors(&flow->defs, 16, 16);
    ins_regset_add(&flow->may_defs, INS_LOC_X87); /* AMD keeps the pointers at times */
}

/* edx:eax choose the components. */
static void add_component_choice(struct ins_flow *flow)
{
    ins_regset_add_gpr(&flow->cond_uses, INS_RAX, 0, 8);
    ins_regset_add_gpr(&flow->cond_uses, INS_RDX, 0, 8);
}

static void xsave_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    add_extended_state(&flow->value_uses);
    add_component_choice(flow);
    flow->mem_uses = 1;
    flow->mem_may_defs = 1;
}

static void xrstor_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    add_extended_state(&flow->may_defs);
    add_component_choice(flow);
    flow->mem_uses = 1;
}

static void mxcsr_flow(struct ins_work *work, bool load)
{
    struct ins_flow *flow = ins_flow_new(work);
    if (load) {
        flow->mem_uses = 1;
        add_mxcsr(&flow->defs);
    } else {
        flow->mem_defs = 1;
        add_mxcsr(&flow->value_uses);
    }
}

static bool state_rules(struct ins_work *work)
{
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64:
        fxsave_flow(work);
        return true;
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
        fxrstor_flow(work);
        return true;
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
        xsave_flow(work);
        return true;
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
        xrstor_flow(work);
        return true;
    case ZYDIS_MNEMONIC_LDMXCSR:
    case ZYDIS_MNEMONIC_VLDMXCSR:
        mxcsr_flow(work, true);
        return true;
    case ZYDIS_MNEMONIC_STMXCSR:
    case ZYDIS_MNEMONIC_VSTMXCSR:
        mxcsr_flow(work, false);
        return true;
    default:
        return false;
    }
}

bool ins_rules_fpu(struct ins_work *work)
{
    if (state_rules(work))
        return true;
    if (touches_mmx(work)) {
        mmx_flow(work);
        return true;
    }
    if (!is_x87(work))
        return false;
    if (!x87_control_rules(work))
        x87_flow(work);
    return true;
}

/* ---- size of an XSAVE image ---- */

#define XSAVE_LEGACY_BYTES 576 /* the fxsave image and the header */
#define XSAVE_COMPONENTS   63

unsigned ins_xsave_bytes(unsigned mnemonic, uint64_t components)
{
    bool compact = mnemonic == ZYDIS_MNEMONIC_XSAVEC || mnemonic == ZYDIS_MNEMONIC_XSAVEC64;
    unsigned end = XSAVE_LEGACY_BYTES;
    for (unsigned i = 2; i < XSAVE_COMPONENTS; i++) {
        if (!(components >> i & 1) || !wd_cpuid_has(0xd))
            continue;
        struct wd_cpuid is = wd_cpuid_ask(0xd, i); /* size, offset, flags */
        if (compact)
            end = (is.ecx & 2 ? (end + 63) & ~63u : end) + is.eax;
        else if (is.ebx + is.eax > end)
            end = is.ebx + is.eax;
    }
    return end < INS_XSAVE_BYTES_MAX ? end : INS_XSAVE_BYTES_MAX;
}
