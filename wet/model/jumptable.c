/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Evaluates the path to an indirect jump in a small domain of values, enough for what compilers
 * make of switch:
 *
 *     cmp $N, %eax; ja default              bounds the unknown in eax
 *     lea table(%rip), %rdx                 CONST
 *     movslq (%rdx,%rax,4), %rax            LOAD of 4 bytes at table + 4 * unknown
 *     add %rdx, %rax; jmp *%rax             SUM of CONST and LOAD
 *     jmp *table(,%rax,8)                   LOAD of 8 bytes
 *
 * and the same with the operands on the stack (-O0), with `and` or a byte extension as the bound,
 * or with the extension moved out of a loop while its lowest bits are compared inside.
 * A table counts only with a bound, so one table never runs into the next.
 */
#include "wet/model/jumptable.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <wetdbg/errors.h>

#define REG_COUNT  16
#define SLOT_COUNT 16
#define ID_MAX     (MDL_JUMPTABLE_PATH_MAX * 8)
#define UNBOUNDED  UINT64_MAX

enum value_kind {
    VALUE_LINEAR, /* constant + scale * unknown `id`; a plain unknown has scale 1, constant 0 */
    VALUE_CONST,
    VALUE_LOAD, /* what is in memory at constant + scale * unknown */
    VALUE_SUM   /* `addend` plus such a load, sign-extended */
};

struct value {
    enum value_kind kind;
    unsigned id;
    uint64_t scale;
    uint64_t constant;
    unsigned width; /* of a load, bytes */
    bool is_signed;
    uint64_t addend;
};

/* A memory cell: [register + displacement], as long as the register keeps its value. Stores through
 * other registers are taken not to change it: between a bound and its jump there are none. */
struct slot {
    ZydisRegister base;
    int64_t displacement;
    unsigned size_bits;
    struct value value;
};

struct machine {
    const struct mdl_mod *mod;
    struct value regs[REG_COUNT];
    struct slot slots[SLOT_COUNT];
    unsigned slot_count;
    uint64_t bounds[ID_MAX]; /* largest value of an unknown */
    /* The unknowns that are the lowest byte and the lowest two bytes of one, without what lies
     * above them; 0: not asked for yet (it is a register's). */
    unsigned low[2][ID_MAX];
    unsigned id_count;
    int compared; /* flags hold a comparison of unknown compared_id with compared_with */
    unsigned compared_id;
    uint64_t compared_with;
    ZydisDecoder decoder;
};

/* One decoded instruction. */
struct step {
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    uint64_t pc;
    uint64_t next_pc; /* where the path goes on */
};

static struct value unknown(struct machine *m, uint64_t bound)
{
    /* running out of numbers is harmless: the last one is never bounded */
    unsigned id = m->id_count < ID_MAX - 1 ? m->id_count++ : ID_MAX - 1;

    m->bounds[id] = id == ID_MAX - 1 ? UNBOUNDED : bound;
    return (struct value){.kind = VALUE_LINEAR, .id = id, .scale = 1};
}

static struct value constant(uint64_t value)
{
    return (struct value){.kind = VALUE_CONST, .constant = value};
}

/* The lowest 8 or 16 bits of an unknown: the same one if it has no others. Whoever extends them and
 * whoever compares them means the same value, in whichever order these come. */
static unsigned low_part(struct machine *m, unsigned id, unsigned bits)
{
    uint64_t most = (UINT64_C(1) << bits) - 1;
    unsigned *part = &m->low[bits == 16][id];

    if (m->bounds[id] <= most || id == ID_MAX - 1)
        return id;
    if (*part == 0)
        *part = unknown(m, most).id;
    return *part;
}

static bool is_plain_unknown(const struct value *value)
{
    return value->kind == VALUE_LINEAR && value->scale == 1 && value->constant == 0;
}

/* Number of the general register that contains a register, or -1. */
static int reg_number(ZydisRegister reg)
{
    ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

    if (wide < ZYDIS_REGISTER_RAX || wide > ZYDIS_REGISTER_R15)
        return -1;
    return (int)(wide - ZYDIS_REGISTER_RAX);
}

static bool is_slot(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.base != ZYDIS_REGISTER_RIP &&
           reg_number(operand->mem.base) >= 0 && operand->mem.index == ZYDIS_REGISTER_NONE &&
           operand->mem.segment != ZYDIS_REGISTER_FS && operand->mem.segment != ZYDIS_REGISTER_GS;
}

/* The slot of a memory operand, made if need be (the oldest gives way). */
static struct slot *find_slot(struct machine *m, const ZydisDecodedOperand *operand)
{
    struct slot *slot;

