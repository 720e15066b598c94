/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instructions without a rule of their own: one flow from everything read to everything written,
 * as Zydis's operand actions and flag tables say, then refined where these are too coarse: idioms
 * that ignore their operands, plain copies, operands that Zydis calls read but are not.
 */
#include "recorder/insn/insn_priv.h"

static bool is_writemask(const struct ins_work *work, unsigned i)
{
    const ZydisDecodedOperand *op = &work->ops[i];
    return op->encoding == ZYDIS_OPERAND_ENCODING_MASK && op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           op->reg.value == work->zi->avx.mask.reg;
}

static void add_writemask(struct ins_work *work, struct ins_flow *flow, unsigned i)
{
    if (work->zi->avx.mask.mode > ZYDIS_MASK_MODE_DISABLED)
        ins_add_read(&flow->cond_uses, work->ops[i].reg.value, 0, 8);
}

/* lsl, like lar, defines its destination on success only; Zydis says so of lar alone. */
static ZydisOperandActions actions_of(const struct ins_work *work, unsigned i)
{
    if (work->zi->mnemonic == ZYDIS_MNEMONIC_LSL && i == 0)
        return ZYDIS_OPERAND_ACTION_CONDWRITE;
    return work->ops[i].actions;
}

static void add_operand(struct ins_work *work, struct ins_flow *flow, unsigned i)
{
    const ZydisDecodedOperand *op = &work->ops[i];
    ZydisOperandActions actions = actions_of(work, i);
    if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->reg.value == ZYDIS_REGISTER_RFLAGS)
        return;
    if (is_writemask(work, i)) {
        add_writemask(work, flow, i);
        return;
    }
    if (actions & ZYDIS_OPERAND_ACTION_MASK_READ)
        ins_use_operand(work, flow, i);
    if (actions & ZYDIS_OPERAND_ACTION_WRITE)
        ins_def_operand(work, flow, i);
    else if (actions & ZYDIS_OPERAND_ACTION_CONDWRITE)
        ins_may_def_operand(work, flow, i);
}

static bool writes_flags_perhaps(const struct ins_work *work)
{
    for (unsigned i = 0; i < work->zi->operand_count; i++) {
        const ZydisDecodedOperand *op = &work->ops[i];
        if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->reg.value == ZYDIS_REGISTER_RFLAGS)
            return op->actions & ZYDIS_OPERAND_ACTION_CONDWRITE;
    }
    return false;
}

/* Reading flags to decide what to compute is a condition; moving them around is not. */
static bool moves_flags(ZydisMnemonic mnemonic)
{
    return mnemonic == ZYDIS_MNEMONIC_LAHF || mnemonic == ZYDIS_MNEMONIC_CMC;
}

/* Zydis 4.0 leaves out that these clear the other flags, too. */
static uint32_t forgotten_flags(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_PTEST:
    case ZYDIS_MNEMONIC_VPTEST:
    case ZYDIS_MNEMONIC_VTESTPS:
    case ZYDIS_MNEMONIC_VTESTPD:
        return ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_AF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_OF;
    default:
        return 0;
    }
}

static void add_flags(struct ins_work *work, struct ins_flow *flow)
{
    const ZydisAccessedFlags *flags = work->zi->cpu_flags;
    ins_add_flags(&flow->defs, forgotten_flags(work->zi->mnemonic));
    if (flags == NULL)
        return;
    ins_add_flags(moves_flags(work->zi->mnemonic) ? &flow->value_uses : &flow->cond_uses,
                  flags->tested);
    ins_add_flags(writes_flags_perhaps(work) ? &flow->may_defs : &flow->defs,
                  flags->modified | flags->set_0 | flags->set_1 | flags->undefined);
}

struct ins_flow *ins_flow_generic(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    for (unsigned i = 0; i < work->zi->operand_count; i++)
        add_operand(work, flow, i);
    add_flags(work, flow);
    return flow;
}

/* ---- refinements ---- */

static void forget_value_uses(struct ins_work *work, struct ins_flow *flow)
{
    flow->value_uses = (struct ins_regset){0};
    flow->mem_uses = 0;
    work->info.flags |= INS_IS_ZEROING;
}

