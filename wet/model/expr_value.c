/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/model/expr_value.h"

#include <dwarf.h>
#include <math.h>
#include <string.h>

#include <wetdbg/errors.h>

static int bad_division(void)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "damaged location expression: division");
}

int mdl_expr_value_type_of(Dwarf_Die *die, struct mdl_expr_value_type *type)
{
    Dwarf_Attribute attribute;
    Dwarf_Word size = 0, encoding = 0;

    if (dwarf_formudata(dwarf_attr(die, DW_AT_byte_size, &attribute), &size) != 0 ||
        dwarf_formudata(dwarf_attr(die, DW_AT_encoding, &attribute), &encoding) != 0)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "damaged location expression: type");
    if (size == 0 || size > 8 || (encoding == DW_ATE_float && size != 4 && size != 8))
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "location expression with a type of %llu bytes",
                           (unsigned long long)size);
    *type = (struct mdl_expr_value_type){
        .size_bytes = (uint8_t)size,
        .is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char,
        .is_float = encoding == DW_ATE_float,
    };
    return 0;
}

struct mdl_expr_value mdl_expr_value_of_bits(uint64_t bits, struct mdl_expr_value_type type)
{
    unsigned width = type.size_bytes * 8u;

    if (width != 0 && width < 64) {
        bits &= (UINT64_C(1) << width) - 1;
        if (type.is_signed && bits >> (width - 1) & 1)
            bits |= ~UINT64_C(0) << width;
    }
    return (struct mdl_expr_value){bits, type};
}

static double to_float(struct mdl_expr_value from)
{
    double wide;
    float narrow;

    if (!from.type.is_float)
        return from.type.is_signed ? (double)(int64_t)from.bits : (double)from.bits;
    if (from.type.size_bytes == 4) {
        memcpy(&narrow, &from.bits, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, &from.bits, sizeof(wide));
    return wide;
}

static struct mdl_expr_value of_float(double number, struct mdl_expr_value_type type)
{
    struct mdl_expr_value made = {0, type};
    float narrow = (float)number;

    if (type.size_bytes == 4)
        memcpy(&made.bits, &narrow, sizeof(narrow));
    else
        memcpy(&made.bits, &number, sizeof(number));
    return made;
}

struct mdl_expr_value mdl_expr_value_convert(struct mdl_expr_value from,
                                             struct mdl_expr_value_type to)
{
    double number;

    if (to.is_float)
        return of_float(to_float(from), to);
    if (!from.type.is_float)
        return mdl_expr_value_of_bits(from.bits, to);
    number = to_float(from);
    if (!(fabs(number) < 0x1p63)) /* beyond what the conversion defines */
        return mdl_expr_value_of_bits(number >= 0x1p63 && number < 0x1p64 ? (uint64_t)number : 0,
                                      to);
    return mdl_expr_value_of_bits((uint64_t)(int64_t)number, to);
}

static int float_binary(uint8_t atom, double a, double b, struct mdl_expr_value *result)
{
    struct mdl_expr_value_type type = result->type;

    switch (atom) {
    case DW_OP_plus:
        *result = of_float(a + b, type);
        return 0;
    case DW_OP_minus:
        *result = of_float(a - b, type);
        return 0;
    case DW_OP_mul:
        *result = of_float(a * b, type);
        return 0;
    case DW_OP_div:
        *result = of_float(a / b, type);
        return 0;
    default:
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "location expression with operation 0x%x",
                           atom);
    }
}

/* Whether a comparison holds: `order` is below, at or above 0; of floats that have none it is 2. */
static bool holds(uint8_t atom, int order)
{
    switch (atom) {
    case DW_OP_eq:
        return order == 0;
    case DW_OP_ne:
        return order != 0;
    case DW_OP_lt:
        return order == -1;
    case DW_OP_le:
        return order == -1 || order == 0;
    case DW_OP_gt:
        return order == 1;
    default: /* DW_OP_ge */
        return order == 1 || order == 0;
    }
}

