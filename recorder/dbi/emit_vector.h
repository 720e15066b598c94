/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes instructions on vector and mask registers; see emit.h. */
#ifndef RECORDER_DBI_EMIT_VECTOR_H
#define RECORDER_DBI_EMIT_VECTOR_H

#include "recorder/dbi/emit.h"

/* ---- AVX ---- */

/* vmovdqu gs:[base32 + disp], ymm, or gs:[disp] if base is negative */
static inline void emit_store_ymm_gs(struct emit *e, int base, int32_t disp, unsigned vector)
{
    emit_prefix(e, EMIT_GS);
    if (base >= 0)
        emit_prefix(e, EMIT_NARROW);
    EMIT_RAW(e, 0xc4, (uint8_t)(0x41 | (vector & 8 ? 0 : 0x80) | (base >= 8 ? 0 : 0x20)), 0x7e,
             0x7f);
    if (base >= 0)
        emit_memory(e, vector, base, -1, 1, disp);
    else
        emit_absolute(e, vector, (uint32_t)disp);
}

/* vmovdqu64 in the same two ways. A displacement of one byte would count in vectors, so it has
 * four. */
static inline void emit_store_zmm_gs(struct emit *e, int base, int32_t disp, unsigned vector)
{
    uint8_t inverted = (uint8_t)((vector & 8 ? 0 : 0x80) | (vector & 16 ? 0 : 0x10));
    emit_prefix(e, EMIT_GS);
    if (base >= 0)
        emit_prefix(e, EMIT_NARROW);
    EMIT_RAW(e, 0x62, (uint8_t)(0x41 | inverted | (base >= 8 ? 0 : 0x20)), 0xfe, 0x48, 0x7f);
    if (base < 0) {
        emit_absolute(e, vector, (uint32_t)disp);
        return;
    }
    emit_u8(e, (uint8_t)(0x80 | (vector & 7) << 3 | (base & 7)));
    emit_u32(e, (uint32_t)disp);
}

/* fnstsw word gs:[base32 + disp] */
static inline void emit_store_status_gs(struct emit *e, unsigned base, int32_t disp)
{
    emit_prefix(e, EMIT_GS);
    emit_prefix(e, EMIT_NARROW);
    emit_rex_due(e, false, 0, -1, (int)base);
    emit_u8(e, 0xdd);
    emit_memory(e, 7, (int)base, -1, 1, disp);
}

/* movups gs:[base32 + disp], xmm0 to xmm15 */
static inline void emit_store_xmm_gs(struct emit *e, unsigned base, int32_t disp, unsigned vector)
{
    emit_prefix(e, EMIT_GS);
    emit_prefix(e, EMIT_NARROW);
    emit_rex_due(e, false, vector, -1, (int)base);
    EMIT_RAW(e, 0x0f, 0x11);
    emit_memory(e, vector, (int)base, -1, 1, disp);
}

/* vmovdqu64 gs:[base32 + disp], of 16, 32 or 64 bytes. The displacement has four. */
static inline void emit_store_evex_gs(struct emit *e, unsigned base, int32_t disp, unsigned vector,
                                      unsigned bytes)
{
    uint8_t inverted = (uint8_t)((vector & 8 ? 0 : 0x80) | (vector & 16 ? 0 : 0x10));
    uint8_t length = bytes == 64 ? 0x48 : bytes == 32 ? 0x28 : 0x08;

    emit_prefix(e, EMIT_GS);
    emit_prefix(e, EMIT_NARROW);
    EMIT_RAW(e, 0x62, (uint8_t)(0x41 | inverted | (base >= 8 ? 0 : 0x20)), 0xfe, length, 0x7f);
    emit_u8(e, (uint8_t)(0x80 | (vector & 7) << 3 | (base & 7)));
    emit_u32(e, (uint32_t)disp);
}

/* kmovq reg64, k */
static inline void emit_mov_mask64(struct emit *e, unsigned reg, unsigned mask)
{
    EMIT_RAW(e, 0xc4, reg & 8 ? 0x61 : 0xe1, 0xfb, 0x93,
             (uint8_t)(0xc0 | (reg & 7) << 3 | (mask & 7)));
}

