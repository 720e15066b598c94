/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/eval/arithmetic.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <wetdbg/errors.h>

/* An operand after C's conversions. */
struct number {
    bool is_float;
    bool is_signed;
    unsigned size; /* 4 or 8, of floating-point types also 16 */
    uint64_t bits;
    long double value;
};

void cli_value_set(struct cli_value *value, const struct wetdbg_type *type, uint64_t bits)
{
    *value = (struct cli_value){.type = *type};
    memcpy(value->bytes, &bits, sizeof(bits));
}

void cli_value_set_float(struct cli_value *value, const struct wetdbg_type *type,
                         long double number)
{
    float single = (float)number;
    double twice = (double)number;
    *value = (struct cli_value){.type = *type};
    if (type->size_bytes == sizeof(single))
        memcpy(value->bytes, &single, sizeof(single));
    else if (type->size_bytes == sizeof(twice))
        memcpy(value->bytes, &twice, sizeof(twice));
    else
        memcpy(value->bytes, &number, 10); /* the rest is padding */
}

bool cli_float_read(const void *bytes, size_t size, long double *number)
{
    float single;
    double twice;
    *number = 0;
    if (size == sizeof(single)) {
        memcpy(&single, bytes, sizeof(single));
        *number = single;
    } else if (size == sizeof(twice)) {
        memcpy(&twice, bytes, sizeof(twice));
        *number = twice;
    } else if (size == sizeof(*number)) {
        memcpy(number, bytes, 10);
    } else {
        return false;
    }
    return true;
}

static bool is_address(const struct cli_value *value)
{
    return value->type.kind == WETDBG_TYPE_POINTER || value->type.kind == WETDBG_TYPE_ARRAY ||
           value->type.kind == WETDBG_TYPE_FUNCTION;
}

static int get_address(struct cli_moment *moment, const struct cli_value *value, uint64_t *address)
{
    if (value->type.kind == WETDBG_TYPE_POINTER)
        return cli_value_bits(moment, value, address);
    if (!value->is_in_memory)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "the array is not in memory: it has no address");
    *address = value->address;
    return 0;
}

static int get_float(struct cli_moment *moment, const struct cli_value *value, long double *number)
{
    uint8_t bytes[16];
    size_t size = value->type.size_bytes;
    if (size > sizeof(bytes))
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "type '%s' is no number here",
                           value->type.name);
    int err = cli_value_load(moment, value, bytes, size);
    if (!err && !cli_float_read(bytes, size, number))
        err = wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "type '%s' is no number here", value->type.name);
    return err;
}

static int get_number(struct cli_moment *moment, const struct cli_value *value,
                      struct number *number)
{
    *number = (struct number){.is_signed = true};
    switch (value->type.kind) {
    case WETDBG_TYPE_FLOAT:
        number->is_float = true;
        number->size = (unsigned)value->type.size_bytes;
        return get_float(moment, value, &number->value);
    case WETDBG_TYPE_SIGNED:
    case WETDBG_TYPE_UNSIGNED:
    case WETDBG_TYPE_BOOL:
    case WETDBG_TYPE_CHAR:
    case WETDBG_TYPE_ENUM:
    case WETDBG_TYPE_POINTER:
    case WETDBG_TYPE_UNKNOWN:
        break;
    default:
        return wetdbg_fail(-WETDBG_ERR_USAGE, "a value of type '%s' is no number",
                           value->type.name);
    }
    number->size = value->type.size_bytes > 4 ? 8 : 4;
    /* what fits into an int becomes one */
    number->is_signed = value->type.kind == WETDBG_TYPE_SIGNED || value->type.is_signed ||
                        value->type.size_bytes < 4 || (value->bit_size && value->bit_size < 32);
    int err = cli_value_bits(moment, value, &number->bits);
    number->value =
        number->is_signed ? (long double)(int64_t)number->bits : (long double)number->bits;
    return err;
}

static const struct wetdbg_type *integer_type(unsigned size, bool is_signed)
{
    if (size > 4)
        return cli_type_basic(is_signed ? CLI_BASIC_LONG : CLI_BASIC_UNSIGNED_LONG);
    return cli_type_basic(is_signed ? CLI_BASIC_INT : CLI_BASIC_UNSIGNED_INT);
}

static const struct wetdbg_type *float_type(unsigned size)
{
    return cli_type_basic(size == 4   ? CLI_BASIC_FLOAT
                          : size == 8 ? CLI_BASIC_DOUBLE
                                      : CLI_BASIC_LONG_DOUBLE);
}

