/* SPDX-License-Identifier: GPL-3.0-or-later */
/* C's operators on values: conversions, arithmetic, comparisons, pointers. */
#ifndef DBGCLI_EVAL_ARITHMETIC_H
#define DBGCLI_EVAL_ARITHMETIC_H

#include "dbgcli/eval/value.h"

enum cli_operator {
    CLI_OP_ADD,
    CLI_OP_SUBTRACT,
    CLI_OP_MULTIPLY,
    CLI_OP_DIVIDE,
    CLI_OP_REMAINDER,
    CLI_OP_SHIFT_LEFT,
    CLI_OP_SHIFT_RIGHT,
    CLI_OP_AND,
    CLI_OP_OR,
    CLI_OP_XOR,
    CLI_OP_EQUAL,
    CLI_OP_NOT_EQUAL,
    CLI_OP_LESS,
    CLI_OP_LESS_EQUAL,
    CLI_OP_GREATER,
    CLI_OP_GREATER_EQUAL,
};

/* Applies an operator. -WETDBG_ERR_USAGE where C has no such operation, and for a division by zero.
 * `is_c`: the result of a comparison is an int, else a bool. */
int cli_operate(struct cli_moment *moment, enum cli_operator op, const struct cli_value *left,
                const struct cli_value *right, bool is_c, struct cli_value *result);

/* Gives -x, ~x or +x: `sign` is one of "-~+". */
int cli_negate(struct cli_moment *moment, char sign, const struct cli_value *value,
               struct cli_value *result);

/* Whether a value is not zero. -WETDBG_ERR_USAGE for structures. */
int cli_truth(struct cli_moment *moment, const struct cli_value *value, bool *is_true);

/* Whether an expression is true in a frame; and the address that one is, or is at. Errors of
 * cli_value_evaluate_through(), cli_truth() and cli_cast(). */
int cli_condition_ask(struct cli_frame_view *view, const char *text, bool *is_true);
int cli_address_ask(struct cli_frame_view *view, const char *text, uint64_t *address);

int cli_cast(struct cli_moment *moment, const struct cli_value *value,
             const struct wetdbg_type *type, struct cli_value *result);

void cli_value_set(struct cli_value *value, const struct wetdbg_type *type, uint64_t bits);
void cli_value_set_float(struct cli_value *value, const struct wetdbg_type *type,
                         long double number);

/* Reads a floating-point value; false if its type is none that this machine has. */
bool cli_float_read(const void *bytes, size_t size, long double *number);

#endif
