/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Operands that are more than base + index * scale + disp.
 *
 * gs is ours: it points at the agent's context, where the program's gs base is kept as a number. So
 * an instruction that reaches memory through gs gets the sum in a borrowed register, and is encoded
 * anew with that as its base and no segment.
 */
#include "recorder/dbi/operand.h"

#include <stddef.h>

#include "recorder/dbi/relocate.h"
#include "recorder/dbi/scratch.h"

/* ---- bit numbers, lines, segments ---- */

/* Begin and end what changes flags. The flags wait in ax meanwhile, and rax in the context. */
static void flagless_begin(struct emit *e)
{
    emit_store_gs(e, AGT_CTX_TMP, INS_RAX);
    emit_flags_to_ax(e);
}

static void flagless_end(struct emit *e)
{
    emit_flags_from_ax(e);
    emit_load_gs(e, INS_RAX, AGT_CTX_TMP);
}

/* Adds what an operand's bit register says. */
static void bit_offset_add(struct work *w, unsigned at, const struct ins_mem *mem, unsigned to)
{
    unsigned bits = mem->bit_reg == R15 ? dbi_r15_get(w, at) : (unsigned)mem->bit_reg;
    unsigned units = dbi_reg_borrow(w, at, 1u << INS_RAX);
    emit_extend_sign(w->e, units, bits, mem->size_bytes);
    uint8_t shift = mem->size_bytes == 8 ? 6 : mem->size_bytes == 4 ? 5 : 4;
    flagless_begin(w->e);
    emit_shift(w->e, true, EMIT_SAR, units, shift);
    flagless_end(w->e);
    emit_lea(w->e, to, (int)to, (int)units, mem->size_bytes, 0, mem->flags & INS_MEM_ADDR32);
    dbi_reg_return(w, units);
}

/* Emits what takes reg, which is not rax, down to the start of its line of 64 bytes. */
static void line_start(struct work *w, unsigned reg)
{
    flagless_begin(w->e);
    emit_arith_imm8(w->e, true, EMIT_AND, reg, (uint8_t)-64);
    flagless_end(w->e);
}

/* Adds the base of the operand's segment, which is fs or gs. */
static void segment_add(struct work *w, unsigned at, const struct ins_mem *mem, unsigned to)
{
    unsigned base = dbi_reg_borrow(w, at, 0);
    emit_load_gs(w->e, base, mem->flags & INS_MEM_FS ? AGT_CTX_FS_BASE : AGT_CTX_GS_BASE);
    emit_lea(w->e, to, (int)to, (int)base, 1, 0, false);
    dbi_reg_return(w, base);
}

/* ---- addresses ---- */

int dbi_mem_register(struct work *w, unsigned at, int reg)
{
    return reg == R15 ? (int)dbi_r15_get(w, at) : reg;
}

void dbi_address_get(struct work *w, unsigned at, const struct ins_mem *mem, unsigned to,
                     int64_t more)
{
    int64_t disp = mem->disp + more;
    bool narrow = mem->flags & INS_MEM_ADDR32;
    bool vsib = mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64);
    int base = dbi_mem_register(w, at, mem->base);
    int index = vsib ? -1 : dbi_mem_register(w, at, mem->index);
    if (mem->flags & INS_MEM_INDEX_BYTE) { /* xlat: movzx to, al */
        emit_op(w->e, true, EMIT_MOVZX8, to, INS_RAX);
        index = (int)to;
    }
    if (base < 0 && index < 0)
        emit_mov_imm(w->e, to, narrow ? (uint32_t)disp : (uint64_t)disp);
    else
        emit_lea(w->e, to, base, index, mem->scale ? mem->scale : 1, (int32_t)disp, narrow);
    if (mem->flags & INS_MEM_BIT_OFFSET)
        bit_offset_add(w, at, mem, to);
    if (mem->flags & (INS_MEM_FS | INS_MEM_GS))
        segment_add(w, at, mem, to);
    if (mem->flags & INS_MEM_LINE)
        line_start(w, to);
}

