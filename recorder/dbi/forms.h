/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decoding by *form*: what an instruction is like is told by its first bytes, up to and with ModRM
 * and SIB; what follows are the displacement and the constant. So a form is decoded in full once,
 * and others of it take over what was found (struct dbi_traits, memory operands). This holds for
 * encodings without VEX in the opcode maps that compilers use most; all else is decoded each time.
 */
#ifndef RECORDER_DBI_FORMS_H
#define RECORDER_DBI_FORMS_H

#include "recorder/dbi/decode.h"

struct dbi_forms;

/* NULL if there is no memory. */
struct dbi_forms *dbi_forms_new(void);
void dbi_forms_free(struct dbi_forms *forms);

/*
 * As dbi_insn_decode(), but with DBI_DETAIL_MEMORY insn->info has nothing but the memory operands,
 * and what it says of a cmov.
 */
int dbi_forms_decode(struct dbi_forms *forms, struct dbi_insn *insn, uint64_t pc,
                     const uint8_t *bytes, size_t available, enum dbi_detail detail);

#endif
