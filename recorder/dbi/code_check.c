/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/code_check.h"

#include <assert.h>

#include "recorder/dbi/leave.h"

/* Move flags to ax and back, without the guest's stack; rax waits in its home. */
static void flags_keep(struct work *w)
{
    emit_store_gs(w->e, HOME(INS_RAX), INS_RAX);
    emit_flags_to_ax(w->e);
}

static void flags_restore(struct emit *e)
{
    emit_flags_from_ax(e);
    emit_load_gs(e, INS_RAX, HOME(INS_RAX));
}

/* Emits cmp dword (or byte) [rcx + off], imm; jne. */
static void check_one(struct work *w, unsigned off, const uint8_t *code, unsigned bytes)
{
    emit_cmp_bytes(w->e, INS_RCX, (int32_t)off, code + off, bytes);
    assert(w->differ_count < DBI_CHECKS_MAX);
    w->out->differs[w->differ_count++] = emit_branch(w->e, EMIT_IF_NOT_ZERO, 0);
}

void dbi_check_emit(struct work *w)
{
    uint8_t code[DBI_INSN_MAX * 15];
    unsigned bytes = 0, off;
    if (!w->code->unwatched)
        return;
    for (unsigned i = 0; i < w->code->count; bytes += w->code->insns[i++].is.length)
        memcpy(code + bytes, w->code->insns[i].bytes, w->code->insns[i].is.length);
    flags_keep(w);
    emit_store_gs(w->e, HOME(INS_RCX), INS_RCX);
    emit_mov_imm(w->e, INS_RCX, w->code->insns[0].pc);
    for (off = 0; off + 4 <= bytes; off += 4)
        check_one(w, off, code, 4);
    for (; off < bytes; off++)
        check_one(w, off, code, 1);
    emit_load_gs(w->e, INS_RCX, HOME(INS_RCX));
    flags_restore(w->e);
}

void dbi_check_stub_emit(struct work *w)
{
    struct emit *e = w->cold;
    if (!w->differ_count || w->e->overflow)
        return;
    for (unsigned i = 0; i < w->differ_count; i++)
        emit_patch(w->out->differs[i], e->at);
    emit_load_gs(e, INS_RCX, HOME(INS_RCX));
    flags_restore(e);
    emit_store_imm_gs(e, AGT_CTX_EXIT_ARG, w->code->code_bytes);
    dbi_leave_emit(e, w->code->insns[0].pc, AGT_EXIT_STALE);
}
