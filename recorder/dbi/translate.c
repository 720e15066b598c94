/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Emits one fragment:
 *
 *   prefix   entered by look-ups: is rax (the target) really this fragment's pc?
 *   body     [is the code as it was?]; count or stop; then each instruction: [bookkeeping] [it]
 *   terminal the branch, as direct jumps or a look-up
 *   tail     stubs that leave for the agent, constants
 *
 * Registers borrowed for bookkeeping ("scratch") are those that the fragment needs last; their
 * values wait in their homes (agt_ctx.gpr) until the next instruction that names them. Using dead
 * registers instead would be cheaper, but a fault must find all registers.
 */
#include "recorder/dbi/translate.h"

#include <errno.h>

#include "common/err.h"
#include "recorder/agent/agent.h"

#define HOME(reg)  ((uint32_t)(AGT_CTX_GPR + 8 * (reg)))
#define R15        15
#define LINES_DISP ((uint32_t)(AGT_LINES_OFF - AGT_SHM_OFF))
#define WINDOW     256 /* a mark at an address covers this many bytes from it */

#define CHECKS_MAX (DBI_INSN_MAX * 15 / 4 + 4)

enum time_check {
    TIME_UNCHECKED,
    TIME_FLAGS_DEAD,
    TIME_FLAGS_LIVE,
};

struct work {
    struct emit *e;
    struct dbi_code *code;
    struct dbi_output *out;
    uint8_t *start;
    enum dbi_mode mode;
    uint32_t id;
    uint16_t spilled; /* in their homes */
    uint16_t busy;    /* of those: in use right now */
    int r15;          /* register that holds the program's r15, or -1 */
    unsigned slot;    /* next ring slot */
    bool exact, ticks, values;
    uint64_t miss;                 /* where a failed look-up goes */
    bool flags_free;               /* no flag is live at the start of the fragment */
    uint8_t covered[DBI_INSN_MAX]; /* bit m: operand m's lines are already marked */
    uint8_t *differs[CHECKS_MAX];  /* branches for code that is not as it was */
    unsigned differ_count;
};

/* ---- scratch registers ---- */

static void place_add(struct work *w, unsigned insn)
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

static void regs_restore(struct work *w, uint16_t which)
{
    for (unsigned reg = 0; reg < 16; reg++) {
        if (w->spilled & which & (1u << reg))
            reg_restore(w, reg);
    }
}

/* A register that instruction `at` does not name and that is not in `avoid`, saved in its home. */
static unsigned reg_borrow_but(struct work *w, unsigned at, uint16_t avoid)
{
    uint16_t taken =
        (uint16_t)(w->code->insns[at].gpr_used | w->busy | avoid | 1u << INS_RSP | 1u << R15);
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
    return reg_borrow_but(w, at, 0);
}

static void reg_return(struct work *w, unsigned reg)
{
    w->busy &= (uint16_t) ~(1u << reg);
}

/* A register that holds the program's r15. */
static unsigned r15_get(struct work *w, unsigned at)
{
    if (w->r15 < 0) {
        unsigned reg = reg_borrow(w, at);
        reg_return(w, reg);
        emit_load_gs(w->e, reg, HOME(R15));
        w->r15 = (int)reg;
    }
    return (unsigned)w->r15;
}

/* ---- addresses ---- */

static int mem_register(struct work *w, unsigned at, int reg)
{
    return reg == R15 ? (int)r15_get(w, at) : reg;
}

/* lea to, [operand + more], segment base included. */
static void address_get(struct work *w, unsigned at, const struct ins_mem *mem, unsigned to,
                        int64_t more)
{
    int64_t disp = mem->disp + more;
    bool narrow = mem->flags & INS_MEM_ADDR32;
    bool vsib = mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64);
    int base = mem_register(w, at, mem->base);
    int index = vsib ? -1 : mem_register(w, at, mem->index);
    if (mem->flags & INS_MEM_INDEX_BYTE) { /* xlat: movzx to, al */
        emit_u8(w->e, emit_rex(1, to, -1, -1));
        emit_u8(w->e, 0x0f);
        emit_u8(w->e, 0xb6);
        emit_u8(w->e, (uint8_t)(0xc0 | (to & 7) << 3));
        index = (int)to;
    }
    if (base < 0 && index < 0)
        emit_mov_imm(w->e, to, narrow ? (uint32_t)disp : (uint64_t)disp);
    else
        emit_lea(w->e, to, base, index, mem->scale ? mem->scale : 1, (int32_t)disp, narrow);
    if (mem->flags & INS_MEM_FS) {
        unsigned fs = reg_borrow(w, at);
        emit_load_gs(w->e, fs, AGT_CTX_FS_BASE);
        emit_lea(w->e, to, (int)to, (int)fs, 1, 0, false);
        reg_return(w, fs);
    }
}

/* ---- written lines (DBI_COUNT) ---- */

