/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A state of the run as the instruction decoder and the program model want to see it. */
#ifndef SLICER_STATE_VIEW_H
#define SLICER_STATE_VIEW_H

#include "wet/intervals.h"
#include "wet/model/make_model.h"

uint64_t slc_gpr_value(const struct evq_regs *regs, unsigned gpr); /* enum ins_gpr */

/* Effective address of an operand (its first byte); vector indices count as 0. */
uint64_t slc_operand_address(const struct evq_regs *regs, const struct ins_mem *mem);

/* Decodes the instruction that a state is about to run. -EFAULT or -WETDBG_ERR_CORRUPT. */
int slc_decode_at(struct wetdbg_state *state, uint64_t pc, struct ins_info *info);

/*
 * Decodes an instruction from the file of its module, whether it ran or not: what lies at `pc` and
 * ends before `end` at the latest. `code` gets its bytes, and what follows. False if there is none.
 */
#define SLC_INSN_BYTES 15
bool slc_decode_unrun(const struct wetdbg_model *model, uint64_t pc, uint64_t end,
                      uint8_t code[SLC_INSN_BYTES], struct ins_info *info);

/* The general register of a DWARF number (rax 0, rdx 1, rcx 2, ...), or -1. */
int slc_dwarf_gpr(unsigned dwarf_reg);

/* Callbacks of wetdbg_machine and wetdbg_unwind; the context is a struct wetdbg_state. */
int slc_read_register(void *context, unsigned dwarf_reg, uint64_t *value);
int slc_read_memory(void *state, uint64_t address, void *bytes, size_t count);

struct wetdbg_frame_regs slc_frame_regs(const struct wetdbg_state *state);

#endif
