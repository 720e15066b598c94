/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Demangling is libiberty's. Its callbacks are used rather than the functions that return a string:
 * a few hundred bytes of a crafted name can stand for gigabytes of text (each substitution doubles
 * it), and only the callback can stop that, by leaving with longjmp. D's names are left as they
 * are, because for them there is no such callback.
 *
 * Names are matched without what people do not type. Both sides are squeezed the same way.
 */
#include "wet/model/names.h"

#include <ctype.h>
#include <errno.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wet/model/module.h"
#include <wetdbg/errors.h>

#define TEXT_BYTES_MAX    (32 << 10)
#define LINKAGE_BYTES_MAX (4 << 10)
/* libiberty's own limit on nesting refuses names of half that many bytes, nested or not. */
#define SHORT_LINKAGE_BYTES 1024

/* ---- Abbreviating ------------------------------------------------------------------------ */

static bool is_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || byte == '$' ||
           (unsigned char)byte >= 0x80;
}

/* How many bytes of an operator's sign stand behind the word "operator". */
static size_t operator_sign(const char *text)
{
    static const char *const signs[] = {"()", "[]", "<=>", "<<=", ">>=", "<<", ">>",
                                        "<=", ">=", "->*", "->",  "<",   ">"};

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
        if (strncmp(text, signs[i], strlen(signs[i])) == 0)
            return strlen(signs[i]);
    return 0;
}

/* Past the bracket that closes the one at `text`; signs of operators inside do not count. */
static const char *skip_group(const char *text)
{
    unsigned depth = 0;

    for (; *text; text++) {
        if (strncmp(text, "operator", 8) == 0)
            text += 7 + operator_sign(text + 8);
        else if (strchr("<([", *text))
            depth++;
        else if (strchr(">)]", *text) && text[-1] != '-' && --depth == 0)
            return text + 1;
    }
    return text;
}

/* Past a template's argument that nobody writes because it is the default. */
static const char *skip_default_argument(const char *text)
{
    static const char *const defaults[] = {", std::allocator<", ", std::char_traits<",
                                           ", std::default_delete<"};

    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
        if (strncmp(text, defaults[i], strlen(defaults[i])) == 0)
            return skip_group(text + strlen(defaults[i]) - 1);
    return NULL;
}

static const struct {
    const char *is, *becomes;
} abbreviations[] = {
    {"std::__cxx11::basic_string<char>", "std::string"},
    {"std::basic_string<char>", "std::string"},
    {"std::basic_string_view<char>", "std::string_view"},
    {"std::basic_ostream<char>", "std::ostream"},
    {"std::basic_istream<char>", "std::istream"},
};

/* GCC's DWARF has "box<long unsigned int>" where everybody else has "box<unsigned long>". */
static const struct {
    const char *is, *becomes;
} integers[] = {
    {"long long unsigned int", "unsigned long long"}, {"long long int", "long long"},
    {"long unsigned int", "unsigned long"},           {"long int", "long"},
    {"short unsigned int", "unsigned short"},         {"short int", "short"},
};

/* How much of `text`, a template's argument, is such an integer; *index of the table. */
static size_t long_integer(const char *text, size_t *index)
{
    for (*index = 0; *index < sizeof(integers) / sizeof(*integers); ++*index) {
        size_t length = strlen(integers[*index].is);

        if (strncmp(text, integers[*index].is, length) == 0 && !is_word(text[length]))
            return length;
    }
    return 0;
}

static void shorten_integers(char *text)
{
    const char *from = text;
    unsigned depth = 0;
    char *to = text;

    while (*from) {
        size_t index, length = 0;

        if (depth && (to == text || !is_word(to[-1])))
            length = long_integer(from, &index);
        if (length) {
            to = stpcpy(to, integers[index].becomes);
            from += length;
            continue;
        }
        depth += *from == '<';
        depth -= *from == '>' && depth;
        *to++ = *from++;
    }
    *to = '\0';
}