static bool mem_is_simple(const struct ins_mem *mem)
{
    const uint16_t odd = INS_MEM_REP | INS_MEM_LANES | INS_MEM_FS | INS_MEM_ADDR32 |
                         INS_MEM_INDEX_BYTE | INS_MEM_SIZE_BOUND | INS_MEM_LINE;
    return mem->base >= 0 && mem->index < 0 && !(mem->flags & odd) && mem->size_bytes <= 64;
}

/* Whether the instruction changes the base register in a way other than a known addition to rsp;
 * *delta is that addition. */
static bool base_survives(const struct dbi_insn *insn, int base, int64_t *delta)
{
    *delta = 0;
    if (!(insn->gpr_used >> base & 1))
        return true;
    if (base == INS_RSP) {
        switch (insn->zydis.mnemonic) {
        case ZYDIS_MNEMONIC_PUSH:
            *delta = -(int64_t)(insn->zydis.operand_width / 8);
            return true;
        case ZYDIS_MNEMONIC_SUB:
        case ZYDIS_MNEMONIC_ADD:
            if (insn->operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
                insn->operands[0].reg.value != ZYDIS_REGISTER_RSP)
                break;
            if (insn->operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
                return false;
            *delta = insn->operands[1].imm.value.s;
            if (insn->zydis.mnemonic == ZYDIS_MNEMONIC_SUB)
                *delta = -*delta;
            return true;
        default:
            break;
        }
    }
    struct ins_regset defs = ins_all_defs(&insn->info);
    for (unsigned piece = 0; piece < INS_GPR_PIECES; piece++) {
        if (ins_regset_has(&defs, INS_LOC_GPR + INS_GPR_PIECES * (unsigned)base + piece))
            return false;
    }
    return true;
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
        const struct dbi_insn *insn = &w->code->insns[i];
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
        const struct dbi_insn *insn = &w->code->insns[i];
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
        emit_rorx(w->e, reg, AGT_LINE_SHIFT);
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
    if (mem->base < 0 && mem->index < 0 && !(mem->flags & (INS_MEM_FS | INS_MEM_ADDR32))) {
        for (unsigned off = 0; off == 0 || off < size; off += WINDOW) {
            emit_mov_imm(w->e, reg, (uint32_t)((uint64_t)(mem->disp + off) >> AGT_LINE_SHIFT));
            emit_mark_gs(w->e, reg, LINES_DISP);
        }
    } else {
        for (unsigned off = 0; off == 0 || off < size; off += WINDOW) {
            address_get(w, at, mem, reg, more + off);
            mark_emit(w, reg);
        }
    }
    reg_return(w, reg);
}

/* A rep instruction's range depends on rcx: the agent marks it. */
static void mark_rep(struct work *w, const struct ins_mem *mem)
{
    regs_restore(w, UINT16_MAX);
    uint32_t arg = mem->size_bytes | (mem->flags & INS_MEM_ADDR32 ? AGT_MARK_ADDR32 : 0);
    emit_store_imm_gs(w->e, AGT_CTX_EXIT_KIND, AGT_EXIT_MARK);
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

static void marks_emit(struct work *w, unsigned at)
{
    const struct ins_info *info = &w->code->insns[at].info;
    for (unsigned m = 0; m < info->mem_count; m++) {
        const struct ins_mem *mem = &info->mems[m];
        if (!(mem->flags & INS_MEM_WRITE))
            continue;
        if (mem->flags & INS_MEM_REP)
            mark_rep(w, mem);
        else
            mark_operand(w, at, m);
    }
}

/* ---- the ring (DBI_COLLECT) ---- */

#define SLOT_OFF(slot) ((int32_t)(8 + 8 * (slot)))

static unsigned value_slots(const struct ins_info *info)
{
    unsigned slots = (unsigned)__builtin_popcount(dbi_value_registers(info));
    for (unsigned m = 0; m < info->mem_count; m++)
        slots += dbi_value_words(&info->mems[m]);
    return slots;
}

unsigned dbi_insn_slots(const struct dbi_insn *insn, bool values)
{
    unsigned slots = insn->info.mem_count;
    bool rep = false;
    for (unsigned m = 0; m < insn->info.mem_count; m++) {
        if (insn->info.mems[m].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64))
            slots += 16;
        rep |= insn->info.mems[m].flags & INS_MEM_REP;
    }
    if (values && insn->info.klass == INS_PLAIN)
        slots += value_slots(&insn->info);
    return slots + (rep ? 3 : 0);
}

unsigned dbi_code_slots(const struct dbi_code *code, unsigned count, bool values)
{
    unsigned slots = 0;
    for (unsigned i = 0; i < count; i++)
        slots += dbi_insn_slots(&code->insns[i], values);
    return slots;
}

/* vmovdqu [r15 + disp], ymm */
static void store_vector(struct work *w, int32_t disp, unsigned vector)
{
    emit_u8(w->e, 0xc4);
    emit_u8(w->e, (uint8_t)(0xe1 & ~(vector & 8 ? 0x80 : 0) & ~0x20));
    emit_u8(w->e, 0x7e);
    emit_u8(w->e, 0x7f);
    emit_memory(w->e, vector, R15, -1, 1, disp);
}

static void collect_gather(struct work *w, unsigned at, const struct ins_mem *mem)
{
    const struct dbi_insn *insn = &w->code->insns[at];
    store_vector(w, SLOT_OFF(w->slot), (unsigned)mem->index);
    w->slot += 8;
    const ZydisDecodedOperand *mask = &insn->operands[2];
    store_vector(w, SLOT_OFF(w->slot), (unsigned)ZydisRegisterGetId(mask->reg.value));
    w->slot += 8;
}

static void collect_before(struct work *w, unsigned at)
{
    const struct ins_info *info = &w->code->insns[at].info;
    bool rep = false;
    for (unsigned m = 0; m < info->mem_count; m++) {
        const struct ins_mem *mem = &info->mems[m];
        bool bare = mem->base >= 0 && mem->base != R15 && mem->index < 0 && !mem->disp &&
                    !(mem->flags & (INS_MEM_FS | INS_MEM_ADDR32 | INS_MEM_INDEX_BYTE));
        if (bare) {
            emit_store(w->e, R15, SLOT_OFF(w->slot), (unsigned)mem->base);
        } else {
            unsigned reg = reg_borrow(w, at);
            address_get(w, at, mem, reg, 0);
            emit_store(w->e, R15, SLOT_OFF(w->slot), reg);
            reg_return(w, reg);
        }
        w->slot++;
        if (mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64))
            collect_gather(w, at, mem);
        rep |= mem->flags & INS_MEM_REP;
    }
    if (rep)
        emit_store(w->e, R15, SLOT_OFF(w->slot), INS_RCX);
}

