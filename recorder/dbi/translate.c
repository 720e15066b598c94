/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Emits one fragment:
 *
 *   body     [is the code as it was?]; count or stop; then each instruction: [bookkeeping] [it]
 *   terminal the branch, as direct jumps or a look-up
 *   cold     elsewhere: stubs that leave for the agent, constants
 *
 * Registers borrowed for bookkeeping ("scratch") are those that the fragment needs last; their
 * values wait in their homes (agt_ctx.gpr) until the next instruction that names them. Using dead
 * registers instead would be cheaper, but a fault must find all registers.
 */
#include "recorder/dbi/translate.h"

#include <errno.h>

#include "recorder/dbi/translate_priv.h"
#include "recorder/insn/insn_ranges.h"
#include <wetdbg/errors.h>

#define LINES_DISP ((uint32_t)(AGT_LINES_OFF - AGT_SHM_OFF))
#define WINDOW     256 /* a mark at an address covers this many bytes from it */

enum time_check {
    TIME_UNCHECKED,
    TIME_FLAGS_DEAD,
    TIME_FLAGS_LIVE,
};

/* ---- scratch registers ---- */

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
    if (!(w->spilled >> best & 1))
        emit_store_gs(w->e, HOME(best), best);
    w->spilled |= (uint16_t)(1u << best);
    w->busy |= (uint16_t)(1u << best);
    return best;
}

static unsigned reg_borrow(struct work *w, unsigned at)
{
    return dbi_reg_borrow(w, at, 0);
}

void dbi_reg_return(struct work *w, unsigned reg)
{
    w->busy &= (uint16_t) ~(1u << reg);
}

/* A register that holds the program's r15. */
unsigned dbi_r15_get(struct work *w, unsigned at)
{
    if (w->r15 < 0) {
        unsigned reg = reg_borrow(w, at);
        dbi_reg_return(w, reg);
        emit_load_gs(w->e, reg, HOME(R15));
        w->r15 = (int)reg;
    }
    return (unsigned)w->r15;
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
        dbi_bit_offset_add(w, at, mem, to);
    if (mem->flags & (INS_MEM_FS | INS_MEM_GS))
        dbi_segment_add(w, at, mem, to);
    if (mem->flags & INS_MEM_LINE)
        dbi_line_start(w, to);
}

/* ---- written lines (DBI_COUNT) ---- */

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

/* Marks the line of an address in `reg`: bits 8..39 of it index the table. Without rorx they are had
 * by a load that is not aligned, at which a program that checks alignment would stumble. */
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
    unsigned reg = reg_borrow(w, at);
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

void dbi_agent_call(struct work *w, enum agt_exit kind, uint32_t arg)
{
    dbi_regs_restore(w, UINT16_MAX);
    emit_store_imm_gs(w->e, AGT_CTX_EXIT_KIND, kind);
    emit_store_imm_gs(w->e, AGT_CTX_EXIT_ARG, arg);
    emit_store_imm_gs(w->e, AGT_CTX_RESUME, 0);
    uint8_t *low = w->e->at - 4;
    emit_store_imm_gs(w->e, AGT_CTX_RESUME + 4, 0);
    uint8_t *high = w->e->at - 4;
    emit_jmp_gs(w->e, AGT_CTX_AGENT_EXIT);
    if (w->e->overflow)
        return;
    uint64_t resume = emit_host(w->e);
    uint32_t parts[2] = {(uint32_t)resume, (uint32_t)(resume >> 32)};
    memcpy(low, &parts[0], 4);
    memcpy(high, &parts[1], 4);
}

/* A rep instruction's range depends on rcx: the agent marks it. */
static void mark_rep(struct work *w, const struct ins_mem *mem)
{
    dbi_agent_call(w, AGT_EXIT_MARK,
                   mem->size_bytes | (mem->flags & INS_MEM_ADDR32 ? AGT_MARK_ADDR32 : 0));
}

static void marks_emit(struct work *w, unsigned at)
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

