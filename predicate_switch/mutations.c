/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mutations keep an instruction's length, so that nothing moves. What is shorter begins with a nop;
 * what is left out is a jump behind itself. Only forms that compilers make are known: legacy
 * encoding, no prefix but REX, F2, F3 and 66 as a part of the opcode.
 */
#include "predicate_switch/mutations.h"

#include <stdlib.h>
#include <string.h>

#include "predicate_switch/decoded.h"

#define NOP       0x90
#define JUMP_NEAR 0xeb /* with a displacement of one byte */

/* An instruction, and the list of what it could have been. */
struct mutating {
    const uint8_t *code;
    size_t length;
    uint64_t pc;
    struct psw_decoded insn;
    struct psw_mutation *list;
    unsigned count;
};

/* ---- decoding ---- */

/* Where the opcode's last byte is; 0xff for forms that nothing is known of. */
static unsigned opcode_at(const struct mutating *work)
{
    unsigned behind = work->insn.zi.raw.modrm.offset;
    if (!behind)
        behind =
            work->insn.zi.raw.imm[0].size ? work->insn.zi.raw.imm[0].offset : work->insn.zi.length;
    return behind ? behind - 1 : 0xff;
}

static const ZydisDecodedOperand *memory_of(const struct mutating *work)
{
    for (unsigned i = 0; i < work->insn.zi.operand_count_visible; i++)
        if (work->insn.ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
            work->insn.ops[i].mem.type == ZYDIS_MEMOP_TYPE_MEM)
            return &work->insn.ops[i];
    return NULL;
}

static bool is_stack_pointer(const ZydisDecodedOperand *op)
{
    return op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           (op->reg.value == ZYDIS_REGISTER_RSP || op->reg.value == ZYDIS_REGISTER_RBP);
}

/* ---- the list ---- */

static struct psw_mutation *add(struct mutating *work, enum wetdbg_mutation kind, unsigned round,
                                unsigned offset, unsigned size)
{
    static struct psw_mutation spare;
    bool has_room = work->count < PSW_MUTATIONS_MAX && size <= WETDBG_MUTANT_BYTES_MAX &&
                    offset + size <= work->insn.zi.length;
    struct psw_mutation *made = has_room ? &work->list[work->count++] : &spare;
    *made = (struct psw_mutation){.kind = kind,
                                  .round = (uint8_t)round,
                                  .offset = (uint8_t)offset,
                                  .size = (uint8_t)(has_room ? size : 0)};
    memcpy(made->bytes, work->code + (has_room ? offset : 0), made->size);
    return made;
}

static void add_byte(struct mutating *work, enum wetdbg_mutation kind, unsigned round,
                     unsigned offset, uint8_t byte, int64_t was, int64_t is)
{
    struct psw_mutation *made = add(work, kind, round, offset, 1);
    made->bytes[0] = byte;
    made->was = was;
    made->is = is;
}

static bool fits(int64_t value, unsigned bits)
{
    return bits >= 64 || (value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1));
}

/* A number in the code is another one. */
static void add_number(struct mutating *work, enum wetdbg_mutation kind, unsigned round,
                       unsigned offset, unsigned bits, int64_t was, int64_t is)
{
    if (is == was || !fits(is, bits) || bits > 64)
        return;
    for (unsigned i = 0; i < work->count; i++)
        if (work->list[i].kind == kind && work->list[i].offset == offset && work->list[i].is == is)
            return;
    struct psw_mutation *made = add(work, kind, round, offset, bits / 8);
    memcpy(made->bytes, &is, made->size);
    made->was = was;
    made->is = is;
}

/* ---- conditions ---- */

enum { CC_B = 2, CC_AE, CC_E, CC_NE, CC_BE, CC_A, CC_S, CC_NS, CC_L = 12, CC_GE, CC_LE, CC_G };

/* Conditions in place of each, the likeliest first: its opposite, equality the other way, the
 * direction the other way, equality only, the other signedness. */
