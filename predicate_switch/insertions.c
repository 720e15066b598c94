/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code that is put in changes nothing but what it says: no flags, no other registers, and nothing
 * in the 128 bytes below the stack pointer, where leaf functions keep variables.
 */
#include "predicate_switch/insertions.h"

#include <string.h>

#include "predicate_switch/decoded.h"

#define RAX      0
#define RED_ZONE 128
#define PUSHED   8

enum { CODE_LESS = 12, CODE_LESS_OR_EQUAL = 14 }; /* conditions, as encoded */

/* ---- writing code ---- */

struct code {
    uint8_t *bytes;
    unsigned size;
};

static void put(struct code *code, const void *bytes, unsigned size)
{
    memcpy(code->bytes + code->size, bytes, size);
    code->size += size;
}

static void put_byte(struct code *code, unsigned byte)
{
    code->bytes[code->size++] = (uint8_t)byte;
}

/* lea of a register's own value and `change`. */
static void put_lea(struct code *code, unsigned reg, bool is_wide, int8_t change)
{
    unsigned rex = 0x40u | (is_wide ? 8u : 0u) | (reg >= 8 ? 5u : 0u), low = reg & 7;
    if (rex != 0x40)
        put_byte(code, rex);
    put_byte(code, 0x8d);
    put_byte(code, 0x40 | low << 3 | low);
    if (low == PSW_RSP)
        put_byte(code, 0x24);
    put_byte(code, (uint8_t)change);
}

/* ---- decoding ---- */

/* A general register's number; 16: it is none, or a part that has no number of its own. */
static unsigned number_of(ZydisRegister reg)
{
    if (reg == ZYDIS_REGISTER_AH || reg == ZYDIS_REGISTER_BH || reg == ZYDIS_REGISTER_CH ||
        reg == ZYDIS_REGISTER_DH)
        return 16;
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64
               ? (unsigned)ZydisRegisterGetId(whole)
               : 16;
}

static bool is_register(const ZydisDecodedOperand *op)
{
    return op->type == ZYDIS_OPERAND_TYPE_REGISTER;
}

/* Thread locals are left out: compilers keep the stack's guard there. */
static bool is_memory(const ZydisDecodedOperand *op)
{
    return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.type == ZYDIS_MEMOP_TYPE_MEM &&
           op->mem.segment != ZYDIS_REGISTER_FS && op->mem.segment != ZYDIS_REGISTER_GS;
}

/* ---- values ---- */

static struct psw_insertion *add(struct psw_insertion *list, unsigned *count,
                                 enum wetdbg_mutation kind, unsigned round, int64_t is)
{
    struct psw_insertion *made = &list[(*count)++];
    *made = (struct psw_insertion){.kind = kind, .round = (uint8_t)round, .is = is};
    return made;
}

/* What looks like an address is seldom one off. */
static unsigned round_of(unsigned bits)
{
    return bits < 64 ? 2 : 3;
}

/* What was loaded into a register, moved there or computed is one more or less. */
static unsigned loaded(const struct psw_decoded *insn, struct psw_insertion *list)
{
    const ZydisDecodedOperand *to = &insn->ops[0];
    unsigned reg = number_of(to->reg.value), count = 0;
    if (to->size < 32 || reg == 16 || reg == PSW_RSP || reg == PSW_RBP ||
        (is_register(&insn->ops[1]) && number_of(insn->ops[1].reg.value) == 16))
        return 0;
    for (int change = 1; change >= -1; change -= 2) {
        struct psw_insertion *made =
            add(list, &count, WETDBG_MUTATION_VALUE, round_of(to->size), change);
        struct code after = {made->after, 0};
        put_lea(&after, reg, to->size == 64, (int8_t)change);
        made->after_size = (uint8_t)after.size;
    }
    return count;
}

/* What is stored is one more or less; the register is not. */
static unsigned stored(const struct psw_decoded *insn, struct psw_insertion *list)
{
    const ZydisDecodedOperand *to = &insn->ops[0];
    unsigned reg = number_of(insn->ops[1].reg.value), count = 0;
    if (reg == 16 || reg == PSW_RSP || reg == PSW_RBP || reg == number_of(to->mem.base) ||
        reg == number_of(to->mem.index))
        return 0;
    for (int change = 1; change >= -1; change -= 2) {
        struct psw_insertion *made =
            add(list, &count, WETDBG_MUTATION_VALUE, round_of(to->size), change);
        struct code before = {made->before, 0}, after = {made->after, 0};
        put_lea(&before, reg, true, (int8_t)change);
        put_lea(&after, reg, true, (int8_t)-change);
        made->before_size = (uint8_t)before.size;
        made->after_size = (uint8_t)after.size;
    }
    return count;
}

