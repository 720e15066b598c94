/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/insn/insn_lanes.h"

#include "recorder/insn/insn_priv.h"

/* Bytes of an element, of what is one to one in both operands; else 0. */
static unsigned element_of(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_PXOR:
    case ZYDIS_MNEMONIC_VPXOR:
    case ZYDIS_MNEMONIC_XORPS:
    case ZYDIS_MNEMONIC_VXORPS:
    case ZYDIS_MNEMONIC_XORPD:
    case ZYDIS_MNEMONIC_VXORPD:
    case ZYDIS_MNEMONIC_PADDB:
    case ZYDIS_MNEMONIC_VPADDB:
    case ZYDIS_MNEMONIC_PSUBB:
    case ZYDIS_MNEMONIC_VPSUBB:
        return 1;
    case ZYDIS_MNEMONIC_PADDW:
    case ZYDIS_MNEMONIC_VPADDW:
    case ZYDIS_MNEMONIC_PSUBW:
    case ZYDIS_MNEMONIC_VPSUBW:
        return 2;
    case ZYDIS_MNEMONIC_PADDD:
    case ZYDIS_MNEMONIC_VPADDD:
    case ZYDIS_MNEMONIC_PSUBD:
    case ZYDIS_MNEMONIC_VPSUBD:
        return 4;
    case ZYDIS_MNEMONIC_PADDQ:
    case ZYDIS_MNEMONIC_VPADDQ:
    case ZYDIS_MNEMONIC_PSUBQ:
    case ZYDIS_MNEMONIC_VPSUBQ:
        return 8;
    default:
        return 0;
    }
}

unsigned ins_lane_place(const struct ins_work *work, unsigned operand)
{
    const ZydisDecodedOperand *op = &work->ops[operand];

    if (work->mem_of[operand] != INS_NO_MEM)
        return INS_PLACE_MEMORY + work->mem_of[operand];
    if (op->type != ZYDIS_OPERAND_TYPE_REGISTER || !ins_is_vector(op->reg.value))
        return INS_PLACE_NONE;
    return (unsigned)ZydisRegisterGetId(op->reg.value);
}

static bool make_one_to_one(const struct ins_work *work, struct ins_lanes *lanes)
{
    bool is_legacy = work->zi->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
    unsigned first = is_legacy ? 0 : 1;

    lanes->kind = INS_LANES_ONE_TO_ONE;
    lanes->element_bytes = (uint8_t)element_of(work->zi->mnemonic);
    lanes->bytes = (uint8_t)ins_vector_bytes(&work->ops[0]);
    if (!lanes->element_bytes || !lanes->bytes || work->zi->operand_count_visible != first + 2 ||
        (!is_legacy && work->zi->encoding != ZYDIS_INSTRUCTION_ENCODING_VEX))
        return false;
    lanes->operands[0] = (uint8_t)ins_lane_place(work, first);
    lanes->operands[1] = (uint8_t)ins_lane_place(work, first + 1);
    return lanes->operands[0] != lanes->operands[1];
}

bool ins_lanes_make(const uint8_t *code, size_t len, struct ins_lanes *out)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
    struct ins_work work = {.zi = &zi, .ops = ops};

    *out = (struct ins_lanes){0};
    if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
        ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, len, &zi, ops)))
        return false;
    ins_mems_collect(&work);
    return ins_shuffle_lanes(&work, out) || make_one_to_one(&work, out);
}