static void collect_after(struct work *w, unsigned at)
{
    const struct ins_info *info = &w->code->insns[at].info;
    if (!info->mem_count || !(info->mems[0].flags & INS_MEM_REP))
        return;
    emit_store(w->e, R15, SLOT_OFF(w->slot + 1), INS_RCX);
    emit_store(w->e, R15, SLOT_OFF(w->slot + 2), (unsigned)info->mems[0].base);
    w->slot += 3;
}

/* mov (movzx for 1 and 2 bytes) reg, [base + disp] */
static void load_sized(struct work *w, unsigned reg, unsigned base, int32_t disp, unsigned size)
{
    emit_u8(w->e, emit_rex(size == 8, reg, -1, (int)base));
    if (size < 4)
        emit_u8(w->e, 0x0f);
    emit_u8(w->e, size >= 4 ? 0x8b : size == 2 ? 0xb7 : 0xb6);
    emit_memory(w->e, reg, (int)base, -1, 1, disp);
}

/* What is now where operand `m` was stored, whose address is in slot `address`. */
static void value_collect(struct work *w, unsigned at, unsigned m, unsigned address)
{
    const struct ins_mem *mem = &w->code->insns[at].info.mems[m];
    unsigned words = dbi_value_words(mem);
    if (words && mem->flags & INS_MEM_REP) {
        emit_store(w->e, R15, SLOT_OFF(w->slot++), INS_RAX);
        return;
    }
    if (!words)
        return;
    unsigned place = reg_borrow(w, at), word = reg_borrow(w, at);
    load_sized(w, place, R15, SLOT_OFF(address), 8);
    for (unsigned off = 0, size = 8; off < mem->size_bytes; off += size) {
        while (size > mem->size_bytes - off)
            size /= 2;
        load_sized(w, word, place, (int32_t)off, size);
        emit_store(w->e, R15, SLOT_OFF(w->slot++), word);
    }
    reg_return(w, place);
    reg_return(w, word);
}

/* The results of an instruction whose first slot is `first`. */
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
            emit_store(w->e, R15, SLOT_OFF(w->slot++), reg);
    }
    if (registers >> R15 & 1) {
        unsigned word = reg_borrow(w, at);
        emit_load_gs(w->e, word, HOME(R15));
        emit_store(w->e, R15, SLOT_OFF(w->slot++), word);
        reg_return(w, word);
    }
}

static void collect_commit(struct work *w)
{
    if (w->mode == DBI_COLLECT)
        emit_lea(w->e, R15, R15, -1, 1, SLOT_OFF(w->out->slot_count), false);
}

/* ---- instructions ---- */

/* Register `number` in `class`. The decoder counts ah, ch, dh and bh as 8-bit registers 4 to 7. */
static ZydisRegister register_named(ZydisRegisterClass class, unsigned number)
{
    if (class == ZYDIS_REGCLASS_GPR8 && number >= 4)
        number += 4;
    return ZydisRegisterEncode(class, (ZyanU8)number);
}

