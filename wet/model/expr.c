/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stack machine for DWARF expressions. They come from files, so the stack, the number of steps
 * and every operand are checked.
 */
#include "wet/model/expr.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <wetdbg/errors.h>

#define STACK_MAX 64
#define STEPS_MAX 10000

struct stack {
    const struct mdl_expr_env *env;
    const Dwarf_Op *ops;
    size_t count;
    size_t at; /* of the operation being evaluated */
    uint64_t items[STACK_MAX];
    unsigned depth;
    struct wetdbg_place *place;
    bool is_final; /* place is complete (register, implicit value, gone) */
};

static int corrupt(const char *what)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "damaged location expression: %s", what);
}

static int push(struct stack *stack, uint64_t value)
{
    if (stack->depth == STACK_MAX)
        return corrupt("stack overflow");
    stack->items[stack->depth++] = value;
    return 0;
}

static int pop(struct stack *stack, uint64_t *value)
{
    if (stack->depth == 0)
        return corrupt("stack underflow");
    *value = stack->items[--stack->depth];
    return 0;
}

static int push_register(struct stack *stack, uint64_t reg, uint64_t offset)
{
    const struct wetdbg_machine *machine = stack->env->machine;
    uint64_t value = 0;
    int result;

    if (reg > INT16_MAX)
        return corrupt("register number");
    result = machine->read_register(machine->context, (unsigned)reg, &value);
    return result < 0 ? result : push(stack, value + offset);
}

static int push_memory(struct stack *stack, uint64_t size)
{
    const struct wetdbg_machine *machine = stack->env->machine;
    uint64_t address, value = 0;
    int result = pop(stack, &address);

    if (result == 0 && (size == 0 || size > sizeof(value)))
        result = corrupt("size of a memory access");
    if (result == 0)
        result = machine->read_memory(machine->context, address, &value, size);
    return result < 0 ? result : push(stack, value);
}

static int push_from(struct stack *stack, int (*get)(void *, uint64_t *), uint64_t offset)
{
    uint64_t value = 0;
    int result;

    if (!get)
        return corrupt("frame operation outside a frame");
    result = get(stack->env->context, &value);
    return result < 0 ? result : push(stack, value + offset);
}

/* DW_OP_addrx and kin: the operand is an index into the unit's address table. */
static int push_indexed(struct stack *stack, const Dwarf_Op *op, uint64_t bias)
{
    Dwarf_Attribute attribute;
    Dwarf_Addr address;

    if (!stack->env->attr || dwarf_getlocation_attr(stack->env->attr, op, &attribute) != 0 ||
        dwarf_formaddr(&attribute, &address) != 0)
        return corrupt("address index");
    return push(stack, address + bias);
}

static int push_tls(struct stack *stack)
{
    uint64_t offset = 0, address;
    int result = pop(stack, &offset);

    if (result == 0 && !stack->env->tls)
        result = corrupt("thread-local address in a frame");
    if (result == 0)
        result = stack->env->tls(stack->env->context, offset, &address);
    return result < 0 ? result : push(stack, address);
}

static int gone(struct stack *stack, const char *reason)
{
    stack->place->kind = WETDBG_PLACE_NONE;
    snprintf(stack->place->reason, sizeof(stack->place->reason), "%s", reason);
    stack->is_final = true;
    return 0;
}

static int in_register(struct stack *stack, uint64_t reg)
{
    if (reg > INT16_MAX)
        return corrupt("register number");
    stack->place->kind = WETDBG_PLACE_REGISTER;
    stack->place->reg = (unsigned)reg;
    stack->is_final = true;
    return 0;
}

static int take_value(struct stack *stack)
{
    stack->place->kind = WETDBG_PLACE_VALUE;
    stack->is_final = true;
    return pop(stack, &stack->place->value);
}

static int take_implicit(struct stack *stack, const Dwarf_Op *op)
{
    Dwarf_Block block;

    if (!stack->env->attr || dwarf_getlocation_implicit_value(stack->env->attr, op, &block) != 0 ||
        !block.data)
        return corrupt("implicit value");
    if (block.length > sizeof(stack->place->value))
        return gone(stack, "constant wider than 8 bytes");
    memcpy(&stack->place->value, block.data, block.length);
    stack->place->kind = WETDBG_PLACE_VALUE;
    stack->is_final = true;
    return 0;
}

