/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What instructions do to the pointers that the x87 unit keeps of its last instruction
 * (recorder/agent/x87.h). */
#ifndef RECORDER_DBI_X87_KINDS_H
#define RECORDER_DBI_X87_KINDS_H

#include <stdbool.h>
#include <stdint.h>

enum dbi_x87_kind {
    DBI_X87_NONE,
    DBI_X87_SETS,   /* it becomes the last instruction */
    DBI_X87_CLEARS, /* fninit */
    DBI_X87_STORES, /* fnstenv, fnsave, fxsave; not xsave and its kin */
    DBI_X87_LOADS,  /* fldenv, frstor, fxrstor, xrstor */
};

/* The kind of a legacy instruction, from its bytes with prefixes. */
enum dbi_x87_kind dbi_x87_kind(const uint8_t *bytes, unsigned length);

/* The exit_arg of AGT_EXIT_X87 for one that stores or loads. */
uint32_t dbi_x87_arg(const uint8_t *bytes, unsigned length);

/* agt_x87.ip after an instruction at `pc` that sets it. */
uint64_t dbi_x87_ip(uint64_t pc, const uint8_t *bytes, unsigned length);

/* agt_x87.ip as the first `count` of the instructions at `pc` leave it, into *ip; false: as it
 * was. */
bool dbi_x87_last(uint64_t pc, const uint8_t *code, unsigned code_bytes, unsigned count,
                  uint64_t *ip);

#endif
