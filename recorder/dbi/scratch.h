/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Registers that bookkeeping borrows. Those are taken that the fragment needs last; their values
 * wait in their homes (agt_ctx.gpr) until the next instruction that names them. Dead registers
 * would be cheaper, but a fault must find all of them.
 */
#ifndef RECORDER_DBI_SCRATCH_H
#define RECORDER_DBI_SCRATCH_H

#include "recorder/dbi/work.h"

/* Notes that the next byte belongs to instruction `insn`, if it faults. */
void dbi_place_add(struct work *w, unsigned insn);

/* Gives those of `which` that are spilled their values back. */
void dbi_regs_restore(struct work *w, uint16_t which);

/* A register that holds the program's r15. */
unsigned dbi_r15_get(struct work *w, unsigned at);

/* A register that instruction `at` does not name and that is not in `avoid`, saved in its home. */
unsigned dbi_reg_borrow(struct work *w, unsigned at, uint16_t avoid);
void dbi_reg_return(struct work *w, unsigned reg);

/* Emits [disp] += n at instruction `at`; no flag changes. */
void dbi_gs_add(struct work *w, unsigned at, uint32_t disp, int32_t n);

#endif