/* A piece that is the whole object states its size; several are not representable. */
static int take_piece(struct stack *stack, uint64_t size)
{
    if (stack->at + 1 < stack->count)
        return gone(stack, "spread over several places");
    if (!stack->is_final && stack->depth == 0)
        return gone(stack, "optimized out");
    stack->place->size_bytes = size;
    return 0;
}

/* ---- Arithmetic -------------------------------------------------------------------------- */

static int binary(uint8_t atom, uint64_t a, uint64_t b, uint64_t *result)
{
    int64_t sa = (int64_t)a, sb = (int64_t)b;

    switch (atom) {
    case DW_OP_and:
        *result = a & b;
        return 0;
    case DW_OP_or:
        *result = a | b;
        return 0;
    case DW_OP_xor:
        *result = a ^ b;
        return 0;
    case DW_OP_plus:
        *result = a + b;
        return 0;
    case DW_OP_minus:
        *result = a - b;
        return 0;
    case DW_OP_mul:
        *result = a * b;
        return 0;
    case DW_OP_div:
        if (b == 0 || (sa == INT64_MIN && sb == -1))
            return corrupt("division");
        *result = (uint64_t)(sa / sb);
        return 0;
    case DW_OP_mod:
        if (b == 0)
            return corrupt("division");
        *result = a % b;
        return 0;
    case DW_OP_shl:
        *result = b < 64 ? a << b : 0;
        return 0;
    case DW_OP_shr:
        *result = b < 64 ? a >> b : 0;
        return 0;
    case DW_OP_shra:
        *result = (uint64_t)(sa >> (b < 63 ? b : 63));
        return 0;
    case DW_OP_eq:
        *result = sa == sb;
        return 0;
    case DW_OP_ne:
        *result = sa != sb;
        return 0;
    case DW_OP_lt:
        *result = sa < sb;
        return 0;
    case DW_OP_le:
        *result = sa <= sb;
        return 0;
    case DW_OP_gt:
        *result = sa > sb;
        return 0;
    case DW_OP_ge:
        *result = sa >= sb;
        return 0;
    default:
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "location expression with operation 0x%x",
                           atom);
    }
}

static int eval_binary(struct stack *stack, uint8_t atom)
{
    uint64_t a = 0, b = 0, value = 0;
    int result = pop(stack, &b);

    if (result == 0)
        result = pop(stack, &a);
    if (result == 0)
        result = binary(atom, a, b, &value);
    return result < 0 ? result : push(stack, value);
}

static int eval_unary(struct stack *stack, const Dwarf_Op *op)
{
    uint64_t value = 0;
    int result = pop(stack, &value);

    if (result < 0)
        return result;
    switch (op->atom) {
    case DW_OP_abs:
        value = (int64_t)value < 0 ? 0 - value : value;
        break;
    case DW_OP_neg:
        value = 0 - value;
        break;
    case DW_OP_not:
        value = ~value;
        break;
    default: /* DW_OP_plus_uconst */
        value += op->number;
        break;
    }
    return push(stack, value);
}

static int eval_shuffle(struct stack *stack, const Dwarf_Op *op)
{
    unsigned depth = stack->depth;
    uint64_t *top = stack->items + depth, swap, index;

    switch (op->atom) {
    case DW_OP_drop:
        return pop(stack, &swap);
    case DW_OP_swap:
        if (depth < 2)
            return corrupt("stack underflow");
        swap = top[-1];
        top[-1] = top[-2];
        top[-2] = swap;
        return 0;
    case DW_OP_rot:
        if (depth < 3)
            return corrupt("stack underflow");
        swap = top[-1];
        top[-1] = top[-2];
        top[-2] = top[-3];
        top[-3] = swap;
        return 0;
    default: /* dup, over, pick */
        index = op->atom == DW_OP_dup ? 0 : op->atom == DW_OP_over ? 1 : op->number;
        if (index >= depth)
            return corrupt("stack underflow");
        return push(stack, stack->items[depth - 1 - index]);
    }
}