static int order_of(struct mdl_expr_value a, struct mdl_expr_value b)
{
    int64_t sa = (int64_t)a.bits, sb = (int64_t)b.bits;

    if (a.type.is_float) {
        double x = to_float(a), y = to_float(b);

        return isunordered(x, y) ? 2 : x < y ? -1 : x > y;
    }
    if (a.type.size_bytes && !a.type.is_signed)
        return a.bits < b.bits ? -1 : a.bits > b.bits;
    return sa < sb ? -1 : sa > sb;
}

static bool is_comparison(uint8_t atom)
{
    return atom == DW_OP_eq || atom == DW_OP_ne || atom == DW_OP_lt || atom == DW_OP_le ||
           atom == DW_OP_gt || atom == DW_OP_ge;
}

/* DWARF's generic type divides with a sign, and takes the rest without. */
static int divide(uint8_t atom, struct mdl_expr_value a, struct mdl_expr_value b, uint64_t *bits)
{
    bool is_generic = a.type.size_bytes == 0;
    bool is_signed = is_generic ? atom == DW_OP_div : a.type.is_signed;
    int64_t sa = (int64_t)a.bits, sb = (int64_t)b.bits;

    if (b.bits == 0 || (is_signed && sa == INT64_MIN && sb == -1))
        return bad_division();
    if (is_signed)
        *bits = (uint64_t)(atom == DW_OP_div ? sa / sb : sa % sb);
    else
        *bits = atom == DW_OP_div ? a.bits / b.bits : a.bits % b.bits;
    return 0;
}

static uint64_t shift(uint8_t atom, struct mdl_expr_value a, uint64_t by)
{
    unsigned width = a.type.size_bytes ? a.type.size_bytes * 8u : 64;
    uint64_t mask = width < 64 ? (UINT64_C(1) << width) - 1 : ~UINT64_C(0);

    if (atom == DW_OP_shl)
        return by < 64 ? a.bits << by : 0;
    if (atom == DW_OP_shr)
        return by < 64 ? (a.bits & mask) >> by : 0;
    return (uint64_t)((int64_t)a.bits >> (by < 63 ? by : 63));
}

int mdl_expr_value_binary(uint8_t atom, struct mdl_expr_value a, struct mdl_expr_value b,
                          struct mdl_expr_value *result)
{
    uint64_t bits;
    int err = 0;

    *result = (struct mdl_expr_value){0, a.type};
    if (is_comparison(atom)) {
        *result = (struct mdl_expr_value){holds(atom, order_of(a, b)), {0, false, false}};
        return 0;
    }
    if (a.type.is_float)
        return float_binary(atom, to_float(a), to_float(b), result);
    switch (atom) {
    case DW_OP_and:
        bits = a.bits & b.bits;
        break;
    case DW_OP_or:
        bits = a.bits | b.bits;
        break;
    case DW_OP_xor:
        bits = a.bits ^ b.bits;
        break;
    case DW_OP_plus:
        bits = a.bits + b.bits;
        break;
    case DW_OP_minus:
        bits = a.bits - b.bits;
        break;
    case DW_OP_mul:
        bits = a.bits * b.bits;
        break;
    case DW_OP_div:
    case DW_OP_mod:
        err = divide(atom, a, b, &bits);
        break;
    case DW_OP_shl:
    case DW_OP_shr:
    case DW_OP_shra:
        bits = shift(atom, a, b.bits);
        break;
    default:
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "location expression with operation 0x%x",
                           atom);
    }
    if (err == 0)
        *result = mdl_expr_value_of_bits(bits, a.type);
    return err;
}

int mdl_expr_value_unary(uint8_t atom, struct mdl_expr_value a, struct mdl_expr_value *result)
{
    bool is_negative = (int64_t)a.bits < 0;

    *result = a;
    if (a.type.is_float && atom == DW_OP_not)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "damaged location expression: bits of a float");
    if (a.type.is_float)
        *result = of_float(atom == DW_OP_neg ? -to_float(a) : fabs(to_float(a)), a.type);
    else if (atom == DW_OP_not)
        *result = mdl_expr_value_of_bits(~a.bits, a.type);
    else if (atom == DW_OP_neg || (is_negative && (a.type.is_signed || !a.type.size_bytes)))
        *result = mdl_expr_value_of_bits(0 - a.bits, a.type);
    return 0;
}
