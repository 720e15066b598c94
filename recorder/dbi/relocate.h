/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions of the program where they stand now: copied, or encoded anew with other
 * registers. */
#ifndef RECORDER_DBI_RELOCATE_H
#define RECORDER_DBI_RELOCATE_H

#include "recorder/dbi/work.h"

/* What stands in for registers where an instruction is encoded anew; -1: they keep their names. */
struct dbi_renaming {
    int r15;
    int rip;
    /* has the whole address of its memory operand, but for vector indices and bit numbers */
    int flat;
};
int dbi_reencode(struct work *w, unsigned at, struct dbi_renaming names);

/* The address that a rip-relative (or, cut to 32 bits, eip-relative) operand means. */
uint64_t dbi_rip_address(const struct dbi_insn *insn);

/* Emits instruction `at`, which does not end the fragment and leaves gs alone. 0, or
 * -WETDBG_ERR_UNSUPPORTED if it cannot be encoded anew. */
int dbi_insn_relocate(struct work *w, unsigned at);

#endif
