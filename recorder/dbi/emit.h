/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the few instructions that the translator adds. Register numbers as in ins_gpr. */
#ifndef RECORDER_DBI_EMIT_H
#define RECORDER_DBI_EMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct emit {
    uint8_t *at; /* where the next byte goes */
    uint8_t *limit;
    uint64_t host; /* address of `at` in the replayee minus (uintptr_t)at */
    bool overflow;
};

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

/* modrm + sib for an absolute 32-bit displacement (used with a gs prefix). */
static inline void emit_absolute(struct emit *e, unsigned reg, uint32_t disp)
{
    emit_u8(e, (uint8_t)(0x04 | (reg & 7) << 3));
    emit_u8(e, 0x25);
    emit_u32(e, disp);
}

/* mov gs:[disp], reg */
static inline void emit_store_gs(struct emit *e, uint32_t disp, unsigned reg)
{
    emit_u8(e, 0x65);
    emit_u8(e, 0x48 | (reg & 8 ? 4 : 0));
    emit_u8(e, 0x89);
    emit_absolute(e, reg, disp);
}

/* mov reg, gs:[disp] */
static inline void emit_load_gs(struct emit *e, unsigned reg, uint32_t disp)
{
    emit_u8(e, 0x65);
    emit_u8(e, 0x48 | (reg & 8 ? 4 : 0));
    emit_u8(e, 0x8b);
    emit_absolute(e, reg, disp);
}

/* mov reg32, gs:[disp] */
static inline void emit_load32_gs(struct emit *e, unsigned reg, uint32_t disp)
{
    emit_u8(e, 0x65);
    if (reg & 8)
        emit_u8(e, 0x44);
    emit_u8(e, 0x8b);
    emit_absolute(e, reg, disp);
}

/* mov gs:[disp], reg32 */
static inline void emit_store32_gs(struct emit *e, uint32_t disp, unsigned reg)
{
    emit_u8(e, 0x65);
    if (reg & 8)
        emit_u8(e, 0x44);
    emit_u8(e, 0x89);
    emit_absolute(e, reg, disp);
}

/* mov dword gs:[disp], imm */
static inline void emit_store_imm_gs(struct emit *e, uint32_t disp, uint32_t imm)
{
    emit_u8(e, 0x65);
    emit_u8(e, 0xc7);
    emit_absolute(e, 0, disp);
    emit_u32(e, imm);
}

/* jmp gs:[disp] */
static inline void emit_jmp_gs(struct emit *e, uint32_t disp)
{
    emit_u8(e, 0x65);
    emit_u8(e, 0xff);
    emit_absolute(e, 4, disp);
}

