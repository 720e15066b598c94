/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `printf`: values in a text, for files of commands. */
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/session.h"
#include "dbgcli/eval/arithmetic.h"
#include "dbgcli/repl/unescape.h"
#include <wetdbg/errors.h>

#define TEXT_MAX 65536 /* bytes of a text without another end */
#define SPEC_MAX 32    /* characters of one "%-10.3lld" */

const struct cli_syntax cli_cmd_printf_syntax = {
    .example = "printf \"%d of %s\\n\", count, name",
    .usage = "\"FORMAT\"[, EXPRESSION]...",
    .operands_min = 1,
    .operands_max = 1,
    .is_raw = true,
    .details = "Prints a text with values in it, as C's printf does: %d, %u, %x, %o, %c, %s, %p,\n"
               "%f, %e, %g, with widths and lengths; %s takes a text in quotes, too.",
};

struct printing {
    struct cli_frame_view view;
    FILE *to;
    const char *arguments; /* those that are left */
};

/* ---- arguments ---- */

/* Cuts the next expression off, to be freed: up to a comma that is in no parentheses or quotes. */
static char *take_argument(struct printing *printing)
{
    const char *at = printing->arguments + strspn(printing->arguments, " \t"), *start;
    int depth = 0;
    char quote = 0;
    if (*at != ',')
        return NULL;
    start = ++at;
    for (; *at && (*at != ',' || depth > 0 || quote); at++) {
        if (*at == '\'' || *at == '"')
            quote = !quote ? *at : quote == *at ? 0 : quote;
        depth += !quote && strchr("([{", *at) ? 1 : 0;
        depth -= !quote && strchr(")]}", *at) ? 1 : 0;
    }
    printing->arguments = at;
    return cli_strndup(start, (size_t)(at - start));
}

/* The end of the text that begins with a quote, or NULL. */
static const char *quoted_end(const char *text)
{
    const char *at = text + 1;
    while (*text == '"' && *at && *at != '"')
        at += 1 + (*at == '\\' && at[1]);
    return *text == '"' && *at ? at : NULL;
}

/* What is between the quotes of an argument that is a text itself, to be freed; NULL: it is not. */
static char *literal(const char *argument)
{
    const char *start = argument + strspn(argument, " \t"), *end = quoted_end(start);
    if (!end || end[1 + strspn(end + 1, " \t")])
        return NULL;
    char *inside = cli_strndup(start + 1, (size_t)(end - start - 1));
    char *plain = cli_unescaped(inside);
    free(inside);
    return plain;
}

/* ---- conversions ---- */

/* Prints with a specification whose conversion was checked; `length` is how C is told the type. */
#define PRINT(printing, spec, length, number)                                                      \
    do {                                                                                           \
        size_t head_ = strlen(spec) - 1;                                                           \
        char *whole_ = cli_asprintf("%.*s%s%c", (int)head_, spec, length, (spec)[head_]);          \
        fprintf((printing)->to, whole_, number); /* NOLINT: checked by read_spec() */              \
        free(whole_);                                                                              \
    } while (0)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static int print_integer(struct printing *printing, const char *spec, bool is_long,
                         const struct cli_value *value)
{
    struct cli_value number;
    uint64_t bits;
    char conversion = spec[strlen(spec) - 1];
    int err = cli_cast(printing->view.moment, value, cli_type_basic(CLI_BASIC_LONG), &number);
    if (!err)
        err = cli_value_bits(printing->view.moment, &number, &bits);
    if (err)
        return err;
    if (conversion == 'c')
        PRINT(printing, spec, "", (int)(unsigned char)bits);
    else if (is_long)
        PRINT(printing, spec, "ll", (long long)bits);
    else
        PRINT(printing, spec, "", (int)bits);
    return 0;
}

static int print_real(struct printing *printing, const char *spec, const struct cli_value *value)
{
    struct cli_value number;
    double real;
    int err = cli_cast(printing->view.moment, value, cli_type_basic(CLI_BASIC_DOUBLE), &number);
    if (!err)
        err = cli_value_load(printing->view.moment, &number, &real, sizeof(real));
    if (!err)
        PRINT(printing, spec, "", real);
    return err;
}

static void print_literal(struct printing *printing, const char *spec, const char *text)
{
    PRINT(printing, spec, "", text);
}

/* Where the characters of a pointer or an array begin. */
static int text_address(struct printing *printing, const struct cli_value *value, uint64_t *address)
{
    if (value->type.kind == WETDBG_TYPE_ARRAY && value->is_in_memory) {
        *address = value->address;
        return 0;
    }
    return value->type.kind == WETDBG_TYPE_POINTER
               ? cli_value_bits(printing->view.moment, value, address)
               : wetdbg_fail(-WETDBG_ERR_USAGE, "printf: %%s takes a text, not a '%s'",
                             value->type.name);
}

