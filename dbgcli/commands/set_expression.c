/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/set_expression.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include <wetdbg/errors.h>

#define DEPTH_MAX 100 /* of parentheses */

/* A named slice's set, and what is known of its distances, is borrowed; what was put together is
 * ours. */
struct operand {
    const struct wetdbg_set *set;
    struct wetdbg_set *own;
    const struct cli_nearness *near;
    struct cli_nearness *own_near;
};

static void free_operand(struct operand *operand)
{
    wetdbg_set_free(operand->own);
    cli_nearness_free(operand->own_near);
}

struct reader {
    struct cli_named_slices *named;
    const char *text, *at;
    unsigned depth;
};

static char next(struct reader *reader)
{
    reader->at += strspn(reader->at, " \t");
    return *reader->at;
}

static int fail_at(const struct reader *reader, const char *expected)
{
    if (!*reader->at)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s is missing at the end of '%s'", expected,
                           reader->text);
    return wetdbg_fail(-WETDBG_ERR_USAGE, "%s is missing before '%s' in '%s'", expected, reader->at,
                       reader->text);
}

static int read_name(struct reader *reader, struct operand *operand)
{
    size_t length = 0;
    while (isalnum((unsigned char)reader->at[length]) || reader->at[length] == '_')
        length++;
    if (!length)
        return fail_at(reader, "the name of a slice");
    char *name = cli_strndup(reader->at, length);
    struct cli_named_slice *slice;
    int err = cli_named_slices_find(reader->named, name, &slice);
    free(name);
    if (err)
        return err;
    reader->at += length;
    *operand = (struct operand){.set = slice->set, .near = slice->near};
    return 0;
}

static int read_sum(struct reader *reader, struct operand *operand);

static int read_factor(struct reader *reader, struct operand *operand)
{
    if (next(reader) != '(')
        return read_name(reader, operand);
    if (++reader->depth > DEPTH_MAX)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "more than %d parentheses in one another", DEPTH_MAX);
    reader->at++;
    int err = read_sum(reader, operand);
    if (!err && next(reader) != ')') {
        free_operand(operand);
        err = fail_at(reader, "')'");
    }
    reader->at += !err;
    reader->depth--;
    return err;
}

/* Makes `left` what it and `right` are together; of both nothing is left on failure. */
static int combine(struct operand *left, enum wetdbg_set_operation operation, struct operand *right)
{
    struct wetdbg_set *both = NULL;
    int err = wetdbg_set_combine(left->set, operation, right->set, &both);
    struct cli_nearness *near =
        err ? NULL : cli_nearness_combine(left->near, operation, right->near);
    free_operand(left);
    free_operand(right);
    *left = (struct operand){both, both, near, near};
    return err;
}

static int read_product(struct reader *reader, struct operand *operand)
{
    struct operand right;
    int err = read_factor(reader, operand);
    while (!err && next(reader) == '&') {
        reader->at++;
        err = read_factor(reader, &right);
        if (err)
            free_operand(operand);
        else
            err = combine(operand, WETDBG_SET_AND, &right);
    }
    return err;
}

static int read_sum(struct reader *reader, struct operand *operand)
{
    struct operand right;
    int err = read_product(reader, operand);
    while (!err && (next(reader) == '|' || *reader->at == '-')) {
        enum wetdbg_set_operation operation =
            *reader->at++ == '|' ? WETDBG_SET_OR : WETDBG_SET_MINUS;
        err = read_product(reader, &right);
        if (err)
            free_operand(operand);
        else
            err = combine(operand, operation, &right);
    }
    return err;
}

int cli_set_evaluate(struct cli_named_slices *named, const char *text, struct wetdbg_set **out,
                     struct cli_nearness **near)
{
    struct reader reader = {.named = named, .text = text, .at = text};
    struct operand operand;
    int err = read_sum(&reader, &operand);
    if (!err && next(&reader)) {
        free_operand(&operand);
        err = fail_at(&reader, "'&', '|' or '-'");
    }
    if (err)
        return err;
    if (!operand.own) {
        err = wetdbg_set_combine(operand.set, WETDBG_SET_AND, operand.set, &operand.own);
        operand.own_near = err ? NULL : cli_nearness_combine(operand.near, WETDBG_SET_OR, NULL);
    }
    if (err)
        return err;
    *out = operand.own;
    *near = operand.own_near;
    return 0;
}