/* kmovw reg32, k */
static inline void emit_mov_mask(struct emit *e, unsigned reg, unsigned mask)
{
    EMIT_RAW(e, 0xc5, reg & 8 ? 0x78 : 0xf8, 0x93, (uint8_t)(0xc0 | (reg & 7) << 3 | (mask & 7)));
}

/* ---- SSE2; vectors are xmm0 to xmm7 ---- */

enum emit_xmm_op {
    EMIT_PUNPCKLQDQ = 0x6c,
    EMIT_PCMPEQD = 0x76,
    EMIT_PAND = 0xdb,
    EMIT_PADDD = 0xfe,
};

/* op to, from */
static inline void emit_xmm_op(struct emit *e, enum emit_xmm_op op, unsigned to, unsigned from)
{
    assert(to < 8 && from < 8);
    EMIT_RAW(e, 0x66, 0x0f, (uint8_t)op, (uint8_t)(0xc0 | to << 3 | from));
}

static inline void emit_movdqu(struct emit *e, uint8_t opcode, unsigned vector, int base, int index)
{
    assert(vector < 8);
    emit_u8(e, 0xf3);
    emit_rex_due(e, false, vector, index, base);
    EMIT_RAW(e, 0x0f, opcode);
}

/* movdqu xmm, [base + disp] */
static inline void emit_load_xmm(struct emit *e, unsigned vector, unsigned base, int32_t disp)
{
    emit_movdqu(e, 0x6f, vector, (int)base, -1);
    emit_memory(e, vector, (int)base, -1, 1, disp);
}

/* movdqu xmm, [base + index + disp] */
static inline void emit_load_xmm_index(struct emit *e, unsigned vector, unsigned base,
                                       unsigned index, int32_t disp)
{
    emit_movdqu(e, 0x6f, vector, (int)base, (int)index);
    emit_memory(e, vector, (int)base, (int)index, 1, disp);
}

/* movdqu xmm, [base + index], base not rbp or r13: without a displacement */
static inline void emit_load_xmm_sum(struct emit *e, unsigned vector, unsigned base, unsigned index)
{
    emit_movdqu(e, 0x6f, vector, (int)base, (int)index);
    emit_sum(e, vector, base, index, 1);
}

/* movdqu [base + disp], xmm */
static inline void emit_store_xmm(struct emit *e, unsigned base, int32_t disp, unsigned vector)
{
    emit_movdqu(e, 0x7f, vector, (int)base, -1);
    emit_memory(e, vector, (int)base, -1, 1, disp);
}

/* movdqu [base + index + disp], xmm */
static inline void emit_store_xmm_index(struct emit *e, unsigned base, unsigned index, int32_t disp,
                                        unsigned vector)
{
    emit_movdqu(e, 0x7f, vector, (int)base, (int)index);
    emit_memory(e, vector, (int)base, (int)index, 1, disp);
}

/* movq xmm, reg */
static inline void emit_xmm_from_reg(struct emit *e, unsigned vector, unsigned reg)
{
    EMIT_RAW(e, 0x66, emit_rex(1, vector, -1, (int)reg), 0x0f, 0x6e,
             (uint8_t)(0xc0 | vector << 3 | (reg & 7)));
}

/* movd reg32, xmm; reg below r8 */
static inline void emit_reg32_from_xmm(struct emit *e, unsigned reg, unsigned vector)
{
    assert(vector < 8 && reg < 8);
    EMIT_RAW(e, 0x66, 0x0f, 0x7e, (uint8_t)(0xc0 | vector << 3 | reg));
}

/* pshufd to, from, 0: the lowest four bytes, four times */
static inline void emit_xmm_spread32(struct emit *e, unsigned to, unsigned from)
{
    EMIT_RAW(e, 0x66, 0x0f, 0x70, (uint8_t)(0xc0 | to << 3 | from), 0x00);
}

/* pmovmskb reg32, xmm: a bit for each byte, its highest; reg below r8 */
static inline void emit_xmm_mask(struct emit *e, unsigned reg, unsigned vector)
{
    assert(vector < 8 && reg < 8);
    EMIT_RAW(e, 0x66, 0x0f, 0xd7, (uint8_t)(0xc0 | reg << 3 | vector));
}

#endif