/* ---- the ring (DBI_COLLECT) ---- */

static unsigned value_words(const struct ins_info *info)
{
    unsigned words = (unsigned)__builtin_popcount(dbi_value_registers(info));
    for (unsigned m = 0; m < info->mem_count; m++)
        words += dbi_value_words(&info->mems[m]);
    return words;
}

unsigned dbi_insn_words(const struct dbi_insn *insn)
{
    return ins_slot_count(&insn->info) +
           (insn->info.klass == INS_PLAIN ? value_words(&insn->info) : 0);
}

/* Which words there are. With values each slot has one: whoever reads them counts them from the code. */
static void words_plan(struct work *w)
{
    struct dbi_output *out = w->out;
    out->slot_count = out->word_count = 0;
    if (w->mode != DBI_COLLECT)
        return;
    if (!w->values) {
        out->slot_count = dbi_slots_derive(w->code, out->slots, &out->word_count);
        return;
    }
    for (unsigned i = 0; i < w->code->count; i++)
        out->word_count += dbi_insn_words(&w->code->insns[i]);
}

/* Whether the next slot has a word: then it is w->word + 1. */
static bool slot_next(struct work *w)
{
    return w->values || w->out->slots[w->slot++].word > w->word;
}

void dbi_ring_store(struct work *w, unsigned word, unsigned reg)
{
    emit_store_gs_narrow(w->e, R15, dbi_word_off(w, word), reg);
}

static void collect_address(struct work *w, unsigned at, const struct ins_mem *mem, bool has_disp)
{
    bool bare = mem->base >= 0 && mem->index < 0 && (!mem->disp || !has_disp) &&
                !(mem->flags & (INS_MEM_FS | INS_MEM_GS | INS_MEM_ADDR32 | INS_MEM_BIT_OFFSET |
                                INS_MEM_INDEX_BYTE | INS_MEM_LINE));
    if (bare) {
        dbi_ring_store(w, w->word, (unsigned)dbi_mem_register(w, at, mem->base));
    } else {
        unsigned reg = reg_borrow(w, at);
        dbi_address_get(w, at, mem, reg, has_disp ? 0 : -mem->disp);
        dbi_ring_store(w, w->word, reg);
        dbi_reg_return(w, reg);
    }
    w->word++;
}

static void collect_before(struct work *w, unsigned at)
{
    const struct ins_info *info = &w->code->insns[at].info;
    bool rep = false, has_disp = w->values || !dbi_slots_plain(info);
    for (unsigned m = 0; m < info->mem_count; m++) {
        const struct ins_mem *mem = &info->mems[m];
        if (!slot_next(w))
            continue;
        collect_address(w, at, mem, has_disp);
        if (mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64))
            dbi_lanes_collect(w, at, mem);
        rep |= mem->flags & INS_MEM_REP;
    }
    if (rep)
        dbi_ring_store(w, w->word, INS_RCX);
}

static void collect_after(struct work *w, unsigned at)
{
    const struct ins_info *info = &w->code->insns[at].info;
    if (!info->mem_count || !(info->mems[0].flags & INS_MEM_REP))
        return;
    dbi_ring_store(w, w->word + 1, INS_RCX);
    w->word += 2;
    collect_address(w, at, &info->mems[0], true);
    w->slot += 3;
}

/* What is now where operand `m` was stored, whose address is in word `address`. */
static void value_collect(struct work *w, unsigned at, unsigned m, unsigned address)
{
    const struct ins_mem *mem = &w->code->insns[at].info.mems[m];
    unsigned words = dbi_value_words(mem);
    if (words && mem->flags & INS_MEM_REP) {
        dbi_ring_store(w, w->word++, INS_RAX);
        return;
    }
    if (!words)
        return;
    unsigned place = reg_borrow(w, at), word = reg_borrow(w, at);
    emit_load_gs_narrow(w->e, place, R15, dbi_word_off(w, address));
    for (unsigned off = 0, size = 8; off < mem->size_bytes; off += size) {
        while (size > mem->size_bytes - off)
            size /= 2;
        emit_load_sized(w->e, word, place, (int32_t)off, size);
        dbi_ring_store(w, w->word++, word);
    }
    dbi_reg_return(w, place);
    dbi_reg_return(w, word);
}

