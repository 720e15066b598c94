/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions of the code that labels executions (wet/depend/label_code.c), for the files that
 * emit it. */
#ifndef WET_DEPEND_LABEL_CODE_H
#define WET_DEPEND_LABEL_CODE_H

#include "wet/depend/depend_priv.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

static inline void load32(struct emit *e, unsigned reg, unsigned base, int32_t disp)
{
    emit_op_memory(e, false, EMIT_MOV_FROM, reg, (int)base, -1, 1, disp);
}

static inline void load64(struct emit *e, unsigned reg, unsigned base, int32_t disp)
{
    emit_op_memory(e, true, EMIT_MOV_FROM, reg, (int)base, -1, 1, disp);
}

static inline void store32(struct emit *e, unsigned reg, unsigned base, int32_t disp)
{
    emit_op_memory(e, false, EMIT_MOV_TO, reg, (int)base, -1, 1, disp);
}

static inline void store64(struct emit *e, unsigned reg, unsigned base, int32_t disp)
{
    emit_op_memory(e, true, EMIT_MOV_TO, reg, (int)base, -1, 1, disp);
}

/* ---- rows.c: labels of registers. Registers of the code as label_code.c says. ---- */

/* Copies the labels of inputs to the words behind the first one, gives how many words they are.
 * What is behind these has to be stored later: a wide store may spoil it. */
uint32_t dep_inputs_emit(struct emit *e, const struct dep_lists *lists);

/* Emits the stores of the execution's number to all locations of the set. */
void dep_defs_emit(struct emit *e, const struct ins_regset *set);

#endif