    for (unsigned i = 0; i < m->slot_count; i++)
        if (m->slots[i].base == operand->mem.base &&
            m->slots[i].displacement == operand->mem.disp.value) {
            if (m->slots[i].size_bits != operand->size) {
                m->slots[i].size_bits = operand->size;
                m->slots[i].value = unknown(m, UNBOUNDED);
            }
            return &m->slots[i];
        }
    if (m->slot_count == SLOT_COUNT) {
        memmove(m->slots, m->slots + 1, (SLOT_COUNT - 1) * sizeof(m->slots[0]));
        m->slot_count--;
    }
    slot = &m->slots[m->slot_count++];
    *slot = (struct slot){operand->mem.base, operand->mem.disp.value, operand->size,
                          unknown(m, UNBOUNDED)};
    return slot;
}

static void forget_slots(struct machine *m, ZydisRegister base)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < m->slot_count; i++)
        if (m->slots[i].base != base)
            m->slots[kept++] = m->slots[i];
    m->slot_count = kept;
}

static struct value register_value(const struct machine *m, const struct step *step,
                                   ZydisRegister reg, bool *is_known)
{
    int number = reg_number(reg);

    *is_known = true;
    if (reg == ZYDIS_REGISTER_RIP)
        return constant(step->pc + step->insn.length);
    if (number >= 0)
        return m->regs[number];
    *is_known = false;
    return constant(0);
}

/* Adds factor * part to an address of the form constant + scale * unknown. */
static int address_add(struct value *address, const struct value *part, uint64_t factor)
{
    address->constant += part->constant * factor;
    if (part->kind == VALUE_CONST)
        return 0;
    if (part->kind != VALUE_LINEAR || address->scale != 0)
        return -1;
    address->id = part->id;
    address->scale = part->scale * factor;
    return 0;
}

/* The address of a memory operand as CONST or LINEAR; -1 if it has no such form. */
static int operand_address(const struct machine *m, const struct step *step,
                           const ZydisDecodedOperand *operand, struct value *address)
{
    struct value part;
    bool is_known;

    *address = (struct value){.kind = VALUE_LINEAR, .constant = (uint64_t)operand->mem.disp.value};
    if (operand->mem.segment == ZYDIS_REGISTER_FS || operand->mem.segment == ZYDIS_REGISTER_GS)
        return -1;
    if (operand->mem.base != ZYDIS_REGISTER_NONE) {
        part = register_value(m, step, operand->mem.base, &is_known);
        if (!is_known || address_add(address, &part, 1) < 0)
            return -1;
    }
    if (operand->mem.index != ZYDIS_REGISTER_NONE) {
        part = register_value(m, step, operand->mem.index, &is_known);
        if (!is_known || address_add(address, &part, operand->mem.scale) < 0)
            return -1;
    }
    if (address->scale == 0)
        address->kind = VALUE_CONST;
    return 0;
}

/* The value that an operand has when read. */
static struct value operand_value(struct machine *m, const struct step *step,
                                  const ZydisDecodedOperand *operand)
{
    struct value value;
    bool is_known;

    if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return constant(operand->imm.value.u);
    if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        value = register_value(m, step, operand->reg.value, &is_known);
        return is_known ? value : unknown(m, UNBOUNDED);
    }
    if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
        operand_address(m, step, operand, &value) == 0 && value.kind == VALUE_LINEAR &&
        value.scale == operand->size / 8u && value.scale >= 4) {
        value.kind = VALUE_LOAD;
        value.width = operand->size / 8u;
        return value;
    }
    return is_slot(operand) ? find_slot(m, operand)->value : unknown(m, UNBOUNDED);
}

static void set_operand(struct machine *m, const ZydisDecodedOperand *operand, struct value value)
{
    int number;

    if (is_slot(operand)) {
        find_slot(m, operand)->value = value;
        return;
    }
    if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return;
    number = reg_number(operand->reg.value);
    if (number < 0)
        return;
    m->regs[number] = value;
    forget_slots(m, (ZydisRegister)(ZYDIS_REGISTER_RAX + number));
}

/* Everything else: each register written is unknown from now on. */
static void step_other(struct machine *m, const struct step *step)
{
    for (unsigned i = 0; i < step->insn.operand_count; i++) {
        const ZydisDecodedOperand *operand = &step->operands[i];

        if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            set_operand(m, operand, unknown(m, UNBOUNDED));
    }
    if (step->insn.cpu_flags && (step->insn.cpu_flags->modified | step->insn.cpu_flags->set_0 |
                                 step->insn.cpu_flags->set_1 | step->insn.cpu_flags->undefined))
        m->compared = 0;
}

