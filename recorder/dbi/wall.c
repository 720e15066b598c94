/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The wall: the program can neither read nor write what is ours in its process.
 *
 * The agent's area and the code cache lie in granules of 256 MiB where the program never has
 * memory. Before an instruction uses an address, translated code reads the byte that a table has
 * for it (agent.h), which cannot be read if the address is in a granule of ours. So that is a
 * fault, and the supervisor makes it the one that the program has where nothing is mapped
 * (recorder/replay/wall_faults.c): for the program, what is ours does not exist.
 *
 *     rorx   rdx, rax, 16            ; the address is in rax, or was made by lea
 *     mov    edx, edx                ; bits 16 to 47; no flag changes
 *     movzx  edx, byte gs:[rdx - 2^31]
 *
 * Granules of ours have AGT_WALL_SLACK bytes at both ends, and around them, where nobody has
 * anything. So one look at a register serves all operands that are at most NEAR bytes from it, as
 * long as it keeps its value or changes by known amounts; what runs on byte by byte (rep) meets
 * memory that is not mapped before anything of ours.
 *
 * Tried on paper and left: cutting addresses by masks (programs use all of the address space),
 * protection keys alone (translated code itself writes to the agent's area between the program's
 * instructions), and hiding the area at a random place (a recording may have as many faults as it
 * takes to find it).
 */
#include "recorder/dbi/wall.h"

#include "recorder/dbi/lanes.h"
#include "recorder/dbi/operand.h"
#include "recorder/dbi/scratch.h"

#define WALL_DISP ((uint32_t) - (int64_t)AGT_WALL_BYTES)
#define NEAR      (16 << 20)

static bool is_near(int64_t distance)
{
    return distance >= -NEAR && distance <= NEAR;
}

/* ---- looking ---- */

/* Looks at the address in `from`; `reg`, which may be the same, gets lost. */
static void look(struct work *w, unsigned at, unsigned reg, unsigned from)
{
    if (__builtin_cpu_supports("bmi2")) {
        emit_rorx(w->e, true, reg, from, AGT_WALL_SHIFT);
        emit_cut32(w->e, reg);
    } else {
        emit_store_gs(w->e, AGT_CTX_TMP, from);
        emit_load32_gs(w->e, reg, AGT_CTX_TMP + AGT_WALL_SHIFT / 8);
    }
    dbi_place_add(w, at);
    emit_op_gs_memory(w->e, false, EMIT_MOVZX8, reg, (int)reg, -1, 1, WALL_DISP);
}

bool dbi_wall_is_plain(const struct ins_mem *mem)
{
    const uint16_t odd = INS_MEM_FS | INS_MEM_GS | INS_MEM_ADDR32 | INS_MEM_INDEX_BYTE |
                         INS_MEM_BIT_OFFSET | INS_MEM_VSIB32 | INS_MEM_VSIB64;
    return mem->base >= 0 && mem->index < 0 && !(mem->flags & odd) && is_near(mem->disp);
}

/* Looks at an operand's base, unless it was looked at already. */
static void look_at_base(struct work *w, unsigned at, const struct ins_mem *mem)
{
    unsigned base = (unsigned)mem->base;
    if (w->seen >> base & 1 && is_near(w->distance[base] + mem->disp))
        return;
    int from = dbi_mem_register(w, at, mem->base);
    unsigned reg = dbi_reg_borrow(w, at, 0);
    look(w, at, reg, (unsigned)from);
    dbi_reg_return(w, reg);
    w->seen |= (uint16_t)(1u << base);
    w->distance[base] = 0;
}

/* Looks at all lanes, chosen by the mask or not: what is in the others is hardly ever an address of
 * ours. An instruction that the processor lacks is none that looks. */
static void look_at_lanes(struct work *w, unsigned at, const struct ins_mem *mem)
{
    unsigned step = mem->flags & INS_MEM_VSIB32 ? 4 : 8;
    struct ins_mem rest = *mem;
    rest.index = -1;
    rest.flags &= (uint16_t) ~(INS_MEM_VSIB32 | INS_MEM_VSIB64);
    if (!dbi_lanes_store(w, mem))
        return;
    unsigned base = dbi_reg_borrow(w, at, 0), reg = dbi_reg_borrow(w, at, 0);
    dbi_address_get(w, at, &rest, base, 0);
    for (unsigned off = 0; off < mem->lanes * step; off += step) {
        if (step == 4)
            emit_op_gs(w->e, true, EMIT_MOVSXD, reg, AGT_LANES_OFF + off);
        else
            emit_load_gs(w->e, reg, AGT_LANES_OFF + off);
        emit_lea(w->e, reg, (int)base, (int)reg, mem->scale, 0, false);
        look(w, at, reg, reg);
    }
    dbi_reg_return(w, base);
    dbi_reg_return(w, reg);
}

