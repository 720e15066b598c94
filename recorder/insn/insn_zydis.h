/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For who has decoded an instruction already and needs Zydis's view of it, too. */
#ifndef RECORDER_INSN_INSN_ZYDIS_H
#define RECORDER_INSN_INSN_ZYDIS_H

#include <Zydis/Zydis.h>

#include "recorder/insn/insn.h"

/* What ins_decode() gives for an instruction at `pc`, from its full decoding (all operands). */
void ins_describe(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops, uint64_t pc,
                  struct ins_info *out);

/* What ins_describe() says of it in out->choice. */
void ins_choice_make(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                     struct ins_choice *out);

#endif