/* Makes a name shorter, in place: "std::vector<std::string>". */
void mdl_name_abbreviate(char *text)
{
    const char *from = text;
    char *to = text;

    shorten_integers(text);
    while (*from) {
        const char *past = *from == ',' ? skip_default_argument(from) : NULL;

        if (past) {
            from = past;
            if (from[0] == ' ' && from[1] == '>' && to[-1] != '>')
                from++;
            continue;
        }
        *to++ = *from++;
        for (size_t i = 0; to[-1] == '>' && i < sizeof(abbreviations) / sizeof(*abbreviations);
             i++) {
            size_t length = strlen(abbreviations[i].is);

            if ((size_t)(to - text) < length ||
                memcmp(to - length, abbreviations[i].is, length) != 0 ||
                ((size_t)(to - text) > length && is_word(to[-length - 1])))
                continue;
            to -= length;
            to = stpcpy(to, abbreviations[i].becomes);
            /* "x<std::string >" is how it comes out otherwise */
            if (from[0] == ' ' && from[1] == '>')
                from++;
        }
    }
    *to = '\0';
}

/* ---- Demangling -------------------------------------------------------------------------- */

struct sink {
    jmp_buf too_long;
    size_t used;
    char text[TEXT_BYTES_MAX];
};

static void take_text(const char *part, size_t length, void *context)
{
    struct sink *sink = context;

    if (length >= sizeof(sink->text) - sink->used)
        longjmp(sink->too_long, 1);
    memcpy(sink->text + sink->used, part, length);
    sink->used += length;
}

int mdl_name_is_mangled(const char *name)
{
    return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

/* 1 if sink has the text now. */
static int demangle(const char *linkage, int options, struct sink *sink)
{
    bool is_done;

    sink->used = 0;
    if (setjmp(sink->too_long))
        return 0;
    is_done = rust_demangle_callback(linkage, options, take_text, sink);
    if (!is_done) {
        sink->used = 0;
        is_done = cplus_demangle_v3_callback(linkage, options, take_text, sink);
    }
    sink->text[sink->used] = '\0';
    return is_done && sink->used;
}

/* The part of a linker's name from "@plt" on, or its end. */
static const char *stub_mark(const char *linkage)
{
    const char *mark = strchr(linkage, '@');

    return mark ? mark : linkage + strlen(linkage);
}

/* ".cold" and the like; libiberty leaves it out of a name without parameters. */
static const char *clone_suffix(const char *linkage, const struct sink *sink)
{
    const char *dot = strchr(linkage, '.');

    if (!dot || dot[1] == '.' || linkage[1] != 'Z' || strstr(sink->text, dot))
        return "";
    return strncmp(dot, ".llvm.", 6) == 0 ? "" : dot;
}

const char *mdl_name_demangle(struct wetdbg_model *model, const char *linkage,
                              enum mdl_name_style style)
{
    const char *mark = stub_mark(linkage), *result = linkage, *suffix = "";
    size_t length = (size_t)(mark - linkage);
    int options = DMGL_ANSI;
    struct sink *sink;
    char *name;

    if (!mdl_name_is_mangled(linkage) || length > LINKAGE_BYTES_MAX)
        return linkage;
    sink = malloc(sizeof(*sink));
    name = strndup(linkage, length);
    if (style == MDL_NAME_FULL)
        options |= DMGL_PARAMS | DMGL_RET_DROP;
    if (length >= SHORT_LINKAGE_BYTES)
        options |= DMGL_NO_RECURSE_LIMIT;
    if (!sink || !name) {
        result = NULL;
    } else if (demangle(name, options, sink)) {
        if (style == MDL_NAME_PLAIN) {
            suffix = clone_suffix(name, sink);
            mdl_name_abbreviate(sink->text);
        }
        result = mdl_strings_format(&model->strings, "%s%s%s", sink->text, suffix, mark);
    }
    free(sink);
    free(name);
    return result;
}

/* ---- Squeezing --------------------------------------------------------------------------- */

static size_t is_left_out(const char *text)
{
    static const char *const parts[] = {
        "(anonymous namespace)::", "{anonymous}::", "__cxx11::", "__1::"};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strncmp(text, parts[i], strlen(parts[i])) == 0)
            return strlen(parts[i]);
    return 0;
}