static uint64_t cut(uint64_t bits, unsigned size, bool is_signed)
{
    if (size > 4)
        return bits;
    return is_signed ? (uint64_t)(int64_t)(int32_t)bits : (uint32_t)bits;
}

/* ---- floating-point ---- */

static bool is_comparison(enum cli_operator op)
{
    return op >= CLI_OP_EQUAL;
}

static bool compare_floats(enum cli_operator op, long double left, long double right)
{
    switch (op) {
    case CLI_OP_EQUAL:
        return left == right;
    case CLI_OP_NOT_EQUAL:
        return left != right;
    case CLI_OP_LESS:
        return left < right;
    case CLI_OP_LESS_EQUAL:
        return left <= right;
    case CLI_OP_GREATER:
        return left > right;
    default:
        return left >= right;
    }
}

static int operate_floats(enum cli_operator op, const struct number *left,
                          const struct number *right, struct cli_value *result)
{
    unsigned size = left->is_float ? left->size : 0;
    long double value;
    if (right->is_float && right->size > size)
        size = right->size;
    switch (op) {
    case CLI_OP_ADD:
        value = left->value + right->value;
        break;
    case CLI_OP_SUBTRACT:
        value = left->value - right->value;
        break;
    case CLI_OP_MULTIPLY:
        value = left->value * right->value;
        break;
    case CLI_OP_DIVIDE:
        value = left->value / right->value;
        break;
    default:
        return wetdbg_fail(-WETDBG_ERR_USAGE, "floating-point numbers have no such operation");
    }
    cli_value_set_float(result, float_type(size), value);
    return 0;
}

/* ---- integers ---- */

static bool compare_integers(enum cli_operator op, uint64_t left, uint64_t right, bool is_signed)
{
    bool is_less = is_signed ? (int64_t)left < (int64_t)right : left < right;
    switch (op) {
    case CLI_OP_EQUAL:
        return left == right;
    case CLI_OP_NOT_EQUAL:
        return left != right;
    case CLI_OP_LESS:
        return is_less;
    case CLI_OP_LESS_EQUAL:
        return is_less || left == right;
    case CLI_OP_GREATER:
        return !is_less && left != right;
    default:
        return !is_less;
    }
}

static uint64_t divide(uint64_t left, uint64_t right, bool is_signed, bool is_remainder)
{
    if (!is_signed)
        return is_remainder ? left % right : left / right;
    if ((int64_t)right == -1) /* the lowest number has no opposite */
        return is_remainder ? 0 : 0 - left;
    return (uint64_t)(is_remainder ? (int64_t)left % (int64_t)right
                                   : (int64_t)left / (int64_t)right);
}

static uint64_t shift(uint64_t bits, uint64_t by, unsigned size, bool is_signed, bool is_left)
{
    if (by >= size * 8)
        return !is_left && is_signed && (int64_t)bits < 0 ? ~UINT64_C(0) : 0;
    if (is_left)
        return bits << by;
    return is_signed ? (uint64_t)((int64_t)bits >> by) : bits >> by;
}

static int operate_integers(enum cli_operator op, const struct number *left,
                            const struct number *right, struct cli_value *result)
{
    bool is_shift = op == CLI_OP_SHIFT_LEFT || op == CLI_OP_SHIFT_RIGHT;
    unsigned size = !is_shift && right->size > left->size ? right->size : left->size;
    bool is_signed = left->is_signed;
    if (!is_shift && right->size == size && (left->size < size || !right->is_signed))
        is_signed = right->is_signed;
    uint64_t a = cut(left->bits, size, is_signed), b = cut(right->bits, size, is_signed), bits = 0;
    switch (op) {
    case CLI_OP_ADD:
        bits = a + b;
        break;
    case CLI_OP_SUBTRACT:
        bits = a - b;
        break;
    case CLI_OP_MULTIPLY:
        bits = a * b;
        break;
    case CLI_OP_DIVIDE:
    case CLI_OP_REMAINDER:
        if (!b)
            return wetdbg_fail(-WETDBG_ERR_USAGE, "division by zero");
        bits = divide(a, b, is_signed, op == CLI_OP_REMAINDER);
        break;
    case CLI_OP_SHIFT_LEFT:
    case CLI_OP_SHIFT_RIGHT:
        bits = shift(a, right->bits, size, is_signed, op == CLI_OP_SHIFT_LEFT);
        break;
    case CLI_OP_AND:
        bits = a & b;
        break;
    case CLI_OP_OR:
        bits = a | b;
        break;
    case CLI_OP_XOR:
        bits = a ^ b;
        break;
    default:
        bits = compare_integers(op, a, b, is_signed);
    }
    cli_value_set(result, integer_type(size, is_signed), cut(bits, size, is_signed));
    return 0;
}

