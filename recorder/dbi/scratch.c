/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which registers are borrowed, and when their values come back. */
#include "recorder/dbi/scratch.h"

#include <assert.h>

void dbi_place_add(struct work *w, unsigned insn)
{
    if (w->out->place_count == DBI_PLACES_MAX)
        return;
    w->out->places[w->out->place_count++] =
        (struct dbi_place){.host_off = (uint32_t)(w->e->at - w->start),
                           .spilled = w->spilled,
                           .insn = (uint8_t)insn,
                           .flags_inexact = w->flags_free};
}

static void reg_restore(struct work *w, unsigned reg)
{
    emit_load_gs(w->e, reg, HOME(reg));
    w->spilled &= (uint16_t) ~(1u << reg);
    if (w->r15 == (int)reg)
        w->r15 = -1;
}

void dbi_regs_restore(struct work *w, uint16_t which)
{
    for (unsigned reg = 0; reg < 16; reg++) {
        if (w->spilled & which & (1u << reg))
            reg_restore(w, reg);
    }
}

unsigned dbi_reg_borrow(struct work *w, unsigned at, uint16_t avoid)
{
    uint16_t taken =
        (uint16_t)(w->code->insns[at].is.gpr_used | w->busy | avoid | 1u << INS_RSP | 1u << R15);
    if (w->r15 >= 0)
        taken |= (uint16_t)(1u << w->r15);
    unsigned best = 0, best_use = 0;
    bool found = false;
    for (unsigned reg = 0; reg < R15; reg++) {
        if (taken >> reg & 1)
            continue;
        unsigned use = dbi_code_next_use(w->code, at, reg) * 2 + (w->spilled >> reg & 1);
        if (!found || use > best_use) {
            best = reg;
            best_use = use;
            found = true;
        }
    }
    assert(found);
    if (!(w->spilled >> best & 1))
        emit_store_gs(w->e, HOME(best), best);
    w->spilled |= (uint16_t)(1u << best);
    w->busy |= (uint16_t)(1u << best);
    return best;
}

void dbi_reg_return(struct work *w, unsigned reg)
{
    assert(w->busy >> reg & 1);
    w->busy &= (uint16_t) ~(1u << reg);
}

unsigned dbi_r15_get(struct work *w, unsigned at)
{
    if (w->r15 < 0) {
        unsigned reg = dbi_reg_borrow(w, at, 0);
        dbi_reg_return(w, reg);
        emit_load_gs(w->e, reg, HOME(R15));
        w->r15 = (int)reg;
    }
    return (unsigned)w->r15;
}

void dbi_gs_add(struct work *w, unsigned at, uint32_t disp, int32_t n)
{
    unsigned reg = dbi_reg_borrow(w, at, 0);
    emit_load_gs(w->e, reg, disp);
    emit_lea(w->e, reg, (int)reg, -1, 1, n, false);
    emit_store_gs(w->e, disp, reg);
    dbi_reg_return(w, reg);
}