/* ---- Control ----------------------------------------------------------------------------- */

/* Goes to the operation at a byte offset; `at` is advanced by the caller afterwards. */
static int jump(struct stack *stack, const Dwarf_Op *op)
{
    uint64_t wanted = op->offset + 3 + op->number;

    for (size_t i = 0; i < stack->count; i++)
        if (stack->ops[i].offset == wanted) {
            stack->at = i - 1; /* may wrap: the caller adds one */
            return 0;
        }
    stack->at = stack->count - 1; /* to the end */
    return 0;
}

static int branch(struct stack *stack, const Dwarf_Op *op)
{
    uint64_t condition = 0;
    int result = pop(stack, &condition);

    return result < 0 || condition == 0 ? result : jump(stack, op);
}

static int step(struct stack *stack, const Dwarf_Op *op)
{
    uint8_t atom = op->atom;

    if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
        return push(stack, atom - DW_OP_lit0);
    if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31)
        return in_register(stack, atom - DW_OP_reg0);
    if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
        return push_register(stack, atom - DW_OP_breg0, op->number);
    switch (atom) {
    case DW_OP_addr:
        return push(stack, op->number + stack->env->bias);
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index:
        return push_indexed(stack, op, stack->env->bias);
    case DW_OP_constx:
    case DW_OP_GNU_const_index:
        return push_indexed(stack, op, 0);
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts:
        return push(stack, op->number);
    case DW_OP_regx:
        return in_register(stack, op->number);
    case DW_OP_bregx:
        return push_register(stack, op->number, op->number2);
    case DW_OP_fbreg:
        return push_from(stack, stack->env->frame_base, op->number);
    case DW_OP_call_frame_cfa:
        return push_from(stack, stack->env->cfa, 0);
    case DW_OP_deref:
        return push_memory(stack, 8);
    case DW_OP_deref_size:
        return push_memory(stack, op->number);
    case DW_OP_form_tls_address:
    case DW_OP_GNU_push_tls_address:
        return push_tls(stack);
    case DW_OP_dup:
    case DW_OP_drop:
    case DW_OP_over:
    case DW_OP_pick:
    case DW_OP_swap:
    case DW_OP_rot:
        return eval_shuffle(stack, op);
    case DW_OP_abs:
    case DW_OP_neg:
    case DW_OP_not:
    case DW_OP_plus_uconst:
        return eval_unary(stack, op);
    case DW_OP_skip:
        return jump(stack, op);
    case DW_OP_bra:
        return branch(stack, op);
    case DW_OP_nop:
    case DW_OP_GNU_uninit:
        return 0;
    case DW_OP_piece:
        return take_piece(stack, op->number);
    case DW_OP_stack_value:
        return take_value(stack);
    case DW_OP_implicit_value:
        return take_implicit(stack, op);
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
        return gone(stack, "optimized out (known only at the function's entry)");
    case DW_OP_implicit_pointer:
    case DW_OP_GNU_implicit_pointer:
        return gone(stack, "optimized out (a pointer to what has no address)");
    case DW_OP_bit_piece:
        return gone(stack, "in single bits of a place");
    default:
        return eval_binary(stack, atom);
    }
}

int mdl_expr_eval(const struct mdl_expr_env *env, const Dwarf_Op *ops, size_t count,
                  struct wetdbg_place *place)
{
    struct stack stack = {.env = env, .ops = ops, .count = count, .place = place};
    int result;

    memset(place, 0, sizeof(*place));
    if (count == 0)
        return gone(&stack, "optimized out");
    if (env->object)
        stack.items[stack.depth++] = *env->object;
    for (unsigned steps = 0; stack.at < count; stack.at++, steps++) {
        if (steps == STEPS_MAX)
            return corrupt("endless");
        result = step(&stack, &ops[stack.at]);
        if (result < 0)
            return result;
        if (place->kind == WETDBG_PLACE_NONE && stack.is_final)
            return 0;
    }
    if (stack.is_final)
        return 0;
    place->kind = WETDBG_PLACE_MEMORY;
    return pop(&stack, &place->address);
}