static bool same_register(const struct ins_work *work, unsigned a, unsigned b)
{
    return work->ops[a].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           work->ops[b].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           work->ops[a].reg.value == work->ops[b].reg.value;
}

/* op(x, x) is a constant. */
static bool is_constant_of_equal_sources(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_SBB: /* CF stays, as a condition */
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_XORPS:
    case ZYDIS_MNEMONIC_XORPD:
    case ZYDIS_MNEMONIC_PANDN:
    case ZYDIS_MNEMONIC_ANDNPS:
    case ZYDIS_MNEMONIC_ANDNPD:
    case ZYDIS_MNEMONIC_PSUBB:
    case ZYDIS_MNEMONIC_PSUBW:
    case ZYDIS_MNEMONIC_PSUBD:
    case ZYDIS_MNEMONIC_PSUBQ:
    case ZYDIS_MNEMONIC_PCMPEQB:
    case ZYDIS_MNEMONIC_PCMPEQW:
    case ZYDIS_MNEMONIC_PCMPEQD:
    case ZYDIS_MNEMONIC_PCMPEQQ:
    case ZYDIS_MNEMONIC_PCMPGTB:
    case ZYDIS_MNEMONIC_PCMPGTW:
    case ZYDIS_MNEMONIC_PCMPGTD:
    case ZYDIS_MNEMONIC_PCMPGTQ:
    case ZYDIS_MNEMONIC_ANDN:
    case ZYDIS_MNEMONIC_VPXOR:
    case ZYDIS_MNEMONIC_VPXORD:
    case ZYDIS_MNEMONIC_VPXORQ:
    case ZYDIS_MNEMONIC_VXORPS:
    case ZYDIS_MNEMONIC_VXORPD:
    case ZYDIS_MNEMONIC_VPANDN:
    case ZYDIS_MNEMONIC_VPANDND:
    case ZYDIS_MNEMONIC_VPANDNQ:
    case ZYDIS_MNEMONIC_VANDNPS:
    case ZYDIS_MNEMONIC_VANDNPD:
    case ZYDIS_MNEMONIC_VPSUBB:
    case ZYDIS_MNEMONIC_VPSUBW:
    case ZYDIS_MNEMONIC_VPSUBD:
    case ZYDIS_MNEMONIC_VPSUBQ:
    case ZYDIS_MNEMONIC_VPCMPEQB:
    case ZYDIS_MNEMONIC_VPCMPEQW:
    case ZYDIS_MNEMONIC_VPCMPEQD:
    case ZYDIS_MNEMONIC_VPCMPEQQ:
    case ZYDIS_MNEMONIC_VPCMPGTB:
    case ZYDIS_MNEMONIC_VPCMPGTW:
    case ZYDIS_MNEMONIC_VPCMPGTD:
    case ZYDIS_MNEMONIC_VPCMPGTQ:
    case ZYDIS_MNEMONIC_KXORB:
    case ZYDIS_MNEMONIC_KXORW:
    case ZYDIS_MNEMONIC_KXORD:
    case ZYDIS_MNEMONIC_KXORQ:
    case ZYDIS_MNEMONIC_KXNORB:
    case ZYDIS_MNEMONIC_KXNORW:
    case ZYDIS_MNEMONIC_KXNORD:
    case ZYDIS_MNEMONIC_KXNORQ:
    case ZYDIS_MNEMONIC_KANDNB:
    case ZYDIS_MNEMONIC_KANDNW:
    case ZYDIS_MNEMONIC_KANDND:
    case ZYDIS_MNEMONIC_KANDNQ:
        return true;
    default:
        return false;
    }
}

/* The two sources are the last two register operands that the text shows. */
static bool has_equal_sources(const struct ins_work *work)
{
    unsigned count = work->zi->operand_count_visible;
    return count >= 2 && same_register(work, count - 2, count - 1);
}