/* Where the words and template arguments of a type end. */
static char *end_of_type(char *text)
{
    int depth = 0;

    for (; *text && (depth || !strchr("*&,)>[(", *text)); text++)
        depth += (*text == '<') - (*text == '>');
    return text;
}

/* The length of the qualifier that a type begins with, or 0. */
static size_t qualifier(const char *text)
{
    static const char *const words[] = {"const", "volatile"};

    for (size_t i = 0; i < 2; i++)
        if (strncmp(text, words[i], strlen(words[i])) == 0 && text[strlen(words[i])] == ' ')
            return strlen(words[i]);
    return 0;
}

/* Moves a qualifier of so many bytes behind its type. */
static void move_behind(char *text, size_t length)
{
    char word[16], *end = end_of_type(text + length + 1);
    size_t rest = (size_t)(end - text) - length - 1;
    bool is_apart = rest && is_word(end[-1]);

    memcpy(word, text, length);
    memmove(text, text + length + 1, rest);
    if (is_apart)
        text[rest++] = ' ';
    memcpy(text + rest, word, length);
    if (!is_apart)
        memmove(end - 1, end, strlen(end) + 1);
}

/* Brings parameters in squeezed text into the form that demangled names have: "char const*" for
 * "const char*", "()" for "(void)". Inner ones come first. */
static void settle_parameters(char *text)
{
    char *none = strstr(text, "(void)");

    for (size_t at = strlen(text); at-- > 0;)
        for (size_t i = 0, length; strchr("(,<", text[at]) && i < 2; i++)
            if ((length = qualifier(text + at + 1)) > 0)
                move_behind(text + at + 1, length);
    if (none)
        memmove(none + 1, none + 5, strlen(none + 5) + 1);
}

/* Copies `from`, abbreviated, in short: no spaces but between words, no ABI tags, and only those of
 * template arguments and parameters that the person typed. Clones go by the name of what they
 * copy. */