void dbi_address_keep(struct work *w, unsigned at, uint32_t disp)
{
    unsigned reg = dbi_reg_borrow(w, at, 0);
    dbi_address_get(w, at, &w->code->insns[at].info.mems[0], reg, 0);
    emit_store_gs(w->e, disp, reg);
    dbi_reg_return(w, reg);
}

/* ---- gs ---- */

int dbi_gs_insn_emit(struct work *w, unsigned at)
{
    const struct dbi_insn *insn = &w->code->insns[at];
    struct ins_mem mem = insn->info.mems[0];
    bool names_r15 = insn->is.gpr_used >> R15 & 1;
    mem.flags &= (uint16_t)~INS_MEM_BIT_OFFSET; /* the instruction itself adds that */
    mem.bit_reg = -1;
    int r15 = names_r15 ? (int)dbi_r15_get(w, at) : -1;
    w->busy |= (uint16_t)(r15 >= 0 ? 1u << r15 : 0);
    unsigned flat = dbi_reg_borrow(w, at, insn->is.names_high_byte ? 0xff00 : 0);
    dbi_address_get(w, at, &mem, flat, 0);
    dbi_place_add(w, at);
    int err = dbi_reencode(w, at, (struct dbi_renaming){.r15 = r15, .rip = -1, .flat = (int)flat});
    w->busy = 0;
    if (r15 >= 0 && insn->is.writes_r15)
        emit_store_gs(w->e, HOME(R15), (unsigned)r15);
    return err;
}

void dbi_gs_load_emit(struct work *w, unsigned at)
{
    const struct dbi_insn *insn = &w->code->insns[at];
    unsigned base = dbi_reg_borrow(w, at, 0), ours = dbi_reg_borrow(w, at, 0);
    emit_load_gs(w->e, ours, (uint32_t)offsetof(struct agt_ctx, base));
    emit_load_gs(w->e, base, AGT_CTX_GS_BASE);
    emit_segment_base(w->e, EMIT_WRGSBASE, true, base);
    dbi_place_add(w, at);
    emit_bytes(w->e, insn->bytes, insn->is.length);
    emit_segment_base(w->e, EMIT_WRGSBASE, true, ours);
    dbi_reg_return(w, base);
    dbi_reg_return(w, ours);
}

/* rdgsbase and wrgsbase. Their like for fs is executed first: it faults or is illegal where this
 * one would. */
void dbi_gs_base_emit(struct work *w, unsigned at)
{
    struct dbi_insn *insn = &w->code->insns[at];
    const struct dbi_whole *whole = dbi_insn_whole(insn);
    unsigned named = (unsigned)ZydisRegisterGetId(whole->operands[0].reg.value);
    unsigned reg = named == R15 ? dbi_r15_get(w, at) : named;
    bool is_wide = whole->operands[0].size == 64;
    bool writes = whole->zydis.mnemonic == ZYDIS_MNEMONIC_WRGSBASE;
    dbi_place_add(w, at);
    emit_segment_base(w->e, writes ? EMIT_WRFSBASE : EMIT_RDFSBASE, is_wide, reg);
    if (writes) {
        unsigned fs = dbi_reg_borrow(w, at, 0);
        emit_load_gs(w->e, fs, AGT_CTX_FS_BASE);
        emit_segment_base(w->e, EMIT_WRFSBASE, true, fs);
        dbi_reg_return(w, fs);
        if (is_wide) {
            emit_store_gs(w->e, AGT_CTX_GS_BASE, reg);
            return;
        }
        emit_store32_gs(w->e, AGT_CTX_GS_BASE, reg);
        emit_store_imm_gs(w->e, AGT_CTX_GS_BASE + 4, 0);
        return;
    }
    if (is_wide)
        emit_load_gs(w->e, reg, AGT_CTX_GS_BASE);
    else
        emit_load32_gs(w->e, reg, AGT_CTX_GS_BASE);
    if (named == R15)
        emit_store_gs(w->e, HOME(R15), reg);
}