static void step_move(struct machine *m, const struct step *step)
{
    const ZydisDecodedOperand *to = &step->operands[0], *from = &step->operands[1];
    struct value value = operand_value(m, step, from);

    if (from->size < 32 || to->size < 32)
        value = unknown(m, UNBOUNDED);
    set_operand(m, to, value);
}

/* movsxd, cdqe: keeps unknowns (bounds are below 2^31 or useless), makes loads signed. */
static void step_extend_signed(struct machine *m, const struct step *step,
                               const ZydisDecodedOperand *to, const ZydisDecodedOperand *from)
{
    struct value value = operand_value(m, step, from);

    if (from->size != 32)
        value = unknown(m, UNBOUNDED);
    if (value.kind == VALUE_LOAD && value.width == 4)
        value.is_signed = true;
    set_operand(m, to, value);
}

static void step_extend_zero(struct machine *m, const struct step *step)
{
    const ZydisDecodedOperand *from = &step->operands[1];
    unsigned bits = from->size == 8 ? 8 : 16;
    struct value value = operand_value(m, step, from);

    if (!is_plain_unknown(&value))
        value = unknown(m, (UINT64_C(1) << bits) - 1);
    value.id = low_part(m, value.id, bits);
    set_operand(m, &step->operands[0], value);
}

static void step_lea(struct machine *m, const struct step *step)
{
    struct value value;

    /* x - 5 as an index gets its bound after the subtraction: treat it as an unknown of its own */
    if (operand_address(m, step, &step->operands[1], &value) < 0 ||
        (value.kind == VALUE_LINEAR && value.scale == 1 && value.constant != 0) ||
        step->operands[0].size < 32)
        value = unknown(m, UNBOUNDED);
    set_operand(m, &step->operands[0], value);
}

static void step_add(struct machine *m, const struct step *step)
{
    struct value a = operand_value(m, step, &step->operands[0]);
    struct value b = operand_value(m, step, &step->operands[1]);
    struct value sum = unknown(m, UNBOUNDED);

    if (b.kind == VALUE_LOAD) {
        struct value swap = a;

        a = b;
        b = swap;
    }
    if (a.kind == VALUE_CONST && b.kind == VALUE_CONST) {
        sum = constant(a.constant + b.constant);
    } else if (a.kind == VALUE_LOAD && a.width == 4 && a.is_signed && b.kind == VALUE_CONST) {
        sum = a;
        sum.kind = VALUE_SUM;
        sum.addend = b.constant;
    }
    set_operand(m, &step->operands[0], sum);
    m->compared = 0;
}

static void step_and(struct machine *m, const struct step *step)
{
    uint64_t mask = UNBOUNDED;

    if (step->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
        step->operands[1].imm.value.s >= 0)
        mask = step->operands[1].imm.value.u;
    set_operand(m, &step->operands[0], unknown(m, mask));
    m->compared = 0;
}

static void step_compare(struct machine *m, const struct step *step)
{
    struct value value = operand_value(m, step, &step->operands[0]);

    /* on this path it may be a constant, or something that the domain cannot bound */
    if (!is_plain_unknown(&value)) {
        value = unknown(m, UNBOUNDED);
        set_operand(m, &step->operands[0], value);
    }
    m->compared =
        step->operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && is_plain_unknown(&value);
    m->compared_id = value.id;
    if (m->compared && (step->operands[0].size == 8 || step->operands[0].size == 16))
        m->compared_id = low_part(m, value.id, step->operands[0].size);
    m->compared_with = step->operands[1].imm.value.u;
    if (m->compared && step->operands[0].size < 64)
        m->compared_with &= (UINT64_C(1) << step->operands[0].size) - 1;
}

/* clang compares with `sub` after saving the value. */
static void step_subtract(struct machine *m, const struct step *step)
{
    step_compare(m, step);
    set_operand(m, &step->operands[0], unknown(m, UNBOUNDED));
}

static void step_branch(struct machine *m, const struct step *step)
{
    bool is_taken = step->next_pc != step->pc + step->insn.length;
    uint64_t bound = UNBOUNDED;

    if (!m->compared)
        return;
    switch (step->insn.mnemonic) {
    case ZYDIS_MNEMONIC_JNBE:
        bound = is_taken ? UNBOUNDED : m->compared_with;
        break;
    case ZYDIS_MNEMONIC_JBE:
        bound = is_taken ? m->compared_with : UNBOUNDED;
        break;
    case ZYDIS_MNEMONIC_JNB:
        bound = is_taken || m->compared_with == 0 ? UNBOUNDED : m->compared_with - 1;
        break;
    case ZYDIS_MNEMONIC_JB:
        bound = !is_taken || m->compared_with == 0 ? UNBOUNDED : m->compared_with - 1;
        break;
    default:
        break;
    }
    if (bound < m->bounds[m->compared_id] && m->compared_id != ID_MAX - 1)
        m->bounds[m->compared_id] = bound;
}

