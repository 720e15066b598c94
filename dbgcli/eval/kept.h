/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Values that last longer than their moment, as in gdb: what `print` showed, which is $1, $2 and so
 * on, and what the user gave a name, $count. They have the bytes that they had then; what a pointer
 * among them points to is looked up wherever the session stands.
 */
#ifndef DBGCLI_EVAL_KEPT_H
#define DBGCLI_EVAL_KEPT_H

#include "dbgcli/eval/value.h"

struct cli_kept;

struct cli_kept *cli_kept_new(void);
void cli_kept_free(struct cli_kept *kept); /* NULL is fine */

/* Adds a value to the history; its number, from 1 on. `text` is how it was shown, `expression` how
 * it was asked for; both are copied. A value that is too large to be kept has a number too. */
size_t cli_kept_add(struct cli_kept *kept, struct cli_moment *moment, const struct cli_value *value,
                    const char *expression, const char *text);

/* Whether a name behind '$' is one of the history's: "", "$", "3", "$2". */
bool cli_kept_is_number(const char *name);

/*
 * What is kept under a name behind '$'. *value borrows bytes that stay until the name gets another
 * value. A variable that was never set is void. -WETDBG_ERR_NOT_FOUND for numbers that the history
 * has not, and for values that were too large to be kept.
 */
int cli_kept_get(const struct cli_kept *kept, const char *name, struct cli_value *value);

/* Gives a variable a value. -WETDBG_ERR_UNSUPPORTED if it is too large, -EFAULT if its memory is
 * not there. */
int cli_kept_set(struct cli_kept *kept, struct cli_moment *moment, const char *name,
                 const struct cli_value *value);

/* Gives a variable an integer as its value. */
void cli_kept_set_integer(struct cli_kept *kept, const char *name, int64_t number);

struct cli_kept_row {
    size_t number;          /* of the history; 0: a variable */
    const char *name;       /* of a variable */
    const char *expression; /* of the history, with how it was shown and when */
    const char *text;
    wetdbg_time time;
    const struct cli_value *value; /* NULL: it was too large */
};

/* How many values the history has, and variables there are; and one of each, from 0 on, borrowed
 * until something is added. */
size_t cli_kept_history_count(const struct cli_kept *kept);
size_t cli_kept_variable_count(const struct cli_kept *kept);
struct cli_kept_row cli_kept_history_row(const struct cli_kept *kept, size_t index);
struct cli_kept_row cli_kept_variable_row(const struct cli_kept *kept, size_t index);

#endif