void dbi_wall_look(struct work *w, unsigned at)
{
    const struct ins_info *info = &w->code->insns[at].info;
    if (w->code->insns[at].is.terminal == DBI_UNSUPPORTED)
        return;
    for (unsigned m = 0; m < info->mem_count; m++) {
        const struct ins_mem *mem = &info->mems[m];
        bool is_fixed = mem->base < 0 && mem->index < 0 &&
                        !(mem->flags & (INS_MEM_FS | INS_MEM_GS | INS_MEM_BIT_OFFSET));
        if (is_fixed && w->wall->is_programs(w->wall->arg, (uint64_t)mem->disp))
            continue;
        if (dbi_wall_is_plain(mem)) {
            look_at_base(w, at, mem);
        } else if (mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64)) {
            look_at_lanes(w, at, mem);
        } else {
            unsigned reg = dbi_reg_borrow(w, at, 0);
            dbi_address_get(w, at, mem, reg, 0);
            look(w, at, reg, reg);
            dbi_reg_return(w, reg);
        }
    }
}

/* ---- what is known of registers ---- */

static int wide_register(const ZydisDecodedOperand *op)
{
    bool is_wide = op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
                   ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_GPR64;
    return is_wide ? (int)ZydisRegisterGetId(op->reg.value) : -1;
}

/* reg = from + more */
struct derived {
    int reg, from;
    int64_t more;
};

static struct derived derived_by_lea(const struct dbi_whole *whole)
{
    const ZydisDecodedOperand *op = &whole->operands[1];
    bool is_wide = whole->zydis.address_width == 64 &&
                   ZydisRegisterGetClass(op->mem.base) == ZYDIS_REGCLASS_GPR64 &&
                   op->mem.index == ZYDIS_REGISTER_NONE;
    return (struct derived){wide_register(&whole->operands[0]),
                            is_wide ? (int)ZydisRegisterGetId(op->mem.base) : -1,
                            op->mem.disp.value};
}

static struct derived derived_by_sum(const struct dbi_whole *whole, int sign)
{
    int reg = wide_register(&whole->operands[0]);
    bool is_known = whole->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    return (struct derived){reg, is_known ? reg : -1, sign * whole->operands[1].imm.value.s};
}

/* A register that the instruction sets to another, or itself, plus a constant; -1: none. */
static struct derived derived_get(const struct dbi_whole *whole)
{
    int64_t bytes = whole->zydis.operand_width / 8;
    switch (whole->zydis.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        return (struct derived){wide_register(&whole->operands[0]),
                                wide_register(&whole->operands[1]), 0};
    case ZYDIS_MNEMONIC_LEA:
        return derived_by_lea(whole);
    case ZYDIS_MNEMONIC_ADD:
        return derived_by_sum(whole, 1);
    case ZYDIS_MNEMONIC_SUB:
        return derived_by_sum(whole, -1);
    case ZYDIS_MNEMONIC_PUSH:
        return (struct derived){INS_RSP, INS_RSP, -bytes};
    case ZYDIS_MNEMONIC_POP:
        return wide_register(&whole->operands[0]) == INS_RSP
                   ? (struct derived){-1, -1, 0}
                   : (struct derived){INS_RSP, INS_RSP, bytes};
    default:
        return (struct derived){-1, -1, 0};
    }
}

void dbi_wall_pass(struct work *w, unsigned at)
{
    struct dbi_insn *insn = &w->code->insns[at];
    uint16_t written = insn->is.gpr_written;
    if (!written || !w->seen)
        return;
    struct derived is = derived_get(dbi_insn_whole(insn));
    int64_t distance = is.from >= 0 ? w->distance[is.from] + is.more : 0;
    bool is_seen = is.reg >= 0 && is.from >= 0 && w->seen >> is.from & 1 && is_near(distance);
    w->seen &= (uint16_t)~written;
    if (is_seen) {
        w->seen |= (uint16_t)(1u << is.reg);
        w->distance[is.reg] = distance;
    }
}