static int squeeze(const char *name, bool keeps_arguments, bool keeps_parameters, char *to)
{
    char *copy = strdup(name), *start = to;
    const char *from = copy;

    if (!copy)
        return -ENOMEM;
    mdl_name_abbreviate(copy);
    while (*from) {
        int at_word = to == start || !is_word(to[-1]);
        size_t length = at_word ? is_left_out(from) : 0;

        if (length) {
            from += length;
        } else if (at_word && strncmp(from, "operator", 8) == 0 && !is_word(from[8])) {
            length = 8 + operator_sign(from + 8);
            memcpy(to, from, length);
            to += length;
            from += length;
        } else if (*from == ' ') {
            from++;
            if (to > start && is_word(to[-1]) && is_word(*from))
                *to++ = ' ';
        } else if (strncmp(from, "[abi:", 5) == 0 || (*from == '<' && !keeps_arguments) ||
                   (*from == '(' && !keeps_parameters)) {
            from = skip_group(from);
            /* Rust: "map::<u8>" and "<T as U>::f" */
            if (to - start >= 2 && to[-1] == ':' && !is_word(*from))
                to -= 2;
        } else if (strncmp(from, ".constprop", 10) == 0 || strncmp(from, ".isra", 5) == 0 ||
                   strncmp(from, ".lto_priv", 9) == 0 || strncmp(from, "[clone", 6) == 0) {
            break;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    if (keeps_parameters)
        settle_parameters(start);
    free(copy);
    return 0;
}

/* ---- Matching ---------------------------------------------------------------------------- */

/* The last word of a name, which the linker's name spells out; "" where it abbreviates. */
static char *last_word(const char *text)
{
    static const char *const abbreviated[] = {"string",        "allocator",     "basic_string",
                                              "basic_istream", "basic_ostream", "basic_iostream",
                                              "istream",       "ostream",       "iostream"};
    const char *end = text + strcspn(text, "("), *start;
    char *word;

    while (end > text && !is_word(end[-1]))
        end--;
    for (start = end; start > text && is_word(start[-1]);)
        start--;
    if (strstr(text, "operator"))
        start = end;
    word = strndup(start, (size_t)(end - start));
    for (size_t i = 0; word && i < sizeof(abbreviated) / sizeof(abbreviated[0]); i++)
        if (strcmp(word, abbreviated[i]) == 0)
            *word = '\0';
    return word;
}

/* A parenthesis that is not "(anonymous namespace)". */
static bool has_parameters(const char *name)
{
    while ((name = strchr(name, '(')) && is_left_out(name))
        name++;
    return name != NULL;
}

int mdl_name_pattern_init(struct mdl_name_pattern *pattern, const char *typed)
{
    const char *sign = strstr(typed, "operator");

    sign = sign ? sign + 8 + operator_sign(sign + 8) : typed;
    *pattern = (struct mdl_name_pattern){
        .typed = typed,
        .has_arguments = strchr(sign, '<') != NULL,
        .has_parameters = has_parameters(sign),
        .text = malloc(strlen(typed) + 1),
    };
    if (pattern->text &&
        squeeze(typed, pattern->has_arguments, pattern->has_parameters, pattern->text) == 0)
        pattern->last = last_word(pattern->text);
    if (pattern->last)
        return 0;
    mdl_name_pattern_fini(pattern);
    return -ENOMEM;
}

void mdl_name_pattern_fini(struct mdl_name_pattern *pattern)
{
    free(pattern->text);
    free(pattern->last);
    *pattern = (struct mdl_name_pattern){0};
}

static int ends_with_parts(const char *name, const char *wanted)
{
    size_t length = strlen(name), wanted_length = strlen(wanted);

    if (strncmp(wanted, "::", 2) == 0)
        return wanted[2] && strcmp(name, wanted + 2) == 0;
    if (wanted_length == 0 || wanted_length > length)
        return 0;
    if (strcmp(name + length - wanted_length, wanted) != 0)
        return 0;
    return wanted_length == length || name[length - wanted_length - 1] == ':';
}

int mdl_name_pattern_matches_text(const struct mdl_name_pattern *pattern, const char *name)
{
    char *squeezed = malloc(strlen(name) + 1);
    int result;

    if (!squeezed)
        return -ENOMEM;
    result = squeeze(name, pattern->has_arguments, pattern->has_parameters, squeezed);
    if (result == 0)
        result = ends_with_parts(squeezed, pattern->text);
    free(squeezed);
    return result;
}

int mdl_name_pattern_matches(struct wetdbg_model *model, const struct mdl_name_pattern *pattern,
                             const char *linkage)
{
    const char *name;

    if (!mdl_name_is_mangled(linkage) || !strstr(linkage, pattern->last))
        return 0;
    name =
        mdl_name_demangle(model, linkage, pattern->has_parameters ? MDL_NAME_FULL : MDL_NAME_PLAIN);
    return name ? mdl_name_pattern_matches_text(pattern, name) : -ENOMEM;
}

const char *wetdbg_name_full(struct wetdbg_model *model, const char *linkage_name)
{
    const char *name = mdl_name_demangle(model, linkage_name, MDL_NAME_FULL);

    return name ? name : linkage_name;
}

const char *mdl_name_last_part(const char *name)
{
    const char *last = name;
    int depth = 0;

    for (const char *at = name; *at; at++) {
        depth += *at == '<';
        depth -= *at == '>';
        if (depth == 0 && *at == '(' && !is_left_out(at))
            break; /* parameters */
        if (depth == 0 && at[0] == ':' && at[1] == ':')
            last = at + 2;
    }
    return last;
}

/* ---- Expressions -------------------------------------------------------------------------- */

int mdl_name_regex(const char *text, regex_t *regex)
{
    char why[128];
    int error = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);

    if (!error)
        return 0;
    regerror(error, regex, why, sizeof(why));
    return wetdbg_fail(-WETDBG_ERR_USAGE, "bad expression \"%s\": %s", text, why);
}