static int reencode(struct work *w, unsigned at, int r15, int rip)
{
    const struct dbi_insn *insn = &w->code->insns[at];
    ZydisEncoderRequest request;
    uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
    ZyanUSize length = sizeof bytes;
    ZyanStatus status = ZydisEncoderDecodedInstructionToEncoderRequest(
        &insn->zydis, insn->operands, insn->zydis.operand_count_visible, &request);
    for (unsigned i = 0; ZYAN_SUCCESS(status) && i < request.operand_count; i++) {
        ZydisRegister *names[3] = {&request.operands[i].reg.value, &request.operands[i].mem.base,
                                   &request.operands[i].mem.index};
        for (unsigned k = 0; k < 3; k++) {
            ZydisRegister wide =
                ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, *names[k]);
            if (r15 >= 0 && wide == ZYDIS_REGISTER_R15)
                *names[k] = register_named(ZydisRegisterGetClass(*names[k]), (unsigned)r15);
            if (rip >= 0 && (*names[k] == ZYDIS_REGISTER_RIP || *names[k] == ZYDIS_REGISTER_EIP)) {
                bool narrow = *names[k] == ZYDIS_REGISTER_EIP;
                *names[k] = register_named(narrow ? ZYDIS_REGCLASS_GPR32 : ZYDIS_REGCLASS_GPR64,
                                           (unsigned)rip);
                request.operands[i].mem.displacement = 0;
            }
        }
    }
    if (ZYAN_SUCCESS(status))
        status = ZydisEncoderEncodeInstruction(&request, bytes, &length);
    if (ZYAN_FAILED(status))
        return wd_fail(-WD_ERR_UNSUPPORTED, "the instruction at %#llx (%s) cannot be re-encoded",
                       (unsigned long long)insn->pc, ins_mnemonic_name(insn->info.mnemonic));
    emit_bytes(w->e, bytes, (unsigned)length);
    return 0;
}

static bool has_no_effect(const struct dbi_insn *insn)
{
    return insn->zydis.meta.category == ZYDIS_CATEGORY_NOP ||
           insn->zydis.meta.category == ZYDIS_CATEGORY_WIDENOP ||
           insn->zydis.meta.category == ZYDIS_CATEGORY_PREFETCH;
}

/* The address that a rip-relative (or, cut to 32 bits, eip-relative) operand means. */
static uint64_t rip_relative_address(const struct dbi_insn *insn)
{
    uint64_t address = insn->pc + insn->length + (uint64_t)insn->zydis.raw.disp.value;
    return insn->zydis.address_width == 32 ? (uint32_t)address : address;
}

/* Copies the instruction if its rip-relative operand stays in reach. */
static bool copy_rip_relative(struct work *w, const struct dbi_insn *insn)
{
    unsigned at = insn->zydis.raw.disp.offset;
    uint64_t target = rip_relative_address(insn);
    if (insn->zydis.address_width == 32)
        return false;
    int64_t disp = (int64_t)(target - (emit_host(w->e) + insn->length));
    if (disp != (int32_t)disp)
        return false;
    int32_t disp32 = (int32_t)disp;
    uint8_t bytes[15];
    memcpy(bytes, insn->bytes, insn->length);
    memcpy(bytes + at, &disp32, 4);
    emit_bytes(w->e, bytes, insn->length);
    return true;
}

static int insn_emit(struct work *w, unsigned at)
{
    const struct dbi_insn *insn = &w->code->insns[at];
    bool names_r15 = insn->gpr_used >> R15 & 1;
    if (has_no_effect(insn) && (names_r15 || insn->rip_relative)) {
        place_add(w, at);
        return 0;
    }
    if (!names_r15 && !insn->rip_relative) {
        place_add(w, at);
        emit_bytes(w->e, insn->bytes, insn->length);
        return 0;
    }
    int r15 = names_r15 ? (int)r15_get(w, at) : -1;
    int rip = -1, err = 0;
    place_add(w, at);
    if (r15 >= 0 || !copy_rip_relative(w, insn)) {
        w->out->place_count--;
        if (insn->rip_relative) {
            w->busy |= (uint16_t)(r15 >= 0 ? 1u << r15 : 0);
            /* what names ah, ch, dh or bh cannot name r8 and above */
            rip = (int)reg_borrow_but(w, at, insn->names_high_byte ? 0xff00 : 0);
            emit_mov_imm(w->e, (unsigned)rip, rip_relative_address(insn));
        }
        place_add(w, at);
        err = reencode(w, at, r15, rip);
        w->busy = 0;
    }
    if (r15 >= 0 && insn->writes_r15)
        emit_store_gs(w->e, HOME(R15), (unsigned)r15);
    return err;
}

/* wrfsbase has set the base to its operand; the 32-bit form extends that with zeros. */
static void fs_base_keep(struct work *w, unsigned at)
{
    const ZydisDecodedOperand *op = &w->code->insns[at].operands[0];
    unsigned reg = (unsigned)ZydisRegisterGetId(op->reg.value);
    if (reg == R15)
        reg = r15_get(w, at);
    if (op->size == 64) {
        emit_store_gs(w->e, AGT_CTX_FS_BASE, reg);
        return;
    }
    emit_store32_gs(w->e, AGT_CTX_FS_BASE, reg);
    emit_store_imm_gs(w->e, AGT_CTX_FS_BASE + 4, 0);
}