static const struct {
    unsigned code, others[7];
} comparisons[] = {
    {CC_L, {CC_GE, CC_LE, CC_G, CC_NE, CC_E, CC_B}},
    {CC_GE, {CC_L, CC_G, CC_LE, CC_E, CC_NE, CC_AE}},
    {CC_LE, {CC_G, CC_L, CC_GE, CC_E, CC_NE, CC_BE}},
    {CC_G, {CC_LE, CC_GE, CC_L, CC_NE, CC_E, CC_A}},
    {CC_B, {CC_AE, CC_BE, CC_A, CC_NE, CC_E, CC_L}},
    {CC_AE, {CC_B, CC_A, CC_BE, CC_E, CC_NE, CC_GE}},
    {CC_BE, {CC_A, CC_B, CC_AE, CC_E, CC_NE, CC_LE}},
    {CC_A, {CC_BE, CC_AE, CC_B, CC_NE, CC_E, CC_G}},
    {CC_E, {CC_NE, CC_LE, CC_GE, CC_L, CC_G, CC_BE}},
    {CC_NE, {CC_E, CC_G, CC_L, CC_GE, CC_LE, CC_A}},
    {CC_S, {CC_NS, CC_LE, CC_E}},
    {CC_NS, {CC_S, CC_G, CC_NE}},
};
#define LIKELY 2 /* of these */

static void add_comparisons(struct mutating *work, unsigned at)
{
    unsigned code = work->code[at] & 15;
    uint8_t rest = work->code[at] & 0xf0;
    for (size_t i = 0; i < sizeof(comparisons) / sizeof(*comparisons); i++)
        for (unsigned k = 0; comparisons[i].code == code && comparisons[i].others[k]; k++)
            add_byte(work, WETDBG_MUTATION_COMPARISON,
                     k < LIKELY ? 0
                     : k < 4    ? 1
                                : 2,
                     at, (uint8_t)(rest | comparisons[i].others[k]), code,
                     comparisons[i].others[k]);
}

/* A jump is always taken, or never. */
static void mutate_jump(struct mutating *work)
{
    static const uint8_t nops[] = {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00};
    bool is_short = work->insn.zi.length == 2 && (work->code[0] & 0xf0) == 0x70;
    bool is_long =
        work->insn.zi.length == 6 && work->code[0] == 0x0f && (work->code[1] & 0xf0) == 0x80;
    if (!is_short && !is_long)
        return;
    add_comparisons(work, is_short ? 0 : 1);
    struct psw_mutation *always = add(work, WETDBG_MUTATION_ALWAYS, 0, 0, is_short ? 1 : 2);
    if (is_short)
        always->bytes[0] = JUMP_NEAR;
    else
        memcpy(always->bytes, (const uint8_t[]){NOP, 0xe9}, 2);
    struct psw_mutation *never = add(work, WETDBG_MUTATION_NEVER, 0, 0, work->insn.zi.length);
    if (is_short)
        memcpy(never->bytes, (const uint8_t[]){0x66, NOP}, 2);
    else
        memcpy(never->bytes, nops, sizeof(nops));
}

/* setcc, which is as long as a mov of a constant to the same place. */
static void mutate_set(struct mutating *work, unsigned at)
{
    add_comparisons(work, at);
    if (at < 1 || work->code[at - 1] != 0x0f)
        return;
    for (unsigned value = 0; value < 2; value++) {
        unsigned size = work->insn.zi.length - (at - 1);
        struct psw_mutation *made =
            add(work, value ? WETDBG_MUTATION_ALWAYS : WETDBG_MUTATION_NEVER, 0, at - 1, size);
        if (made->size < 3)
            continue;
        memmove(made->bytes, made->bytes + 1, size - 1);
        made->bytes[0] = 0xc6;
        made->bytes[1] &= (uint8_t)~0x38;
        made->bytes[size - 1] = (uint8_t)value;
    }
}

static void mutate_condition(struct mutating *work)
{
    unsigned at = opcode_at(work);
    switch (work->insn.zi.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        mutate_jump(work);
        break;
    case ZYDIS_CATEGORY_SETCC:
        if (at != 0xff)
            mutate_set(work, at);
        break;
    case ZYDIS_CATEGORY_CMOV:
        if (at != 0xff)
            add_comparisons(work, at);
        break;
    default:
        break;
    }
}

/* ---- constants ---- */

