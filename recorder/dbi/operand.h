/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses of memory operands, and instructions that reach memory through gs. */
#ifndef RECORDER_DBI_OPERAND_H
#define RECORDER_DBI_OPERAND_H

#include "recorder/dbi/work.h"

/* The register that holds the program's `reg` (or -1, for none) now. */
int dbi_mem_register(struct work *w, unsigned at, int reg);

/* Emits lea to, [operand + more], segment base and bit offset included, without flags. */
void dbi_address_get(struct work *w, unsigned at, const struct ins_mem *mem, unsigned to,
                     int64_t more);

/* Emits gs:[disp] = the address of the first memory operand of instruction `at`. */
void dbi_address_keep(struct work *w, unsigned at, uint32_t disp);

/* Emits an instruction with a memory operand through gs. 0, or -WETDBG_ERR_UNSUPPORTED. */
int dbi_gs_insn_emit(struct work *w, unsigned at);

/* Emits an instruction that reads memory through gs, which gets the program's base for so long
 * (loads_gs). */
void dbi_gs_load_emit(struct work *w, unsigned at);

/* Emits what rdgsbase or wrgsbase do. */
void dbi_gs_base_emit(struct work *w, unsigned at);

#endif
