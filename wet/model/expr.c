/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stack machine for DWARF expressions. They come from files, so the stack, the number of steps
 * and every operand are checked.
 */
#include "wet/model/expr.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wet/model/expr_value.h"
#include <wetdbg/errors.h>

#define STACK_MAX 64
#define STEPS_MAX 10000

struct stack {
    const struct mdl_expr_env *env;
    const Dwarf_Op *ops;
    size_t count;
    size_t at; /* of the operation being evaluated */
    struct mdl_expr_value items[STACK_MAX];
    unsigned depth;
    struct wetdbg_piece now;     /* the piece that is made */
    bool is_final;               /* its place is complete (register, implicit value, gone) */
    bool is_gone;                /* it has none: what follows of it is passed over */
    struct wetdbg_piece *pieces; /* those before it */
    size_t piece_count;
};

static int corrupt(const char *what)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "damaged location expression: %s", what);
}

static int push_operand(struct stack *stack, struct mdl_expr_value operand)
{
    if (stack->depth == STACK_MAX)
        return corrupt("stack overflow");
    stack->items[stack->depth++] = operand;
    return 0;
}

static int push(struct stack *stack, uint64_t value)
{
    return push_operand(stack, (struct mdl_expr_value){.bits = value});
}

static int pop_operand(struct stack *stack, struct mdl_expr_value *operand)
{
    if (stack->depth == 0)
        return corrupt("stack underflow");
    *operand = stack->items[--stack->depth];
    return 0;
}

