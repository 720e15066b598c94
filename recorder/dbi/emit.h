/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes the instructions that we add ourselves: the translator's, and those of wet/depend. Whoever
 * emits code names instructions; their bytes are here and in emit_vector.h alone.
 *
 * Register numbers as in ins_gpr. What is called wide has 64 bits, else 32. A function that leads
 * somewhere later returns its site: where the displacement of four bytes is.
 */
#ifndef RECORDER_DBI_EMIT_H
#define RECORDER_DBI_EMIT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct emit {
    uint8_t *at; /* where the next byte goes */
    uint8_t *limit;
    uint64_t host; /* address of `at` in the replayee minus (uintptr_t)at */
    bool overflow;
};

/* ---- bytes ---- */

static inline uint64_t emit_host(const struct emit *e)
{
    return (uint64_t)(uintptr_t)e->at + e->host;
}

static inline void emit_bytes(struct emit *e, const void *bytes, unsigned count)
{
    if (count > (uintptr_t)(e->limit - e->at)) {
        e->overflow = true;
        return;
    }
    memcpy(e->at, bytes, count);
    e->at += count;
}

/* Bytes of an instruction, for this file and emit_vector.h. */
#define EMIT_RAW(e, ...)                                                                           \
    emit_bytes(e, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static inline void emit_u8(struct emit *e, uint8_t byte)
{
    emit_bytes(e, &byte, 1);
}

static inline void emit_u32(struct emit *e, uint32_t value)
{
    emit_bytes(e, &value, 4);
}

static inline void emit_u64(struct emit *e, uint64_t value)
{
    emit_bytes(e, &value, 8);
}

/* ---- operands ---- */

enum emit_prefix {
    EMIT_FS = 0x64,
    EMIT_GS = 0x65,
    EMIT_NARROW = 0x67, /* addresses are cut to 32 bits */
};

static inline void emit_prefix(struct emit *e, enum emit_prefix prefix)
{
    emit_u8(e, (uint8_t)prefix);
}

/* modrm + sib for an absolute 32-bit displacement (used with a gs prefix). */
static inline void emit_absolute(struct emit *e, unsigned reg, uint32_t disp)
{
    emit_u8(e, (uint8_t)(0x04 | (reg & 7) << 3));
    emit_u8(e, 0x25);
    emit_u32(e, disp);
}

/* A memory operand [base + index * scale + disp]; -1 for none. */
static inline void emit_memory(struct emit *e, unsigned reg, int base, int index, unsigned scale,
                               int32_t disp)
{
    assert(index != 4 && (index < 0 || scale == 1 || scale == 2 || scale == 4 || scale == 8));
    uint8_t r = (uint8_t)((reg & 7) << 3);
    uint8_t log = scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0;
    if (base < 0) {
        emit_u8(e, r | 4);
        emit_u8(e, (uint8_t)(log << 6 | (index < 0 ? 4 : (index & 7)) << 3 | 5));
        emit_u32(e, (uint32_t)disp);
        return;
    }
    bool small = disp >= -128 && disp <= 127;
    uint8_t mod = small ? 0x40 : 0x80;
    if (index < 0 && (base & 7) != 4) {
        emit_u8(e, (uint8_t)(mod | r | (base & 7)));
    } else {
        emit_u8(e, mod | r | 4);
        emit_u8(e, (uint8_t)(log << 6 | (index < 0 ? 4 : (index & 7)) << 3 | (base & 7)));
    }
    if (small)
        emit_u8(e, (uint8_t)disp);
    else
        emit_u32(e, (uint32_t)disp);
}

static inline uint8_t emit_rex(unsigned w, unsigned reg, int index, int base)
{
    return (uint8_t)(0x40 | w << 3 | (reg & 8 ? 4 : 0) | (index >= 8 ? 2 : 0) |
                     (base >= 8 ? 1 : 0));
}

/* Emits a REX prefix where it says something. */
static inline void emit_rex_due(struct emit *e, bool wide, unsigned reg, int index, int base)
{
    uint8_t rex = emit_rex(wide, reg, index, base);
    if (rex != 0x40)
        emit_u8(e, rex);
}

/* ---- one register, and another or memory ---- */

/* Opcodes; those above 0xff are 0f and another byte. "rm" is what may be memory. */
enum emit_op {
    EMIT_ADD_TO = 0x01, /* rm += reg */
    EMIT_ADD_FROM = 0x03,
    EMIT_AND_FROM = 0x23,
    EMIT_XOR_TO = 0x31,
    EMIT_CMP_TO = 0x39,
    EMIT_CMP_FROM = 0x3b,
    EMIT_MOVSXD = 0x63,
    EMIT_TEST = 0x85,
    EMIT_MOV_TO = 0x89,
    EMIT_MOV_FROM = 0x8b,
    EMIT_LEA = 0x8d,
    EMIT_IMUL = 0x0faf,
    EMIT_MOVZX8 = 0x0fb6, /* as registers only al, cl, dl and bl */
    EMIT_MOVZX16 = 0x0fb7,
    EMIT_MOVSX16 = 0x0fbf,
    EMIT_CALL_RM = 0xff | 2 << 16, /* with what "reg" is then: emit_op_alone() */
    EMIT_JMP_RM = 0xff | 4 << 16,
    EMIT_PUSH_RM = 0xff | 6 << 16,
};

/* What stands for the register of an opcode that has none. */
static inline unsigned emit_op_alone(enum emit_op op)
{
    return (unsigned)op >> 16;
}

static inline void emit_opcode(struct emit *e, unsigned op)
{
    if ((op & 0xffff) > 0xff)
        emit_u8(e, (uint8_t)(op >> 8));
    emit_u8(e, (uint8_t)op);
}

/* op reg, rm, both registers */
static inline void emit_op(struct emit *e, bool wide, enum emit_op op, unsigned reg, unsigned rm)
{
    assert(op != EMIT_MOVZX8 || rm < 4);
    emit_rex_due(e, wide, reg, -1, (int)rm);
    emit_opcode(e, op);
    emit_u8(e, (uint8_t)(0xc0 | (reg & 7) << 3 | (rm & 7)));
}

/* op reg, [base + index * scale + disp] */
static inline void emit_op_memory(struct emit *e, bool wide, enum emit_op op, unsigned reg,
                                  int base, int index, unsigned scale, int32_t disp)
{
    emit_rex_due(e, wide, reg, index, base);
    emit_opcode(e, op);
    emit_memory(e, reg, base, index, scale, disp);
}

/* op reg, gs:[base + index * scale + disp] */
static inline void emit_op_gs_memory(struct emit *e, bool wide, enum emit_op op, unsigned reg,
                                     int base, int index, unsigned scale, uint32_t disp)
{
    emit_prefix(e, EMIT_GS);
    emit_op_memory(e, wide, op, reg, base, index, scale, (int32_t)disp);
}

/* op reg, gs:[disp] */
static inline void emit_op_gs(struct emit *e, bool wide, enum emit_op op, unsigned reg,
                              uint32_t disp)
{
    emit_prefix(e, EMIT_GS);
    emit_rex_due(e, wide, reg, -1, -1);
    emit_opcode(e, op);
    emit_absolute(e, reg, disp);
}

/* op reg, [base], which is not rbp or r13: without a displacement */
static inline void emit_op_at(struct emit *e, bool wide, enum emit_op op, unsigned reg,
                              unsigned base)
{
    assert((base & 7) != 5);
    emit_rex_due(e, wide, reg, -1, (int)base);
    emit_opcode(e, op);
    emit_u8(e, (uint8_t)((reg & 7) << 3 | (base & 7)));
    if ((base & 7) == 4)
        emit_u8(e, 0x24);
}

static inline void emit_sum(struct emit *e, unsigned reg, unsigned base, unsigned index,
                            unsigned scale)
{
    assert((base & 7) != 5 && index != 4);
    uint8_t log = scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0;
    EMIT_RAW(e, (uint8_t)(4 | (reg & 7) << 3), (uint8_t)(log << 6 | (index & 7) << 3 | (base & 7)));
}

/* op reg, [base + index * scale], base not rbp or r13: without a displacement */
static inline void emit_op_sum(struct emit *e, bool wide, enum emit_op op, unsigned reg,
                               unsigned base, unsigned index, unsigned scale)
{
    emit_rex_due(e, wide, reg, (int)index, (int)base);
    emit_opcode(e, op);
    emit_sum(e, reg, base, index, scale);
}

/* op reg, [rip + 0]; returns the site. */
static inline uint8_t *emit_op_rip(struct emit *e, bool wide, enum emit_op op, unsigned reg)
{
    emit_rex_due(e, wide, reg, -1, -1);
    emit_opcode(e, op);
    emit_u8(e, (uint8_t)(0x05 | (reg & 7) << 3));
    uint8_t *site = e->at;
    emit_u32(e, 0);
    return site;
}

/* ---- loads, stores and moves ---- */

/* mov gs:[disp], reg */
static inline void emit_store_gs(struct emit *e, uint32_t disp, unsigned reg)
{
    emit_op_gs(e, true, EMIT_MOV_TO, reg, disp);
}

/* mov reg, gs:[disp] */
static inline void emit_load_gs(struct emit *e, unsigned reg, uint32_t disp)
{
    emit_op_gs(e, true, EMIT_MOV_FROM, reg, disp);
}

/* mov reg32, gs:[disp] */
static inline void emit_load32_gs(struct emit *e, unsigned reg, uint32_t disp)
{
    emit_op_gs(e, false, EMIT_MOV_FROM, reg, disp);
}

/* mov gs:[disp], reg32 */
static inline void emit_store32_gs(struct emit *e, uint32_t disp, unsigned reg)
{
    emit_op_gs(e, false, EMIT_MOV_TO, reg, disp);
}

/* mov dword gs:[disp], imm */
static inline void emit_store_imm_gs(struct emit *e, uint32_t disp, uint32_t imm)
{
    emit_prefix(e, EMIT_GS);
    emit_u8(e, 0xc7);
    emit_absolute(e, 0, disp);
    emit_u32(e, imm);
}

/* lea reg, [...]; narrow: the address is cut to 32 bits */
static inline void emit_lea(struct emit *e, unsigned reg, int base, int index, unsigned scale,
                            int32_t disp, bool narrow)
{
    if (narrow)
        emit_prefix(e, EMIT_NARROW);
    emit_u8(e, emit_rex(!narrow, reg, index, base));
    emit_u8(e, EMIT_LEA);
    emit_memory(e, reg, base, index, scale, disp);
}

/* mov [base + disp], reg */
static inline void emit_store(struct emit *e, unsigned base, int32_t disp, unsigned reg)
{
    emit_op_memory(e, true, EMIT_MOV_TO, reg, (int)base, -1, 1, disp);
}

/* mov gs:[base32 + disp], reg */
static inline void emit_store_gs_narrow(struct emit *e, unsigned base, int32_t disp, unsigned reg)
{
    EMIT_RAW(e, EMIT_GS, EMIT_NARROW);
    emit_store(e, base, disp, reg);
}

/* mov reg, gs:[base32 + disp] */
static inline void emit_load_gs_narrow(struct emit *e, unsigned reg, unsigned base, int32_t disp)
{
    EMIT_RAW(e, EMIT_GS, EMIT_NARROW);
    emit_op_memory(e, true, EMIT_MOV_FROM, reg, (int)base, -1, 1, disp);
}

/* mov (movzx for 1 and 2 bytes) reg, [base + disp] */
static inline void emit_load_sized(struct emit *e, unsigned reg, unsigned base, int32_t disp,
                                   unsigned size)
{
    assert(size == 1 || size == 2 || size == 4 || size == 8);
    emit_u8(e, emit_rex(size == 8, reg, -1, (int)base));
    emit_opcode(e, size >= 4 ? EMIT_MOV_FROM : size == 2 ? EMIT_MOVZX16 : EMIT_MOVZX8);
    emit_memory(e, reg, (int)base, -1, 1, disp);
}

/* mov dword [base + disp], imm */
static inline void emit_store_imm(struct emit *e, unsigned base, int32_t disp, uint32_t imm)
{
    emit_u8(e, emit_rex(0, 0, -1, (int)base));
    emit_u8(e, 0xc7);
    emit_memory(e, 0, (int)base, -1, 1, disp);
    emit_u32(e, imm);
}

/* setcc byte gs:[base32 + disp]: the low four bits of a jcc's opcode tell of what */
static inline void emit_set_gs_narrow(struct emit *e, unsigned condition, unsigned base,
                                      int32_t disp)
{
    EMIT_RAW(e, EMIT_GS, EMIT_NARROW);
    emit_u8(e, emit_rex(0, 0, -1, (int)base));
    EMIT_RAW(e, 0x0f, (uint8_t)(0x90 | (condition & 15)));
    emit_memory(e, 0, (int)base, -1, 1, disp);
}

/* mov qword gs:[base32 + disp], imm, which is extended by its sign */
static inline void emit_store_imm_gs_narrow(struct emit *e, unsigned base, int32_t disp,
                                            uint32_t imm)
{
    EMIT_RAW(e, EMIT_GS, EMIT_NARROW);
    emit_u8(e, emit_rex(1, 0, -1, (int)base));
    emit_u8(e, 0xc7);
    emit_memory(e, 0, (int)base, -1, 1, disp);
    emit_u32(e, imm);
}

/* mov byte gs:[reg + disp], 1 */
static inline void emit_mark_gs(struct emit *e, unsigned reg, uint32_t disp)
{
    emit_prefix(e, EMIT_GS);
    if (reg & 8)
        emit_u8(e, 0x41);
    emit_u8(e, 0xc6);
    if ((reg & 7) == 4) {
        emit_u8(e, 0x84);
        emit_u8(e, 0x24);
    } else {
        emit_u8(e, (uint8_t)(0x80 | (reg & 7)));
    }
    emit_u32(e, disp);
    emit_u8(e, 1);
}

/* mov reg32, reg32: the upper half becomes 0 */
static inline void emit_cut32(struct emit *e, unsigned reg)
{
    emit_op(e, false, EMIT_MOV_TO, reg, reg);
}

/* mov reg, imm of 64 bits, whatever it is */
static inline void emit_mov_imm64(struct emit *e, unsigned reg, uint64_t imm)
{
    EMIT_RAW(e, reg & 8 ? 0x49 : 0x48, (uint8_t)(0xb8 | (reg & 7)));
    emit_u64(e, imm);
}

/* mov reg, imm */
static inline void emit_mov_imm(struct emit *e, unsigned reg, uint64_t imm)
{
    if (imm > UINT32_MAX) {
        emit_mov_imm64(e, reg, imm);
        return;
    }
    if (reg & 8)
        emit_u8(e, 0x41);
    emit_u8(e, (uint8_t)(0xb8 | (reg & 7)));
    emit_u32(e, (uint32_t)imm);
}

/* mov, movsxd or movsx to, from: the lowest `size` bytes (8, 4 or 2), extended by their sign */
static inline void emit_extend_sign(struct emit *e, unsigned to, unsigned from, unsigned size)
{
    assert(size == 2 || size == 4 || size == 8);
    if (size == 8)
        emit_op(e, true, EMIT_MOV_TO, from, to);
    else
        emit_op(e, true, size == 4 ? EMIT_MOVSXD : EMIT_MOVSX16, to, from);
}

/* bswap rcx; movzx ecx, cl: the highest byte is all that is left */
static inline void emit_rcx_top_byte(struct emit *e)
{
    EMIT_RAW(e, 0x48, 0x0f, 0xc9, 0x0f, 0xb6, 0xc9);
}

/* ---- arithmetic ---- */

enum emit_arith {
    EMIT_ADD = 0,
    EMIT_ADC = 2,
    EMIT_AND = 4,
    EMIT_SUB = 5,
    EMIT_CMP = 7,
};

enum emit_shift {
    EMIT_SHL = 4,
    EMIT_SHR = 5,
    EMIT_SAR = 7,
};

/* op reg, imm, which is extended by its sign */
static inline void emit_arith_imm8(struct emit *e, bool wide, enum emit_arith op, unsigned reg,
                                   uint8_t imm)
{
    emit_rex_due(e, wide, 0, -1, (int)reg);
    EMIT_RAW(e, 0x83, (uint8_t)(0xc0 | op << 3 | (reg & 7)), imm);
}

static inline void emit_arith_imm32(struct emit *e, bool wide, enum emit_arith op, unsigned reg,
                                    uint32_t imm)
{
    emit_rex_due(e, wide, 0, -1, (int)reg);
    EMIT_RAW(e, 0x81, (uint8_t)(0xc0 | op << 3 | (reg & 7)));
    emit_u32(e, imm);
}

/* op eax, imm: shorter */
static inline void emit_arith_eax(struct emit *e, enum emit_arith op, uint32_t imm)
{
    emit_u8(e, (uint8_t)(op << 3 | 5));
    emit_u32(e, imm);
}

/* op qword gs:[disp], imm */
static inline void emit_arith_gs_imm8(struct emit *e, enum emit_arith op, uint32_t disp,
                                      uint8_t imm)
{
    EMIT_RAW(e, EMIT_GS, 0x48, 0x83);
    emit_absolute(e, op, disp);
    emit_u8(e, imm);
}

/* cmp qword gs:[base + disp], imm */
static inline void emit_cmp_gs_imm8(struct emit *e, unsigned base, uint32_t disp, uint8_t imm)
{
    emit_prefix(e, EMIT_GS);
    emit_u8(e, emit_rex(1, 0, -1, (int)base));
    emit_u8(e, 0x83);
    emit_memory(e, EMIT_CMP, (int)base, -1, 1, (int32_t)disp);
    emit_u8(e, imm);
}

/* cmp dword [base + index], imm, base not rbp or r13 */
static inline void emit_cmp_sum_imm8(struct emit *e, unsigned base, unsigned index, uint8_t imm)
{
    emit_rex_due(e, false, 0, (int)index, (int)base);
    emit_u8(e, 0x83);
    emit_sum(e, EMIT_CMP, base, index, 1);
    emit_u8(e, imm);
}

/* cmp dword (or byte) [base + disp], the 4 (or 1) bytes; base below r8 */
static inline void emit_cmp_bytes(struct emit *e, unsigned base, int32_t disp, const uint8_t *bytes,
                                  unsigned count)
{
    assert(base < 8 && (count == 4 || count == 1));
    emit_u8(e, count == 4 ? 0x81 : 0x80);
    emit_memory(e, EMIT_CMP, (int)base, -1, 1, disp);
    emit_bytes(e, bytes, count);
}

/* test al, imm */
static inline void emit_test_al(struct emit *e, uint8_t imm)
{
    EMIT_RAW(e, 0xa8, imm);
}

/* test reg8, imm; reg is rax to rbx */
static inline void emit_test_imm8(struct emit *e, unsigned reg, uint8_t imm)
{
    assert(reg < 4);
    EMIT_RAW(e, 0xf6, (uint8_t)(0xc0 | reg), imm);
}

static inline void emit_shift(struct emit *e, bool wide, enum emit_shift op, unsigned reg,
                              uint8_t n)
{
    emit_rex_due(e, wide, 0, -1, (int)reg);
    EMIT_RAW(e, 0xc1, (uint8_t)(0xc0 | op << 3 | (reg & 7)), n);
}

/* inc reg32, below r8 */
static inline void emit_inc32(struct emit *e, unsigned reg)
{
    assert(reg < 8);
    EMIT_RAW(e, 0xff, (uint8_t)(0xc0 | reg));
}

/* rorx to, from, n: rotates to the right and touches no flags (BMI2) */
static inline void emit_rorx(struct emit *e, bool wide, unsigned to, unsigned from, uint8_t n)
{
    EMIT_RAW(e, 0xc4, (uint8_t)(0xe3 & ~(to & 8 ? 0x80 : 0) & ~(from & 8 ? 0x20 : 0)),
             wide ? 0xfb : 0x7b, 0xf0, (uint8_t)(0xc0 | (to & 7) << 3 | (from & 7)), n);
}

/* ---- flags ---- */

/* lahf; seto al */
static inline void emit_flags_to_ax(struct emit *e)
{
    EMIT_RAW(e, 0x9f, 0x0f, 0x90, 0xc0);
}

/* add al, 0x7f, which overflows if al was 1; sahf */
static inline void emit_flags_from_ax(struct emit *e)
{
    EMIT_RAW(e, 0x04, 0x7f, 0x9e);
}

/* ---- the stack ---- */

static inline void emit_push(struct emit *e, unsigned reg)
{
    if (reg & 8)
        emit_u8(e, 0x41);
    emit_u8(e, (uint8_t)(0x50 | (reg & 7)));
}

static inline void emit_pop(struct emit *e, unsigned reg)
{
    if (reg & 8)
        emit_u8(e, 0x41);
    emit_u8(e, (uint8_t)(0x58 | (reg & 7)));
}

/* push imm, which is extended by its sign */
static inline void emit_push_imm(struct emit *e, uint32_t imm)
{
    emit_u8(e, 0x68);
    emit_u32(e, imm);
}

/* push [rip + 0]; returns the site. */
static inline uint8_t *emit_push_rip(struct emit *e)
{
    return emit_op_rip(e, false, EMIT_PUSH_RM, emit_op_alone(EMIT_PUSH_RM));
}

static inline void emit_ret(struct emit *e)
{
    emit_u8(e, 0xc3);
}

/* ---- branches ---- */

/* Branches with four bytes of displacement. EMIT_IF and a condition, as in the processor's
 * opcodes. */
enum emit_branch {
    EMIT_IF = 0x80,
    EMIT_IF_NOT_BELOW = 0x83,
    EMIT_IF_ZERO = 0x84,
    EMIT_IF_NOT_ZERO = 0x85,
    EMIT_IF_SIGN = 0x88,
    EMIT_IF_GREATER = 0x8f,
    EMIT_CALL = 0xe8,
    EMIT_JMP = 0xe9,
};

/* Branches with one byte of displacement, counted from the next instruction. Loops have the
 * program's own opcode. */
enum emit_short {
    EMIT_SHORT_JRCXZ = 0xe3,
    EMIT_SHORT_JMP = 0xeb,
};

#define EMIT_SHORT_BYTES 2
#define EMIT_JMP_BYTES   5 /* opcode and displacement */

/* jmp, call or jcc to a host address within reach; returns the site. */
static inline uint8_t *emit_branch(struct emit *e, unsigned opcode, uint64_t target)
{
    if (opcode < EMIT_CALL)
        emit_u8(e, 0x0f);
    emit_u8(e, (uint8_t)opcode);
    uint8_t *site = e->at;
    emit_u32(e, (uint32_t)(target - (emit_host(e) + 4)));
    return site;
}

static inline void emit_short(struct emit *e, unsigned opcode, uint8_t distance)
{
    EMIT_RAW(e, (uint8_t)opcode, distance);
}

/* Points the displacement at `site` to `to`, both written by us within one region. */
static inline void emit_patch(uint8_t *site, const uint8_t *to)
{
    int32_t rel = (int32_t)(to - (site + 4));
    memcpy(site, &rel, 4);
}

/* Lets a forward branch come here. */
static inline void emit_land(const struct emit *e, uint8_t *site)
{
    if (!e->overflow)
        emit_patch(site, e->at);
}

/* Lets a short branch, which ends at `end`, come here. */
static inline void emit_short_land(const struct emit *e, uint8_t *end)
{
    assert(e->at - end <= INT8_MAX);
    end[-1] = (uint8_t)(e->at - end);
}

/* Where the jmp with its displacement at `site` begins. */
static inline uint8_t *emit_jmp_start(uint8_t *site)
{
    return site - 1;
}

/* Writes a jmp over what is at `at`: EMIT_JMP_BYTES. */
static inline void emit_jmp_over(uint8_t *at, int32_t rel)
{
    at[0] = EMIT_JMP;
    memcpy(at + 1, &rel, 4);
}

/* Where the displacement at `site`, whose address in the replayee is `host`, leads. */
static inline uint64_t emit_site_target(const uint8_t *site, uint64_t host)
{
    int32_t rel;
    memcpy(&rel, site, 4);
    return host + 4 + (uint64_t)(int64_t)rel;
}

/* Where the jmp at `at`, whose address in the replayee is `host`, leads; 0: there is none. */
static inline uint64_t emit_jmp_target(const uint8_t *at, uint64_t host)
{
    return at[0] == EMIT_JMP ? emit_site_target(at + 1, host + 1) : 0;
}

/* jmp gs:[disp] */
static inline void emit_jmp_gs(struct emit *e, uint32_t disp)
{
    emit_op_gs(e, false, EMIT_JMP_RM, emit_op_alone(EMIT_JMP_RM), disp);
}

/* jmp gs:[index * 8 + disp] */
static inline void emit_jmp_gs_table(struct emit *e, unsigned index, uint32_t disp)
{
    emit_op_gs_memory(e, false, EMIT_JMP_RM, emit_op_alone(EMIT_JMP_RM), -1, (int)index, 8, disp);
}

/* jmp [rip + 0] and the address: as far as need be */
static inline void emit_jmp_far(struct emit *e, uint64_t target)
{
    emit_op_rip(e, false, EMIT_JMP_RM, emit_op_alone(EMIT_JMP_RM));
    emit_u64(e, target);
}

/* jmp reg */
static inline void emit_jmp_reg(struct emit *e, unsigned reg)
{
    emit_op(e, false, EMIT_JMP_RM, emit_op_alone(EMIT_JMP_RM), reg);
}

/* call [base + disp] */
static inline void emit_call_memory(struct emit *e, unsigned base, int32_t disp)
{
    emit_op_memory(e, false, EMIT_CALL_RM, emit_op_alone(EMIT_CALL_RM), (int)base, -1, 1, disp);
}

/* ---- others ---- */

/* One instruction of 1, 3 or 4 bytes that does nothing. */
static inline void emit_nop(struct emit *e, unsigned bytes)
{
    assert(bytes == 1 || bytes == 3 || bytes == 4);
    if (bytes == 1)
        EMIT_RAW(e, 0x90);
    else if (bytes == 3)
        EMIT_RAW(e, 0x0f, 0x1f, 0x00);
    else
        EMIT_RAW(e, 0x0f, 0x1f, 0x40, 0x00);
}

static inline void emit_int3(struct emit *e)
{
    emit_u8(e, 0xcc);
}

static inline void emit_hlt(struct emit *e)
{
    emit_u8(e, 0xf4);
}

static inline void emit_ud2(struct emit *e)
{
    EMIT_RAW(e, 0x0f, 0x0b);
}

enum emit_segment_base {
    EMIT_RDFSBASE = 0,
    EMIT_WRFSBASE = 2,
    EMIT_WRGSBASE = 3,
};

static inline void emit_segment_base(struct emit *e, enum emit_segment_base op, bool wide,
                                     unsigned reg)
{
    EMIT_RAW(e, 0xf3, emit_rex(wide, 0, -1, (int)reg), 0x0f, 0xae,
             (uint8_t)(0xc0 | op << 3 | (reg & 7)));
}

#endif