/* The results of an instruction whose first word is `first`. */
static void values_collect(struct work *w, unsigned at, unsigned first)
{
    const struct ins_info *info = &w->code->insns[at].info;
    uint16_t registers = dbi_value_registers(info);
    if (info->klass != INS_PLAIN)
        return;
    for (unsigned m = 0, address = first; m < info->mem_count; m++) {
        value_collect(w, at, m, address);
        address += info->mems[m].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64) ? 17 : 1;
    }
    for (unsigned reg = 0; reg < R15; reg++) {
        if (registers >> reg & 1)
            dbi_ring_store(w, w->word++, reg);
    }
    if (registers >> R15 & 1) {
        unsigned word = reg_borrow(w, at);
        emit_load_gs(w->e, word, HOME(R15));
        dbi_ring_store(w, w->word++, word);
        dbi_reg_return(w, word);
    }
}

/* ---- instructions ---- */

/* Register `number` in `class`. The decoder counts ah, ch, dh and bh as 8-bit registers 4 to 7. */
static ZydisRegister register_named(ZydisRegisterClass class, unsigned number)
{
    if (class == ZYDIS_REGCLASS_GPR8 && number >= 4)
        number += 4;
    return ZydisRegisterEncode(class, (ZyanU8)number);
}

/* The operand's address is in a 64-bit register. */
static void flatten(ZydisEncoderOperand *op, unsigned flat)
{
    bool has_lanes = ZydisRegisterGetClass(op->mem.index) >= ZYDIS_REGCLASS_XMM;
    op->mem.base = register_named(ZYDIS_REGCLASS_GPR64, flat);
    op->mem.displacement = 0;
    if (!has_lanes) {
        op->mem.index = ZYDIS_REGISTER_NONE;
        op->mem.scale = 0;
    }
}

static void operand_rename(ZydisEncoderOperand *op, struct dbi_renaming names)
{
    ZydisRegister *registers[3] = {&op->reg.value, &op->mem.base, &op->mem.index};
    for (unsigned k = 0; k < 3; k++) {
        ZydisRegister *reg = registers[k];
        ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, *reg);
        if (names.r15 >= 0 && wide == ZYDIS_REGISTER_R15)
            *reg = register_named(ZydisRegisterGetClass(*reg), (unsigned)names.r15);
        if (names.rip >= 0 && (*reg == ZYDIS_REGISTER_RIP || *reg == ZYDIS_REGISTER_EIP)) {
            bool narrow = *reg == ZYDIS_REGISTER_EIP;
            *reg = register_named(narrow ? ZYDIS_REGCLASS_GPR32 : ZYDIS_REGCLASS_GPR64,
                                  (unsigned)names.rip);
            op->mem.displacement = 0;
        }
    }
}

int dbi_reencode(struct work *w, unsigned at, struct dbi_renaming names)
{
    struct dbi_insn *insn = &w->code->insns[at];
    const struct dbi_whole *whole = dbi_insn_whole(insn);
    ZydisEncoderRequest request;
    uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
    ZyanUSize length = sizeof(bytes);
    ZyanStatus status = ZydisEncoderDecodedInstructionToEncoderRequest(
        &whole->zydis, whole->operands, whole->zydis.operand_count_visible, &request);
    for (unsigned i = 0; ZYAN_SUCCESS(status) && i < request.operand_count; i++) {
        operand_rename(&request.operands[i], names);
        if (names.flat >= 0 && request.operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
            flatten(&request.operands[i], (unsigned)names.flat);
            request.prefixes &= ~(ZydisInstructionAttributes)ZYDIS_ATTRIB_HAS_SEGMENT;
            request.address_size_hint = ZYDIS_ADDRESS_SIZE_HINT_NONE;
        }
    }
    if (ZYAN_SUCCESS(status))
        status = ZydisEncoderEncodeInstruction(&request, bytes, &length);
    if (ZYAN_FAILED(status))
        return wetdbg_fail(
            -WETDBG_ERR_UNSUPPORTED, "the instruction at %#llx (%s) cannot be re-encoded",
            (unsigned long long)insn->pc, ins_mnemonic_name((uint16_t)whole->zydis.mnemonic));
    emit_bytes(w->e, bytes, (unsigned)length);
    return 0;
}