static void step_call(struct machine *m)
{
    static const uint8_t clobbered[] = {0, 1, 2, 6, 7, 8, 9, 10, 11}; /* rax rcx rdx rsi rdi r8.. */

    for (size_t i = 0; i < sizeof(clobbered); i++) {
        m->regs[clobbered[i]] = unknown(m, UNBOUNDED);
        forget_slots(m, (ZydisRegister)(ZYDIS_REGISTER_RAX + clobbered[i]));
    }
    m->compared = 0;
}

static void step_run(struct machine *m, const struct step *step)
{
    switch (step->insn.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        step_move(m, step);
        break;
    case ZYDIS_MNEMONIC_MOVSXD:
    case ZYDIS_MNEMONIC_CDQE:
        step_extend_signed(m, step, &step->operands[0], &step->operands[1]);
        break;
    case ZYDIS_MNEMONIC_MOVZX:
        step_extend_zero(m, step);
        break;
    case ZYDIS_MNEMONIC_LEA:
        step_lea(m, step);
        break;
    case ZYDIS_MNEMONIC_ADD:
        step_add(m, step);
        break;
    case ZYDIS_MNEMONIC_AND:
        step_and(m, step);
        break;
    case ZYDIS_MNEMONIC_CMP:
        step_compare(m, step);
        break;
    case ZYDIS_MNEMONIC_SUB:
        step_subtract(m, step);
        break;
    case ZYDIS_MNEMONIC_CALL:
        step_call(m);
        break;
    default:
        if (step->insn.meta.category == ZYDIS_CATEGORY_COND_BR)
            step_branch(m, step);
        else
            step_other(m, step);
        break;
    }
}

/* ---- Reading the table -------------------------------------------------------------------- */

static int read_entry(const struct mdl_mod *mod, const struct value *load, uint64_t index,
                      uint64_t *target)
{
    size_t available;
    uint64_t address = load->constant + index * load->scale, raw = 0;
    const uint8_t *bytes = mdl_mod_bytes(mod, address, &available);

    if (!bytes || available < load->width)
        return -1;
    memcpy(&raw, bytes, load->width);
    if (load->kind == VALUE_SUM) {
        *target = load->addend + (uint64_t)(int64_t)(int32_t)raw;
    } else if (load->width == 8) {
        *target = mdl_mod_is_code(mod, raw) ? raw : raw + mod->info.bias;
    } else {
        return -1;
    }
    return mdl_mod_is_code(mod, *target) ? 0 : -1;
}

static int read_table(const struct machine *m, const struct value *load, uint64_t **targets,
                      size_t *count)
{
    uint64_t bound;

    if ((load->kind != VALUE_LOAD && load->kind != VALUE_SUM) || load->scale == 0)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    bound = m->bounds[load->id];
    if (bound >= MDL_JUMPTABLE_MAX)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    *targets = calloc(bound + 1, sizeof(**targets));
    if (!*targets)
        return -ENOMEM;
    for (uint64_t i = 0; i <= bound; i++)
        if (read_entry(m->mod, load, i, &(*targets)[i]) < 0) {
            free(*targets);
            return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
        }
    *count = bound + 1;
    return 0;
}

static int decode_step(const struct machine *m, struct step *step)
{
    size_t available;
    const uint8_t *bytes = mdl_mod_bytes(m->mod, step->pc, &available);

    if (!bytes || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&m->decoder, bytes, available, &step->insn,
                                                       step->operands)))
        return -1;
    return 0;
}

int mdl_jumptable_resolve(const struct mdl_mod *mod, const uint64_t *path, size_t path_count,
                          uint64_t **targets, size_t *count)
{
    struct machine *m = calloc(1, sizeof(*m));
    struct value target;
    struct step step;
    int err = -WETDBG_ERR_NOT_FOUND;

    if (!m)
        return -ENOMEM;
    m->mod = mod;
    ZydisDecoderInit(&m->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (int reg = 0; reg < REG_COUNT; reg++)
        m->regs[reg] = unknown(m, UNBOUNDED);
    for (size_t i = 0; i < path_count; i++) {
        step.pc = path[i];
        step.next_pc = i + 1 < path_count ? path[i + 1] : 0;
        if (decode_step(m, &step) < 0)
            goto out;
        if (i + 1 < path_count)
            step_run(m, &step);
    }
    if (path_count && step.insn.operand_count_visible == 1) {
        target = operand_value(m, &step, &step.operands[0]);
        err = read_table(m, &target, targets, count);
    }
out:
    free(m);
    return err;
}