static int insns_emit(struct work *w)
{
    for (unsigned i = 0; i < w->code->count; i++) {
        const struct dbi_insn *insn = &w->code->insns[i];
        unsigned first_slot = w->slot;
        regs_restore(w, insn->gpr_used);
        if (w->mode == DBI_COUNT)
            marks_emit(w, i);
        else if (w->mode == DBI_COLLECT)
            collect_before(w, i);
        if (insn->terminal != DBI_NEXT)
            return 0; /* the last: terminal_emit's */
        int err = insn_emit(w, i);
        if (err)
            return err;
        if (insn->writes_fs_base)
            fs_base_keep(w, i);
        if (w->mode == DBI_COLLECT)
            collect_after(w, i);
        if (w->values)
            values_collect(w, i, first_slot);
    }
    return 0;
}

/* [disp] += n without flags, at instruction `at` */
static void add_gs(struct work *w, unsigned at, uint32_t disp, int32_t n)
{
    unsigned reg = reg_borrow(w, at);
    emit_load_gs(w->e, reg, disp);
    emit_lea(w->e, reg, (int)reg, -1, 1, n, false);
    emit_store_gs(w->e, disp, reg);
    reg_return(w, reg);
}

/* ---- leaving ---- */

static void leave_as(struct emit *e, uint64_t rip, enum agt_exit kind)
{
    emit_store_imm_gs(e, AGT_CTX_RIP, (uint32_t)rip);
    emit_store_imm_gs(e, AGT_CTX_RIP + 4, (uint32_t)(rip >> 32));
    emit_store_imm_gs(e, AGT_CTX_EXIT_KIND, kind);
    emit_jmp_gs(e, AGT_CTX_AGENT_EXIT);
}

static void leave_emit(struct work *w, uint64_t rip, enum agt_exit kind)
{
    leave_as(w->e, rip, kind);
}

void dbi_emit_leave(struct emit *e, uint64_t pc)
{
    leave_as(e, pc, AGT_EXIT_DIRECT);
}

void dbi_emit_miss(struct emit *e)
{
    emit_store_gs(e, AGT_CTX_RIP, INS_RAX);
    emit_load_gs(e, INS_RCX, HOME(INS_RCX));
    emit_load_gs(e, INS_RAX, HOME(INS_RAX));
    emit_store_imm_gs(e, AGT_CTX_EXIT_KIND, AGT_EXIT_INDIRECT);
    emit_jmp_gs(e, AGT_CTX_AGENT_EXIT);
}

/* A branch whose stub follows in the tail; the stub's address is filled in by stubs_emit. */
static void exit_add(struct work *w, uint8_t opcode, uint64_t target)
{
    struct dbi_exit_site *site = &w->out->exits[w->out->exit_count++];
    site->target = target;
    site->rel32 = emit_branch(w->e, opcode, 0);
}

/* rcx = what the filter looks at - its value; then as the header says. Ticks only grow: of their
 * difference the highest byte is taken, which is 0 from the value on. No flag may change here. */