static uint64_t all_ones(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* and x,0; or x,-1; vpternlog with a constant truth table. */
static bool has_absorbing_immediate(const struct ins_work *work)
{
    unsigned last = work->zi->operand_count_visible - 1u;
    if (work->zi->operand_count_visible < 2 || work->ops[last].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return false;
    uint64_t value = work->ops[last].imm.value.u;
    uint64_t ones = all_ones(work->ops[0].size);
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_AND:
        return (value & ones) == 0;
    case ZYDIS_MNEMONIC_OR:
        return (value & ones) == ones;
    case ZYDIS_MNEMONIC_VPTERNLOGD:
    case ZYDIS_MNEMONIC_VPTERNLOGQ:
        return (value & 0xff) == 0 || (value & 0xff) == 0xff;
    default:
        return false;
    }
}

/* and, test: bytes that the immediate clears do not matter; or: bytes that it sets. */
static void narrow_by_immediate(const struct ins_work *work, struct ins_flow *flow)
{
    bool is_or = work->zi->mnemonic == ZYDIS_MNEMONIC_OR;
    if (work->zi->mnemonic != ZYDIS_MNEMONIC_AND && work->zi->mnemonic != ZYDIS_MNEMONIC_TEST &&
        !is_or)
        return;
    if (work->ops[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
        work->ops[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return;
    uint64_t relevant = is_or ? ~work->ops[1].imm.value.u : work->ops[1].imm.value.u;
    flow->value_uses = (struct ins_regset){0};
    for (unsigned i = 0; i < work->ops[0].size / 8u; i++) {
        if (relevant >> (8 * i) & 0xff)
            ins_add_read(&flow->value_uses, work->ops[0].reg.value, i, 1);
    }
}

static bool is_copy(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVAPS:
    case ZYDIS_MNEMONIC_MOVAPD:
    case ZYDIS_MNEMONIC_MOVUPS:
    case ZYDIS_MNEMONIC_MOVUPD:
    case ZYDIS_MNEMONIC_MOVDQA:
    case ZYDIS_MNEMONIC_MOVDQU:
    case ZYDIS_MNEMONIC_MOVD:
    case ZYDIS_MNEMONIC_MOVQ:
    case ZYDIS_MNEMONIC_MOVSS:
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_LDDQU:
    case ZYDIS_MNEMONIC_MOVNTI:
    case ZYDIS_MNEMONIC_MOVNTPS:
    case ZYDIS_MNEMONIC_MOVNTPD:
    case ZYDIS_MNEMONIC_MOVNTDQ:
    case ZYDIS_MNEMONIC_MOVNTDQA:
    case ZYDIS_MNEMONIC_MOVLPS:
    case ZYDIS_MNEMONIC_MOVLPD:
    case ZYDIS_MNEMONIC_MOVHPS:
    case ZYDIS_MNEMONIC_MOVHPD:
    case ZYDIS_MNEMONIC_MOVLHPS:
    case ZYDIS_MNEMONIC_MOVHLPS:
    case ZYDIS_MNEMONIC_MOVDIRI:
    case ZYDIS_MNEMONIC_VMOVAPS:
    case ZYDIS_MNEMONIC_VMOVAPD:
    case ZYDIS_MNEMONIC_VMOVUPS:
    case ZYDIS_MNEMONIC_VMOVUPD:
    case ZYDIS_MNEMONIC_VMOVDQA:
    case ZYDIS_MNEMONIC_VMOVDQU:
    case ZYDIS_MNEMONIC_VMOVDQA32:
    case ZYDIS_MNEMONIC_VMOVDQA64:
    case ZYDIS_MNEMONIC_VMOVDQU8:
    case ZYDIS_MNEMONIC_VMOVDQU16:
    case ZYDIS_MNEMONIC_VMOVDQU32:
    case ZYDIS_MNEMONIC_VMOVDQU64:
    case ZYDIS_MNEMONIC_VMOVD:
    case ZYDIS_MNEMONIC_VMOVQ:
    case ZYDIS_MNEMONIC_VMOVSS:
    case ZYDIS_MNEMONIC_VMOVSD:
    case ZYDIS_MNEMONIC_VLDDQU:
    case ZYDIS_MNEMONIC_VMOVNTPS:
    case ZYDIS_MNEMONIC_VMOVNTPD:
    case ZYDIS_MNEMONIC_VMOVNTDQ:
    case ZYDIS_MNEMONIC_VMOVNTDQA:
        return true;
    default:
        return false;
    }
}

/* Whether an instruction writes its destination, or a part of it, and leaves the rest, though Zydis
 * says that it reads what it writes, too: of the first two always, of the others since 4.1. */
static bool overwrites_destination(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_CVTSI2SS:
    case ZYDIS_MNEMONIC_CVTSI2SD:
    case ZYDIS_MNEMONIC_MOVLPS:
    case ZYDIS_MNEMONIC_MOVLPD:
    case ZYDIS_MNEMONIC_MOVHPS:
    case ZYDIS_MNEMONIC_MOVHPD:
    case ZYDIS_MNEMONIC_MOVLHPS:
    case ZYDIS_MNEMONIC_MOVHLPS:
    case ZYDIS_MNEMONIC_SQRTSS:
    case ZYDIS_MNEMONIC_SQRTSD:
    case ZYDIS_MNEMONIC_RCPSS:
    case ZYDIS_MNEMONIC_RSQRTSS:
    case ZYDIS_MNEMONIC_ROUNDSS:
    case ZYDIS_MNEMONIC_ROUNDSD:
        return true;
    default:
        return false;
    }
}

static void forget_destination_use(struct ins_work *work, struct ins_flow *flow)
{
    flow->value_uses = (struct ins_regset){0};
    ins_use_operand(work, flow, 1);
}

/* bswap of 16 bits is undefined. */
static bool reverses_bytes(const struct ins_work *work)
{
    return work->zi->mnemonic == ZYDIS_MNEMONIC_MOVBE ||
           (work->zi->mnemonic == ZYDIS_MNEMONIC_BSWAP && work->zi->operand_width >= 32);
}

/* Exactly one destination and one source that has a place, unmasked. */
static bool copies_one_source(const struct ins_work *work, const struct ins_flow *flow)
{
    unsigned count = work->zi->operand_count_visible;
    bool no_mask = work->ops[1].encoding == ZYDIS_OPERAND_ENCODING_MASK; /* k0 */
    if (count != (no_mask ? 3 : 2) || work->ops[count - 1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return false;
    return ins_regset_is_empty(&flow->cond_uses) &&
           (flow->mem_uses != 0 || !ins_regset_is_empty(&flow->value_uses));
}

/* mov r,rsp and lea r,[rsp+c]: an address in the stack. */
static bool is_stack_address(const struct ins_work *work)
{
    const ZydisDecodedOperand *source = &work->ops[1];
    if (work->zi->mnemonic == ZYDIS_MNEMONIC_MOV)
        return source->type == ZYDIS_OPERAND_TYPE_REGISTER &&
               source->reg.value == ZYDIS_REGISTER_RSP;
    return work->zi->mnemonic == ZYDIS_MNEMONIC_LEA && source->mem.base == ZYDIS_REGISTER_RSP &&
           source->mem.index == ZYDIS_REGISTER_NONE;
}

/* Whether an instruction may keep its destination. Without shadow stacks rdssp is a nop; under UMIP
 * the kernel emulates the others, and keeps the upper bytes of the register that processors
 * define. */
static bool keeps_destination(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_RDSSPD:
    case ZYDIS_MNEMONIC_RDSSPQ:
    case ZYDIS_MNEMONIC_SLDT:
    case ZYDIS_MNEMONIC_STR:
    case ZYDIS_MNEMONIC_SMSW:
        return true;
    default:
        return false;
    }
}

/* Packed and scalar floating point: rounding in, sticky exception flags out. */
static bool has_float_exceptions(const struct ins_work *work)
{
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_CVTPI2PS:
    case ZYDIS_MNEMONIC_CVTPS2PI:
    case ZYDIS_MNEMONIC_CVTTPS2PI:
    case ZYDIS_MNEMONIC_CVTPD2PI:
    case ZYDIS_MNEMONIC_CVTTPD2PI:
        return true;
    default:
        break;
    }
    switch (work->zi->meta.exception_class) {
    case ZYDIS_EXCEPTION_CLASS_SSE2:
    case ZYDIS_EXCEPTION_CLASS_SSE3:
    case ZYDIS_EXCEPTION_CLASS_AVX2:
    case ZYDIS_EXCEPTION_CLASS_AVX3:
    case ZYDIS_EXCEPTION_CLASS_AVX11:
    case ZYDIS_EXCEPTION_CLASS_E2:
    case ZYDIS_EXCEPTION_CLASS_E2NF:
    case ZYDIS_EXCEPTION_CLASS_E3:
    case ZYDIS_EXCEPTION_CLASS_E3NF:
    case ZYDIS_EXCEPTION_CLASS_E11:
        return true;
    default:
        return false;
    }
}

/* Complex half precision: Zydis puts these into a class of instructions without exceptions. */
static bool is_complex_half(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_VFMADDCPH:
    case ZYDIS_MNEMONIC_VFMADDCSH:
    case ZYDIS_MNEMONIC_VFCMADDCPH:
    case ZYDIS_MNEMONIC_VFCMADDCSH:
    case ZYDIS_MNEMONIC_VFMULCPH:
    case ZYDIS_MNEMONIC_VFMULCSH:
    case ZYDIS_MNEMONIC_VFCMULCPH:
    case ZYDIS_MNEMONIC_VFCMULCSH:
        return true;
    default:
        return false;
    }
}

/* Instructions that raise no exceptions, but take denormals for zeros if MXCSR says so. */
static bool takes_denormals_as_zeros(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_VFPCLASSPS:
    case ZYDIS_MNEMONIC_VFPCLASSPD:
    case ZYDIS_MNEMONIC_VFPCLASSSS:
    case ZYDIS_MNEMONIC_VFPCLASSSD:
    case ZYDIS_MNEMONIC_VRCP14PS:
    case ZYDIS_MNEMONIC_VRCP14PD:
    case ZYDIS_MNEMONIC_VRCP14SS:
    case ZYDIS_MNEMONIC_VRCP14SD:
    case ZYDIS_MNEMONIC_VRSQRT14PS:
    case ZYDIS_MNEMONIC_VRSQRT14PD:
    case ZYDIS_MNEMONIC_VRSQRT14SS:
    case ZYDIS_MNEMONIC_VRSQRT14SD:
        return true;
    default:
        return false;
    }
}

