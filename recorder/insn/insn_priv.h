/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the units of this folder; nobody else includes it. */
#ifndef RECORDER_INSN_INSN_PRIV_H
#define RECORDER_INSN_INSN_PRIV_H

#include "recorder/insn/insn_zydis.h"

#define INS_NO_MEM 0xff

/* One instruction on its way from Zydis's description to ours. */
struct ins_work {
    const ZydisDecodedInstruction *zi;
    const ZydisDecodedOperand *ops;
    uint8_t mem_of[ZYDIS_MAX_OPERAND_COUNT]; /* operand -> info.mems index, or INS_NO_MEM */
    uint64_t pc;
    struct ins_info info;
};

/* ---- insn_operands.c: from Zydis's operands to places ---- */

/* Fills info.mems and mem_of. */
void ins_mems_collect(struct ins_work *work);

/* -1 when the register is no general register. */
int ins_gpr_number(ZydisRegister reg);
bool ins_is_vector(ZydisRegister reg);

/* Adds what reading `count` bytes from byte `first` of a register uses. Returns false when the
 * register has no location. */
bool ins_add_read(struct ins_regset *set, ZydisRegister reg, unsigned first, unsigned count);
/* The locations of an EFLAGS mask. */
void ins_add_flags(struct ins_regset *set, uint32_t mask);

/* Operand `i` (register or memory) as a use or as a definition of a flow. Immediates add
 * nothing. */
void ins_use_operand(struct ins_work *work, struct ins_flow *flow, unsigned i);
void ins_def_operand(struct ins_work *work, struct ins_flow *flow, unsigned i);
/* The same definition, but as one that perhaps does not happen. */
void ins_may_def_operand(struct ins_work *work, struct ins_flow *flow, unsigned i);

/* A fresh flow of info; there is always room for INS_FLOW_MAX. */
struct ins_flow *ins_flow_new(struct ins_work *work);

/* The stack or frame pointer's own arithmetic: a definition without uses. */
void ins_flow_stack(struct ins_work *work, enum ins_gpr gpr);

/* ---- insn_generic.c ---- */

/* One flow from all that is read to all that is written, by Zydis's tables. */
struct ins_flow *ins_flow_generic(struct ins_work *work);

/* ---- the other units: instructions with rules of their own ---- */

/* Each returns false when the instruction is none of its own, and then has done nothing. */
bool ins_rules_control(struct ins_work *work); /* also sets class, target, condition */
bool ins_rules_stack(struct ins_work *work);
bool ins_rules_string(struct ins_work *work);
bool ins_rules_integer(struct ins_work *work);
bool ins_rules_vector(struct ins_work *work);
bool ins_rules_shuffle(struct ins_work *work); /* which ins_rules_vector() asks */
bool ins_rules_fpu(struct ins_work *work);

/* Where the bytes of a shuffle's result came from; false if it is none. */
struct ins_lanes;
bool ins_shuffle_lanes(const struct ins_work *work, struct ins_lanes *lanes);
/* The place that an operand is; INS_PLACE_NONE if it is no vector register and no memory. */
unsigned ins_lane_place(const struct ins_work *work, unsigned operand);
/* 16 or 32 when the operand is such a register, else 0. */
unsigned ins_vector_bytes(const ZydisDecodedOperand *op);

/* What an instruction of the x87 or MMX needs of TOP, and does to it; insn_fpu.c. */
void ins_top_choose(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                    struct ins_choice *choice);

/* Refinements of the generic flow: idioms that use nothing, copies, MXCSR. */
void ins_refine_generic(struct ins_work *work, struct ins_flow *flow);

/* Bytes of the source of a movsx and kin; 0 for all other instructions. insn_move.c */
unsigned ins_sign_extended_bytes(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops);

/* What ins_flow.copy_bytes of a copy is; insn_move.c. */
unsigned ins_copy_bytes(const struct ins_work *work, const struct ins_flow *flow);

/* What ins_flow.halves is; insn_move.c. */
uint16_t ins_used_halves(const struct ins_work *work, const struct ins_flow *flow);

/* MXCSR: rounding in, sticky exception flags out, if the instruction computes in floating point. */
void ins_refine_float(const struct ins_work *work, struct ins_flow *flow);

#endif
