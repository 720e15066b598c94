/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forms are kept in a hash that grows with them: a large program has some ten thousand. The key has
 * all bytes that Zydis looks at but for the displacement and the constant, whose lengths these
 * bytes tell, too. tests/insn/test_forms.c holds every form against Zydis.
 */
#include "recorder/dbi/forms.h"

#include <stdlib.h>
#include <string.h>

#define FORM_BITS_MIN 9
#define FORM_BITS_MAX 16
#define KEY_BYTES_MAX 7 /* the eighth of the key is how many */
#define FORM_MEMS     2

/* What the displacement of a memory operand is. */
enum disp_kind {
    DISP_FIXED, /* the form's own: stack slots and the like */
    DISP_GIVEN,
    DISP_RIP, /* given, and relative to the next instruction */
};

struct form {
    uint64_t key; /* 0: none */
    struct dbi_traits traits;
    uint8_t disp_bytes;
    uint8_t target_bytes; /* of a direct branch */
    uint8_t mem_count;
    uint8_t condition;
    bool is_cmov;
    struct ins_choice choice;
    bool has_mems; /* operands are known */
    uint8_t kinds[FORM_MEMS];
    struct ins_mem mems[FORM_MEMS];
};

struct dbi_forms {
    struct form *table; /* 1 << bits; at most three quarters of it are used */
    unsigned bits;
    size_t count;
};

struct dbi_forms *dbi_forms_new(void)
{
    struct dbi_forms *forms = calloc(1, sizeof(*forms));
    struct form *table = calloc(1u << FORM_BITS_MIN, sizeof(*table));
    if (!forms || !table) {
        free(forms);
        free(table);
        return NULL;
    }
    *forms = (struct dbi_forms){.table = table, .bits = FORM_BITS_MIN};
    return forms;
}

void dbi_forms_free(struct dbi_forms *forms)
{
    if (forms)
        free(forms->table);
    free(forms);
}

/* ---- keys ---- */

/* Bit n of row r: opcode 16 * r + n. Whatever is in neither set is left alone. */
typedef uint16_t opcode_set[16];

/* 0f comes from the other map; 40 to 4f, 26, 2e, 36, 3e and 64 to 67 are prefixes. */
static const opcode_set plain_with_modrm = {
    [0x0] = 0x0f0f, [0x1] = 0x0f0f, [0x2] = 0x0f0f, [0x3] = 0x0f0f, /* arithmetic */
    [0x6] = 0x0a08,                                                 /* movsxd, imul */
    [0x8] = 0x2ffb,                                                 /* arithmetic, mov, lea */
    [0xc] = 0x00c3, [0xd] = 0x000f, [0xf] = 0xc0c0, /* shifts, mov; f6, f7, fe, ff */
};
static const opcode_set plain_without = {
    [0x0] = 0x3030, [0x1] = 0x3030, [0x2] = 0x3030, [0x3] = 0x3030, /* on al and rax */
    [0x5] = 0xffff, [0x6] = 0x0500,                                 /* push, pop */
    [0x9] = 0x03ff, [0xa] = 0x0300, [0xb] = 0xffff,                 /* xchg, cdqe; test; mov */
    [0xc] = 0x0200,                                                 /* leave */
};
/* Branches stand without prefixes, but for REX: processors disagree on what the other prefixes do
 * there. */
static const opcode_set plain_branches = {
    [0x7] = 0xffff, [0xc] = 0x0008, [0xe] = 0x0b00, /* jcc; ret; call, jmp */
};
static const opcode_set escaped_with_modrm = {
    [0x1] = 0xc0ff, [0x2] = 0xff00, [0x4] = 0xffff, [0x5] = 0xffff, [0x6] = 0xffff,
    [0x7] = 0xf07f, [0x9] = 0xffff, [0xa] = 0xb838, [0xb] = 0xfdcb, [0xc] = 0x0077,
    [0xd] = 0xffff, [0xe] = 0xffff, [0xf] = 0x7fff,
};
static const opcode_set escaped_without = {[0xc] = 0xff00}; /* bswap */
static const opcode_set escaped_branches = {[0x8] = 0xffff};

static bool is_in(const opcode_set set, uint8_t opcode)
{
    return set[opcode >> 4] >> (opcode & 15) & 1;
}

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e || byte == 0x64;
}

/* Bytes of the key of an instruction, of which KEY_BYTES_MAX + 1 bytes can be read; 0: it has no
 * key. */
static unsigned key_bytes(const uint8_t *at)
{
    unsigned n = 0;
    while (n < 3 && is_prefix(at[n]))
        n++;
    bool is_prefixed = n > 0;
    n += (at[n] & 0xf0) == 0x40;
    bool is_escaped = at[n] == 0x0f;
    n += is_escaped;
    uint8_t opcode = at[n++];
    if (is_in(is_escaped ? escaped_branches : plain_branches, opcode))
        return is_prefixed ? 0 : n;
    if (is_in(is_escaped ? escaped_without : plain_without, opcode))
        return n;
    if (!is_in(is_escaped ? escaped_with_modrm : plain_with_modrm, opcode))
        return 0;
    uint8_t modrm = at[n++];
    n += modrm < 0xc0 && (modrm & 7) == 4;
    return n <= KEY_BYTES_MAX ? n : 0;
}

static uint64_t key_of(const uint8_t *bytes, size_t available)
{
    uint64_t key;
    unsigned count = available < sizeof(key) ? 0 : key_bytes(bytes);
    if (!count)
        return 0;
    memcpy(&key, bytes, sizeof(key));
    return (key & (UINT64_MAX >> (64 - 8 * count))) | (uint64_t)count << 56;
}

