/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rdpid and lsl, which the agent executes: it knows what the recorded processor answered. And
 * writes of segment registers, of which it knows what they hold.
 */
#include "recorder/dbi/processor_emit.h"

#include "recorder/dbi/leave.h"
#include "recorder/dbi/operand.h"
#include "recorder/dbi/scratch.h"

static unsigned named(struct dbi_insn *insn, unsigned operand)
{
    return (unsigned)ZydisRegisterGetId(dbi_insn_whole(insn)->operands[operand].reg.value);
}

/* Emits ctx.tmp = the selector that the second operand is, with whatever lies above its 16 bits */
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
    emit_load_sized(w->e, reg, reg, 0, 2);
    emit_store_gs(w->e, AGT_CTX_TMP, reg);
    dbi_reg_return(w, reg);
}

/* Which register gets the result, for the agent. */
static uint32_t result_of(struct dbi_insn *insn)
{
    const ZydisDecodedOperand *op = &dbi_insn_whole(insn)->operands[0];
    switch (op->reg.value) {
    case ZYDIS_REGISTER_DS:
        return EVQ_DS;
    case ZYDIS_REGISTER_ES:
        return EVQ_ES;
    case ZYDIS_REGISTER_SS:
        return EVQ_SS;
    default:
        return named(insn, 0) | (op->size == 16 ? AGT_RESULT_WORD : 0);
    }
}

void dbi_processor_emit(struct work *w, unsigned at)
{
    struct dbi_insn *insn = &w->code->insns[at];
    enum agt_exit kind = insn->is.terminal == DBI_RDPID ? AGT_EXIT_RDPID
                         : insn->is.terminal == DBI_LSL ? AGT_EXIT_LSL
                                                        : AGT_EXIT_SEGMENT;
    if (kind != AGT_EXIT_RDPID)
        selector_keep(w, at);
    dbi_rip_store(w->e, insn->pc);
    dbi_agent_call(w, kind, result_of(insn) | AGT_RESULT_LENGTH(insn->is.length));
    dbi_place_add(w, at);
    emit_ud2(w->e);
}
