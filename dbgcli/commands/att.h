/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of instructions; in AT&T's syntax as binutils write it, where Zydis writes it in another
 * way. */
#ifndef DBGCLI_COMMANDS_ATT_H
#define DBGCLI_COMMANDS_ATT_H

#include <Zydis/Zydis.h>
#include <stddef.h>

struct cli_att {
    const ZydisDecodedInstruction *decoded;
    const ZydisDecodedOperand *operands;
};

/*
 * Zydis' text with the mnemonic in 6 columns and no blanks behind commas. Mnemonics of vector
 * instructions have a suffix of size only where the registers do not tell it: cvtsi2sdl
 * (%rax),%xmm0, but vmovdqu8 %zmm0,(%rax). Decorators are where binutils have them: (%rax){1to16},
 * %zmm1{%k2}{z}, and {rn-sae} as an operand of its own. Without `att` it is Intel's syntax, which
 * keeps its words.
 */
void cli_att_lay_out(const struct cli_att *att, const char *from, char *to, size_t size);

#endif