/* The place where the key is, or would be. */
static struct form *form_at(const struct dbi_forms *forms, uint64_t key)
{
    size_t i = key * 0x9e3779b97f4a7c15ull >> (64 - forms->bits);
    while (forms->table[i].key && forms->table[i].key != key)
        i = (i + 1) & (((size_t)1 << forms->bits) - 1);
    return &forms->table[i];
}

/* Makes room for one more: doubles the table, or without memory for that empties it. */
static void forms_grow(struct dbi_forms *forms)
{
    struct form *old = forms->table;
    size_t size = (size_t)1 << forms->bits;
    if (forms->count < size / 4 * 3)
        return;
    forms->count = 0;
    forms->table = forms->bits < FORM_BITS_MAX ? calloc(size * 2, sizeof(*old)) : NULL;
    if (!forms->table) {
        forms->table = memset(old, 0, size * sizeof(*old));
        return;
    }
    forms->bits++;
    for (size_t i = 0; i < size; i++) {
        if (old[i].key) {
            *form_at(forms, old[i].key) = old[i];
            forms->count++;
        }
    }
    free(old);
}

/* ---- forms ---- */

/* A little-endian number with its sign. */
static int64_t number_at(const uint8_t *at, unsigned bytes)
{
    int8_t small;
    int32_t large;
    if (bytes == 0)
        return 0;
    memcpy(&small, at, sizeof(small));
    if (bytes == 1)
        return small;
    memcpy(&large, at, sizeof(large));
    return large;
}

static int64_t disp_of(const struct form *form, unsigned m, uint64_t pc, const uint8_t *bytes)
{
    const struct dbi_traits *is = &form->traits;
    if (form->kinds[m] == DISP_FIXED)
        return form->mems[m].disp;
    int64_t given = number_at(bytes + is->disp_off, form->disp_bytes);
    if (form->kinds[m] == DISP_GIVEN)
        return given;
    uint64_t address = pc + is->length + (uint64_t)given;
    return (int64_t)(is->is_narrow ? (uint32_t)address : address);
}

/* Whether the operands come out as they were found. */
static bool mems_keep(struct form *form, const struct dbi_insn *insn)
{
    form->mem_count = insn->info.mem_count;
    if (form->mem_count > FORM_MEMS)
        return false;
    for (unsigned m = 0; m < form->mem_count; m++) {
        const struct ins_mem *mem = &insn->info.mems[m];
        form->mems[m] = *mem;
        form->kinds[m] = mem->flags & INS_MEM_IMPLICIT ? DISP_FIXED
                         : form->traits.rip_relative   ? DISP_RIP
                                                       : DISP_GIVEN;
        if (disp_of(form, m, insn->pc, insn->bytes) != mem->disp)
            return false;
    }
    return true;
}

static void form_keep(struct dbi_forms *forms, uint64_t key, const struct dbi_insn *insn,
                      enum dbi_detail detail)
{
    const ZydisDecodedInstruction *zydis = &insn->whole->zydis;
    unsigned disp_bytes = zydis->raw.disp.size / 8, target_bytes = 0;
    if (insn->is.terminal == DBI_ILLEGAL || (disp_bytes & ~5u))
        return;
    if (dbi_insn_is_direct(insn)) {
        target_bytes = zydis->raw.imm[0].size / 8;
        if ((target_bytes != 1 && target_bytes != 4) ||
            zydis->raw.imm[0].offset + target_bytes != insn->is.length)
            return;
    }
    struct form made = {.key = key,
                        .traits = insn->is,
                        .disp_bytes = (uint8_t)disp_bytes,
                        .target_bytes = (uint8_t)target_bytes,
                        .condition = insn->info.condition,
                        .is_cmov = insn->info.flags & INS_IS_CMOV,
                        .choice = insn->info.choice,
                        .has_mems = !insn->is.has_memory};
    if (insn->is.has_memory && detail == DBI_DETAIL_MEMORY) {
        made.has_mems = true;
        if (!mems_keep(&made, insn))
            return;
    }
    forms_grow(forms);
    struct form *form = form_at(forms, key);
    forms->count += !form->key;
    *form = made;
}

static void form_use(const struct form *form, struct dbi_insn *insn, uint64_t pc,
                     const uint8_t *bytes, enum dbi_detail detail)
{
    unsigned length = form->traits.length;
    insn->pc = pc;
    insn->is = form->traits;
    insn->has_whole = false;
    memcpy(insn->bytes, bytes, length);
    insn->target = 0;
    if (form->target_bytes)
        insn->target = pc + length +
                       (uint64_t)number_at(bytes + length - form->target_bytes, form->target_bytes);
    insn->info.mem_count = 0;
    insn->info.flags = form->is_cmov ? INS_IS_CMOV : 0;
    insn->info.condition = form->condition;
    insn->info.choice = form->choice;
    if (detail == DBI_DETAIL_NONE)
        return;
    insn->info.mem_count = form->mem_count;
    for (unsigned m = 0; m < form->mem_count; m++) {
        insn->info.mems[m] = form->mems[m];
        insn->info.mems[m].disp = disp_of(form, m, pc, bytes);
    }
}

int dbi_forms_decode(struct dbi_forms *forms, struct dbi_insn *insn, uint64_t pc,
                     const uint8_t *bytes, size_t available, enum dbi_detail detail)
{
    uint64_t key = detail == DBI_DETAIL_ALL ? 0 : key_of(bytes, available);
    struct form *form = key ? form_at(forms, key) : NULL;
    if (form && form->key == key && (detail == DBI_DETAIL_NONE || form->has_mems) &&
        form->traits.length <= available) {
        form_use(form, insn, pc, bytes, detail);
        return 0;
    }
    int err = dbi_insn_decode(insn, pc, bytes, available, detail);
    if (!err && key)
        form_keep(forms, key, insn, detail);
    return err;
}
