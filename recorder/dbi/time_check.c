/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/time_check.h"

#include "recorder/dbi/leave.h"
#include "recorder/dbi/scratch.h"

/* Emits op reg, [the fragment's step]: beside the code if it is not among those that all share */
static void step_op(struct work *w, enum emit_op op, unsigned reg)
{
    unsigned count = w->code->count, words = w->out->word_count;
    if (words <= AGT_RING_FEW) {
        emit_op_gs(w->e, true, op, reg, agt_step_off(count, words));
        return;
    }
    uint8_t *site = emit_op_rip(w->e, true, op, reg);
    if (!w->e->overflow)
        emit_patch(site, w->cold->at);
    emit_u64(w->cold, agt_step(count, words));
}

/* Emits r15 += the step, by way of another register. */
static void step_take(struct work *w, unsigned reg)
{
    step_op(w, EMIT_MOV_FROM, reg);
    emit_lea(w->e, R15, R15, (int)reg, 1, 0, false);
}

static void step_borrowed(struct work *w)
{
    unsigned reg = dbi_reg_borrow(w, 0, 0);
    step_take(w, reg);
    dbi_reg_return(w, reg);
}

/* Emits what takes the step back; no flag changes, reg gets lost. */
static void step_undo(struct work *w, struct emit *e, unsigned reg)
{
    emit_mov_imm(e, reg, -agt_step(w->code->count, w->out->word_count));
    emit_lea(e, R15, R15, (int)reg, 1, 0, false);
}

/*
 * Emits the check where flags are live: the sign of r15, or of r15 - 1, goes into cl. (By lahf and
 * sahf it took longer: all flags and rax waited for it.) rcx stays in its home until it is needed.
 */
static uint8_t *time_emit_flagless(struct work *w, uint8_t n)
{
    struct emit *e = w->e;
    bool collect = w->mode == DBI_COLLECT;
    if (!collect)
        emit_lea(e, R15, R15, -1, 1, n, false);
    emit_store_gs(e, HOME(INS_RCX), INS_RCX);
    w->spilled |= 1u << INS_RCX;
    if (collect)
        step_take(w, INS_RCX);
    emit_lea(e, INS_RCX, R15, -1, 1, collect ? 0 : -1, false);
    emit_rcx_top_byte(e);
    if (collect) {
        emit_short(e, EMIT_SHORT_JRCXZ, EMIT_JMP_BYTES); /* over the jump */
    } else {
        emit_short(e, EMIT_SHORT_JRCXZ, EMIT_SHORT_BYTES); /* to it */
        emit_short(e, EMIT_SHORT_JMP, EMIT_JMP_BYTES);     /* over it */
    }
    return emit_branch(e, EMIT_JMP, 0);
}

uint8_t *dbi_time_emit(struct work *w, enum time_check check)
{
    uint8_t n = (uint8_t)w->code->count;
    bool collect = w->mode == DBI_COLLECT;
    if (check == TIME_FLAGS_LIVE)
        return time_emit_flagless(w, n);
    if (check == TIME_UNCHECKED) {
        if (collect)
            step_borrowed(w);
        else
            emit_lea(w->e, R15, R15, -1, 1, n, false);
        /* A store may wait for its page to be opened while this fragment is forgotten: what
         * forgetting overwrites (GONE_PATCH_BYTES) must not reach into the first instruction. */
        if (w->mode == DBI_PLAIN)
            emit_nop(w->e, 1);
        return NULL;
    }
    if (collect) {
        step_op(w, EMIT_ADD_FROM, R15);
        return emit_branch(w->e, EMIT_IF_SIGN, 0);
    }
    emit_arith_imm8(w->e, true, EMIT_ADD, R15, n);
    return emit_branch(w->e, EMIT_IF_GREATER, 0);
}

void dbi_time_stub_emit(struct work *w, uint8_t *site, enum time_check check)
{
    struct emit *e = w->cold;
    uint8_t n = (uint8_t)w->code->count;
    if (!site || w->e->overflow)
        return;
    emit_patch(site, e->at);
    if (w->mode != DBI_COLLECT)
        emit_lea(e, R15, R15, -1, 1, -(int32_t)n, false);
    else if (check == TIME_FLAGS_DEAD)
        emit_store_gs(e, HOME(INS_RCX), INS_RCX);
    if (w->mode == DBI_COLLECT)
        step_undo(w, e, INS_RCX);
    if (check == TIME_FLAGS_LIVE || w->mode == DBI_COLLECT)
        emit_load_gs(e, INS_RCX, HOME(INS_RCX));
    dbi_leave_time_emit(w, w->code->insns[0].pc);
}