static void filter_emit(struct work *w, const struct dbi_filter *filter)
{
    struct emit *e = w->e;
    emit_store_gs(e, HOME(INS_RCX), INS_RCX);
    emit_store_gs(e, HOME(INS_RAX), INS_RAX);
    if (filter->what == DBI_FILTER_MEMORY) {
        emit_mov_imm(e, INS_RAX, filter->address);
        emit_bytes(e, "\x48\x8b\x08", 3); /* mov rcx, [rax] */
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
        emit_bytes(e, "\x48\x0f\xc9\x0f\xb6\xc9", 6); /* bswap rcx; movzx ecx, cl */
    emit_load_gs(e, INS_RAX, HOME(INS_RAX));
    emit_bytes(e, "\xe3\x00", 2); /* jrcxz */
    uint8_t *equal = e->at;
    emit_load_gs(e, INS_RCX, HOME(INS_RCX));
    uint8_t *over = emit_branch(e, 0xe9, 0);
    if (e->overflow)
        return;
    equal[-1] = (uint8_t)(e->at - equal);
    emit_load_gs(e, INS_RCX, HOME(INS_RCX));
    leave_emit(w, w->code->insns[0].pc, AGT_EXIT_DIRECT);
    int32_t rel = (int32_t)(e->at - (over + 4));
    memcpy(over, &rel, 4);
}

static void stubs_emit(struct work *w)
{
    for (unsigned i = 0; i < w->out->exit_count; i++) {
        struct dbi_exit_site *site = &w->out->exits[i];
        if (w->e->overflow)
            return;
        site->stub = w->e->at;
        int32_t rel = (int32_t)(site->stub - (site->rel32 + 4));
        memcpy(site->rel32, &rel, 4);
        leave_emit(w, site->target, AGT_EXIT_DIRECT);
    }
}

static void push_imm(struct work *w, uint64_t value, unsigned at)
{
    if ((int64_t)value == (int32_t)value) {
        place_add(w, at);
        emit_u8(w->e, 0x68);
        emit_u32(w->e, (uint32_t)value);
        return;
    }
    /* push [rip + 2], with the value behind a jump over it */
    place_add(w, at);
    emit_bytes(w->e, "\xff\x35\x02\x00\x00\x00\xeb\x08", 8);
    emit_u64(w->e, value);
}

static void lookup_emit(struct work *w)
{
    if (w->exact) { /* what the table leads to would not stop in time */
        emit_branch(w->e, 0xe9, w->miss);
        return;
    }
    emit_bytes(w->e, "\x0f\xb7\xc8", 3);     /* movzx ecx, ax */
    emit_bytes(w->e, "\x65\xff\x24\xcd", 4); /* jmp gs:[rcx * 8 + disp32] */
    emit_u32(w->e, AGT_INLINE_OFF);
}

/* mov rax, <operand of an indirect jump or call>; rax and rcx are in their homes already. */
static int target_load(struct work *w, unsigned at)
{
    struct dbi_insn *insn = &w->code->insns[at];
    const ZydisDecodedOperand *op = &insn->operands[0];
    bool names_r15 = insn->gpr_used >> R15 & 1;
    int r15 = -1;
    if (names_r15) {
        w->busy = 1u << INS_RAX | 1u << INS_RCX;
        r15 = (int)r15_get(w, at);
        w->busy = 0;
    }
    place_add(w, at);
    if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        unsigned reg = (unsigned)ZydisRegisterGetId(op->reg.value);
        reg = reg == R15 ? (unsigned)r15 : reg;
        emit_u8(w->e, emit_rex(1, reg, -1, INS_RAX));
        emit_u8(w->e, 0x89);
        emit_u8(w->e, (uint8_t)(0xc0 | (reg & 7) << 3));
        return 0;
    }
    bool fs = op->mem.segment == ZYDIS_REGISTER_FS;
    bool narrow = insn->zydis.address_width == 32;
    if (insn->rip_relative) {
        emit_bytes(w->e, "\x48\xb8", 2);
        emit_u64(w->e, rip_relative_address(insn));
        w->out->places[w->out->place_count - 1].host_off = (uint32_t)(w->e->at - w->start);
        w->out->places[w->out->place_count - 1].spilled |= 1u << INS_RAX;
        if (fs)
            emit_u8(w->e, 0x64);
        emit_bytes(w->e, "\x48\x8b\x00", 3);
        return 0;
    }
    int base = op->mem.base ? (int)ZydisRegisterGetId(op->mem.base) : -1;
    int index = op->mem.index ? (int)ZydisRegisterGetId(op->mem.index) : -1;
    if (fs)
        emit_u8(w->e, 0x64);
    if (narrow)
        emit_u8(w->e, 0x67);
    base = base == R15 ? r15 : base;
    index = index == R15 ? r15 : index;
    emit_u8(w->e, emit_rex(1, INS_RAX, index, base));
    emit_u8(w->e, 0x8b);
    emit_memory(w->e, INS_RAX, base, index, op->mem.scale, (int32_t)op->mem.disp.value);
    return 0;
}

static int indirect_emit(struct work *w, unsigned at)
{
    struct dbi_insn *insn = &w->code->insns[at];
    uint64_t next = insn->pc + insn->length;
    regs_restore(w, UINT16_MAX);
    emit_store_gs(w->e, HOME(INS_RAX), INS_RAX);
    emit_store_gs(w->e, HOME(INS_RCX), INS_RCX);
    if (insn->terminal == DBI_RET) {
        uint16_t extra =
            insn->zydis.operand_count_visible ? (uint16_t)insn->operands[0].imm.value.u : 0;
        place_add(w, at);
        emit_bytes(w->e, "\x48\x8b\x04\x24", 4); /* mov rax, [rsp] */
        emit_lea(w->e, INS_RSP, INS_RSP, -1, 1, 8 + extra, false);
    } else {
        int err = target_load(w, at);
        if (err)
            return err;
        regs_restore(w, (uint16_t) ~(1u << INS_RAX | 1u << INS_RCX));
        if (insn->terminal == DBI_CALL_INDIRECT) {
            w->spilled |= 1u << INS_RAX; /* for the fault map only */
            push_imm(w, next, at);
            w->spilled = 0;
        }
    }
    collect_commit(w);
    emit_store_imm_gs(w->e, AGT_CTX_BRANCH, w->id);
    lookup_emit(w);
    return 0;
}

static void terminal_emit_event(struct work *w, const struct dbi_insn *insn)
{
    static const struct {
        uint8_t terminal;
        uint8_t kind;
        bool after;
    } events[] = {
        {DBI_SYSCALL, AGT_EXIT_SYSCALL, true}, {DBI_RDTSC, AGT_EXIT_RDTSC, true},
        {DBI_RDTSCP, AGT_EXIT_RDTSCP, true},   {DBI_CPUID, AGT_EXIT_CPUID, true},
        {DBI_XGETBV, AGT_EXIT_XGETBV, true},   {DBI_UNSUPPORTED, AGT_EXIT_UNSUPPORTED, false},
    };
    for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++) {
        if (events[i].terminal == insn->terminal)
            leave_emit(w, insn->pc + (events[i].after ? insn->length : 0), events[i].kind);
    }
}

