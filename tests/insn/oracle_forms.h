/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The instruction forms of a corpus: every instruction of some ELF files' executable sections, one
 * sample for each combination of mnemonic, prefixes, operand kinds, sizes and shapes. */
#ifndef TESTS_INSN_ORACLE_FORMS_H
#define TESTS_INSN_ORACLE_FORMS_H

#include <Zydis/Zydis.h>

#include "common/buf.h"

struct oracle_form {
    uint64_t key; /* hash of the normalised form */
    uint8_t code[ZYDIS_MAX_INSTRUCTION_LENGTH];
    uint8_t length;
};

/* All zero is empty; release with oracle_forms_fini. */
struct oracle_forms {
    struct wd_buf list; /* struct oracle_form, in order of discovery */
    uint64_t *table;    /* open-addressed set of keys */
    size_t table_size;
    uint64_t instruction_count;
};

void oracle_forms_fini(struct oracle_forms *forms);
size_t oracle_forms_count(const struct oracle_forms *forms);
const struct oracle_form *oracle_forms_at(const struct oracle_forms *forms, size_t i);

/* Sweeps [code, code + size); undecodable bytes are stepped over. 0 or -ENOMEM. */
int oracle_forms_add_code(struct oracle_forms *forms, const uint8_t *code, size_t size);
/* Sweeps the executable sections of an ELF file. 0, -ENOENT when there is no such file, or
 * another negative errno. */
int oracle_forms_add_file(struct oracle_forms *forms, const char *path);

#endif