static int print_text(struct printing *printing, const char *spec, const struct cli_value *value)
{
    uint64_t address;
    size_t length = 0;
    int err = text_address(printing, value, &address);
    if (err)
        return err;
    char *text = cli_malloc(TEXT_MAX + 1);
    do {
        err = wetdbg_state_read(printing->view.moment->state, address + length, text + length, 1);
    } while (!err && text[length] && ++length < TEXT_MAX);
    text[length] = 0;
    if (!err)
        print_literal(printing, spec, text);
    free(text);
    return err;
}

#pragma GCC diagnostic pop

/* ---- the format ---- */

/* Reads "%-10.3lld" at *at without its length, which *is_long tells. */
static int read_spec(const char **at, char spec[SPEC_MAX], bool *is_long)
{
    size_t length = 1 + strspn(*at + 1, "-+ #0");
    length += strspn(*at + length, "0123456789");
    length += (*at)[length] == '.' ? 1 + strspn(*at + length + 1, "0123456789") : 0;
    size_t modifiers = strspn(*at + length, "hlzjt");
    char conversion = (*at)[length + modifiers];
    size_t digits = strcspn(*at, "0123456789");
    bool is_wide = digits < length && strtoul(*at + digits, NULL, 10) > TEXT_MAX;
    const char *point = memchr(*at, '.', length);
    is_wide |= point && strtoul(point + 1, NULL, 10) > TEXT_MAX;
    if (!conversion || !strchr("diouxXcspfeEgGaA", conversion) || length + 2 > SPEC_MAX || is_wide)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "printf: '%.*s' is no conversion that is there",
                           (int)(length + modifiers + 1), *at);
    *is_long = modifiers && (*at)[length] != 'h';
    memcpy(spec, *at, length);
    spec[length] = conversion;
    spec[length + 1] = 0;
    *at += length + modifiers + 1;
    return 0;
}

static int print_value(struct printing *printing, char *spec, bool is_long,
                       const struct cli_value *value)
{
    char *conversion = &spec[strlen(spec) - 1];
    if (strchr("feEgGaA", *conversion))
        return print_real(printing, spec, value);
    if (*conversion == 's')
        return print_text(printing, spec, value);
    if (*conversion == 'p') {
        fputs("0x", printing->to);
        *conversion = 'x';
        is_long = true;
    }
    return print_integer(printing, spec, is_long, value);
}

static int print_next(struct printing *printing, const char **at)
{
    struct cli_value value;
    char spec[SPEC_MAX];
    bool is_long;
    int err = read_spec(at, spec, &is_long);
    char *argument = err ? NULL : take_argument(printing);
    if (!err && !argument)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "printf: a value is missing for the format");
    if (err)
        return err;
    char *text = spec[strlen(spec) - 1] == 's' ? literal(argument) : NULL;
    if (text)
        print_literal(printing, spec, text);
    else
        err = cli_value_evaluate_through(&printing->view, argument, &value);
    if (!err && !text)
        err = print_value(printing, spec, is_long, &value);
    free(text);
    free(argument);
    return err;
}

static int print_all(struct printing *printing, const char *format)
{
    int err = 0;
    while (*format && !err) {
        if (*format != '%' || format[1] == '%') {
            putc(*format, printing->to);
            format += 1 + (*format == '%');
        } else {
            err = print_next(printing, &format);
        }
    }
    const char *left = printing->arguments + strspn(printing->arguments, " \t");
    if (!err && *left)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "printf: '%s' has no place in the format", left);
    return err;
}

int cli_cmd_printf(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct cli_moment *moment;
    char *text = NULL;
    size_t size;
    const char *end = quoted_end(args->operands[0]);
    (void)format;
    if (!end)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "printf: a format in quotes comes first; usage: "
                           "printf %s",
                           cli_cmd_printf_syntax.usage);
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    char *quoted = cli_strndup(args->operands[0] + 1, (size_t)(end - args->operands[0] - 1));
    char *plain = cli_unescaped(quoted);
    struct printing printing = {.view = {moment, session->frame}, .arguments = end + 1};
    printing.to = open_memstream(&text, &size);
    if (!printing.to)
        cli_die();
    err = print_all(&printing, plain);
    fclose(printing.to);
    if (!err)
        cli_echo(repl, text);
    free(text);
    free(plain);
    free(quoted);
    return err;
}
