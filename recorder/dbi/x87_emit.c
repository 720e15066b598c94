/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keeps the address of the program's last x87 instruction in the context: two stores behind the
 * last one of a fragment, since nobody can see those before it. (A fault in between can: who maps
 * it back knows which instructions were executed.) Where the processor loses the pointers the last
 * memory operand's address is kept, too; the others' own is right.
 */
#include "recorder/dbi/x87_emit.h"

#include "recorder/dbi/leave.h"
#include "recorder/dbi/operand.h"
#include "recorder/dbi/x87_kinds.h"

/* Whether what instruction `at` leaves is replaced in the fragment, with nobody to see it;
 * `memory`: by one with a memory operand. */
static bool is_replaced(const struct work *w, unsigned at, bool memory)
{
    for (unsigned i = at + 1; i < w->code->count; i++) {
        const struct dbi_traits *is = &w->code->insns[i].is;
        if (is->x87 == DBI_X87_CLEARS || (is->x87 == DBI_X87_SETS && (is->has_memory || !memory)))
            return true;
        if (is->x87 != DBI_X87_NONE && is->x87 != DBI_X87_SETS)
            return false;
        if (is->xsave)
            return false;
    }
    return false;
}

static void keep(struct work *w, uint32_t disp, uint64_t value)
{
    emit_store_imm_gs(w->e, disp, (uint32_t)value);
    emit_store_imm_gs(w->e, disp + 4, (uint32_t)(value >> 32));
}

void dbi_x87_before(struct work *w, unsigned at)
{
    const struct dbi_traits *is = &w->code->insns[at].is;
    if (is->x87 == DBI_X87_STORES || is->x87 == DBI_X87_LOADS)
        dbi_address_keep(w, at, AGT_CTX_TMP);
}

void dbi_x87_after(struct work *w, unsigned at)
{
    const struct dbi_insn *insn = &w->code->insns[at];
    switch (insn->is.x87) {
    case DBI_X87_STORES:
    case DBI_X87_LOADS:
        dbi_agent_call(w, AGT_EXIT_X87, dbi_x87_arg(insn->bytes, insn->is.length));
        return;
    case DBI_X87_CLEARS:
        keep(w, AGT_CTX_X87_IP, 0);
        keep(w, AGT_CTX_X87_DP, 0);
        return;
    case DBI_X87_SETS:
        if (!is_replaced(w, at, false))
            keep(w, AGT_CTX_X87_IP, dbi_x87_ip(insn->pc, insn->bytes, insn->is.length));
        if (w->x87_is_lost && insn->is.has_memory && !is_replaced(w, at, true))
            dbi_address_keep(w, at, AGT_CTX_X87_DP);
        return;
    }
}
