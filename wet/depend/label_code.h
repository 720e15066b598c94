/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions of the code that labels executions (wet/depend/label_code.c), for the files that emit it. */
#ifndef WET_DEPEND_LABEL_CODE_H
#define WET_DEPEND_LABEL_CODE_H

#include "wet/depend/depend_priv.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };
enum { IF_ZERO = 0x84, IF_NOT_ZERO = 0x85, IF_NOT_BELOW = 0x83, JMP = 0xe9, CALL = 0xe8 };

/* opcode reg, [base + index * scale + disp] and the other way round; wide: 64 bits */
static inline void op_memory(struct emit *e, bool wide, unsigned opcode, unsigned reg, int base,
                             int index, unsigned scale, int32_t disp)
{
    uint8_t rex = emit_rex(wide, reg, index, base);

    if (rex != 0x40)
        emit_u8(e, rex);
    if (opcode > 0xff)
        emit_u8(e, (uint8_t)(opcode >> 8));
    emit_u8(e, (uint8_t)opcode);
    emit_memory(e, reg, base, index, scale, disp);
}

static inline void load32(struct emit *e, unsigned reg, unsigned base, int32_t disp)
{
    op_memory(e, false, 0x8b, reg, (int)base, -1, 1, disp);
}

static inline void load64(struct emit *e, unsigned reg, unsigned base, int32_t disp)
{
    op_memory(e, true, 0x8b, reg, (int)base, -1, 1, disp);
}

static inline void store32(struct emit *e, unsigned reg, unsigned base, int32_t disp)
{
    op_memory(e, false, 0x89, reg, (int)base, -1, 1, disp);
}

static inline void store64(struct emit *e, unsigned reg, unsigned base, int32_t disp)
{
    op_memory(e, true, 0x89, reg, (int)base, -1, 1, disp);
}

#define BYTES(e, ...)                                                                              \
    emit_bytes(e, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* ---- rows.c: labels of registers. Registers of the code as label_code.c says. ---- */

/* Copies the labels of inputs to the words behind the first one, gives how many words they are. What is
 * behind these has to be stored later: a wide store may spoil it. */
uint32_t dep_inputs_emit(struct emit *e, const struct dep_lists *lists);

/* The execution's number goes to all locations of the set. */
void dep_defs_emit(struct emit *e, const struct ins_regset *set);

#endif
