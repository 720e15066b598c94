/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rdpid and lsl, which the agent executes: it knows what the recorded processor answered. */
#include "recorder/dbi/translate_priv.h"

static unsigned named(struct dbi_insn *insn, unsigned operand)
{
    return (unsigned)ZydisRegisterGetId(dbi_insn_whole(insn)->operands[operand].reg.value);
}

/* ctx.tmp = the selector that lsl names, with whatever lies above its 16 bits */
static void selector_keep(struct work *w, unsigned at)
{
    struct dbi_insn *insn = &w->code->insns[at];
    unsigned reg;
    if (!insn->is.has_memory) {
        reg = named(insn, 1);
        reg = reg == R15 ? dbi_r15_get(w, at) : reg;
        emit_store_gs(w->e, AGT_CTX_TMP, reg);
        return;
    }
    reg = dbi_reg_borrow(w, at, 0);
    dbi_address_get(w, at, &insn->info.mems[0], reg, 0);
    dbi_place_add(w, at);
    emit_u8(w->e, emit_rex(0, reg, -1, (int)reg));
    emit_bytes(w->e, "\x0f\xb7", 2); /* movzx reg, word [reg] */
    emit_memory(w->e, reg, (int)reg, -1, 1, 0);
    emit_store_gs(w->e, AGT_CTX_TMP, reg);
    dbi_reg_return(w, reg);
}

void dbi_processor_emit(struct work *w, unsigned at)
{
    struct dbi_insn *insn = &w->code->insns[at];
    bool is_lsl = insn->is.terminal == DBI_LSL;
    bool is_word = dbi_insn_whole(insn)->operands[0].size == 16;
    if (is_lsl)
        selector_keep(w, at);
    dbi_rip_store(w->e, insn->pc);
    dbi_agent_call(w, is_lsl ? AGT_EXIT_LSL : AGT_EXIT_RDPID,
                   named(insn, 0) | (is_word ? AGT_RESULT_WORD : 0) |
                       AGT_RESULT_LENGTH(insn->is.length));
    dbi_place_add(w, at);
    emit_bytes(w->e, "\x0f\x0b", 2); /* ud2 */
}
