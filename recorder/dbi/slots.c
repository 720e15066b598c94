/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Words are what registers hold; displacements are added later. Value numbering of general
 * registers: each holds an unknown value (what it had at the fragment's start, or got from an
 * instruction that is not known here) plus a constant. Two operands with the same unknown values in
 * base and index differ by a constant. Only instructions on whole 64-bit registers carry a value
 * on; anything else that may write a register makes its value a new unknown one.
 */
#include "recorder/dbi/slots.h"

#include <assert.h>
#include <string.h>

#include "recorder/insn/insn_ranges.h"

#define NONE     0xffff
#define CONSTANT 0xfffe

struct value {
    uint16_t unknown; /* number, CONSTANT (is 0) or NONE (no register) */
    int64_t more;
};

/* A word: base + index * scale of the operand that was first to need it. */
struct owner {
    uint16_t base, index, word;
    uint8_t scale;
    int64_t more;
};

#define OWNERS_MAX (DBI_INSN_MAX * INS_MEM_MAX)

struct derivation {
    struct value regs[INS_GPR_COUNT];
    uint16_t next_unknown;
    struct owner owners[OWNERS_MAX];
    unsigned owner_count;
    struct dbi_slot *slots;
    unsigned slot_count;
    unsigned words;
    uint16_t top_word; /* that has TOP; 0: none */
    int8_t top_more;   /* what was added to it since */
};

/* ---- operands ---- */

bool dbi_slots_plain(const struct ins_info *info)
{
    const uint16_t odd = INS_MEM_REP | INS_MEM_LANES | INS_MEM_FS | INS_MEM_GS | INS_MEM_ADDR32 |
                         INS_MEM_VSIB32 | INS_MEM_VSIB64 | INS_MEM_BIT_OFFSET | INS_MEM_INDEX_BYTE |
                         INS_MEM_SIZE_BOUND | INS_MEM_LINE;
    for (unsigned m = 0; m < info->mem_count; m++)
        if (info->mems[m].flags & odd)
            return false;
    return true;
}

static struct value value_of(const struct derivation *d, int reg)
{
    return reg < 0 ? (struct value){.unknown = NONE} : d->regs[reg];
}

/* The address of a plain operand. */
static struct owner address_of(const struct derivation *d, const struct ins_mem *mem)
{
    struct value base = value_of(d, mem->base), index = value_of(d, mem->index);
    struct owner is = {.base = base.unknown, .index = index.unknown, .scale = mem->scale};

    is.more =
        (int64_t)((uint64_t)mem->disp + (uint64_t)base.more + (uint64_t)index.more * mem->scale);
    if (is.base == CONSTANT)
        is.base = NONE;
    if (is.index == CONSTANT)
        is.index = NONE;
    if (is.index == NONE)
        is.scale = 0;
    return is;
}

static void slot_own(struct derivation *d)
{
    assert(d->slot_count < DBI_SLOTS_MAX);
    d->slots[d->slot_count++] = (struct dbi_slot){.word = (uint16_t)++d->words};
}

static void operand_add(struct derivation *d, const struct ins_mem *mem)
{
    struct owner is = address_of(d, mem);
    if (is.base == NONE && is.index == NONE) {
        d->slots[d->slot_count++] = (struct dbi_slot){.more = is.more};
        return;
    }
    for (unsigned i = 0; i < d->owner_count; i++) {
        const struct owner *owner = &d->owners[i];
        if (owner->base != is.base || owner->index != is.index || owner->scale != is.scale)
            continue;
        uint64_t more = (uint64_t)is.more - (uint64_t)owner->more;
        d->slots[d->slot_count++] = (struct dbi_slot){.more = (int64_t)more, .word = owner->word};
        return;
    }
    slot_own(d);
    d->slots[d->slot_count - 1].more = mem->disp;
    is.more = (int64_t)((uint64_t)is.more - (uint64_t)mem->disp);
    is.word = (uint16_t)d->words;
    assert(d->owner_count < OWNERS_MAX);
    d->owners[d->owner_count++] = is;
}

/* The x87 status word before an instruction: of an earlier one's, TOP has changed as the code
 * says. */
static void top_add(struct derivation *d)
{
    if (d->top_word) {
        d->slots[d->slot_count++] =
            (struct dbi_slot){.more = d->top_more * 2048, .word = d->top_word};
        return;
    }
    slot_own(d);
    d->top_word = (uint16_t)d->words;
    d->top_more = 0;
}

static void top_change(struct derivation *d, const struct ins_choice *choice)
{
    d->top_more = (int8_t)((d->top_more + choice->top_step) % 8);
    if (choice->loses_top)
        d->top_word = 0;
}

/* ---- registers ---- */

static struct value value_plus(struct value value, int64_t more)
{
    value.more = (int64_t)((uint64_t)value.more + (uint64_t)more);
    return value;
}

static int64_t number_at(const uint8_t *at, unsigned bytes)
{
    int32_t large;
    if (bytes == 1)
        return (int8_t)*at;
    memcpy(&large, at, sizeof(large));
    return large;
}

/* An instruction without prefixes but REX, with an opcode of one byte. */
struct simple {
    uint8_t rex, opcode, modrm;
    const uint8_t *rest; /* behind ModRM */
};

/* Registers of ModRM. */
static unsigned reg_of(const struct simple *is)
{
    return (is->modrm >> 3 & 7) | (is->rex & 4) << 1;
}

