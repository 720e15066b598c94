/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Classes of C++'s library whose values are shown, and indexed, as what they mean. */
#ifndef DBGCLI_EVAL_STD_VALUES_H
#define DBGCLI_EVAL_STD_VALUES_H

#include "dbgcli/eval/value.h"

/* The value with its class's own name, as the functions below want it: without typedefs, const. */
struct cli_value cli_std_value(struct cli_moment *moment, const struct cli_value *value);

/* Whether a value is one of these, by its type's name: a string or a view of one; a vector. One of
 * bool is none: its elements are bits. */
bool cli_is_std_string(const struct cli_value *value);
bool cli_is_std_vector(const struct cli_value *value);

/* The first element and how many there are; of a vector also for how many there is room. False if
 * the value does not look like one; a message of what was missing may be left. Of a vector the
 * memory is there; of a string perhaps not. */
bool cli_std_string(struct cli_moment *moment, const struct cli_value *value,
                    struct cli_value *first, uint64_t *count);
bool cli_std_vector(struct cli_moment *moment, const struct cli_value *value,
                    struct cli_value *first, uint64_t *count, uint64_t *capacity);

/* What stands in the brackets behind a container: a number, or a text. */
struct cli_std_key {
    int64_t number;
    const char *text; /* NULL: it is a number */
    size_t size;
};

/* An element of a string, a vector or another container, by its place; of a map by its key.
 * -WETDBG_ERR_NOT_FOUND if there is none; -WETDBG_ERR_USAGE, which is not explained, of what is no
 * container. */
int cli_std_element(struct cli_moment *moment, const struct cli_value *whole,
                    const struct cli_std_key *key, struct cli_value *element);

/* What a smart pointer points to, or an optional value holds; errors as above. */
int cli_std_target(struct cli_moment *moment, const struct cli_value *whole,
                   struct cli_value *target);

#endif
