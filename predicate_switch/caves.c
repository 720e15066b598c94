/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/caves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "predicate_switch/decoded.h"
#include <wetdbg/errors.h>

#define JUMP_BYTES   5
#define CODE_MAX     (1u << 20) /* of a function; a larger one is left alone */
#define PC_BYTES_MAX 15

enum { IS_BEGIN = 1, IS_TARGET = 2 }; /* of each byte of a function */

struct psw_caves {
    struct wetdbg_state *state;
    uint64_t *begins; /* of caves */
    size_t count;
    struct wetdbg_function function;
    uint8_t *code, *marks; /* of the function; NULL: it cannot be used */
};

/* ---- caves ---- */

static bool is_empty(struct psw_caves *caves, uint64_t begin)
{
    uint8_t bytes[WETDBG_MUTANT_CAVE_MAX];
    if (wetdbg_state_read(caves->state, begin, bytes, sizeof(bytes)))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++)
        if (bytes[i])
            return false;
    return true;
}

static int caves_find(struct psw_caves *caves)
{
    const struct wetdbg_mapping *list;
    size_t count;
    int err = wetdbg_state_mappings(caves->state, &list, &count);
    if (err)
        return err;
    caves->begins = calloc(count + 1, sizeof(*caves->begins));
    if (!caves->begins)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = list[i].end - WETDBG_MUTANT_CAVE_MAX;
        if ((list[i].prot & PROT_EXEC) && list[i].end - list[i].start > WETDBG_MUTANT_CAVE_MAX &&
            is_empty(caves, begin))
            caves->begins[caves->count++] = begin;
    }
    return 0;
}

int psw_caves_open(struct wetdbg *wet, wetdbg_time time, struct psw_caves **out)
{
    struct psw_caves *caves = calloc(1, sizeof(*caves));
    if (!caves)
        return -ENOMEM;
    int err = wetdbg_state_open(wet, time, &caves->state);
    if (!err)
        err = caves_find(caves);
    if (err) {
        psw_caves_close(caves);
        return err;
    }
    *out = caves;
    return 0;
}

static void function_forget(struct psw_caves *caves)
{
    free(caves->code);
    free(caves->marks);
    caves->code = caves->marks = NULL;
}

void psw_caves_close(struct psw_caves *caves)
{
    if (!caves)
        return;
    function_forget(caves);
    free(caves->begins);
    if (caves->state)
        wetdbg_state_close(caves->state);
    free(caves);
}

/* ---- a function ---- */

static bool decode(const struct psw_caves *caves, uint64_t pc, struct psw_decoded *insn)
{
    const struct wetdbg_function *function = &caves->function;
    return pc >= function->start && pc < function->end &&
           psw_decode(caves->code + (pc - function->start), function->end - pc, insn);
}

/* Where a direct jump or call leads to. */
static bool leads_to(const struct psw_decoded *insn, uint64_t pc, uint64_t *target)
{
    if (!insn->zi.raw.imm[0].is_relative)
        return false;
    *target = pc + insn->zi.length + (uint64_t)insn->zi.raw.imm[0].value.s;
    return true;
}

static void mark(struct psw_caves *caves, uint64_t pc, uint8_t what)
{
    if (caves->marks && pc >= caves->function.start && pc < caves->function.end)
        caves->marks[pc - caves->function.start] |= what;
}

static bool function_mark(struct psw_caves *caves)
{
    struct psw_decoded insn;
    uint64_t target;
    for (uint64_t pc = caves->function.start; pc < caves->function.end; pc += insn.zi.length) {
        if (!decode(caves, pc, &insn))
            return false;
        mark(caves, pc, IS_BEGIN);
        if (leads_to(&insn, pc, &target))
            mark(caves, target, IS_TARGET);
    }
    return true;
}

int psw_caves_function(struct psw_caves *caves, const struct wetdbg_function *function)
{
    function_forget(caves);
    caves->function = *function;
    size_t size = function->end - function->start;
    if (!caves->count || size > CODE_MAX)
        return 0;
    caves->code = malloc(size + 1);
    caves->marks = calloc(size + 1, 1);
    if (!caves->code || !caves->marks)
        return -ENOMEM;
    if (wetdbg_state_read(caves->state, function->start, caves->code, size) ||
        !function_mark(caves))
        function_forget(caves);
    return 0;
}

void psw_caves_target(struct psw_caves *caves, uint64_t pc)
{
    mark(caves, pc, IS_TARGET);
}

/* ---- an instruction ---- */

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a < b ? b - a : a - b;
}

/* The nearest cave, which is that of the same file if it has one; 0: none is near enough. */
static uint64_t reached_from(const struct psw_caves *caves, uint64_t pc)
{
    uint64_t nearest = 0;
    for (size_t i = 0; i < caves->count; i++)
        if (!nearest || distance(caves->begins[i], pc) < distance(nearest, pc))
            nearest = caves->begins[i];
    return nearest && distance(nearest, pc) < INT32_MAX - CODE_MAX ? nearest : 0;
}

