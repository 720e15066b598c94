/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/model/decode.h"

#include <Zydis/Zydis.h>

static enum mdl_insn_kind kind_of(const ZydisDecodedInstruction *raw)
{
    switch (raw->mnemonic) {
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
        return MDL_INSN_STOP;
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_INT3:
        return MDL_INSN_NOP;
    default:
        break;
    }
    switch (raw->meta.category) {
    case ZYDIS_CATEGORY_CALL:
        return MDL_INSN_CALL;
    case ZYDIS_CATEGORY_COND_BR:
        return MDL_INSN_BRANCH;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return MDL_INSN_JUMP;
    case ZYDIS_CATEGORY_RET:
        return MDL_INSN_RETURN;
    default:
        return MDL_INSN_PLAIN;
    }
}

int mdl_decode(uint64_t pc, const uint8_t *bytes, size_t available, struct mdl_insn *insn)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction raw;

    if (available > ZYDIS_MAX_INSTRUCTION_LENGTH)
        available = ZYDIS_MAX_INSTRUCTION_LENGTH;
    /* some nanoseconds; its layout differs between Zydis 4.0 and 4.1, so no constant initializer */
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, available, &raw)))
        return -1;
    *insn = (struct mdl_insn){.pc = pc, .length = raw.length, .kind = kind_of(&raw)};
    if (insn->kind != MDL_INSN_CALL && insn->kind != MDL_INSN_JUMP && insn->kind != MDL_INSN_BRANCH)
        return 0;
    if (raw.raw.imm[0].is_relative) {
        insn->is_direct = 1;
        insn->target = pc + raw.length + (uint64_t)raw.raw.imm[0].value.s;
    } else if (raw.raw.modrm.offset != 0 && raw.raw.modrm.mod == 0 && raw.raw.modrm.rm == 5) {
        insn->slot = pc + raw.length + (uint64_t)raw.raw.disp.value;
    }
    return 0;
}