/* x < 0 is often computed as x's sign bit; x <= 0 is that of x - 1. */
static unsigned sign_shifted(const struct psw_decoded *insn, struct psw_insertion *list)
{
    unsigned reg = number_of(insn->ops[0].reg.value), bits = insn->ops[0].size, count = 0;
    if (reg == 16 || bits < 32 || insn->ops[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
        insn->ops[1].imm.value.u != bits - 1)
        return 0;
    struct psw_insertion *made =
        add(list, &count, WETDBG_MUTATION_COMPARISON, 0, CODE_LESS_OR_EQUAL);
    struct code before = {made->before, 0};
    made->was = CODE_LESS;
    put_lea(&before, reg, bits == 64, -1);
    made->before_size = (uint8_t)before.size;
    return count;
}

/* Neighbouring arguments of a call, of which nobody knows how many it has, are exchanged. */
static unsigned swapped(struct psw_insertion *list)
{
    static const uint8_t exchanges[PSW_OF_VALUE_MAX][3] = {
        {0x48, 0x87, 0xf7}, {0x48, 0x87, 0xd6}, {0x48, 0x87, 0xca}}; /* rdi, rsi, rdx, rcx */
    unsigned count = 0;
    for (unsigned i = 0; i < PSW_OF_VALUE_MAX; i++) {
        struct psw_insertion *made = add(list, &count, WETDBG_MUTATION_SWAPPED, 1, i + 2);
        made->was = i + 1;
        made->before_size = sizeof(exchanges[i]);
        memcpy(made->before, exchanges[i], sizeof(exchanges[i]));
    }
    return count;
}

unsigned psw_insertions_of_value(const uint8_t *code, size_t length,
                                 struct psw_insertion list[PSW_OF_VALUE_MAX])
{
    struct psw_decoded insn;
    if (!psw_decode_plain(code, length, &insn))
        return 0;
    switch (insn.zi.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
        if (is_register(&insn.ops[0]) && (is_register(&insn.ops[1]) || is_memory(&insn.ops[1])))
            return loaded(&insn, list);
        return is_memory(&insn.ops[0]) && is_register(&insn.ops[1]) ? stored(&insn, list) : 0;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_IMUL: /* what has a constant is mutated there */
        return is_register(&insn.ops[0]) && insn.zi.operand_count_visible == 2 &&
                       (is_register(&insn.ops[1]) || is_memory(&insn.ops[1]))
                   ? loaded(&insn, list)
                   : 0;
    case ZYDIS_MNEMONIC_CALL:
        return swapped(list);
    case ZYDIS_MNEMONIC_SHR:
        return is_register(&insn.ops[0]) ? sign_shifted(&insn, list) : 0;
    default:
        return 0;
    }
}

/* ---- places ---- */

static bool is_size(unsigned bits)
{
    return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

/* Whether an instruction stores a constant, or counts. */
static bool counts(const struct psw_decoded *insn)
{
    switch (insn->zi.mnemonic) {
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC:
        return true;
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
        return insn->ops[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    default:
        return false;
    }
}

static void place_add(struct psw_places *places, const struct psw_place *place)
{
    for (unsigned i = 0; i < places->count; i++) {
        const struct psw_place *other = &places->items[i];
        if (other->variable.base == place->variable.base &&
            other->variable.location == place->variable.location &&
            other->is_member == place->is_member && other->offset == place->offset)
            return;
    }
    if (places->count < PSW_PLACES_MAX)
        places->items[places->count++] = *place;
}

/* A member that is accessed by a pointer which was loaded from a variable. */
static void member_look(struct psw_places *places, const ZydisDecodedOperand *op)
{
    unsigned base = number_of(op->mem.base);
    if (base == 16 || op->mem.index != ZYDIS_REGISTER_NONE || !(places->are_pointers >> base & 1))
        return;
    place_add(places, &(struct psw_place){.variable = places->pointers[base],
                                          .is_member = true,
                                          .bytes = (uint8_t)(op->size / 8),
                                          .offset = (int32_t)op->mem.disp.value});
}

/* Registers that the instruction writes hold nothing that is known; a pointer that it loads is. */
static void registers_look(struct psw_places *places, const struct psw_decoded *insn,
                           const struct psw_variable *variable)
{
    for (unsigned i = 0; i < insn->zi.operand_count; i++) {
        const ZydisDecodedOperand *op = &insn->ops[i];
        unsigned reg = is_register(op) ? number_of(op->reg.value) : 16;
        if (reg < 16 && (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            places->are_pointers &= (uint16_t) ~(1u << reg);
    }
    unsigned to = is_register(&insn->ops[0]) ? number_of(insn->ops[0].reg.value) : 16;
    if (!variable || variable->bytes != 8 || insn->zi.mnemonic != ZYDIS_MNEMONIC_MOV || to == 16)
        return;
    places->pointers[to] = *variable;
    places->are_pointers |= (uint16_t)(1u << to);
}

void psw_places_look(struct psw_places *places, const uint8_t *code, size_t length, uint64_t pc)
{
    struct psw_variable variable;
    struct psw_decoded insn;
    if (pc != places->next)
        places->are_pointers = 0;
    places->next = pc + length;
    if (!psw_decode_plain(code, length, &insn))
        return;
    bool is_variable = psw_mutation_variable(code, length, pc, &variable);
    for (unsigned i = 0; i < insn.zi.operand_count_visible; i++) {
        const ZydisDecodedOperand *op = &insn.ops[i];
        if (!is_memory(op) || !is_size(op->size))
            continue;
        if (is_variable && counts(&insn))
            place_add(places, &(struct psw_place){.variable = variable, .bytes = variable.bytes});
        else if (!is_variable && insn.zi.mnemonic == ZYDIS_MNEMONIC_MOV)
            member_look(places, op);
    }
    registers_look(places, &insn, is_variable ? &variable : NULL);
    if (insn.zi.meta.category == ZYDIS_CATEGORY_CALL)
        places->are_pointers = 0;
}

/* ---- statements ---- */

struct statement {
    struct code code;
    uint64_t cave;
    unsigned pushed; /* bytes that the stack pointer is lower */
};

/* ModRM and what follows, of a variable; `behind` bytes of the instruction follow them. */
static void put_variable(struct statement *to, unsigned field, const struct psw_variable *variable,
                         unsigned behind)
{
    int32_t displacement = (int32_t)variable->location;
    if (variable->base == PSW_GLOBAL) {
        put_byte(&to->code, field << 3 | PSW_RBP);
        displacement = (int32_t)(variable->location - (int64_t)(to->cave + to->code.size +
                                                                sizeof(displacement) + behind));
    } else {
        put_byte(&to->code, 0x80 | field << 3 | variable->base);
        if (variable->base == PSW_RSP) {
            put_byte(&to->code, 0x24);
            displacement += (int32_t)to->pushed;
        }
    }
    put(&to->code, &displacement, sizeof(displacement));
}

/* The opcode of an operation that has one for bytes, and the next one for what is larger. */
static void put_opcode(struct statement *to, unsigned opcode, unsigned bytes)
{
    if (bytes == 2)
        put_byte(&to->code, 0x66);
    if (bytes == 8)
        put_byte(&to->code, 0x48);
    put_byte(&to->code, opcode | (bytes > 1));
}

/* The place itself: a variable, or what rax points to. */
static void put_place(struct statement *to, unsigned field, const struct psw_place *place,
                      unsigned behind)
{
    if (!place->is_member) {
        put_variable(to, field, &place->variable, behind);
        return;
    }
    put_byte(&to->code, 0x80 | field << 3 | RAX);
    put(&to->code, &place->offset, sizeof(place->offset));
}

static void put_begin(struct statement *to, const struct psw_place *place)
{
    static const uint8_t lower[] = {0x48, 0x8d, 0x64, 0x24, 0x80}; /* lea -128(%rsp), %rsp */
    put(&to->code, lower, sizeof(lower));
    put_byte(&to->code, 0x9c); /* pushfq */
    to->pushed = RED_ZONE + PUSHED;
    if (!place->is_member)
        return;
    put_byte(&to->code, 0x50); /* push %rax */
    to->pushed += PUSHED;
    put(&to->code, "\x48\x8b", 2); /* mov pointer, %rax */
    put_variable(to, RAX, &place->variable, 0);
}

static void put_end(struct statement *to, const struct psw_place *place)
{
    static const uint8_t higher[] = {0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0}; /* lea 128(%rsp) */
    if (place->is_member)
        put_byte(&to->code, 0x58); /* pop %rax */
    put_byte(&to->code, 0x9d);     /* popfq */
    put(&to->code, higher, sizeof(higher));
}

/* place = 0, as mov of a constant. */
static void put_zero(struct statement *to, const struct psw_place *place)
{
    unsigned size = place->bytes < 4 ? place->bytes : 4;
    put_opcode(to, 0xc6, place->bytes);
    put_place(to, 0, place, size);
    put(&to->code, "\0\0\0\0", size);
}

/* inc and dec are two operations of one opcode. */
static void put_count(struct statement *to, const struct psw_place *place, bool is_down)
{
    put_opcode(to, 0xfe, place->bytes);
    put_place(to, is_down, place, 0);
}

static struct wetdbg_mutant_place told(const struct psw_place *place)
{
    unsigned base = place->variable.base;
    return (struct wetdbg_mutant_place){.base = base == PSW_RSP   ? WETDBG_BASE_STACK
                                                : base == PSW_RBP ? WETDBG_BASE_FRAME
                                                                  : WETDBG_BASE_NONE,
                                        .location = place->variable.location,
                                        .is_member = place->is_member,
                                        .offset = place->offset};
}

unsigned psw_insertions_of_place(const struct psw_place *place, uint64_t cave,
                                 struct psw_insertion list[PSW_OF_PLACE_MAX])
{
    unsigned count = 0;
    for (int change = 0; change <= 2; change++) {
        struct psw_insertion *made =
            add(list, &count, change ? WETDBG_MUTATION_COUNT : WETDBG_MUTATION_ZERO, 3,
                change == 2 ? -1 : change);
        struct statement to = {.code = {made->before, 0}, .cave = cave};
        put_begin(&to, place);
        if (change)
            put_count(&to, place, change == 2);
        else
            put_zero(&to, place);
        put_end(&to, place);
        made->before_size = (uint8_t)to.code.size;
        made->place = told(place);
    }
    return count;
}