static void add_constants(struct mutating *work, unsigned offset, unsigned bits, int64_t was)
{
    add_number(work, WETDBG_MUTATION_CONSTANT, 0, offset, bits, was, was + 1);
    add_number(work, WETDBG_MUTATION_CONSTANT, 0, offset, bits, was, was - 1);
    add_number(work, WETDBG_MUTATION_CONSTANT, 1, offset, bits, was, 0);
    add_number(work, WETDBG_MUTATION_CONSTANT, 1, offset, bits, was, -was);
    add_number(work, WETDBG_MUTATION_CONSTANT, 2, offset, bits, was, 1);
    add_number(work, WETDBG_MUTATION_CONSTANT, 2, offset, bits, was, -1);
}

/* What moves the stack is no constant of the program, and numbers that large are addresses. */
static void mutate_constant(struct mutating *work)
{
    const ZydisDecodedInstruction *zi = &work->insn.zi;
    if (!zi->raw.imm[0].size || zi->raw.imm[0].is_relative || zi->raw.imm[0].size > 32 ||
        is_stack_pointer(&work->insn.ops[0]) || zi->mnemonic == ZYDIS_MNEMONIC_ENTER ||
        zi->mnemonic == ZYDIS_MNEMONIC_RET)
        return;
    int64_t was =
        zi->raw.imm[0].is_signed ? zi->raw.imm[0].value.s : (int64_t)zi->raw.imm[0].value.u;
    unsigned unused = 64 - zi->raw.imm[0].size;
    was = (int64_t)((uint64_t)was << unused) >> unused;
    add_constants(work, zi->raw.imm[0].offset, zi->raw.imm[0].size, was);
}

/* ---- what is computed ---- */

/* The operation of add, or, and, sub, xor is three bits of the opcode, or of ModRM behind 80 to
 * 83. */
static void mutate_arithmetic(struct mutating *work, unsigned at)
{
    enum { ADD, OR, ADC, SBB, AND, SUB, XOR, CMP };
    static const uint8_t others[][2] = {
        [ADD] = {SUB, SUB}, [SUB] = {ADD, ADD}, [AND] = {OR, XOR},
        [OR] = {AND, XOR},  [XOR] = {OR, AND},
    };
    uint8_t opcode = work->code[at];
    bool is_group = opcode == 0x80 || opcode == 0x81 || opcode == 0x83;
    if ((!is_group && (opcode >= 0x40 || (opcode & 7) > 5)) || is_stack_pointer(&work->insn.ops[0]))
        return;
    unsigned where = is_group ? work->insn.zi.raw.modrm.offset : at;
    unsigned operation = work->code[where] >> 3 & 7;
    if (operation == ADC || operation == SBB || operation == CMP ||
        (!is_group && work->insn.zi.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT))
        return;
    for (unsigned i = 0; i < 2 && (!i || others[operation][0] != others[operation][1]); i++)
        add_byte(work, WETDBG_MUTATION_OPERATOR, i, where,
                 (uint8_t)((work->code[where] & ~0x38) | others[operation][i] << 3), operation,
                 others[operation][i]);
}

/* Another operation in ModRM: inc and dec, shifts, neg and not. */
static void mutate_group(struct mutating *work, unsigned at)
{
    static const struct {
        uint8_t first, mask, was, is[2];
    } groups[] = {
        {0xfe, 0xfe, 0, {1, 1}}, {0xfe, 0xfe, 1, {0, 0}}, /* inc, dec */
        {0xc0, 0xfe, 4, {5, 5}}, {0xc0, 0xfe, 5, {4, 7}}, /* shl, shr */
        {0xc0, 0xfe, 7, {5, 4}}, {0xd0, 0xfc, 4, {5, 5}}, /* sar; by one or by cl */
        {0xd0, 0xfc, 5, {4, 7}}, {0xd0, 0xfc, 7, {5, 4}}, /* */
        {0xf6, 0xfe, 2, {3, 3}}, {0xf6, 0xfe, 3, {2, 2}}, /* not, neg */
    };
    unsigned where = work->insn.zi.raw.modrm.offset;
    if (!where || work->insn.zi.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
        return;
    for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
        if ((work->code[at] & groups[i].mask) != groups[i].first ||
            (work->code[where] >> 3 & 7) != groups[i].was)
            continue;
        for (unsigned k = 0; k < 2 && (!k || groups[i].is[0] != groups[i].is[1]); k++)
            add_byte(work, WETDBG_MUTATION_OPERATOR, k, where,
                     (uint8_t)((work->code[where] & ~0x38) | groups[i].is[k] << 3), groups[i].was,
                     groups[i].is[k]);
    }
}

