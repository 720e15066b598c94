/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An instruction as Zydis decodes it, with its operands. */
#ifndef PREDICATE_SWITCH_DECODED_H
#define PREDICATE_SWITCH_DECODED_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct psw_decoded {
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
};

/* Whether there is one at `code`, of which `size` bytes may be looked at. */
static inline bool psw_decode(const uint8_t *code, size_t size, struct psw_decoded *insn)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, size, &insn->zi, insn->ops));
}

/* Whether it is one of those that are mutated: of legacy encoding, without lock. */
static inline bool psw_decode_plain(const uint8_t *code, size_t size, struct psw_decoded *insn)
{
    return psw_decode(code, size, insn) && insn->zi.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
           !(insn->zi.attributes & ZYDIS_ATTRIB_HAS_LOCK);
}

#endif
