/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Classes of C++'s library whose values are shown, and indexed, as what they mean. */
#ifndef DBGCLI_EVAL_STD_VALUES_H
#define DBGCLI_EVAL_STD_VALUES_H

#include "dbgcli/eval/value.h"

/* Whether a value is one of these, by its type's name. A vector of bool is none: its elements are
 * bits. */
bool cli_is_std_string(const struct cli_value *value);
bool cli_is_std_vector(const struct cli_value *value);

/* The first element and how many there are. False if the value does not look like one; a message of
 * what was missing may be left. Of a vector the memory is there; of a string perhaps not. */
bool cli_std_string(struct cli_moment *moment, const struct cli_value *value,
                    struct cli_value *first, uint64_t *count);
bool cli_std_vector(struct cli_moment *moment, const struct cli_value *value,
                    struct cli_value *first, uint64_t *count);

/* Element `index` of a string or vector; -WETDBG_ERR_NOT_FOUND if there is none. */
int cli_std_element(struct cli_moment *moment, const struct cli_value *value, int64_t index,
                    struct cli_value *element);

#endif