/* Scalar and packed arithmetic of SSE, and extension by zeros or the sign. */
static void mutate_two_byte(struct mutating *work, unsigned at)
{
    static const uint8_t arithmetic[] = {0x58, 0x5c, 0x59, 0x5e}; /* add, sub, mul, div */
    uint8_t opcode = work->code[at];
    if (work->insn.zi.opcode_map != ZYDIS_OPCODE_MAP_0F)
        return;
    for (unsigned i = 0; i < 4; i++)
        for (unsigned k = 1; opcode == arithmetic[i] && k < 4; k++)
            add_byte(work, WETDBG_MUTATION_OPERATOR, k > 1, at, arithmetic[i ^ k], opcode,
                     arithmetic[i ^ k]);
    if ((opcode & 0xf6) == 0xb6) /* movzx, movsx of bytes and words */
        add_byte(work, WETDBG_MUTATION_EXTENSION, 0, at, opcode ^ 8, opcode, opcode ^ 8);
    if (opcode == 0xaf && at) { /* imul, in whose place an add is one byte shorter */
        bool has_rex = work->insn.zi.attributes & ZYDIS_ATTRIB_HAS_REX;
        unsigned from = at - 1 - has_rex;
        struct psw_mutation *made = add(work, WETDBG_MUTATION_OPERATOR, 0, from, at + 1 - from);
        if (!made->size)
            return;
        made->bytes[0] = NOP;
        if (has_rex)
            made->bytes[1] = work->code[from];
        made->bytes[made->size - 1] = 0x03;
        made->was = opcode;
        made->is = 0x03;
    }
}

static void mutate_operator(struct mutating *work)
{
    unsigned at = opcode_at(work);
    if (at == 0xff || work->insn.zi.meta.category == ZYDIS_CATEGORY_COND_BR)
        return;
    if (work->insn.zi.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT) {
        mutate_arithmetic(work, at);
        mutate_group(work, at);
    }
    mutate_two_byte(work, at);
}

/* ---- variables ---- */

static bool variable_of(const struct mutating *work, struct psw_variable *variable)
{
    const ZydisDecodedOperand *op = memory_of(work);
    if (!op || op->mem.index != ZYDIS_REGISTER_NONE || !work->insn.zi.raw.disp.size ||
        op->mem.segment == ZYDIS_REGISTER_FS || op->mem.segment == ZYDIS_REGISTER_GS || !op->size ||
        op->size > 128)
        return false;
    *variable =
        (struct psw_variable){.bytes = (uint8_t)(op->size / 8), .location = op->mem.disp.value};
    switch (op->mem.base) {
    case ZYDIS_REGISTER_RSP:
        variable->base = PSW_RSP;
        return true;
    case ZYDIS_REGISTER_RBP:
        variable->base = PSW_RBP;
        return true;
    case ZYDIS_REGISTER_RIP:
        variable->base = PSW_GLOBAL;
        variable->location += (int64_t)(work->pc + work->insn.zi.length);
        return true;
    default:
        return false;
    }
}

static int64_t apart(const struct psw_variable *a, const struct psw_variable *b)
{
    return llabs(a->location - b->location);
}

#define VARIABLES_NEAR 6 /* others that are tried, of all that a function has */

/* The nearest ones in memory of the same size come first. */
static unsigned nearest_find(const struct psw_variable *own, const struct psw_variable *others,
                             size_t count, const struct psw_variable *found[VARIABLES_NEAR])
{
    unsigned n = 0;
    for (size_t i = 0; i < count; i++) {
        if (others[i].base != own->base || others[i].bytes != own->bytes ||
            others[i].location == own->location)
            continue;
        unsigned at = n < VARIABLES_NEAR ? n++ : n;
        while (at && apart(own, found[at - 1]) > apart(own, &others[i])) {
            if (at < VARIABLES_NEAR)
                found[at] = found[at - 1];
            at--;
        }
        if (at < VARIABLES_NEAR)
            found[at] = &others[i];
    }
    return n;
}

