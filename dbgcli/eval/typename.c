/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of types in expressions: C's own from a table, the program's from its debug information. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/args.h"
#include "dbgcli/eval/value.h"
#include <wetdbg/errors.h>

static const struct wetdbg_type basics[] = {
    [CLI_BASIC_CHAR] = {WETDBG_TYPE_CHAR, 1, 0, 1, "char", 0},
    [CLI_BASIC_SIGNED_CHAR] = {WETDBG_TYPE_CHAR, 1, 0, 1, "signed char", 0},
    [CLI_BASIC_UNSIGNED_CHAR] = {WETDBG_TYPE_CHAR, 0, 0, 1, "unsigned char", 0},
    [CLI_BASIC_SHORT] = {WETDBG_TYPE_SIGNED, 1, 0, 2, "short", 0},
    [CLI_BASIC_UNSIGNED_SHORT] = {WETDBG_TYPE_UNSIGNED, 0, 0, 2, "unsigned short", 0},
    [CLI_BASIC_INT] = {WETDBG_TYPE_SIGNED, 1, 0, 4, "int", 0},
    [CLI_BASIC_UNSIGNED_INT] = {WETDBG_TYPE_UNSIGNED, 0, 0, 4, "unsigned int", 0},
    [CLI_BASIC_LONG] = {WETDBG_TYPE_SIGNED, 1, 0, 8, "long", 0},
    [CLI_BASIC_UNSIGNED_LONG] = {WETDBG_TYPE_UNSIGNED, 0, 0, 8, "unsigned long", 0},
    [CLI_BASIC_LONG_LONG] = {WETDBG_TYPE_SIGNED, 1, 0, 8, "long long", 0},
    [CLI_BASIC_UNSIGNED_LONG_LONG] = {WETDBG_TYPE_UNSIGNED, 0, 0, 8, "unsigned long long", 0},
    [CLI_BASIC_FLOAT] = {WETDBG_TYPE_FLOAT, 1, 0, 4, "float", 0},
    [CLI_BASIC_DOUBLE] = {WETDBG_TYPE_FLOAT, 1, 0, 8, "double", 0},
    [CLI_BASIC_LONG_DOUBLE] = {WETDBG_TYPE_FLOAT, 1, 0, 16, "long double", 0},
    [CLI_BASIC_BOOL] = {WETDBG_TYPE_BOOL, 0, 0, 1, "bool", 0},
    [CLI_BASIC_C_BOOL] = {WETDBG_TYPE_BOOL, 0, 0, 1, "_Bool", 0},
    [CLI_BASIC_VOID] = {WETDBG_TYPE_VOID, 0, 0, 1, "void", 0},
};

const struct wetdbg_type *cli_type_basic(enum cli_basic basic)
{
    return &basics[basic];
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

/* Length of the word at `at`, 0 if none is there. */
static size_t word_length(const char *at)
{
    size_t length = 0;
    if (isdigit((unsigned char)*at))
        return 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_' ||
           (unsigned char)at[length] >= 0x80)
        length++;
    return length;
}

static bool take_word(const char **at, const char *word)
{
    const char *start = skip_blanks(*at);
    size_t length = word_length(start);
    if (length != strlen(word) || strncmp(start, word, length) != 0)
        return false;
    *at = start + length;
    return true;
}

/* How often each of the words that make up a basic type's name was there. */
struct words {
    unsigned is_signed, is_unsigned, longs, shorts, chars, ints, floats, doubles, bools, c_bools,
        voids;
};