/* The address that a rip-relative (or, cut to 32 bits, eip-relative) operand means. */
uint64_t dbi_rip_address(const struct dbi_insn *insn)
{
    int32_t disp;
    memcpy(&disp, insn->bytes + insn->is.disp_off, sizeof(disp));
    uint64_t address = insn->pc + insn->is.length + (uint64_t)(int64_t)disp;
    return insn->is.is_narrow ? (uint32_t)address : address;
}

/* Copies the instruction if its rip-relative operand stays in reach. */
static bool copy_rip_relative(struct work *w, const struct dbi_insn *insn)
{
    unsigned at = insn->is.disp_off;
    uint64_t target = dbi_rip_address(insn);
    if (insn->is.is_narrow)
        return false;
    int64_t disp = (int64_t)(target - (emit_host(w->e) + insn->is.length));
    if (disp != (int32_t)disp)
        return false;
    int32_t disp32 = (int32_t)disp;
    uint8_t bytes[15];
    memcpy(bytes, insn->bytes, insn->is.length);
    memcpy(bytes + at, &disp32, 4);
    emit_bytes(w->e, bytes, insn->is.length);
    return true;
}

static int insn_emit(struct work *w, unsigned at)
{
    const struct dbi_insn *insn = &w->code->insns[at];
    bool names_r15 = insn->is.gpr_used >> R15 & 1;
    if (insn->is.uses_gs)
        return dbi_gs_insn_emit(w, at);
    if (insn->is.loads_gs) {
        dbi_gs_load_emit(w, at);
        return 0;
    }
    if (insn->is.moves_gs_base) {
        dbi_gs_base_emit(w, at);
        return 0;
    }
    if (insn->is.has_no_effect && (names_r15 || insn->is.rip_relative)) {
        dbi_place_add(w, at);
        return 0;
    }
    if (!names_r15 && !insn->is.rip_relative) {
        dbi_place_add(w, at);
        emit_bytes(w->e, insn->bytes, insn->is.length);
        return 0;
    }
    int r15 = names_r15 ? (int)dbi_r15_get(w, at) : -1;
    int rip = -1, err = 0;
    dbi_place_add(w, at);
    if (r15 >= 0 || !copy_rip_relative(w, insn)) {
        w->out->place_count--;
        if (insn->is.rip_relative) {
            w->busy |= (uint16_t)(r15 >= 0 ? 1u << r15 : 0);
            /* what names ah, ch, dh or bh cannot name r8 and above */
            rip = (int)dbi_reg_borrow(w, at, insn->is.names_high_byte ? 0xff00 : 0);
            emit_mov_imm(w->e, (unsigned)rip, dbi_rip_address(insn));
        }
        dbi_place_add(w, at);
        err = dbi_reencode(w, at, (struct dbi_renaming){.r15 = r15, .rip = rip, .flat = -1});
        w->busy = 0;
    }
    if (r15 >= 0 && insn->is.writes_r15)
        emit_store_gs(w->e, HOME(R15), (unsigned)r15);
    return err;
}

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

void dbi_address_keep(struct work *w, unsigned at, uint32_t disp)
{
    unsigned reg = reg_borrow(w, at);
    dbi_address_get(w, at, &w->code->insns[at].info.mems[0], reg, 0);
    emit_store_gs(w->e, disp, reg);
    dbi_reg_return(w, reg);
}

