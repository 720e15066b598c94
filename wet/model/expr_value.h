/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is on the stack of a DWARF expression: values with types, and what is computed with them. */
#ifndef WET_MODEL_EXPR_VALUE_H
#define WET_MODEL_EXPR_VALUE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* A base type; all zero is DWARF's generic one, an address-sized integer. */
struct mdl_expr_value_type {
    uint8_t size_bytes;
    bool is_signed, is_float;
};

/* `bits` of an integer are extended to 64 as its type says; of a float they are its own. */
struct mdl_expr_value {
    uint64_t bits;
    struct mdl_expr_value_type type;
};

/* The base type that a DIE is. -WETDBG_ERR_UNSUPPORTED for those that do not fit in 8 bytes. */
int mdl_expr_value_type_of(Dwarf_Die *die, struct mdl_expr_value_type *type);

/* The value that so many low bits have in a type. */
struct mdl_expr_value mdl_expr_value_of_bits(uint64_t bits, struct mdl_expr_value_type type);

/* The same number in another type. */
struct mdl_expr_value mdl_expr_value_convert(struct mdl_expr_value from,
                                             struct mdl_expr_value_type to);

/* DW_OP_plus and the like, and DW_OP_neg and the like. -WETDBG_ERR_UNSUPPORTED for operations that
 * are none of these, -WETDBG_ERR_CORRUPT for a division by 0. */
int mdl_expr_value_binary(uint8_t atom, struct mdl_expr_value a, struct mdl_expr_value b,
                          struct mdl_expr_value *result);
int mdl_expr_value_unary(uint8_t atom, struct mdl_expr_value a, struct mdl_expr_value *result);

#endif