static int terminal_emit(struct work *w)
{
    unsigned last = w->code->count - 1;
    struct dbi_insn *insn = &w->code->insns[last];
    uint64_t next = insn->pc + insn->length;
    uint64_t target = insn->info.target;
    switch (insn->terminal) {
    case DBI_JMP_INDIRECT:
    case DBI_CALL_INDIRECT:
    case DBI_RET:
        return indirect_emit(w, last);
    case DBI_TRAP:
    case DBI_ILLEGAL:
        regs_restore(w, UINT16_MAX);
        place_add(w, last);
        if (insn->terminal == DBI_ILLEGAL)
            emit_bytes(w->e, "\x0f\x0b", 2);
        else
            emit_bytes(w->e, insn->bytes, insn->length);
        collect_commit(w); /* goes on here only if it did not fault after all */
        exit_add(w, 0xe9, next);
        return 0;
    case DBI_CALL:
        regs_restore(w, UINT16_MAX);
        push_imm(w, next, last);
        collect_commit(w);
        exit_add(w, 0xe9, target);
        return 0;
    }
    regs_restore(w, UINT16_MAX);
    place_add(w, last);
    collect_commit(w);
    switch (insn->terminal) {
    case DBI_NEXT:
        exit_add(w, 0xe9, next);
        return 0;
    case DBI_JMP:
        exit_add(w, 0xe9, target);
        return 0;
    case DBI_JCC:
        if (w->ticks) {
            add_gs(w, last, AGT_CTX_TICKS, 1);
            regs_restore(w, UINT16_MAX);
        }
        exit_add(w, (uint8_t)(0x80 | (insn->info.condition & 15)), target);
        exit_add(w, 0xe9, next);
        return 0;
    case DBI_LOOP:
        if (insn->zydis.address_width == 32)
            emit_u8(w->e, 0x67);
        emit_u8(w->e, insn->zydis.opcode);
        emit_u8(w->e, 5);
        exit_add(w, 0xe9, next);
        exit_add(w, 0xe9, target);
        return 0;
    default:
        terminal_emit_event(w, insn);
        return 0;
    }
}

/* ---- start of a fragment ---- */

/*
 * Whoever looked up the target may have come to the wrong fragment, and then needs its flags for
 * the right one: the comparison touches none, even where this fragment would not mind. (`cmp` for
 * such fragments was tried: two targets with the same low 16 bits, and a carry was lost.)
 */
static void prefix_emit(struct work *w, uint64_t pc, uint64_t miss)
{
    struct emit *e = w->e;
    emit_bytes(e, "\x48\x8b\x0d", 3); /* mov rcx, [rip + constant] */
    emit_u32(e, 4 + 2 + 5);
    emit_bytes(e, "\x48\x8d\x0c\x01", 4); /* lea rcx, [rcx + rax] */
    emit_bytes(e, "\xe3\x0d", 2);         /* jrcxz over the jump and the constant */
    emit_branch(e, 0xe9, miss);
    emit_u64(e, -pc);
    emit_load_gs(e, INS_RCX, HOME(INS_RCX));
    emit_load_gs(e, INS_RAX, HOME(INS_RAX));
}

/* add/sub/inc qword gs:[disp]: opcode 83 /op ib */
static void arith_gs(struct work *w, unsigned op, uint32_t disp, uint8_t n)
{
    emit_u8(w->e, 0x65);
    emit_u8(w->e, 0x48);
    emit_u8(w->e, 0x83);
    emit_absolute(w->e, op, disp);
    emit_u8(w->e, n);
}

/* Flags to ax and back, without the guest's stack; rax waits in its home. */
static void flags_keep(struct work *w)
{
    emit_store_gs(w->e, HOME(INS_RAX), INS_RAX);
    emit_bytes(w->e, "\x9f\x0f\x90\xc0", 4); /* lahf; seto al */
}

static void flags_restore(struct work *w)
{
    emit_bytes(w->e, "\x04\x7f\x9e", 3); /* add al, 0x7f (overflows if al was 1); sahf */
    emit_load_gs(w->e, INS_RAX, HOME(INS_RAX));
}

/* ---- code in pages that nobody watches ---- */

/* cmp dword (or byte) [rcx + off], imm; jne */
static void check_one(struct work *w, unsigned off, const uint8_t *code, unsigned bytes)
{
    emit_u8(w->e, bytes == 4 ? 0x81 : 0x80);
    emit_memory(w->e, 7, INS_RCX, -1, 1, (int32_t)off);
    emit_bytes(w->e, code + off, bytes);
    w->differs[w->differ_count++] = emit_branch(w->e, 0x85, 0);
}

/* Compares the program's code with what this was made from. What is there instead may read any
 * flag, so they are kept even where this code would not mind. */
static void check_emit(struct work *w)
{
    uint8_t code[DBI_INSN_MAX * 15];
    unsigned bytes = 0, off;
    if (!w->code->unwatched)
        return;
    for (unsigned i = 0; i < w->code->count; bytes += w->code->insns[i++].length)
        memcpy(code + bytes, w->code->insns[i].bytes, w->code->insns[i].length);
    flags_keep(w);
    emit_store_gs(w->e, HOME(INS_RCX), INS_RCX);
    emit_mov_imm(w->e, INS_RCX, w->code->insns[0].pc);
    for (off = 0; off + 4 <= bytes; off += 4)
        check_one(w, off, code, 4);
    for (; off < bytes; off++)
        check_one(w, off, code, 1);
    emit_load_gs(w->e, INS_RCX, HOME(INS_RCX));
    flags_restore(w);
}

