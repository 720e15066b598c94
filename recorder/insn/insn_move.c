/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How wide the source of a move is: the pieces that flows are made of do not tell eax from rax. */
#include "recorder/insn/insn_priv.h"

static unsigned sign_extended_bytes(const ZydisDecodedInstruction *zi,
                                    const ZydisDecodedOperand *ops)
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
    unsigned bytes = sign_extended_bytes(&zi, ops);
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