static int pop(struct stack *stack, uint64_t *value)
{
    struct mdl_expr_value operand = {0};
    int result = pop_operand(stack, &operand);

    if (result == 0)
        *value = operand.bits;
    return result;
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

/* ---- Types -------------------------------------------------------------------------------- */

/* The type that an operation names; the generic one if it names none. */
static int named_type(struct stack *stack, const Dwarf_Op *op, struct mdl_expr_value_type *type)
{
    Dwarf_Die die;

    *type = (struct mdl_expr_value_type){0};
    if (op->atom != DW_OP_regval_type && op->atom != DW_OP_GNU_regval_type &&
        op->atom != DW_OP_deref_type && op->atom != DW_OP_GNU_deref_type && op->number == 0)
        return 0;
    if (!stack->env->attr || dwarf_getlocation_die(stack->env->attr, op, &die) != 0)
        return corrupt("type");
    return mdl_expr_value_type_of(&die, type);
}

static int convert(struct stack *stack, const Dwarf_Op *op, bool is_number)
{
    struct mdl_expr_value_type type;
    struct mdl_expr_value operand;
    int result = named_type(stack, op, &type);

    if (result == 0)
        result = pop_operand(stack, &operand);
    if (result < 0)
        return result;
    return push_operand(stack, is_number ? mdl_expr_value_convert(operand, type)
                                         : mdl_expr_value_of_bits(operand.bits, type));
}

/* The top of the stack, which was just pushed, is of the type that the operation names. */
static int retype(struct stack *stack, const Dwarf_Op *op, int result)
{
    struct mdl_expr_value_type type;

    if (result == 0)
        result = named_type(stack, op, &type);
    if (result < 0)
        return result;
    stack->items[stack->depth - 1] =
        mdl_expr_value_of_bits(stack->items[stack->depth - 1].bits, type);
    return 0;
}

static int push_constant(struct stack *stack, const Dwarf_Op *op)
{
    Dwarf_Attribute attribute;
    Dwarf_Block block;
    uint64_t bits = 0;

    if (!stack->env->attr || dwarf_getlocation_attr(stack->env->attr, op, &attribute) != 0 ||
        dwarf_formblock(&attribute, &block) != 0 || !block.data)
        return corrupt("constant");
    memcpy(&bits, block.data, block.length < sizeof(bits) ? block.length : sizeof(bits));
    return retype(stack, op, push(stack, bits));
}

/* ---- Places ------------------------------------------------------------------------------- */

static int gone(struct stack *stack, const char *reason)
{
    stack->now.place.kind = WETDBG_PLACE_NONE;
    snprintf(stack->now.place.reason, sizeof(stack->now.place.reason), "%s", reason);
    stack->is_final = stack->is_gone = true;
    return 0;
}

static int in_register(struct stack *stack, uint64_t reg)
{
    if (reg > INT16_MAX)
        return corrupt("register number");
    stack->now.place.kind = WETDBG_PLACE_REGISTER;
    stack->now.place.reg = (unsigned)reg;
    stack->is_final = true;
    return 0;
}

static int take_value(struct stack *stack)
{
    stack->now.place.kind = WETDBG_PLACE_VALUE;
    stack->is_final = true;
    return pop(stack, &stack->now.place.value);
}

static int take_implicit(struct stack *stack, const Dwarf_Op *op)
{
    Dwarf_Block block;

    if (!stack->env->attr || dwarf_getlocation_implicit_value(stack->env->attr, op, &block) != 0 ||
        !block.data)
        return corrupt("implicit value");
    if (block.length > sizeof(stack->now.place.value)) {
        stack->now.bytes = block.data;
        stack->now.byte_count = block.length;
        return gone(stack, "constant wider than 8 bytes");
    }
    memcpy(&stack->now.place.value, block.data, block.length);
    stack->now.place.kind = WETDBG_PLACE_VALUE;
    stack->is_final = true;
    return 0;
}

/* A pointer that was optimized out, to something that the program has otherwise. */
static int take_pointer(struct stack *stack, const Dwarf_Op *op)
{
    Dwarf_Die die;

    if (stack->env->attr && stack->env->handle_of &&
        dwarf_getlocation_die(stack->env->attr, op, &die) == 0) {
        stack->now.target = stack->env->handle_of(stack->env->context, &die);
        stack->now.target_offset_bytes = (int64_t)op->number2;
        if (!stack->now.target)
            return -ENOMEM;
    }
    return gone(stack, "optimized out (a pointer to what has no address)");
}

static int push_entry_value(struct stack *stack, const Dwarf_Op *op)
{
    Dwarf_Attribute attribute;
    uint64_t value = 0;
    int result = -WETDBG_ERR_NOT_FOUND;

    if (stack->env->attr && dwarf_getlocation_attr(stack->env->attr, op, &attribute) == 0 &&
        stack->env->entry_value)
        result = stack->env->entry_value(stack->env->context, &attribute, &value);
    if (result == -WETDBG_ERR_NOT_FOUND)
        return gone(stack, "optimized out (known only at the function's entry)");
    return result < 0 ? result : push(stack, value);
}

/* Ends a piece of so many bits; 0: the whole. */
static int end_piece(struct stack *stack, uint64_t size_bits)
{
    struct wetdbg_piece *grown;
    int result = 0;

    if (!stack->is_final && stack->depth == 0) {
        gone(stack, "optimized out");
    } else if (!stack->is_final) {
        stack->now.place.kind = WETDBG_PLACE_MEMORY;
        result = pop(stack, &stack->now.place.address);
    }
    if (result < 0)
        return result;
    grown = reallocarray(stack->pieces, stack->piece_count + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    stack->now.size_bits = size_bits;
    stack->now.place.size_bytes = size_bits / 8;
    stack->pieces = grown;
    grown[stack->piece_count++] = stack->now;
    memset(&stack->now, 0, sizeof(stack->now));
    stack->is_final = stack->is_gone = false;
    return 0;
}

/* ---- Arithmetic -------------------------------------------------------------------------- */

static int eval_binary(struct stack *stack, uint8_t atom)
{
    struct mdl_expr_value a, b, made;
    int result = pop_operand(stack, &b);

    if (result == 0)
        result = pop_operand(stack, &a);
    if (result == 0)
        result = mdl_expr_value_binary(atom, a, b, &made);
    return result < 0 ? result : push_operand(stack, made);
}

static int eval_unary(struct stack *stack, const Dwarf_Op *op)
{
    struct mdl_expr_value operand, made;
    int result = pop_operand(stack, &operand);

    if (result == 0 && op->atom == DW_OP_plus_uconst)
        made = mdl_expr_value_of_bits(operand.bits + op->number, operand.type);
    else if (result == 0)
        result = mdl_expr_value_unary(op->atom, operand, &made);
    return result < 0 ? result : push_operand(stack, made);
}

static int eval_shuffle(struct stack *stack, const Dwarf_Op *op)
{
    unsigned depth = stack->depth;
    struct mdl_expr_value *top = stack->items + depth, swap;
    uint64_t index;

    switch (op->atom) {
    case DW_OP_drop:
        return pop_operand(stack, &swap);
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
        return push_operand(stack, stack->items[depth - 1 - index]);
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
    case DW_OP_convert:
    case DW_OP_GNU_convert:
    case DW_OP_reinterpret:
    case DW_OP_GNU_reinterpret:
        return convert(stack, op, atom == DW_OP_convert || atom == DW_OP_GNU_convert);
    case DW_OP_regval_type:
    case DW_OP_GNU_regval_type:
        return retype(stack, op, push_register(stack, op->number, 0));
    case DW_OP_deref_type:
    case DW_OP_GNU_deref_type:
        return retype(stack, op, push_memory(stack, op->number));
    case DW_OP_const_type:
    case DW_OP_GNU_const_type:
        return push_constant(stack, op);
    case DW_OP_stack_value:
        return take_value(stack);
    case DW_OP_implicit_value:
        return take_implicit(stack, op);
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
        return push_entry_value(stack, op);
    case DW_OP_implicit_pointer:
    case DW_OP_GNU_implicit_pointer:
        return take_pointer(stack, op);
    case DW_OP_GNU_parameter_ref:
        return gone(stack, "optimized out (what the caller passed)");
    default:
        return eval_binary(stack, atom);
    }
}

/* An operation of a piece, or what ends one. */
static int eval_next(struct stack *stack)
{
    const Dwarf_Op *op = &stack->ops[stack->at];

    if (op->atom == DW_OP_piece && op->number <= UINT64_MAX / 8)
        return end_piece(stack, op->number * 8);
    if (op->atom == DW_OP_bit_piece && op->number2 % 8 == 0) {
        stack->now.place.offset_bytes = (unsigned)(op->number2 / 8);
        if (!stack->is_final && stack->depth)
            stack->items[stack->depth - 1].bits += op->number2 / 8;
        return end_piece(stack, op->number);
    }
    if (op->atom == DW_OP_piece || op->atom == DW_OP_bit_piece) {
        gone(stack, "in single bits of a place");
        return end_piece(stack, op->number);
    }
    return stack->is_gone ? 0 : step(stack, op);
}

static int eval_all(struct stack *stack)
{
    int result = 0;

    if (stack->env->object)
        result = push(stack, *stack->env->object);
    if (stack->count == 0)
        gone(stack, "optimized out");
    for (unsigned steps = 0; result == 0 && stack->at < stack->count; stack->at++, steps++)
        result = steps == STEPS_MAX ? corrupt("endless") : eval_next(stack);
    if (result == 0 && stack->piece_count == 0)
        result = stack->is_final || stack->depth ? end_piece(stack, 0) : corrupt("stack underflow");
    return result;
}

int mdl_expr_pieces(const struct mdl_expr_env *env, const Dwarf_Op *ops, size_t count,
                    struct wetdbg_piece **pieces, size_t *piece_count)
{
    struct stack stack = {.env = env, .ops = ops, .count = count};
    int result = eval_all(&stack);

    if (result < 0) {
        free(stack.pieces);
        return result;
    }
    *pieces = stack.pieces;
    *piece_count = stack.piece_count;
    return 0;
}

void mdl_expr_one_place(const struct wetdbg_piece *pieces, size_t count, struct wetdbg_place *place)
{
    *place = pieces[0].place;
    if (count == 1)
        return;
    memset(place, 0, sizeof(*place));
    place->kind = WETDBG_PLACE_NONE;
    snprintf(place->reason, sizeof(place->reason), "spread over several places");
}

int mdl_expr_eval(const struct mdl_expr_env *env, const Dwarf_Op *ops, size_t count,
                  struct wetdbg_place *place)
{
    struct wetdbg_piece *pieces;
    size_t piece_count;
    int result = mdl_expr_pieces(env, ops, count, &pieces, &piece_count);

    if (result < 0)
        return result;
    mdl_expr_one_place(pieces, piece_count, place);
    free(pieces);
    return 0;
}