/* Whether nothing but what comes from `pc` executes the instructions that the jump covers. */
static bool is_coverable(const struct psw_caves *caves, uint64_t pc)
{
    const struct wetdbg_function *function = &caves->function;
    if (!caves->code || pc < function->start || pc + JUMP_BYTES > function->end ||
        !(caves->marks[pc - function->start] & IS_BEGIN))
        return false;
    for (uint64_t at = pc + 1; at < pc + JUMP_BYTES; at++)
        if (caves->marks[at - function->start] & IS_TARGET)
            return false;
    return true;
}

uint64_t psw_caves_at(struct psw_caves *caves, uint64_t pc)
{
    return is_coverable(caves, pc) ? reached_from(caves, pc) : 0;
}

/* ---- code ---- */

struct writing {
    struct psw_cave_code *code;
    uint64_t at; /* where its first byte lies */
    bool fits;
};

static void put(struct writing *to, const void *bytes, unsigned size)
{
    to->fits &= to->code->size + size <= sizeof(to->code->bytes);
    if (!to->fits)
        return;
    memcpy(to->code->bytes + to->code->size, bytes, size);
    to->code->size = (uint8_t)(to->code->size + size);
}

/* Ends with the displacement that leads from behind it to `target`. */
static void put_relative(struct writing *to, const void *opcode, unsigned size, uint64_t target)
{
    int64_t displacement = (int64_t)(target - (to->at + to->code->size + size + 4));
    int32_t short_one = (int32_t)displacement;
    to->fits &= displacement == short_one;
    put(to, opcode, size);
    put(to, &short_one, sizeof(short_one));
}

/* A direct jump or call, in its long form. */
static void put_branch(struct writing *to, const struct psw_decoded *insn, const uint8_t *code,
                       uint64_t target)
{
    const uint8_t condition = code[insn->zi.raw.imm[0].offset - 1u] & 15;
    const uint8_t jcc[] = {0x0f, (uint8_t)(0x80 | condition)};
    const uint8_t call = 0xe8, jump = 0xe9;
    switch (insn->zi.mnemonic) {
    case ZYDIS_MNEMONIC_CALL:
        put_relative(to, &call, 1, target);
        break;
    case ZYDIS_MNEMONIC_JMP:
        put_relative(to, &jump, 1, target);
        break;
    case ZYDIS_MNEMONIC_JCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
    case ZYDIS_MNEMONIC_JRCXZ:
        to->fits = false;
        break;
    default:
        to->fits &= insn->zi.meta.category == ZYDIS_CATEGORY_COND_BR && insn->zi.mnemonic &&
                    insn->zi.mnemonic != ZYDIS_MNEMONIC_LOOP &&
                    insn->zi.mnemonic != ZYDIS_MNEMONIC_LOOPE &&
                    insn->zi.mnemonic != ZYDIS_MNEMONIC_LOOPNE;
        put_relative(to, jcc, sizeof(jcc), target);
    }
}

static bool is_relative(const struct psw_decoded *insn)
{
    for (unsigned i = 0; i < insn->zi.operand_count; i++)
        if (insn->ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
            insn->ops[i].mem.base == ZYDIS_REGISTER_RIP)
            return true;
    return false;
}

/* An instruction that does the same at another place. */
static void put_moved(struct writing *to, const struct psw_decoded *insn, const uint8_t *code,
                      uint64_t pc)
{
    uint8_t moved[PC_BYTES_MAX];
    uint64_t target;
    if (leads_to(insn, pc, &target)) {
        put_branch(to, insn, code, target);
        return;
    }
    memcpy(moved, code, insn->zi.length);
    if (is_relative(insn)) {
        int64_t displacement = insn->zi.raw.disp.value + (int64_t)(pc - (to->at + to->code->size));
        int32_t short_one = (int32_t)displacement;
        to->fits &= displacement == short_one && insn->zi.raw.disp.size == 32;
        memcpy(moved + insn->zi.raw.disp.offset, &short_one, sizeof(short_one));
    }
    put(to, moved, insn->zi.length);
}

bool psw_cave_make(const struct psw_caves *caves, uint64_t pc, const uint8_t *before,
                   unsigned before_size, const uint8_t *after, unsigned after_size,
                   struct psw_cave_code *code)
{
    struct writing to = {.code = code, .at = reached_from(caves, pc), .fits = true};
    const uint8_t jump = 0xe9;
    struct psw_decoded insn;
    uint64_t at = pc;
    *code = (struct psw_cave_code){.jump = {jump}};
    put(&to, before, before_size);
    while (to.fits && at < pc + JUMP_BYTES) {
        if (!decode(caves, at, &insn))
            return false;
        put_moved(&to, &insn, caves->code + (at - caves->function.start), at);
        if (at == pc)
            put(&to, after, after_size);
        at += insn.zi.length;
    }
    put_relative(&to, &jump, 1, at);
    int32_t there = (int32_t)(to.at - (pc + JUMP_BYTES));
    memcpy(code->jump + 1, &there, sizeof(there));
    return to.fits;
}
