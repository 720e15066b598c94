/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A decoded instruction as one line of text, for tests to compare and to print. */
#ifndef TESTS_INSN_INSN_FORMAT_H
#define TESTS_INSN_INSN_FORMAT_H

#include <stddef.h>

#include "recorder/insn/insn.h"

/*
 * Sets: whole registers by name (rax, ax, al, ah; xmm0 = bytes 0..15, ymm0, zmm0), other pieces as
 * ins_location_name gives them; arithmetic flags as one word of letters, "+cpazso". Flow: "rax
 * +cpazso = rcx m0 ? +c" (definitions, '=', value and memory uses, '?', condition uses); perhaps
 * definitions carry a '~'; kinds follow as {copy}, {stack}, ... Flows are joined by "; ".
 */
void insn_format_flows(const struct ins_info *info, char *buf, size_t size);
/* "m0:r8[rbp+rcx*4-8]" for every operand; flags as words. */
void insn_format_mems(const struct ins_info *info, char *buf, size_t size);
void insn_format_set(const struct ins_regset *set, char *buf, size_t size);

#endif