/* A memory operand [base + index * scale + disp]; -1 for none. */
static inline void emit_memory(struct emit *e, unsigned reg, int base, int index, unsigned scale,
                               int32_t disp)
{
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

/* lea reg, [...]; narrow: the address is cut to 32 bits */
static inline void emit_lea(struct emit *e, unsigned reg, int base, int index, unsigned scale,
                            int32_t disp, bool narrow)
{
    if (narrow)
        emit_u8(e, 0x67);
    emit_u8(e, emit_rex(!narrow, reg, index, base));
    emit_u8(e, 0x8d);
    emit_memory(e, reg, base, index, scale, disp);
}

/* mov [base + disp], reg */
static inline void emit_store(struct emit *e, unsigned base, int32_t disp, unsigned reg)
{
    emit_u8(e, emit_rex(1, reg, -1, (int)base));
    emit_u8(e, 0x89);
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

/* mov qword [base + disp], imm, which is extended by its sign */
static inline void emit_store_imm_wide(struct emit *e, unsigned base, int32_t disp, uint32_t imm)
{
    emit_u8(e, emit_rex(1, 0, -1, (int)base));
    emit_u8(e, 0xc7);
    emit_memory(e, 0, (int)base, -1, 1, disp);
    emit_u32(e, imm);
}

/* mov byte gs:[reg + disp], 1 */
static inline void emit_mark_gs(struct emit *e, unsigned reg, uint32_t disp)
{
    emit_u8(e, 0x65);
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

/* movzx reg32, byte gs:[base + disp] */
static inline void emit_load_byte_gs(struct emit *e, unsigned reg, unsigned base, uint32_t disp)
{
    emit_u8(e, 0x65);
    if ((reg | base) & 8)
        emit_u8(e, emit_rex(0, reg, -1, (int)base));
    emit_bytes(e, "\x0f\xb6", 2);
    emit_memory(e, reg, (int)base, -1, 1, (int32_t)disp);
}

/* vmovdqu gs:[base32 + disp], ymm, or gs:[disp] if base is negative */
static inline void emit_store_ymm_gs(struct emit *e, int base, int32_t disp, unsigned vector)
{
    emit_u8(e, 0x65);
    if (base >= 0)
        emit_u8(e, 0x67);
    emit_u8(e, 0xc4);
    emit_u8(e, (uint8_t)(0x41 | (vector & 8 ? 0 : 0x80) | (base >= 8 ? 0 : 0x20)));
    emit_u8(e, 0x7e);
    emit_u8(e, 0x7f);
    if (base >= 0)
        emit_memory(e, vector, base, -1, 1, disp);
    else
        emit_absolute(e, vector, (uint32_t)disp);
}

/* vmovdqu64 in the same two ways. A displacement of one byte would count in vectors, so it has four. */
static inline void emit_store_zmm_gs(struct emit *e, int base, int32_t disp, unsigned vector)
{
    uint8_t inverted = (uint8_t)((vector & 8 ? 0 : 0x80) | (vector & 16 ? 0 : 0x10));
    emit_u8(e, 0x65);
    if (base >= 0)
        emit_u8(e, 0x67);
    emit_u8(e, 0x62);
    emit_u8(e, (uint8_t)(0x41 | inverted | (base >= 8 ? 0 : 0x20)));
    emit_u8(e, 0xfe);
    emit_u8(e, 0x48);
    emit_u8(e, 0x7f);
    if (base < 0) {
        emit_absolute(e, vector, (uint32_t)disp);
        return;
    }
    emit_u8(e, (uint8_t)(0x80 | (vector & 7) << 3 | (base & 7)));
    emit_u32(e, (uint32_t)disp);
}

/* kmovw reg32, k */
static inline void emit_mov_mask(struct emit *e, unsigned reg, unsigned mask)
{
    emit_u8(e, 0xc5);
    emit_u8(e, reg & 8 ? 0x78 : 0xf8);
    emit_u8(e, 0x93);
    emit_u8(e, (uint8_t)(0xc0 | (reg & 7) << 3 | (mask & 7)));
}

/* rorx to, from, n: rotates to the right and touches no flags (BMI2) */
static inline void emit_rorx(struct emit *e, unsigned to, unsigned from, uint8_t n)
{
    emit_u8(e, 0xc4);
    emit_u8(e, (uint8_t)(0xe3 & ~(to & 8 ? 0x80 : 0) & ~(from & 8 ? 0x20 : 0)));
    emit_u8(e, 0xfb);
    emit_u8(e, 0xf0);
    emit_u8(e, (uint8_t)(0xc0 | (to & 7) << 3 | (from & 7)));
    emit_u8(e, n);
}

/* mov reg32, reg32: the upper half becomes 0 */
static inline void emit_cut32(struct emit *e, unsigned reg)
{
    if (reg & 8)
        emit_u8(e, 0x45);
    emit_u8(e, 0x89);
    emit_u8(e, (uint8_t)(0xc0 | (reg & 7) << 3 | (reg & 7)));
}

/* mov reg, imm */
static inline void emit_mov_imm(struct emit *e, unsigned reg, uint64_t imm)
{
    if (imm <= UINT32_MAX) {
        if (reg & 8)
            emit_u8(e, 0x41);
        emit_u8(e, (uint8_t)(0xb8 | (reg & 7)));
        emit_u32(e, (uint32_t)imm);
        return;
    }
    emit_u8(e, reg & 8 ? 0x49 : 0x48);
    emit_u8(e, (uint8_t)(0xb8 | (reg & 7)));
    emit_u64(e, imm);
}

/* jmp, call or jcc (0x80 | condition) to a host address within reach; returns where the rel32 is. */
static inline uint8_t *emit_branch(struct emit *e, uint8_t opcode, uint64_t target)
{
    if (opcode < 0xe8)
        emit_u8(e, 0x0f);
    emit_u8(e, opcode);
    uint8_t *site = e->at;
    emit_u32(e, (uint32_t)(target - (emit_host(e) + 4)));
    return site;
}

#endif
