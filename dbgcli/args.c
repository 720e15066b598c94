/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/args.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/suggest.h"
#include <wetdbg/errors.h>

static bool is_end(const struct cli_option *option)
{
    return !option->name && !option->letter;
}

static const struct cli_option *first_option(const struct cli_syntax *syntax)
{
    static const struct cli_option none[] = {{0}};
    return syntax->options ? syntax->options : none;
}

static const struct cli_option *find_long(const struct cli_syntax *syntax, const char *name,
                                          size_t length)
{
    for (const struct cli_option *o = first_option(syntax); !is_end(o); o++)
        if (o->name && strlen(o->name) == length && memcmp(o->name, name, length) == 0)
            return o;
    return NULL;
}

static const struct cli_option *find_letter(const struct cli_syntax *syntax, char letter)
{
    for (const struct cli_option *o = first_option(syntax); !is_end(o); o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

static int fail_unknown(const char *name, const struct cli_syntax *syntax, const char *word)
{
    size_t dashes = strspn(word, "-");
    char *bare = cli_strndup(word + dashes, strcspn(word + dashes, "="));
    struct cli_suggestion suggestion = {.wanted = bare};
    for (const struct cli_option *o = first_option(syntax); !is_end(o); o++)
        if (o->name)
            cli_suggestion_offer(&suggestion, o->name);
    if (suggestion.best)
        wetdbg_fail(-WETDBG_ERR_USAGE, "%s: unknown option '%s'; did you mean '--%s'?", name, word,
                    suggestion.best);
    else
        wetdbg_fail(-WETDBG_ERR_USAGE, "%s: unknown option '%s' (see 'help %s')", name, word, name);
    free(bare);
    return -WETDBG_ERR_USAGE;
}

static void keep_option(struct cli_args *args, const struct cli_option *option, const char *value)
{
    args->given = cli_realloc(args->given, args->given_count + 1, sizeof(*args->given));
    args->given[args->given_count++] = (struct cli_given){option, value};
}

/* Parses one word that begins with '-'; *at moves on if the option's value is the next word. */
static int parse_option(struct cli_args *args, const struct cli_syntax *syntax, int argc,
                        char **argv, int *at)
{
    const char *word = argv[*at];
    bool is_long = word[1] == '-';
    size_t length = is_long ? strcspn(word + 2, "=") : 1;
    const struct cli_option *option =
        is_long ? find_long(syntax, word + 2, length) : find_letter(syntax, word[1]);
    if (!option)
        return fail_unknown(args->name, syntax, word);
    const char *rest = word + (is_long ? 2 + length : 2);
    const char *value = *rest ? rest + is_long : NULL; /* past the '=' */
    if (!option->value) {
        if (value)
            return wetdbg_fail(-WETDBG_ERR_USAGE, "%s: option '%.*s' takes no value", args->name,
                               (int)(rest - word), word);
    } else if (!value) {
        if (*at + 1 >= argc)
            return wetdbg_fail(-WETDBG_ERR_USAGE, "%s: option '%s' needs a value: %s", args->name,
                               word, option->value);
        value = argv[++*at];
    }
    keep_option(args, option, value);
    return 0;
}

char *cli_usage_line(const char *usage)
{
    char *text = cli_strndup(usage, strlen(usage)), *to = text;
    for (const char *from = usage; *from; from++) {
        if (*from != '\n') {
            *to++ = *from;
            continue;
        }
        *to++ = ' ';
        from += strspn(from + 1, " ");
    }
    *to = 0;
    return text;
}

static int check_operands(const struct cli_args *args, const struct cli_syntax *syntax)
{
    bool is_short = args->operand_count < syntax->operands_min;
    if (!is_short && args->operand_count <= syntax->operands_max)
        return 0;
    char *usage = cli_usage_line(syntax->usage);
    if (is_short)
        wetdbg_fail(-WETDBG_ERR_USAGE, "%s: something is missing; usage: %s%s%s", args->name,
                    args->name, *usage ? " " : "", usage);
    else
        wetdbg_fail(-WETDBG_ERR_USAGE, "%s: unexpected argument '%s'; usage: %s%s%s", args->name,
                    args->operands[syntax->operands_max], args->name, *usage ? " " : "", usage);
    free(usage);
    return -WETDBG_ERR_USAGE;
}

/* "-5" is a number, where no option is called so. */
static bool is_operand(const struct cli_syntax *syntax, const char *word)
{
    return word[0] != '-' || !word[1] ||
           (isdigit((unsigned char)word[1]) && !find_letter(syntax, word[1]));
}

int cli_args_parse(struct cli_args *args, const char *name, const struct cli_syntax *syntax,
                   int argc, char **argv)
{
    int err = 0;
    bool options_ended = false;
    *args = (struct cli_args){.name = name};
    args->operands = cli_realloc(NULL, (size_t)argc + 1, sizeof(*args->operands));
    for (int i = 0; i < argc && !err; i++) {
        char *word = argv[i];
        bool is_help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
        if (options_ended || is_operand(syntax, word) || (syntax->is_raw && !is_help)) {
            args->operands[args->operand_count++] = word;
            options_ended = options_ended || syntax->ends_at_operand;
        } else if (strcmp(word, "--") == 0) {
            options_ended = true;
        } else if (is_help) {
            args->wants_help = true;
            return 0;
        } else {
            err = parse_option(args, syntax, argc, argv, &i);
        }
    }
    args->operands[args->operand_count] = NULL;
    if (!err)
        err = check_operands(args, syntax);
    if (err)
        cli_args_fini(args);
    return err;
}

void cli_args_fini(struct cli_args *args)
{
    free(args->given);
    free(args->operands);
    *args = (struct cli_args){0};
}

static bool is_named(const struct cli_option *option, const char *name)
{
    return option->name ? strcmp(option->name, name) == 0
                        : option->letter == name[0] && name[1] == 0;
}

static const struct cli_given *find_given(const struct cli_args *args, const char *option)
{
    for (size_t i = args->given_count; i > 0; i--)
        if (is_named(args->given[i - 1].option, option))
            return &args->given[i - 1];
    return NULL;
}

bool cli_args_has(const struct cli_args *args, const char *option)
{
    return find_given(args, option) != NULL;
}

const char *cli_args_value(const struct cli_args *args, const char *option)
{
    const struct cli_given *given = find_given(args, option);
    return given ? given->value : NULL;
}

bool cli_number_parse(const char *text, uint64_t *number)
{
    char *end;
    int base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
    /* strtoull takes blanks and signs; a length of -1 must not become a huge one. */
    if (!isxdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, base);
    if (errno || end == text || *end)
        return false;
    *number = value;
    return true;
}

int cli_args_number(const struct cli_args *args, const char *option, uint64_t otherwise,
                    uint64_t *number)
{
    const char *text = cli_args_value(args, option);
    *number = otherwise;
    if (text && !cli_number_parse(text, number))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s: option '--%s' needs a number, not '%s'",
                           args->name, option, text);
    return 0;
}