static bool take_basic_word(const char **at, struct words *words)
{
    const struct {
        const char *word;
        unsigned *count;
    } table[] = {
        {"signed", &words->is_signed}, {"unsigned", &words->is_unsigned}, {"long", &words->longs},
        {"short", &words->shorts},     {"char", &words->chars},           {"int", &words->ints},
        {"float", &words->floats},     {"double", &words->doubles},       {"bool", &words->bools},
        {"_Bool", &words->c_bools},    {"void", &words->voids},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        if (take_word(at, table[i].word)) {
            ++*table[i].count;
            return true;
        }
    return false;
}

static enum cli_basic basic_of(const struct words *words)
{
    if (words->chars)
        return words->is_unsigned ? CLI_BASIC_UNSIGNED_CHAR
               : words->is_signed ? CLI_BASIC_SIGNED_CHAR
                                  : CLI_BASIC_CHAR;
    if (words->shorts)
        return words->is_unsigned ? CLI_BASIC_UNSIGNED_SHORT : CLI_BASIC_SHORT;
    if (words->doubles)
        return words->longs ? CLI_BASIC_LONG_DOUBLE : CLI_BASIC_DOUBLE;
    if (words->floats)
        return CLI_BASIC_FLOAT;
    if (words->longs > 1)
        return words->is_unsigned ? CLI_BASIC_UNSIGNED_LONG_LONG : CLI_BASIC_LONG_LONG;
    if (words->longs)
        return words->is_unsigned ? CLI_BASIC_UNSIGNED_LONG : CLI_BASIC_LONG;
    if (words->bools || words->c_bools)
        return words->bools ? CLI_BASIC_BOOL : CLI_BASIC_C_BOOL;
    if (words->voids)
        return CLI_BASIC_VOID;
    return words->is_unsigned ? CLI_BASIC_UNSIGNED_INT : CLI_BASIC_INT;
}

static void skip_qualifiers(const char **at, bool *is_const)
{
    for (;;) {
        if (take_word(at, "const"))
            *is_const = true;
        else if (!take_word(at, "volatile") && !take_word(at, "restrict"))
            return;
    }
}

/* Length of "ns::box<int>::node" at `at`. */
static size_t name_length(const char *at)
{
    size_t length = 0;
    unsigned depth;
    for (;;) {
        size_t part = word_length(at + length);
        if (!part)
            return 0;
        length += part;
        if (at[length] == '<') {
            size_t end = length;
            depth = 0;
            do {
                depth += at[end] == '<';
                depth -= at[end] == '>';
            } while (at[end++] && depth);
            if (depth || !at[end - 1])
                return length;
            length = end;
        }
        if (strncmp(at + length, "::", 2) != 0)
            return length;
        length += 2;
    }
}

/* Parses "struct node" or "node" or "ns::box<int>". */
static int parse_named(struct cli_frame_view *view, const char **at, struct wetdbg_type *type)
{
    static const char *const keywords[] = {"struct", "union", "enum", "class"};
    const struct cli_frame *frame = &view->moment->frames[view->frame];
    const char *keyword = "", *start = skip_blanks(*at);
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
        if (take_word(&start, keywords[i]))
            keyword = keywords[i];
    start = skip_blanks(start);
    size_t length = name_length(start);
    if (!length)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    char *name = cli_asprintf("%s%s%.*s", keyword, *keyword ? " " : "", (int)length, start);
    int err = wetdbg_type_named(view->moment->model, frame->lookup_pc, name, type);
    free(name);
    if (!err)
        *at = start + length;
    return err;
}

static int parse_base(struct cli_frame_view *view, const char **at, struct wetdbg_type *type)
{
    struct words words = {0};
    bool is_const = false, is_basic = false;
    char name[sizeof(type->name)];
    skip_qualifiers(at, &is_const);
    while (take_basic_word(at, &words)) {
        is_basic = true;
        skip_qualifiers(at, &is_const);
    }
    if (is_basic) {
        *type = basics[basic_of(&words)];
    } else {
        int err = parse_named(view, at, type);
        if (err)
            return err;
    }
    skip_qualifiers(at, &is_const);
    if (is_const) {
        strcpy(name, type->name);
        size_t room = sizeof(type->name) - sizeof "const ";
        strcpy(type->name, "const ");
        strncat(type->name, name, room);
    }
    return 0;
}

/* Parses "[3]" after a base type. */
static int parse_bounds(struct cli_frame_view *view, const char **at, struct wetdbg_type *type)
{
    uint64_t counts[8];
    size_t count = 0;
    const char *start = skip_blanks(*at);
    while (*start == '[' && count < sizeof(counts) / sizeof(*counts)) {
        char *digits, *end = strchr(start, ']');
        if (!end)
            break;
        digits = cli_strndup(start + 1, (size_t)(end - start - 1));
        bool is_number = cli_number_parse(digits, &counts[count]);
        free(digits);
        if (!is_number)
            break;
        count++;
        start = skip_blanks(end + 1);
        *at = end + 1;
    }
    while (count > 0) {
        int err = wetdbg_type_array(view->moment->model, type, counts[--count], type);
        if (err)
            return err;
    }
    return 0;
}

int cli_type_parse(struct cli_frame_view *view, const char **text, struct wetdbg_type *type)
{
    const char *at = *text;
    struct wetdbg_type made;
    bool is_const = false;
    int err = parse_base(view, &at, &made);
    if (err)
        return err;
    for (;;) {
        const char *star = skip_blanks(at);
        if (*star == '&') {
            at = star + 1; /* a reference: what it refers to is meant */
            break;
        }
        if (*star != '*')
            break;
        at = star + 1;
        err = wetdbg_type_pointer(view->moment->model, &made, &made);
        if (err)
            return err;
        skip_qualifiers(&at, &is_const);
    }
    /* "(*)[3]": a pointer to an array */
    const char *inner = skip_blanks(at);
    bool is_pointer = strncmp(inner, "(*)", 3) == 0;
    if (is_pointer)
        at = inner + 3;
    err = parse_bounds(view, &at, &made);
    if (!err && is_pointer)
        err = wetdbg_type_pointer(view->moment->model, &made, &made);
    if (err)
        return err;
    *text = at;
    *type = made;
    return 0;
}
