/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Registers by the names that gdb has for them, as typed values: $rax, $eax, $al, $xmm0, $k1,
 * $eflags. */
#ifndef DBGCLI_EVAL_REGISTERS_H
#define DBGCLI_EVAL_REGISTERS_H

#include "dbgcli/eval/value.h"

enum cli_register_group {
    CLI_REGISTERS_GENERAL = 1, /* of `info registers` */
    CLI_REGISTERS_VECTOR = 2,  /* xmm and ymm */
    CLI_REGISTERS_FLOAT = 4,   /* st0, fctrl and mxcsr */
    CLI_REGISTERS_PART = 8,    /* parts of others: eax, al */
    CLI_REGISTERS_AVX512 = 16  /* k0 to k7, zmm: not every processor has them */
};

/*
 * A register as a frame sees it, without the '$'. -WETDBG_ERR_USAGE if nothing is called so;
 * -WETDBG_ERR_NOT_FOUND if its value was not preserved by the functions that the frame called;
 * -WETDBG_ERR_UNSUPPORTED for zmm, k and xmm16 on if this processor has no AVX-512.
 */
int cli_register_value(struct cli_frame_view *view, const char *name, struct cli_value *value);

/* The names of a group in gdb's order, NULL after the last one. */
const char *cli_register_name(enum cli_register_group group, size_t index);

/* "[ ZF PF ]"; of mxcsr "[ IM DM ]". */
void cli_flags_print(FILE *stream, uint64_t flags, bool is_mxcsr);

#endif
