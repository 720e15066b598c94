/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a fragment ends. */
#include "recorder/dbi/branch.h"

#include <signal.h>
#include <string.h>

#include "recorder/dbi/leave.h"
#include "recorder/dbi/lookup.h"
#include "recorder/dbi/operand.h"
#include "recorder/dbi/processor_emit.h"
#include "recorder/dbi/relocate.h"
#include "recorder/dbi/scratch.h"

/* ---- the filter ---- */

/* rcx = what the filter looks at - its value; then as the header says. Ticks only grow: of their
 * difference the highest byte is taken, which is 0 from the value on. No flag may change here. */
void dbi_filter_emit(struct work *w, const struct dbi_filter *filter)
{
    struct emit *e = w->e;
    emit_store_gs(e, HOME(INS_RCX), INS_RCX);
    emit_store_gs(e, HOME(INS_RAX), INS_RAX);
    if (filter->what == DBI_FILTER_MEMORY) {
        emit_mov_imm(e, INS_RAX, filter->address);
        emit_op_at(e, true, EMIT_MOV_FROM, INS_RCX, INS_RAX);
    } else if (filter->what == DBI_FILTER_TICKS) {
        emit_load_gs(e, INS_RCX, AGT_CTX_TICKS);
    } else if (filter->what == R15) {
        emit_load_gs(e, INS_RCX, HOME(R15));
    } else if (filter->what != INS_RCX) {
        emit_lea(e, INS_RCX, (int)filter->what, -1, 1, 0, false);
    }
    emit_mov_imm(e, INS_RAX, -filter->value);
    emit_lea(e, INS_RCX, INS_RCX, INS_RAX, 1, 0, false);
    if (filter->what == DBI_FILTER_TICKS)
        emit_rcx_top_byte(e);
    emit_load_gs(e, INS_RAX, HOME(INS_RAX));
    emit_short(e, EMIT_SHORT_JRCXZ, 0);
    uint8_t *equal = e->at;
    emit_load_gs(e, INS_RCX, HOME(INS_RCX));
    uint8_t *over = emit_branch(e, EMIT_JMP, 0);
    if (e->overflow)
        return;
    emit_short_land(e, equal);
    emit_load_gs(e, INS_RCX, HOME(INS_RCX));
    dbi_leave_emit(e, w->code->insns[0].pc, AGT_EXIT_DIRECT);
    emit_patch(over, e->at);
}

/* ---- indirect branches ---- */

/* Emits mov r11, [rip-relative operand]. */
static void target_load_rip(struct work *w, const struct dbi_insn *insn, bool fs)
{
    uint64_t address = dbi_rip_address(insn);
    int64_t disp = (int64_t)(address - (emit_host(w->e) + 7));
    if (!fs && disp == (int32_t)disp) {
        int32_t disp32 = (int32_t)disp;
        uint8_t *site = emit_op_rip(w->e, true, EMIT_MOV_FROM, R11);
        if (!w->e->overflow)
            memcpy(site, &disp32, 4);
        return;
    }
    emit_mov_imm64(w->e, R11, address);
    w->out->places[w->out->place_count - 1].host_off = (uint32_t)(w->e->at - w->start);
    w->out->places[w->out->place_count - 1].spilled |= 1u << R11;
    if (fs)
        emit_prefix(w->e, EMIT_FS);
    emit_op_at(w->e, true, EMIT_MOV_FROM, R11, R11);
}

static void target_load_gs(struct work *w, unsigned at)
{
    w->busy = 1u << R11 | 1u << INS_RCX;
    dbi_address_get(w, at, &w->code->insns[at].info.mems[0], R11, 0);
    w->busy = 0;
    dbi_place_add(w, at);
    w->out->places[w->out->place_count - 1].spilled |= 1u << R11;
    emit_op_at(w->e, true, EMIT_MOV_FROM, R11, R11);
}

/* Emits mov r11, <operand of an indirect jump or call>; r11 and rcx are in their homes already. */
static void target_load(struct work *w, unsigned at)
{
    struct dbi_insn *insn = &w->code->insns[at];
    if (insn->is.uses_gs) {
        target_load_gs(w, at);
        return;
    }
    const ZydisDecodedOperand *op = &dbi_insn_whole(insn)->operands[0];
    int r15 = -1;
    if (insn->is.gpr_used >> R15 & 1) {
        w->busy = 1u << R11 | 1u << INS_RCX;
        r15 = (int)dbi_r15_get(w, at);
        w->busy = 0;
    }
    dbi_place_add(w, at);
    if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        unsigned reg = (unsigned)ZydisRegisterGetId(op->reg.value);
        reg = reg == R15 ? (unsigned)r15 : reg;
        emit_op(w->e, true, EMIT_MOV_TO, reg, R11);
        return;
    }
    bool fs = op->mem.segment == ZYDIS_REGISTER_FS;
    if (insn->is.rip_relative) {
        target_load_rip(w, insn, fs);
        return;
    }
    int base = op->mem.base ? (int)ZydisRegisterGetId(op->mem.base) : -1;
    int index = op->mem.index ? (int)ZydisRegisterGetId(op->mem.index) : -1;
    if (fs)
        emit_prefix(w->e, EMIT_FS);
    if (insn->is.is_narrow)
        emit_prefix(w->e, EMIT_NARROW);
    base = base == R15 ? r15 : base;
    index = index == R15 ? r15 : index;
    emit_op_memory(w->e, true, EMIT_MOV_FROM, R11, base, index, op->mem.scale,
                   (int32_t)op->mem.disp.value);
}