/* ---- pointers ---- */

static int target_size(struct cli_moment *moment, const struct cli_value *value, uint64_t *size)
{
    struct wetdbg_type target;
    uint64_t count;
    int err = value->type.handle
                  ? wetdbg_type_target(moment->model, value->type.handle, &target, &count)
                  : -WETDBG_ERR_NOT_FOUND;
    *size = 1; /* void, functions, what nothing is known of */
    if (!err && target.kind != WETDBG_TYPE_VOID && target.kind != WETDBG_TYPE_FUNCTION)
        *size = target.size_bytes;
    if (!*size)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "the size of what '%s' points to is not known",
                           value->type.name);
    return 0;
}

static int pointer_type(struct cli_moment *moment, const struct cli_value *value,
                        struct wetdbg_type *type)
{
    struct wetdbg_type target;
    uint64_t count;
    *type = value->type;
    if (value->type.kind == WETDBG_TYPE_POINTER)
        return 0;
    if (value->type.kind == WETDBG_TYPE_FUNCTION)
        return wetdbg_type_pointer(moment->model, &value->type, type);
    int result = wetdbg_type_target(moment->model, value->type.handle, &target, &count);
    return result ? result : wetdbg_type_pointer(moment->model, &target, type);
}

static int move_pointer(struct cli_moment *moment, enum cli_operator op,
                        const struct cli_value *pointer, const struct cli_value *by,
                        struct cli_value *result)
{
    struct wetdbg_type type;
    struct number number;
    uint64_t address, size;
    int err = get_number(moment, by, &number);
    if (!err && (number.is_float || (op != CLI_OP_ADD && op != CLI_OP_SUBTRACT)))
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "a value of type '%s' has no such operation",
                          pointer->type.name);
    if (!err)
        err = get_address(moment, pointer, &address);
    if (!err)
        err = target_size(moment, pointer, &size);
    if (!err)
        err = pointer_type(moment, pointer, &type);
    if (err)
        return err;
    uint64_t offset = number.bits * size;
    cli_value_set(result, &type, op == CLI_OP_ADD ? address + offset : address - offset);
    return 0;
}

static int operate_addresses(struct cli_moment *moment, enum cli_operator op,
                             const struct cli_value *left, const struct cli_value *right,
                             struct cli_value *result)
{
    uint64_t a, b, size;
    int err = get_address(moment, left, &a);
    if (!err)
        err = get_address(moment, right, &b);
    if (err)
        return err;
    if (is_comparison(op)) {
        cli_value_set(result, cli_type_basic(CLI_BASIC_INT), compare_integers(op, a, b, false));
        return 0;
    }
    if (op != CLI_OP_SUBTRACT)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "two pointers can be subtracted and compared, no more");
    err = target_size(moment, left, &size);
    if (!err)
        cli_value_set(result, cli_type_basic(CLI_BASIC_LONG),
                      (uint64_t)((int64_t)(a - b) / (int64_t)size));
    return err;
}

/* ---- all of them ---- */

static int operate(struct cli_moment *moment, enum cli_operator op, const struct cli_value *left,
                   const struct cli_value *right, struct cli_value *result)
{
    struct number a, b;
    bool is_left = is_address(left), is_right = is_address(right);
    if (is_left && is_right)
        return operate_addresses(moment, op, left, right, result);
    if ((is_left || is_right) && !is_comparison(op)) {
        if (is_left)
            return move_pointer(moment, op, left, right, result);
        if (op == CLI_OP_ADD)
            return move_pointer(moment, op, right, left, result);
    }
    struct cli_value one = *left, two = *right;
    if (is_left || is_right) { /* compared with a number */
        uint64_t address;
        struct cli_value *pointer = is_left ? &one : &two;
        int err = get_address(moment, pointer, &address);
        if (err)
            return err;
        cli_value_set(pointer, cli_type_basic(CLI_BASIC_UNSIGNED_LONG), address);
    }
    int err = get_number(moment, &one, &a);
    if (!err)
        err = get_number(moment, &two, &b);
    if (err)
        return err;
    if (!a.is_float && !b.is_float)
        return operate_integers(op, &a, &b, result);
    if (!is_comparison(op))
        return operate_floats(op, &a, &b, result);
    cli_value_set(result, cli_type_basic(CLI_BASIC_INT), compare_floats(op, a.value, b.value));
    return 0;
}