static void check_stub_emit(struct work *w)
{
    if (!w->differ_count || w->e->overflow)
        return;
    for (unsigned i = 0; i < w->differ_count; i++) {
        int32_t rel = (int32_t)(w->e->at - (w->differs[i] + 4));
        memcpy(w->differs[i], &rel, 4);
    }
    emit_load_gs(w->e, INS_RCX, HOME(INS_RCX));
    flags_restore(w);
    emit_store_imm_gs(w->e, AGT_CTX_EXIT_ARG, w->code->code_bytes);
    leave_emit(w, w->code->insns[0].pc, AGT_EXIT_STALE);
}

/* ---- counting ---- */

/*
 * Counts the fragment's instructions; returns where the branch for "time is up" is, or NULL.
 * Every cycle of fragments must have one that checks, or a loop could run on for ever (or past the
 * end of the ring): where flags are live that costs more, so only those that may close one do.
 */
static uint8_t *time_emit(struct work *w, enum time_check check)
{
    uint8_t n = (uint8_t)w->code->count;
    bool collect = w->mode == DBI_COLLECT;
    uint8_t *site;
    if (check == TIME_UNCHECKED) {
        if (collect)
            add_gs(w, 0, AGT_CTX_LEFT, -(int32_t)n);
        else
            emit_lea(w->e, R15, R15, -1, 1, n, false);
        /* A store may wait for its page to be opened while this fragment is forgotten: what
         * forgetting overwrites (GONE_PATCH_BYTES) must not reach into the first instruction. */
        if (w->mode == DBI_PLAIN)
            emit_u8(w->e, 0x90);
        return NULL;
    }
    if (check == TIME_FLAGS_LIVE)
        flags_keep(w);
    if (collect) {
        arith_gs(w, 5, AGT_CTX_LEFT, n);
        site = emit_branch(w->e, 0x88, 0); /* js */
    } else {
        emit_bytes(w->e, "\x49\x83\xc7", 3); /* add r15, n */
        emit_u8(w->e, n);
        site = emit_branch(w->e, 0x8f, 0); /* jg */
    }
    if (check == TIME_FLAGS_LIVE)
        flags_restore(w);
    return site;
}

static void time_stub_emit(struct work *w, uint8_t *site, enum time_check check)
{
    if (!site || w->e->overflow)
        return;
    int32_t rel = (int32_t)(w->e->at - (site + 4));
    memcpy(site, &rel, 4);
    if (w->mode == DBI_COLLECT)
        arith_gs(w, 0, AGT_CTX_LEFT, (uint8_t)w->code->count);
    else
        emit_lea(w->e, R15, R15, -1, 1, -(int32_t)w->code->count, false);
    if (check == TIME_FLAGS_LIVE)
        flags_restore(w);
    leave_emit(w, w->code->insns[0].pc, AGT_EXIT_TIME);
}

static void start_emit(struct work *w)
{
    uint32_t counter = (uint32_t)(AGT_COUNT_OFF + 8 * w->id);
    if (w->mode == DBI_COLLECT) {
        emit_store_imm(w->e, R15, 0, w->id);
    } else if (w->mode == DBI_COUNT) {
        if (w->flags_free)
            arith_gs(w, 0, counter, 1);
        else
            add_gs(w, 0, counter, 1);
    }
}

int dbi_emit_fragment(struct emit *e, const struct dbi_emit_how *how, struct dbi_code *code,
                      struct dbi_output *out)
{
    bool exact = how->exact;
    enum dbi_mode mode = how->mode;
    uint64_t miss = how->miss;
    struct work w = {.e = e,
                     .code = code,
                     .out = out,
                     .start = e->at,
                     .mode = mode,
                     .id = how->id,
                     .r15 = -1,
                     .exact = exact,
                     .ticks = how->ticks,
                     .values = how->values,
                     .miss = miss};
    out->place_count = out->exit_count = 0;
    out->slot_count = mode == DBI_COLLECT ? dbi_code_slots(code, code->count, how->values) : 0;
    w.flags_free = !exact && dbi_code_flags_dead(code);
    if (!exact)
        prefix_emit(&w, code->insns[0].pc, miss);
    out->body = e->at;
    if (how->filter)
        filter_emit(&w, how->filter);
    out->inner = e->at;
    check_emit(&w);
    enum time_check check = w.flags_free                         ? TIME_FLAGS_DEAD
                            : !exact && dbi_code_may_cycle(code) ? TIME_FLAGS_LIVE
                                                                 : TIME_UNCHECKED;
    uint8_t *time_up = time_emit(&w, check);
    start_emit(&w);
    int err = insns_emit(&w);
    if (!err)
        err = terminal_emit(&w);
    if (err)
        return err;
    stubs_emit(&w);
    time_stub_emit(&w, time_up, check);
    check_stub_emit(&w);
    return e->overflow ? -ENOSPC : 0;
}
