/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/marks.h"

#include "recorder/dbi/lanes.h"
#include "recorder/dbi/leave.h"
#include "recorder/dbi/operand.h"
#include "recorder/dbi/scratch.h"

#define LINES_DISP ((uint32_t)(AGT_LINES_OFF - AGT_SHM_OFF))
#define WINDOW     256 /* a mark at an address covers this many bytes from it */

static bool mem_is_simple(const struct ins_mem *mem)
{
    const uint16_t odd = INS_MEM_REP | INS_MEM_LANES | INS_MEM_FS | INS_MEM_GS | INS_MEM_ADDR32 |
                         INS_MEM_BIT_OFFSET | INS_MEM_INDEX_BYTE | INS_MEM_SIZE_BOUND |
                         INS_MEM_LINE;
    return mem->base >= 0 && mem->index < 0 && !(mem->flags & odd) && mem->size_bytes <= 64;
}

/* Whether the instruction changes the base register in a way other than a known addition to rsp;
 * *delta is that addition. */
static bool base_survives(struct dbi_insn *insn, int base, int64_t *delta)
{
    *delta = 0;
    if (!(insn->is.gpr_used >> base & 1))
        return true;
    if (base == INS_RSP && insn->is.gpr_written >> base & 1) {
        const struct dbi_whole *whole = dbi_insn_whole(insn);
        switch (whole->zydis.mnemonic) {
        case ZYDIS_MNEMONIC_PUSH:
            *delta = -(int64_t)(whole->zydis.operand_width / 8);
            return true;
        case ZYDIS_MNEMONIC_SUB:
        case ZYDIS_MNEMONIC_ADD:
            if (whole->operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
                whole->operands[0].reg.value != ZYDIS_REGISTER_RSP)
                break;
            if (whole->operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
                return false;
            *delta = whole->operands[1].imm.value.s;
            if (whole->zydis.mnemonic == ZYDIS_MNEMONIC_SUB)
                *delta = -*delta;
            return true;
        default:
            break;
        }
    }
    return !(insn->is.gpr_written >> base & 1);
}

/*
 * One mark serves several stores: a marked line stands for the following one too (the agent sends
 * both), so a mark at an address covers WINDOW bytes from there. Looks for the lowest store
 * through the same base that this window can start at, as long as the base keeps its value.
 */
static int64_t window_start(struct work *w, unsigned at, unsigned m)
{
    const struct ins_mem *mem = &w->code->insns[at].info.mems[m];
    int64_t lowest = mem->disp, moved = 0, delta;
    int64_t floor = mem->disp + mem->size_bytes - WINDOW;
    for (unsigned i = at; i < w->code->count; i++) {
        struct dbi_insn *insn = &w->code->insns[i];
        for (unsigned k = 0; k < insn->info.mem_count; k++) {
            const struct ins_mem *other = &insn->info.mems[k];
            int64_t disp = other->disp + moved;
            if (other->flags & INS_MEM_WRITE && mem_is_simple(other) && other->base == mem->base &&
                disp < lowest && disp >= floor)
                lowest = disp;
        }
        if (!base_survives(insn, mem->base, &delta))
            break;
        moved += delta;
    }
    moved = 0;
    for (unsigned i = at; i < w->code->count; i++) {
        struct dbi_insn *insn = &w->code->insns[i];
        for (unsigned k = 0; k < insn->info.mem_count; k++) {
            const struct ins_mem *other = &insn->info.mems[k];
            int64_t disp = other->disp + moved;
            if (other->flags & INS_MEM_WRITE && mem_is_simple(other) && other->base == mem->base &&
                disp >= lowest && disp + other->size_bytes <= lowest + WINDOW)
                w->covered[i] |= (uint8_t)(1 << k);
        }
        if (!base_survives(insn, mem->base, &delta))
            break;
        moved += delta;
    }
    return lowest;
}

/* Marks the line of an address in `reg`: bits 8..39 of it index the table. Without rorx they are
 * had by a load that is not aligned, at which a program that checks alignment would stumble. */
static void mark_emit(struct work *w, unsigned reg)
{
    if (__builtin_cpu_supports("bmi2")) {
        emit_rorx(w->e, true, reg, reg, AGT_LINE_SHIFT);
        emit_cut32(w->e, reg);
    } else {
        emit_store_gs(w->e, AGT_CTX_TMP, reg);
        emit_load32_gs(w->e, reg, AGT_CTX_TMP + 1);
    }
    emit_mark_gs(w->e, reg, LINES_DISP);
}

static void mark_operand(struct work *w, unsigned at, unsigned m)
{
    const struct ins_mem *mem = &w->code->insns[at].info.mems[m];
    if (w->covered[at] >> m & 1)
        return;
    int64_t more = mem_is_simple(mem) ? window_start(w, at, m) - mem->disp : 0;
    unsigned size =
        mem->flags & INS_MEM_SIZE_BOUND && mem->size_bytes < 4096 ? 4096 : mem->size_bytes;
    unsigned reg = dbi_reg_borrow(w, at, 0);
    if (mem->base < 0 && mem->index < 0 &&
        !(mem->flags & (INS_MEM_FS | INS_MEM_GS | INS_MEM_ADDR32 | INS_MEM_BIT_OFFSET))) {
        for (unsigned off = 0; off == 0 || off < size; off += WINDOW) {
            emit_mov_imm(w->e, reg, (uint32_t)((uint64_t)(mem->disp + off) >> AGT_LINE_SHIFT));
            emit_mark_gs(w->e, reg, LINES_DISP);
        }
    } else {
        for (unsigned off = 0; off == 0 || off < size; off += WINDOW) {
            dbi_address_get(w, at, mem, reg, more + off);
            mark_emit(w, reg);
        }
    }
    dbi_reg_return(w, reg);
}

/* Has the agent mark the range of a rep instruction, which depends on rcx. */
static void mark_rep(struct work *w, const struct ins_mem *mem)
{
    dbi_agent_call(w, AGT_EXIT_MARK,
                   mem->size_bytes | (mem->flags & INS_MEM_ADDR32 ? AGT_MARK_ADDR32 : 0));
}

void dbi_marks_emit(struct work *w, unsigned at)
{
    const struct ins_info *info = &w->code->insns[at].info;
    for (unsigned m = 0; m < info->mem_count; m++) {
        const struct ins_mem *mem = &info->mems[m];
        if (!(mem->flags & INS_MEM_WRITE))
            continue;
        if (mem->flags & INS_MEM_REP)
            mark_rep(w, mem);
        else if (mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64))
            dbi_lanes_mark(w, at, mem);
        else
            mark_operand(w, at, m);
    }
}