/* The agent looks at what is where an xsave will store. */
static void xsave_announce(struct work *w, unsigned at)
{
    dbi_address_keep(w, at, AGT_CTX_TMP);
    dbi_agent_call(w, AGT_EXIT_XSAVE, 0);
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
            marks_emit(w, i);
        else if (w->mode == DBI_COLLECT)
            collect_before(w, i);
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
            collect_after(w, i);
        if (w->values)
            values_collect(w, i, first_word);
        if (w->wall)
            dbi_wall_pass(w, i);
    }
    return 0;
}

/* [disp] += n without flags, at instruction `at` */
void dbi_gs_add(struct work *w, unsigned at, uint32_t disp, int32_t n)
{
    unsigned reg = reg_borrow(w, at);
    emit_load_gs(w->e, reg, disp);
    emit_lea(w->e, reg, (int)reg, -1, 1, n, false);
    emit_store_gs(w->e, disp, reg);
    dbi_reg_return(w, reg);
}

/* ---- start of a fragment ---- */

/* Flags to ax and back, without the guest's stack; rax waits in its home. */
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

/* ---- code in pages that nobody watches ---- */

/* cmp dword (or byte) [rcx + off], imm; jne */
static void check_one(struct work *w, unsigned off, const uint8_t *code, unsigned bytes)
{
    emit_cmp_bytes(w->e, INS_RCX, (int32_t)off, code + off, bytes);
    w->out->differs[w->differ_count++] = emit_branch(w->e, EMIT_IF_NOT_ZERO, 0);
}

/* Compares the program's code with what this was made from. What is there instead may read any
 * flag, so they are kept even where this code would not mind. */
static void check_emit(struct work *w)
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

static void check_stub_emit(struct work *w)
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

/* ---- counting ---- */

/* op reg, [the fragment's step]: beside the code if it is not among those that all share */
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

/* r15 += the step, by way of another register */
static void step_take(struct work *w, unsigned reg)
{
    step_op(w, EMIT_MOV_FROM, reg);
    emit_lea(w->e, R15, R15, (int)reg, 1, 0, false);
}

static void step_borrowed(struct work *w)
{
    unsigned reg = reg_borrow(w, 0);
    step_take(w, reg);
    dbi_reg_return(w, reg);
}

/* The step is taken back, without flags; reg gets lost. */
static void step_undo(struct work *w, struct emit *e, unsigned reg)
{
    emit_mov_imm(e, reg, -agt_step(w->code->count, w->out->word_count));
    emit_lea(e, R15, R15, (int)reg, 1, 0, false);
}

/*
 * Where flags are live: the sign of r15, or of r15 - 1, goes into cl. (By lahf and sahf it took
 * longer: all flags and rax waited for it.) rcx stays in its home until it is needed.
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

/*
 * Counts the fragment's instructions; returns where the branch for "time is up" is, or NULL.
 * Every cycle of fragments must have one that checks, or a loop could run on for ever (or past the
 * end of the ring): where flags are live that costs more, so only those that may close one do.
 */
static uint8_t *time_emit(struct work *w, enum time_check check)
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

static void time_stub_emit(struct work *w, uint8_t *site, enum time_check check)
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
    words_plan(&w);
    w.flags_free = !exact && dbi_code_flags_dead(code);
    out->body = e->at;
    if (how->filter)
        dbi_filter_emit(&w, how->filter);
    out->inner = e->at;
    check_emit(&w);
    enum time_check check = w.flags_free                         ? TIME_FLAGS_DEAD
                            : !exact && dbi_code_may_cycle(code) ? TIME_FLAGS_LIVE
                                                                 : TIME_UNCHECKED;
    uint8_t *time_up = time_emit(&w, check);
    start_emit(&w);
    int err = insns_emit(&w);
    if (err)
        return err;
    dbi_terminal_emit(&w);
    time_stub_emit(&w, time_up, check);
    check_stub_emit(&w);
    return e->overflow || w.cold->overflow ? -ENOSPC : 0;
}