void ins_refine_float(const struct ins_work *work, struct ins_flow *flow)
{
    if (takes_denormals_as_zeros(work->zi->mnemonic))
        ins_regset_add(&flow->value_uses, INS_LOC_MXCSR_CONTROL);
    if (!has_float_exceptions(work) && !is_complex_half(work->zi->mnemonic))
        return;
    ins_regset_add(&flow->value_uses, INS_LOC_MXCSR_CONTROL);
    ins_regset_add(&flow->may_defs, INS_LOC_MXCSR_STATUS);
}

void ins_refine_generic(struct ins_work *work, struct ins_flow *flow)
{
    if (is_constant_of_equal_sources(work->zi->mnemonic) && has_equal_sources(work))
        forget_value_uses(work, flow);
    narrow_by_immediate(work, flow);
    if (has_absorbing_immediate(work))
        forget_value_uses(work, flow);
    if (overwrites_destination(work->zi->mnemonic))
        forget_destination_use(work, flow);
    if (is_copy(work->zi->mnemonic) && copies_one_source(work, flow))
        flow->kinds |= INS_FLOW_COPY;
    if (ins_sign_extended_bytes(work->zi, work->ops))
        flow->kinds |= INS_FLOW_SIGN_COPY;
    if (reverses_bytes(work))
        flow->kinds |= INS_FLOW_REVERSED_COPY;
    if (is_stack_address(work))
        flow->kinds |= INS_FLOW_STACK_ADDRESS;
    if (keeps_destination(work->zi->mnemonic)) {
        flow->may_defs = flow->defs;
        flow->defs = (struct ins_regset){0};
    }
    ins_refine_float(work, flow);
}
