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
    const struct wetdbg_set *set, *plain; /* plain: NULL as in struct cli_made */
    const struct cli_nearness *near;
    struct cli_made own;
};

void cli_made_fini(struct cli_made *made)
{
    wetdbg_set_free(made->set);
    wetdbg_set_free(made->plain);
    cli_nearness_free(made->near);
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
    *operand = (struct operand){.set = slice->set, .plain = slice->plain, .near = slice->near};
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
        cli_made_fini(&operand->own);
        err = fail_at(reader, "')'");
    }
    reader->at += !err;
    reader->depth--;
    return err;
}

/* What both are together without what only implicit dependences added. */
static int combine_plain(const struct operand *left, enum wetdbg_set_operation operation,
                         const struct operand *right, struct wetdbg_set **plain)
{
    const struct wetdbg_set *taken =
        operation == WETDBG_SET_MINUS || !right->plain ? right->set : right->plain;
    return wetdbg_set_combine(left->plain ? left->plain : left->set, operation, taken, plain);
}

/* Makes `left` what it and `right` are together; of both nothing is left on failure. */
static int combine(struct operand *left, enum wetdbg_set_operation operation, struct operand *right)
{
    struct cli_made both = {.set = NULL};
    int err = wetdbg_set_combine(left->set, operation, right->set, &both.set);
    if (!err && (left->plain || right->plain))
        err = combine_plain(left, operation, right, &both.plain);
    if (!err)
        both.near = cli_nearness_combine(left->near, operation, right->near);
    cli_made_fini(&left->own);
    cli_made_fini(&right->own);
    if (err)
        cli_made_fini(&both);
    else
        *left = (struct operand){both.set, both.plain, both.near, both};
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
            cli_made_fini(&operand->own);
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
            cli_made_fini(&operand->own);
        else
            err = combine(operand, operation, &right);
    }
    return err;
}

/* A named slice alone is copied: what is given is the holder's. */
static int copy(const struct operand *operand, struct cli_made *made)
{
    int err = wetdbg_set_combine(operand->set, WETDBG_SET_AND, operand->set, &made->set);
    if (!err && operand->plain)
        err = wetdbg_set_combine(operand->plain, WETDBG_SET_AND, operand->plain, &made->plain);
    if (!err)
        made->near = cli_nearness_combine(operand->near, WETDBG_SET_OR, NULL);
    return err;
}

int cli_set_evaluate(struct cli_named_slices *named, const char *text, struct cli_made *made)
{
    struct reader reader = {.named = named, .text = text, .at = text};
    struct operand operand;
    int err = read_sum(&reader, &operand);
    if (err)
        return err;
    if (next(&reader))
        err = fail_at(&reader, "'&', '|' or '-'");
    else if (!operand.own.set)
        err = copy(&operand, &operand.own);
    if (err) {
        cli_made_fini(&operand.own);
        return err;
    }
    made->set = operand.own.set;
    made->plain = operand.own.plain;
    made->near = operand.own.near;
    return 0;
}
