/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Emits one fragment:
 *
 *   body     [is the code as it was?]; count or stop; then each instruction: [bookkeeping] [it]
 *   terminal the branch, as direct jumps or a look-up
 *   cold     elsewhere: stubs that leave for the agent, constants
 *
 * What is inserted, by who inserts it: marks.c, ring.c, wall.c, time_check.c, code_check.c,
 * x87_emit.c. How the program's own instructions change: relocate.c, operand.c, branch.c, lookup.c,
 * lanes.c, processor_emit.c. All of them borrow registers from scratch.c.
 */
#include "recorder/dbi/translate.h"

#include <assert.h>
#include <errno.h>

#include "recorder/dbi/branch.h"
#include "recorder/dbi/code_check.h"
#include "recorder/dbi/leave.h"
#include "recorder/dbi/marks.h"
#include "recorder/dbi/operand.h"
#include "recorder/dbi/relocate.h"
#include "recorder/dbi/ring.h"
#include "recorder/dbi/scratch.h"
#include "recorder/dbi/time_check.h"
#include "recorder/dbi/wall.h"
#include "recorder/dbi/x87_emit.h"

/* wrfsbase has set the base to its operand; the 32-bit form extends that with zeros. */
static void fs_base_keep(struct work *w, unsigned at)
{
    const ZydisDecodedOperand *op = &dbi_insn_whole(&w->code->insns[at])->operands[0];
    unsigned reg = (unsigned)ZydisRegisterGetId(op->reg.value);
    if (reg == R15)
        reg = dbi_r15_get(w, at);
    if (op->size == 64) {
        emit_store_gs(w->e, AGT_CTX_FS_BASE, reg);
        return;
    }
    emit_store32_gs(w->e, AGT_CTX_FS_BASE, reg);
    emit_store_imm_gs(w->e, AGT_CTX_FS_BASE + 4, 0);
}

/* Has the agent look at what is where an xsave will store. */
static void xsave_announce(struct work *w, unsigned at)
{
    dbi_address_keep(w, at, AGT_CTX_TMP);
    dbi_agent_call(w, AGT_EXIT_XSAVE, 0);
}

static int insn_emit(struct work *w, unsigned at)
{
    const struct dbi_traits *is = &w->code->insns[at].is;
    if (is->uses_gs)
        return dbi_gs_insn_emit(w, at);
    if (is->loads_gs) {
        dbi_gs_load_emit(w, at);
        return 0;
    }
    if (is->moves_gs_base) {
        dbi_gs_base_emit(w, at);
        return 0;
    }
    return dbi_insn_relocate(w, at);
}

static int insns_emit(struct work *w)
{
    for (unsigned i = 0; i < w->code->count; i++) {
        const struct dbi_insn *insn = &w->code->insns[i];
        unsigned first_word = w->word;
        dbi_regs_restore(w, insn->is.gpr_used);
        if (w->wall)
            dbi_wall_look(w, i);
        if (w->mode == DBI_COUNT)
            dbi_marks_emit(w, i);
        else if (w->mode == DBI_COLLECT)
            dbi_ring_before(w, i);
        if (insn->is.terminal != DBI_NEXT)
            return 0; /* the last: terminal_emit's */
        if (insn->is.xsave)
            xsave_announce(w, i);
        if (insn->is.x87)
            dbi_x87_before(w, i);
        if (insn->is.is_rep)
            emit_store_gs(w->e, AGT_CTX_REP_COUNT, INS_RCX);
        int err = insn_emit(w, i);
        if (err)
            return err;
        if (insn->is.xsave)
            dbi_agent_call(w, AGT_EXIT_XSAVED,
                           insn->is.xsave | (insn->is.is_wide ? 0 : AGT_XSAVED_NARROW));
        if (insn->is.x87)
            dbi_x87_after(w, i);
        if (insn->is.writes_fs_base)
            fs_base_keep(w, i);
        if (w->mode == DBI_COLLECT)
            dbi_ring_after(w, i);
        if (w->values)
            dbi_ring_values(w, i, first_word);
        if (w->wall)
            dbi_wall_pass(w, i);
    }
    return 0;
}

static void start_emit(struct work *w)
{
    uint32_t counter = (uint32_t)(AGT_COUNT_OFF + 8 * w->id);
    if (w->mode == DBI_COLLECT) {
        uint32_t word = agt_ring_word(w->id, w->code->count, w->out->word_count);
        emit_store_imm_gs_narrow(w->e, R15, dbi_word_off(w, 0) - 8, word);
    } else if (w->mode == DBI_COUNT) {
        if (w->flags_free)
            emit_arith_gs_imm8(w->e, EMIT_ADD, counter, 1);
        else
            dbi_gs_add(w, 0, counter, 1);
    }
}

int dbi_emit_fragment(struct emit *e, const struct dbi_emit_how *how, struct dbi_code *code,
                      struct dbi_output *out)
{
    bool exact = how->exact;
    assert(code->count > 0 && code->count <= DBI_INSN_MAX);
    struct work w = {.e = e,
                     .cold = how->cold,
                     .code = code,
                     .out = out,
                     .start = e->at,
                     .mode = how->mode,
                     .id = how->id,
                     .r15 = -1,
                     .exact = exact,
                     .ticks = how->ticks,
                     .x87_is_lost = how->x87_is_lost,
                     .values = how->values,
                     .shared = how->shared,
                     .pad = how->pad,
                     .site = how->site,
                     .wall = how->wall};
    out->place_count = out->exit_count = 0;
    out->falls = out->has_pad = false;
    out->lookup = NULL;
    dbi_ring_plan(&w);
    w.flags_free = !exact && dbi_code_flags_dead(code);
    out->body = e->at;
    if (how->filter)
        dbi_filter_emit(&w, how->filter);
    out->inner = e->at;
    dbi_check_emit(&w);
    enum time_check check = w.flags_free                         ? TIME_FLAGS_DEAD
                            : !exact && dbi_code_may_cycle(code) ? TIME_FLAGS_LIVE
                                                                 : TIME_UNCHECKED;
    uint8_t *time_up = dbi_time_emit(&w, check);
    start_emit(&w);
    int err = insns_emit(&w);
    if (err)
        return err;
    assert(w.word == out->word_count);
    dbi_terminal_emit(&w);
    dbi_time_stub_emit(&w, time_up, check);
    dbi_check_stub_emit(&w);
    return e->overflow || w.cold->overflow ? -ENOSPC : 0;
}