static void mutate_variable(struct mutating *work, const struct psw_variable *others, size_t count)
{
    const struct psw_variable *near[VARIABLES_NEAR];
    struct psw_variable own;
    if (!variable_of(work, &own))
        return;
    unsigned found = nearest_find(&own, others, count, near);
    int64_t was = work->insn.zi.raw.disp.value;
    for (unsigned i = 0; i < found; i++)
        add_number(work, WETDBG_MUTATION_VARIABLE,
                   i < 2   ? 1
                   : i < 4 ? 2
                           : 3,
                   work->insn.zi.raw.disp.offset, work->insn.zi.raw.disp.size, was,
                   was + near[i]->location - own.location);
}

/* What lies beside it: the next member or element. Of an address that is computed it is a
 * constant. */
static void mutate_member(struct mutating *work)
{
    const ZydisDecodedOperand *op = memory_of(work);
    bool is_address = work->insn.zi.mnemonic == ZYDIS_MNEMONIC_LEA;
    if (is_address)
        op = &work->insn.ops[1];
    if (!op || op->type != ZYDIS_OPERAND_TYPE_MEMORY || !work->insn.zi.raw.disp.size ||
        op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_RSP ||
        op->mem.base == ZYDIS_REGISTER_RBP || is_stack_pointer(&work->insn.ops[0]))
        return;
    unsigned at = work->insn.zi.raw.disp.offset, bits = work->insn.zi.raw.disp.size;
    int64_t was = work->insn.zi.raw.disp.value;
    if (is_address) {
        add_constants(work, at, bits, was);
        return;
    }
    add_number(work, WETDBG_MUTATION_MEMBER, 1, at, bits, was, was + op->size / 8);
    add_number(work, WETDBG_MUTATION_MEMBER, 1, at, bits, was, was - op->size / 8);
}

/* ---- what is left out ---- */

static bool stores(const struct mutating *work)
{
    const ZydisDecodedOperand *op = memory_of(work);
    return op && (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
           work->insn.zi.meta.category != ZYDIS_CATEGORY_SETCC &&
           work->insn.zi.meta.category != ZYDIS_CATEGORY_POP;
}

static void mutate_to_nothing(struct mutating *work)
{
    bool is_call = work->insn.zi.meta.category == ZYDIS_CATEGORY_CALL;
    if ((!is_call && !stores(work)) || work->insn.zi.length < 2)
        return;
    struct psw_mutation *made = add(work, WETDBG_MUTATION_LEFT_OUT, 0, 0, 2);
    made->bytes[0] = JUMP_NEAR;
    made->bytes[1] = (uint8_t)(work->insn.zi.length - 2);
}

/* ---- all of them ---- */

static int by_round(const void *left, const void *right)
{
    const struct psw_mutation *a = left, *b = right;
    if (a->round != b->round)
        return a->round < b->round ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->is < b->is ? -1 : a->is > b->is;
}

bool psw_mutation_variable(const uint8_t *code, size_t length, uint64_t pc,
                           struct psw_variable *variable)
{
    struct mutating work = {.code = code, .length = length, .pc = pc};
    return psw_decode_plain(code, length, &work.insn) && variable_of(&work, variable);
}

unsigned psw_mutations_of(const uint8_t *code, size_t length, uint64_t pc,
                          const struct psw_variable *others, size_t other_count,
                          struct psw_mutation list[PSW_MUTATIONS_MAX])
{
    struct mutating work = {.code = code, .length = length, .pc = pc, .list = list};
    if (!psw_decode_plain(code, length, &work.insn))
        return 0;
    mutate_condition(&work);
    mutate_constant(&work);
    mutate_operator(&work);
    mutate_to_nothing(&work);
    mutate_member(&work);
    mutate_variable(&work, others, other_count);
    qsort(list, work.count, sizeof(*list), by_round);
    return work.count;
}