#define LOOKUP_REGS (1u << R11 | 1u << INS_RCX)

static void indirect_emit(struct work *w, unsigned at)
{
    const struct dbi_insn *insn = &w->code->insns[at];
    uint64_t next = insn->pc + insn->is.length;
    dbi_regs_restore(w, UINT16_MAX & ~LOOKUP_REGS);
    if (w->r15 == R11 || w->r15 == INS_RCX)
        w->r15 = -1;
    if (!(w->spilled >> R11 & 1))
        emit_store_gs(w->e, HOME(R11), R11);
    if (!(w->spilled >> INS_RCX & 1))
        emit_store_gs(w->e, HOME(INS_RCX), INS_RCX);
    if (insn->is.terminal == DBI_RET) {
        dbi_return_emit(w, at, dbi_insn_extra_bytes(insn));
        return;
    }
    target_load(w, at);
    dbi_regs_restore(w, UINT16_MAX & ~LOOKUP_REGS);
    emit_store_imm_gs(w->e, AGT_CTX_BRANCH, w->id);
    if (insn->is.terminal == DBI_CALL_INDIRECT) {
        w->spilled |= 1u << R11; /* for the fault map */
        dbi_call_emit(w, at, next, 0);
        return;
    }
    dbi_lookup_emit(w);
}

static void terminal_emit_event(struct work *w, const struct dbi_insn *insn)
{
    static const struct {
        uint8_t terminal;
        uint8_t kind;
    } events[] = {
        {DBI_SYSCALL, AGT_EXIT_SYSCALL}, {DBI_RDTSC, AGT_EXIT_RDTSC},
        {DBI_RDTSCP, AGT_EXIT_RDTSCP},   {DBI_CPUID, AGT_EXIT_CPUID},
        {DBI_XGETBV, AGT_EXIT_XGETBV},
    };
    for (unsigned i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        if (events[i].terminal == insn->is.terminal)
            dbi_leave_emit(w->e, insn->pc + insn->is.length, events[i].kind);
    }
}

/* Emits the way to the agent for an instruction that it refuses, unless it was illegal where the
 * program was recorded. An `int` that the kernel has no use for faults as hlt does. */
static void unsupported_emit(struct work *w, unsigned last)
{
    struct dbi_insn *insn = &w->code->insns[last];
    bool is_int = dbi_insn_whole(insn)->zydis.mnemonic == ZYDIS_MNEMONIC_INT;
    dbi_regs_restore(w, UINT16_MAX);
    dbi_rip_store(w->e, insn->pc);
    dbi_agent_call(w, AGT_EXIT_UNSUPPORTED, is_int ? SIGSEGV : SIGILL);
    dbi_place_add(w, last);
    if (is_int)
        emit_hlt(w->e);
    else
        emit_ud2(w->e);
}

void dbi_terminal_emit(struct work *w)
{
    unsigned last = w->code->count - 1;
    struct dbi_insn *insn = &w->code->insns[last];
    uint64_t next = insn->pc + insn->is.length;
    uint64_t target = insn->target;
    switch (insn->is.terminal) {
    case DBI_JMP_INDIRECT:
    case DBI_CALL_INDIRECT:
    case DBI_RET:
        indirect_emit(w, last);
        return;
    case DBI_TRAP:
    case DBI_ILLEGAL:
        dbi_regs_restore(w, UINT16_MAX);
        dbi_place_add(w, last);
        if (insn->is.terminal == DBI_ILLEGAL)
            emit_ud2(w->e);
        else
            emit_bytes(w->e, insn->bytes, insn->is.length);
        dbi_exit_add(w, EMIT_JMP, next);
        return;
    case DBI_RDPID:
    case DBI_LSL:
    case DBI_SEGMENT:
        dbi_processor_emit(w, last);
        return;
    case DBI_UNSUPPORTED:
        unsupported_emit(w, last);
        return;
    case DBI_CALL:
        dbi_regs_restore(w, UINT16_MAX);
        dbi_call_emit(w, last, next, target);
        return;
    }
    dbi_regs_restore(w, UINT16_MAX);
    dbi_place_add(w, last);
    switch (insn->is.terminal) {
    case DBI_NEXT:
        dbi_exit_add(w, EMIT_JMP, next);
        return;
    case DBI_JMP:
        dbi_exit_add(w, EMIT_JMP, target);
        return;
    case DBI_JCC:
        if (w->ticks) {
            dbi_gs_add(w, last, AGT_CTX_TICKS, 1);
            dbi_regs_restore(w, UINT16_MAX);
        }
        dbi_exit_add(w, EMIT_IF | (insn->is.opcode & 15), target);
        dbi_exit_add(w, EMIT_JMP, next);
        return;
    case DBI_LOOP:
        if (insn->is.is_narrow)
            emit_prefix(w->e, EMIT_NARROW);
        emit_short(w->e, insn->is.opcode, EMIT_JMP_BYTES);
        dbi_exit_add(w, EMIT_JMP, next);
        dbi_exit_add(w, EMIT_JMP, target);
        return;
    default:
        terminal_emit_event(w, insn);
        return;
    }
}