int cli_operate(struct cli_moment *moment, enum cli_operator op, const struct cli_value *left,
                const struct cli_value *right, bool is_c, struct cli_value *result)
{
    struct cli_value made;
    uint64_t bits;
    int err = operate(moment, op, left, right, &made);
    if (!err && is_comparison(op)) {
        err = cli_value_bits(moment, &made, &bits);
        cli_value_set(&made, cli_type_basic(is_c ? CLI_BASIC_INT : CLI_BASIC_BOOL), bits);
    }
    if (!err)
        *result = made;
    return err;
}

int cli_negate(struct cli_moment *moment, char sign, const struct cli_value *value,
               struct cli_value *result)
{
    struct number number;
    int err = get_number(moment, value, &number);
    if (!err && number.is_float && sign == '~')
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "floating-point numbers have no such operation");
    if (err)
        return err;
    if (number.is_float) {
        cli_value_set_float(result, float_type(number.size),
                            sign == '-' ? -number.value : number.value);
        return 0;
    }
    uint64_t bits = sign == '-' ? 0 - number.bits : sign == '~' ? ~number.bits : number.bits;
    cli_value_set(result, integer_type(number.size, number.is_signed),
                  cut(bits, number.size, number.is_signed));
    return 0;
}

int cli_truth(struct cli_moment *moment, const struct cli_value *value, bool *is_true)
{
    struct number number;
    uint64_t address;
    int err;
    if (is_address(value)) {
        err = get_address(moment, value, &address);
        *is_true = !err && address;
        return err;
    }
    err = get_number(moment, value, &number);
    *is_true = !err && (number.is_float ? number.value != 0 : number.bits != 0);
    return err;
}

/* ---- casts ---- */

static bool is_integer_kind(enum wetdbg_type_kind kind)
{
    return kind == WETDBG_TYPE_SIGNED || kind == WETDBG_TYPE_UNSIGNED || kind == WETDBG_TYPE_CHAR ||
           kind == WETDBG_TYPE_ENUM || kind == WETDBG_TYPE_POINTER || kind == WETDBG_TYPE_BOOL;
}

static int cast_to_integer(struct cli_moment *moment, const struct cli_value *value,
                           const struct wetdbg_type *type, struct cli_value *result)
{
    struct number number = {.is_float = false};
    int err = is_address(value) ? get_address(moment, value, &number.bits)
                                : get_number(moment, value, &number);
    if (err)
        return err;
    if (type->size_bytes > 8)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "a cast to '%s' is not supported", type->name);
    uint64_t bits = number.bits;
    if (number.is_float) {
        long double value_now = number.value;
        if (!(value_now > -9.3e18L && value_now < 1.85e19L))
            bits = UINT64_C(1) << 63; /* as the processor has it */
        else
            bits = value_now < 0 ? (uint64_t)(int64_t)value_now : (uint64_t)value_now;
    }
    if (type->kind == WETDBG_TYPE_BOOL)
        bits = number.is_float ? number.value != 0 : bits != 0;
    if (type->size_bytes < 8)
        bits &= (UINT64_C(1) << 8 * type->size_bytes) - 1;
    cli_value_set(result, type, bits);
    return 0;
}

int cli_cast(struct cli_moment *moment, const struct cli_value *value,
             const struct wetdbg_type *type, struct cli_value *result)
{
    struct number number;
    enum wetdbg_type_kind kind = type->kind;
    if (kind == WETDBG_TYPE_VOID) {
        cli_value_set(result, type, 0);
        return 0;
    }
    if (is_integer_kind(kind))
        return cast_to_integer(moment, value, type, result);
    if (kind == WETDBG_TYPE_FLOAT) {
        int err = get_number(moment, value, &number);
        if (!err)
            cli_value_set_float(result, type, number.value);
        return err;
    }
    /* a structure or array seen as another one of its size */
    if (value->type.size_bytes != type->size_bytes || value->bit_size)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "a value of type '%s' cannot be cast to '%s'",
                           value->type.name, type->name);
    *result = *value;
    result->type = *type;
    return 0;
}

/* ---- expressions ---- */

int cli_condition_ask(struct cli_frame_view *view, const char *text, bool *is_true)
{
    struct cli_value value;
    int err = cli_value_evaluate_through(view, text, &value);
    return err ? err : cli_truth(view->moment, &value, is_true);
}

int cli_address_ask(struct cli_frame_view *view, const char *text, uint64_t *address)
{
    struct cli_value value, number;
    int err = cli_value_evaluate_through(view, text, &value);
    if (!err)
        err = cli_cast(view->moment, &value, cli_type_basic(CLI_BASIC_LONG), &number);
    return err ? err : cli_value_bits(view->moment, &number, address);
}