static unsigned rm_of(const struct simple *is)
{
    return (is->modrm & 7) | (is->rex & 1) << 3;
}

/* lea reg, [...]: false if that is no register or constant plus a constant. */
static bool lea_value(const struct derivation *d, const struct dbi_insn *insn,
                      const struct simple *is, struct value *out)
{
    unsigned mod = is->modrm >> 6, base = is->modrm & 7;
    const uint8_t *disp = is->rest;

    if (mod == 0 && base == 5) {
        uint64_t next = insn->pc + insn->is.length;
        *out = value_plus((struct value){.unknown = CONSTANT, .more = (int64_t)next},
                          number_at(disp, 4));
        return true;
    }
    if (base == 4) { /* a byte more, which may name an index */
        uint8_t sib = *disp++;
        base = sib & 7;
        if ((sib >> 3 & 7) != 4 || is->rex & 2)
            return false;
    }
    if (mod == 3 || (mod == 0 && base == 5))
        return false;
    *out = d->regs[base | (is->rex & 1) << 3];
    if (mod)
        *out = value_plus(*out, number_at(disp, mod == 1 ? 1 : 4));
    return true;
}

/* What an instruction on a whole register puts there, and where; false: not known. */
static bool result_value(const struct derivation *d, const struct dbi_insn *insn,
                         const struct simple *is, unsigned *to, struct value *out)
{
    bool is_register = is->modrm >= 0xc0;
    unsigned operation = is->modrm >> 3 & 7;

    *to = rm_of(is);
    switch (is->opcode) {
    case 0x89: /* mov */
        *out = d->regs[reg_of(is)];
        return is_register;
    case 0x8b:
        *to = reg_of(is);
        *out = d->regs[rm_of(is)];
        return is_register;
    case 0x81: /* add, sub */
    case 0x83: {
        int64_t more = number_at(is->rest, is->opcode == 0x81 ? 4 : 1);
        *out = value_plus(d->regs[*to], operation ? -more : more);
        return is_register && (operation == 0 || operation == 5);
    }
    case 0xff: /* inc, dec */
        *out = value_plus(d->regs[*to], operation ? -1 : 1);
        return is_register && operation <= 1;
    case 0x8d:
        *to = reg_of(is);
        return lea_value(d, insn, is, out);
    default:
        return false;
    }
}

/* The stack pointer after an instruction that moves it implicitly; false: not known. */
static bool stack_value(const struct derivation *d, const struct simple *is, struct value *out)
{
    struct value rsp = d->regs[INS_RSP];
    unsigned operation = is->modrm >> 3 & 7;

    *out = value_plus(rsp, -8);
    if ((is->opcode & 0xf8) == 0x50 || is->opcode == 0x68 || is->opcode == 0x6a ||
        (is->opcode == 0xff && operation == 6)) /* push */
        return true;
    *out = value_plus(rsp, 8);
    if ((is->opcode & 0xf8) == 0x58) /* pop */
        return is->opcode != 0x5c || is->rex & 1;
    if (is->opcode == 0x8f)
        return is->modrm < 0xc0 && operation == 0;
    *out = value_plus(d->regs[INS_RBP], 8);
    return is->opcode == 0xc9; /* leave */
}

static void registers_change(struct derivation *d, const struct dbi_insn *insn)
{
    struct value result, stack;
    unsigned to = 0, at = (insn->bytes[0] & 0xf0) == 0x40;
    struct simple is = {.rex = at ? insn->bytes[0] : 0,
                        .opcode = insn->bytes[at],
                        .modrm = insn->bytes[at + 1],
                        .rest = insn->bytes + at + 2};
    bool is_result_known = is.rex & 8 && result_value(d, insn, &is, &to, &result);
    bool is_stack_known = stack_value(d, &is, &stack);

    for (unsigned reg = 0; reg < INS_GPR_COUNT; reg++)
        if (insn->is.gpr_written >> reg & 1)
            d->regs[reg] = (struct value){.unknown = d->next_unknown++};
    if (is_result_known && insn->is.gpr_written >> to & 1)
        d->regs[to] = result;
    if (is_stack_known && insn->is.gpr_written >> INS_RSP & 1)
        d->regs[INS_RSP] = stack;
}

unsigned dbi_slots_derive(const struct dbi_code *code, struct dbi_slot *slots, unsigned *words)
{
    struct derivation d;

    d.slots = slots;
    d.slot_count = d.words = d.owner_count = 0;
    d.top_word = 0;
    d.top_more = 0;
    d.next_unknown = INS_GPR_COUNT;
    for (unsigned reg = 0; reg < INS_GPR_COUNT; reg++)
        d.regs[reg] = (struct value){.unknown = (uint16_t)reg};
    for (unsigned i = 0; i < code->count; i++) {
        const struct dbi_insn *insn = &code->insns[i];
        unsigned end = d.slot_count + ins_slot_count(&insn->info);
        if (dbi_slots_plain(&insn->info))
            for (unsigned m = 0; m < insn->info.mem_count; m++)
                operand_add(&d, &insn->info.mems[m]);
        if (insn->info.choice.kind == INS_CHOICE_TOP) {
            while (d.slot_count < end - 1)
                slot_own(&d);
            top_add(&d);
        }
        while (d.slot_count < end)
            slot_own(&d);
        top_change(&d, &insn->info.choice);
        registers_change(&d, insn);
    }
    *words = d.words;
    return d.slot_count;
}
