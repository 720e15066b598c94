/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How wide what is moved or used is: the pieces that flows are made of do not tell eax from rax. */
#include "recorder/insn/insn_priv.h"

unsigned ins_sign_extended_bytes(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops)
{
    switch (zi->mnemonic) {
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
        return ops[1].size / 8;
    case ZYDIS_MNEMONIC_CBW:
        return 1;
    case ZYDIS_MNEMONIC_CWDE:
        return 2;
    case ZYDIS_MNEMONIC_CDQE:
        return 4;
    default:
        return 0;
    }
}

unsigned ins_moved_bytes(const uint8_t *code, size_t len, bool *is_sign_extended)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];

    *is_sign_extended = false;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, len, &zi, ops)))
        return 0;
    unsigned bytes = ins_sign_extended_bytes(&zi, ops);
    if (bytes) {
        *is_sign_extended = true;
        return bytes;
    }
    if (zi.operand_count_visible == 0)
        return 0;
    const ZydisDecodedOperand *source = &ops[zi.operand_count_visible - 1];
    if (source->type != ZYDIS_OPERAND_TYPE_REGISTER && source->type != ZYDIS_OPERAND_TYPE_MEMORY)
        return 0;
    return source->size / 8;
}

/* From the first byte of a set's pieces to the last; 0 if they are not those of one register. */
static unsigned piece_span(const struct ins_regset *set)
{
    static const uint8_t gpr[] = {0, 1, 2, 8}, vector[] = {0, 4, 8, 16, 32, 64};
    unsigned first = ins_regset_next(set, 0), last = first;
    bool is_gpr = first < INS_LOC_CF;
    unsigned base = is_gpr ? INS_LOC_GPR : INS_LOC_VEC;
    unsigned pieces = is_gpr ? INS_GPR_PIECES : INS_VEC_PIECES;

    if (first >= INS_LOC_K || (!is_gpr && first < INS_LOC_VEC))
        return 0;
    for (unsigned l = first; l < INS_LOC_COUNT; l = ins_regset_next(set, l + 1))
        last = l;
    if ((first - base) / pieces != (last - base) / pieces)
        return 0;
    const uint8_t *bounds = is_gpr ? gpr : vector;
    return (unsigned)bounds[(last - base) % pieces + 1] - bounds[(first - base) % pieces];
}

unsigned ins_copy_bytes(const struct ins_work *work, const struct ins_flow *flow)
{
    if (flow->mem_uses) {
        unsigned bytes = work->info.mems[__builtin_ctz(flow->mem_uses)].size_bytes;
        return flow->mem_uses & (flow->mem_uses - 1) || bytes > 64 ? 0 : bytes;
    }
    unsigned span = piece_span(&flow->value_uses), count = work->zi->operand_count_visible;
    if (flow->kinds & INS_FLOW_SIGN_COPY)
        return span ? ins_sign_extended_bytes(work->zi, work->ops) : 0;
    if (!span || ins_regset_next(&flow->value_uses, 0) >= INS_LOC_CF || count == 0)
        return span;
    /* All operands of instructions that copy from a general register are as wide as it is, except
     * of those that extend or move to a vector: there it is the last one. */
    const ZydisDecodedOperand *source = &work->ops[count - 1];
    unsigned bytes = source->size / 8u;
    return source->type == ZYDIS_OPERAND_TYPE_IMMEDIATE || bytes > span ? span : bytes;
}

/* An address that lea computes: 32 bits of it need 32 bits of its registers. */
static bool is_half_address(const struct ins_work *work, const ZydisDecodedOperand *op)
{
    return op->mem.type == ZYDIS_MEMOP_TYPE_AGEN && work->ops[0].size <= 32;
}

static bool names_register(ZydisRegister reg, unsigned gpr)
{
    return reg != ZYDIS_REGISTER_NONE && ins_gpr_number(reg) == (int)gpr;
}

/* Whether an operand is more of a general register than its lower half. Also one that is written:
 * tables leave out that cmov may keep its destination. */
static bool has_upper_half(const struct ins_work *work, const ZydisDecodedOperand *op, unsigned gpr)
{
    if (op->type == ZYDIS_OPERAND_TYPE_REGISTER)
        return names_register(op->reg.value, gpr) &&
               ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_GPR64;
    return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.type == ZYDIS_MEMOP_TYPE_AGEN &&
           (names_register(op->mem.base, gpr) || names_register(op->mem.index, gpr)) &&
           !is_half_address(work, op);
}

uint16_t ins_used_halves(const struct ins_work *work, const struct ins_flow *flow)
{
    uint16_t halves = 0;

    /* With 32-bit addresses processors differ in what string instructions do to rcx. */
    if (work->info.klass != INS_PLAIN || work->zi->meta.category == ZYDIS_CATEGORY_STRINGOP)
        return 0;
    for (unsigned gpr = 0; gpr < INS_GPR_COUNT; gpr++) {
        bool is_half = ins_regset_has(&flow->value_uses, INS_GPR_PIECES * gpr + 2);
        bool is_named = false;
        for (unsigned i = 0; i < work->zi->operand_count && is_half; i++) {
            const ZydisDecodedOperand *op = &work->ops[i];
            is_half = !has_upper_half(work, op, gpr);
            is_named |=
                op->type == ZYDIS_OPERAND_TYPE_REGISTER
                    ? names_register(op->reg.value, gpr)
                    : op->type == ZYDIS_OPERAND_TYPE_MEMORY && is_half_address(work, op) &&
                          (names_register(op->mem.base, gpr) || names_register(op->mem.index, gpr));
        }
        halves |= (uint16_t)((is_half && is_named) << gpr);
    }
    return halves;
}
