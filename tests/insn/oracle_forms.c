/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "oracle_forms.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void oracle_forms_fini(struct oracle_forms *forms)
{
    wd_buf_fini(&forms->list);
    free(forms->table);
    *forms = (struct oracle_forms){0};
}

size_t oracle_forms_count(const struct oracle_forms *forms)
{
    return forms->list.size_bytes / sizeof(struct oracle_form);
}

const struct oracle_form *oracle_forms_at(const struct oracle_forms *forms, size_t i)
{
    return (const struct oracle_form *)forms->list.data + i;
}

/* ---- the set of keys seen ---- */

static bool insert_key(uint64_t *table, size_t size, uint64_t key)
{
    size_t at = key & (size - 1);
    while (table[at] != 0) {
        if (table[at] == key)
            return false;
        at = (at + 1) & (size - 1);
    }
    table[at] = key;
    return true;
}

static int grow_table(struct oracle_forms *forms)
{
    size_t size = forms->table_size == 0 ? 4096 : forms->table_size * 2;
    uint64_t *table = calloc(size, sizeof(*table));
    if (table == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < forms->table_size; i++) {
        if (forms->table[i] != 0)
            insert_key(table, size, forms->table[i]);
    }
    free(forms->table);
    forms->table = table;
    forms->table_size = size;
    return 0;
}

/* ---- the normalised form ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Registers that rules or encodings treat specially keep their identity. */
static uint64_t register_shape(ZydisRegister reg)
{
    if (reg == ZYDIS_REGISTER_RSP || reg == ZYDIS_REGISTER_RBP)
        return 1000 + (uint64_t)reg;
    if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH)
        return 999;
    return (uint64_t)ZydisRegisterGetClass(reg);
}

/* Small immediates choose lanes or shift by nothing; 0 and -1 make idioms. */
static uint64_t immediate_shape(const ZydisDecodedOperand *op)
{
    int64_t value = op->imm.value.s;
    if (value >= -1 && value <= 3)
        return (uint64_t)(value + 1);
    return (uint64_t)value & 0xf ? 8 : 9;
}

static uint64_t memory_shape(const ZydisDecodedOperand *op)
{
    uint64_t base = op->mem.base == ZYDIS_REGISTER_NONE ? 0 : register_shape(op->mem.base);
    uint64_t index = op->mem.index == ZYDIS_REGISTER_NONE ? 0 : register_shape(op->mem.index);
    bool segment = op->mem.segment == ZYDIS_REGISTER_FS || op->mem.segment == ZYDIS_REGISTER_GS;
    return mix(mix(base, index), segment);
}

static uint64_t operand_shape(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                              unsigned i)
{
    uint64_t shape = mix(ops[i].type, ops[i].size);
    switch (ops[i].type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        shape = mix(shape, register_shape(ops[i].reg.value));
        for (unsigned k = 0; k < zi->operand_count; k++) {
            if (k != i && ops[k].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                ops[k].reg.value == ops[i].reg.value)
                shape = mix(shape, 77 + k);
        }
        return shape;
    case ZYDIS_OPERAND_TYPE_MEMORY:
        return mix(shape, memory_shape(&ops[i]));
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        return mix(shape, immediate_shape(&ops[i]));
    default:
        return shape;
    }
}

static uint64_t form_key(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops)
{
    const ZydisInstructionAttributes prefixes = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
                                                ZYDIS_ATTRIB_HAS_REPNE | ZYDIS_ATTRIB_HAS_LOCK;
    uint64_t key = mix(zi->mnemonic, zi->encoding);
    key = mix(key, zi->operand_width);
    key = mix(key, zi->address_width);
    key = mix(key, zi->attributes & prefixes);
    key = mix(key, zi->avx.mask.mode);
    for (unsigned i = 0; i < zi->operand_count; i++)
        key = mix(key, operand_shape(zi, ops, i));
    return key != 0 ? key : 1;
}

static int add_form(struct oracle_forms *forms, const ZydisDecodedInstruction *zi,
                    const ZydisDecodedOperand *ops, const uint8_t *code)
{
    struct oracle_form form = {.key = form_key(zi, ops), .length = zi->length};
    if (oracle_forms_count(forms) * 2 >= forms->table_size) {
        int err = grow_table(forms);
        if (err != 0)
            return err;
    }
    if (!insert_key(forms->table, forms->table_size, form.key))
        return 0;
    memcpy(form.code, code, zi->length);
    return wd_buf_append(&forms->list, &form, sizeof(form));
}

int oracle_forms_add_code(struct oracle_forms *forms, const uint8_t *code, size_t size)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t at = 0; at < size;) {
        if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code + at, size - at, &zi, ops))) {
            at++;
            continue;
        }
        int err = add_form(forms, &zi, ops, code + at);
        if (err != 0)
            return err;
        forms->instruction_count++;
        at += zi.length;
    }
    return 0;
}

/* ---- ELF files: trusted ones of this machine, but a bad one must not crash the test ---- */

static int add_sections(struct oracle_forms *forms, const uint8_t *image, size_t size)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
    if (size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_machine != EM_X86_64 || header->e_shoff > size ||
        (size - header->e_shoff) / sizeof(Elf64_Shdr) < header->e_shnum)
        return -EINVAL;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *section = &sections[i];
        if (section->sh_type != SHT_PROGBITS || !(section->sh_flags & SHF_EXECINSTR))
            continue;
        if (section->sh_offset > size || section->sh_size > size - section->sh_offset)
            return -EINVAL;
        int err = oracle_forms_add_code(forms, image + section->sh_offset, section->sh_size);
        if (err != 0)
            return err;
    }
    return 0;
}

int oracle_forms_add_file(struct oracle_forms *forms, const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0) {
        int err = -errno;
        if (fd >= 0)
            close(fd);
        return err;
    }
    size_t size = (size_t)info.st_size;
    void *image = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (image == MAP_FAILED)
        return -errno;
    int err = add_sections(forms, image, size);
    munmap(image, size);
    return err;
}
