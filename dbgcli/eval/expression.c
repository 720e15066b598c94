/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The expressions that `print` understands, by recursive descent with C's precedences. Evaluated
 * as they are read; what C does not evaluate (behind a decided && or ?) is read all the same, with
 * `skipping` set: then no name is looked up and no memory is read.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/args.h"
#include "dbgcli/eval/arithmetic.h"
#include "dbgcli/eval/kept.h"
#include "dbgcli/eval/registers.h"
#include "dbgcli/eval/std_values.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>

#define NESTING_MAX 64

struct reader {
    struct cli_frame_view *view;
    const char *text; /* all of it, for messages */
    const char *at;
    unsigned nesting;
    unsigned skipping;
    unsigned types_only; /* values need not be known */
    bool is_c;
};

static int read_unary(struct reader *reader, struct cli_value *value);
static int read_conditional(struct reader *reader, struct cli_value *value);
static int read_assignment(struct reader *reader, struct cli_value *value);

static void skip_blanks(struct reader *reader)
{
    while (isspace((unsigned char)*reader->at))
        reader->at++;
}

static bool take(struct reader *reader, const char *token)
{
    skip_blanks(reader);
    if (strncmp(reader->at, token, strlen(token)) != 0)
        return false;
    reader->at += strlen(token);
    return true;
}

static int fail_syntax(const struct reader *reader)
{
    return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' is no expression that print understands%s%s%s",
                       reader->text, *reader->at ? ", at '" : "", reader->at,
                       *reader->at ? "'" : "");
}

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || (unsigned char)byte >= 0x80;
}

/* Length of the template arguments that begin here, if a "::" follows them; else 0. */
static size_t arguments_length(const char *text)
{
    unsigned depth = 0;
    for (size_t i = 0; text[i]; i++) {
        depth += text[i] == '<';
        depth -= text[i] == '>';
        if (!depth)
            return i && strncmp(text + i + 1, "::", 2) == 0 ? i + 1 : 0;
    }
    return 0;
}

/* A name ("x", "ns::box<int>::count"), to be freed; NULL if there is none here. */
static char *take_name(struct reader *reader)
{
    size_t length = 0, part;
    skip_blanks(reader);
    do {
        length += strncmp(reader->at + length, "::", 2) == 0 ? 2 : 0;
        for (part = 0; is_name_byte(reader->at[length + part]);)
            part++;
        length += part;
        if (part && reader->at[length] == '<')
            length += arguments_length(reader->at + length);
    } while (part && strncmp(reader->at + length, "::", 2) == 0);
    if (!length || !part || isdigit((unsigned char)*reader->at))
        return NULL;
    char *name = cli_strndup(reader->at, length);
    reader->at += length;
    return name;
}

/* ---- primaries ---- */

static bool is_skipping(const struct reader *reader, struct cli_value *value)
{
    if (reader->skipping)
        cli_value_set(value, cli_type_basic(CLI_BASIC_INT), 0);
    return reader->skipping != 0;
}

static int find_function(struct reader *reader, const char *name, struct cli_value *value)
{
    struct wetdbg_model *model = reader->view->moment->model;
    struct wetdbg_function *functions;
    struct wetdbg_type type = {
        .kind = WETDBG_TYPE_FUNCTION, .size_bytes = 1, .name = "<text variable, no debug info>"};
    size_t count;
    int err = wetdbg_functions_named(model, name, &functions, &count);
    if (err)
        return err;
    wetdbg_function_type(model, functions[0].start, &type);
    *value = (struct cli_value){.type = type, .is_in_memory = true, .address = functions[0].start};
    free(functions);
    return 0;
}

static int fail_unknown(const struct reader *reader, const char *name, uint64_t pc)
{
    const struct cli_frame *frame = &reader->view->moment->frames[reader->view->frame];
    char *missing = cli_debug_missing(reader->view->moment->model, pc), *where = NULL;
    if (frame->file)
        where = cli_asprintf("%s (%s:%" PRIu32 ", time %" PRIu64 ")",
                             frame->function ? frame->function : "?", cli_base_name(frame->file),
                             frame->line, reader->view->moment->time);
    else
        where = cli_asprintf("%s (time %" PRIu64 ")", frame->function ? frame->function : "?",
                             reader->view->moment->time);
    int err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no variable '%s' is visible here, in %s%s%s",
                          name, where, missing ? ": " : "", missing ? missing : "");
    free(missing);
    free(where);
    return err;
}

static bool is_aggregate(const struct wetdbg_type *type)
{
    return type->kind == WETDBG_TYPE_STRUCT || type->kind == WETDBG_TYPE_UNION ||
           type->kind == WETDBG_TYPE_ARRAY;
}

/* A name "function::x". */
static int read_local_of(struct reader *reader, const char *name, struct cli_value *value)
{
    size_t last = 0;
    for (size_t i = 1; name[i]; i++)
        if (strncmp(name + i, "::", 2) == 0)
            last = i;
    if (!last)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    char *function = cli_strndup(name, last);
    int err = cli_value_scoped(reader->view, function, false, name + last + 2, value);
    free(function);
    return err;
}

/* Reads "f.c'::x", the quote before it being read; or reads nothing. */
static bool take_of_file(struct reader *reader, struct cli_value *value, int *err)
{
    size_t length = strcspn(reader->at, "'");
    if (length < 2 || strncmp(reader->at + length, "'::", 3) != 0)
        return false;
    char *file = cli_strndup(reader->at, length);
    reader->at += length + 3;
    char *name = take_name(reader);
    *err = name ? 0 : fail_syntax(reader);
    if (name && !is_skipping(reader, value))
        *err = cli_value_scoped(reader->view, file, true, name, value);
    free(name);
    free(file);
    return true;
}

/* Reads a name: of a variable, an enumerator or a function. */
static int read_name(struct reader *reader, const char *name, struct cli_value *value)
{
    struct wetdbg_model *model = reader->view->moment->model;
    const struct cli_frame *frame = &reader->view->moment->frames[reader->view->frame];
    struct wetdbg_variable variable;
    struct wetdbg_type type;
    int64_t number;
    int result = wetdbg_variable_find_at(model, frame->lookup_pc, frame->depth, name, &variable);
    /* of a symbol alone nothing but its address is known */
    if (!result) {
        result = cli_value_of_variable(reader->view, &variable, value);
        if (result == -WETDBG_ERR_NOT_FOUND && reader->types_only) {
            cli_value_set(value, &variable.type, 0);
            value->is_in_memory = is_aggregate(&variable.type);
            result = 0;
        }
        return result;
    }
    if (result != -WETDBG_ERR_NOT_FOUND)
        return result;
    if (!reader->is_c && (strcmp(name, "true") == 0 || strcmp(name, "false") == 0))
        cli_value_set(value, cli_type_basic(CLI_BASIC_BOOL), *name == 't');
    else if (wetdbg_enumerator_named(model, frame->lookup_pc, name, &type, &number) == 0)
        cli_value_set(value, &type, (uint64_t)number);
    else if (find_function(reader, name, value) != 0 && read_local_of(reader, name, value) != 0)
        return fail_unknown(reader, name, frame->lookup_pc);
    return 0;
}

static int read_float(struct reader *reader, struct cli_value *value)
{
    char *end;
    enum cli_basic basic = CLI_BASIC_DOUBLE;
    long double number = strtold(reader->at, &end);
    if (*end == 'f' || *end == 'F')
        basic = CLI_BASIC_FLOAT;
    else if (*end == 'l' || *end == 'L')
        basic = CLI_BASIC_LONG_DOUBLE;
    reader->at = end + (basic != CLI_BASIC_DOUBLE);
    if (is_name_byte(*reader->at))
        return fail_syntax(reader);
    cli_value_set_float(value, cli_type_basic(basic), number);
    return 0;
}

static int read_number(struct reader *reader, struct cli_value *value)
{
    char *end;
    bool is_hex = strncasecmp(reader->at, "0x", 2) == 0;
    bool is_binary = strncasecmp(reader->at, "0b", 2) == 0;
    size_t digits = strspn(reader->at, "0123456789");
    if (!is_hex &&
        (reader->at[digits] == '.' || strchr("eE", reader->at[digits] ? reader->at[digits] : '?')))
        return read_float(reader, value);
    errno = 0;
    unsigned long long number =
        is_binary ? strtoull(reader->at + 2, &end, 2) : strtoull(reader->at, &end, 0);
    if (errno)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s': the number is too large", reader->at);
    bool is_unsigned = false, is_long = false;
    for (; strchr("uUlL", *end ? *end : '?'); end++) {
        is_unsigned |= *end == 'u' || *end == 'U';
        is_long |= *end == 'l' || *end == 'L';
    }
    reader->at = end;
    if (is_name_byte(*end))
        return fail_syntax(reader);
    bool is_decimal = !is_hex && !is_binary;
    enum cli_basic basic = CLI_BASIC_INT;
    if (number > INT64_MAX || (is_unsigned && (is_long || number > UINT32_MAX)))
        basic = CLI_BASIC_UNSIGNED_LONG;
    else if (is_long || number > (is_decimal && !is_unsigned ? INT32_MAX : UINT32_MAX))
        basic = CLI_BASIC_LONG;
    else if (is_unsigned || number > INT32_MAX)
        basic = CLI_BASIC_UNSIGNED_INT;
    cli_value_set(value, cli_type_basic(basic), number);
    return 0;
}

/* The character that stands for itself, or an escape. -1: none. */
static int read_escape(struct reader *reader)
{
    static const char letters[] = "abfnrtve0", codes[] = "\a\b\f\n\r\t\v\033";
    if (*reader->at != '\\')
        return *reader->at ? (unsigned char)*reader->at++ : -1;
    char *end;
    const char *start = reader->at + 1;
    if (*start == 'x') {
        long code = strtol(start + 1, &end, 16);
        reader->at = end;
        return end > start + 1 && code <= 0xff ? (int)code : -1;
    }
    if (*start >= '0' && *start <= '7') {
        int code = 0;
        for (end = (char *)start; end < start + 3 && *end >= '0' && *end <= '7'; end++)
            code = code * 8 + *end - '0';
        reader->at = end;
        return code & 0xff;
    }
    if (!*start)
        return -1;
    const char *letter = strchr(letters, *start);
    reader->at = start + 1;
    return letter ? codes[letter - letters] : (unsigned char)*start;
}

static int read_character(struct reader *reader, struct cli_value *value)
{
    int code = read_escape(reader);
    if (code < 0 || *reader->at != '\'')
        return fail_syntax(reader);
    reader->at++;
    cli_value_set(value, cli_type_basic(CLI_BASIC_CHAR), (uint64_t)(int64_t)(int8_t)code);
    return 0;
}

static int read_parenthesis(struct reader *reader, struct cli_value *value)
{
    int err = read_assignment(reader, value);
    if (!err && !take(reader, ")"))
        err = fail_syntax(reader);
    return err;
}

/* ---- what begins with '$' ---- */

/* Takes "$x", "$", "$$2" and the like; what is behind the first '$' is to be freed. NULL: none. */
static char *take_dollar(struct reader *reader)
{
    skip_blanks(reader);
    if (*reader->at != '$')
        return NULL;
    const char *start = ++reader->at;
    reader->at += *start == '$';
    if (isdigit((unsigned char)*reader->at) || *start == '$')
        reader->at += strspn(reader->at, "0123456789");
    else
        while (is_name_byte(*reader->at))
            reader->at++;
    return cli_strndup(start, (size_t)(reader->at - start));
}

/* Gets a value of the history, a register or a variable of the session's. */
static int get_dollar(struct reader *reader, const char *name, struct cli_value *value)
{
    const struct cli_moment *moment = reader->view->moment;
    if (!moment->kept || (*name && !cli_kept_is_number(name))) {
        int err = cli_register_value(reader->view, name, value);
        if (err != -WETDBG_ERR_USAGE || !moment->kept)
            return err;
    }
    if (strcmp(name, "_thread") == 0) {
        cli_value_set(value, cli_type_basic(CLI_BASIC_INT),
                      moment->thread ? moment->thread->index + 1 : 0);
        return 0;
    }
    return cli_kept_get(moment->kept, name, value);
}

static int fail_change(void)
{
    return wetdbg_fail(-WETDBG_ERR_USAGE, "a recorded run cannot be changed");
}

/* Makes an array a pointer to its first element, which it is where C assigns it. */
static int decay(struct cli_moment *moment, struct cli_value *value)
{
    struct wetdbg_type element, pointer;
    uint64_t count;
    int err = cli_value_dereference(moment, value);
    if (err || value->type.kind != WETDBG_TYPE_ARRAY || !value->is_in_memory)
        return err;
    err = wetdbg_type_target(moment->model, value->type.handle, &element, &count);
    if (!err)
        err = wetdbg_type_pointer(moment->model, &element, &pointer);
    if (!err)
        cli_value_set(value, &pointer, value->address);
    return err;
}

/* Gives a variable of the session's a value, which becomes *value; not where nothing is
 * evaluated. */
static int set_dollar(struct reader *reader, const char *name, struct cli_value *value)
{
    struct cli_moment *moment = reader->view->moment;
    struct cli_value other;
    if (reader->skipping || reader->types_only)
        return 0;
    bool is_free = moment->kept && !cli_kept_is_number(name) && *name != '_' &&
                   cli_register_value(reader->view, name, &other) == -WETDBG_ERR_USAGE;
    int err = is_free ? decay(moment, value) : fail_change();
    if (!err)
        err = cli_kept_set(moment->kept, moment, name, value);
    return err ? err : cli_kept_get(moment->kept, name, value);
}

/* Adds 1 to a variable of the session's, or subtracts it. */
static int change_by_one(struct reader *reader, const char *name, enum cli_operator op,
                         struct cli_value *changed)
{
    struct cli_value now, one;
    int err = get_dollar(reader, name, &now);
    cli_value_set(&one, cli_type_basic(CLI_BASIC_INT), 1);
    if (!err)
        err = cli_operate(reader->view->moment, op, &now, &one, reader->is_c, changed);
    return err ? err : set_dollar(reader, name, changed);
}

static int read_dollar(struct reader *reader, struct cli_value *value)
{
    struct cli_value changed;
    char *name = take_dollar(reader);
    bool is_up = take(reader, "++"), is_changed = is_up || take(reader, "--");
    int err = 0;
    if (!is_skipping(reader, value)) {
        err = get_dollar(reader, name, value);
        if (!err && is_changed)
            err = change_by_one(reader, name, is_up ? CLI_OP_ADD : CLI_OP_SUBTRACT, &changed);
    }
    free(name);
    return err;
}

/* Reads what is behind "++" or "--". */
static int read_change(struct reader *reader, enum cli_operator op, struct cli_value *value)
{
    char *name = take_dollar(reader);
    int err = name ? 0 : fail_change();
    if (name && !is_skipping(reader, value))
        err = change_by_one(reader, name, op, value);
    free(name);
    return err;
}

static int read_primary(struct reader *reader, struct cli_value *value)
{
    int err = 0;
    if (take(reader, "("))
        return read_parenthesis(reader, value);
    if (take(reader, "'"))
        return take_of_file(reader, value, &err) ? err : read_character(reader, value);
    skip_blanks(reader);
    if (*reader->at == '"')
        return wetdbg_fail(-WETDBG_ERR_USAGE, "a text has no address in a recorded run: '%s'",
                           reader->at);
    if (isdigit((unsigned char)*reader->at) ||
        (*reader->at == '.' && isdigit((unsigned char)reader->at[1])))
        return read_number(reader, value);
    if (*reader->at == '$')
        return read_dollar(reader, value);
    char *name = take_name(reader);
    if (!name)
        return fail_syntax(reader);
    if (!is_skipping(reader, value))
        err = read_name(reader, name, value);
    free(name);
    return err;
}

/* ---- postfixes ---- */

static int follow_reference(struct reader *reader, struct cli_value *value)
{
    return reader->skipping ? 0 : cli_value_dereference(reader->view->moment, value);
}

/* Reads a member "v4_float" or the like of a vector register. */
static int vector_member(struct reader *reader, const char *name, struct cli_value *value)
{
    static const struct {
        const char *name;
        enum cli_basic basic;
    } shapes[] = {
        {"float", CLI_BASIC_FLOAT}, {"double", CLI_BASIC_DOUBLE}, {"int8", CLI_BASIC_SIGNED_CHAR},
        {"int16", CLI_BASIC_SHORT}, {"int32", CLI_BASIC_INT},     {"int64", CLI_BASIC_LONG},
    };
    const char *under = strchr(name, '_');
    for (size_t i = 0; under && i < sizeof(shapes) / sizeof(*shapes); i++) {
        const struct wetdbg_type *type = cli_type_basic(shapes[i].basic);
        uint64_t count = value->type.size_bytes / type->size_bytes;
        if (strcmp(under + 1, shapes[i].name) != 0 || strtoull(name + 1, NULL, 10) != count)
            continue;
        return wetdbg_type_array(reader->view->moment->model, type, count, &value->type);
    }
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "a vector register has no '%s'", name);
}

static int fail_call(void)
{
    return wetdbg_fail(-WETDBG_ERR_USAGE, "a recorded run can call no functions");
}

static int apply_member(struct reader *reader, struct cli_value *value)
{
    struct cli_value member;
    int result = follow_reference(reader, value);
    if (result)
        return result;
    enum wetdbg_type_kind kind = value->type.kind;
    char *name = take_name(reader);
    if (!name)
        return fail_syntax(reader);
    if (is_skipping(reader, &member))
        *value = member;
    else if (kind == WETDBG_TYPE_OTHER && strncmp(value->type.name, "vec", 3) == 0)
        result = vector_member(reader, name, value);
    else if (kind != WETDBG_TYPE_STRUCT && kind != WETDBG_TYPE_UNION)
        result =
            wetdbg_fail(-WETDBG_ERR_USAGE, "a value of type '%s' has no members", value->type.name);
    else
        result = cli_value_member(reader->view->moment, value, name, &member);
    if (result == -WETDBG_ERR_NOT_FOUND && take(reader, "("))
        result = fail_call();
    else if (result == -WETDBG_ERR_NOT_FOUND && kind != WETDBG_TYPE_OTHER)
        result = wetdbg_fail(result, "'%s' has no member '%s'", value->type.name, name);
    free(name);
    if (!result && !reader->skipping && kind != WETDBG_TYPE_OTHER)
        *value = member;
    return result;
}

static int element_at(struct cli_moment *moment, const struct cli_value *value,
                      const struct cli_std_key *key, struct cli_value *element)
{
    int err = cli_std_element(moment, value, key, element);
    if (err != -WETDBG_ERR_USAGE)
        return err;
    return key->text ? wetdbg_fail(-WETDBG_ERR_USAGE, "a value of type '%s' has no keys",
                                   value->type.name)
                     : cli_value_element(moment, value, key->number, element);
}

/* Reads what is in brackets: a number, or a text, which ends at the next quotation mark. */
static int read_key(struct reader *reader, struct cli_std_key *key)
{
    struct cli_value index;
    *key = (struct cli_std_key){0};
    if (take(reader, "\"")) {
        key->text = reader->at;
        key->size = strcspn(reader->at, "\"");
        reader->at += key->size;
        return take(reader, "\"") ? 0 : fail_syntax(reader);
    }
    int err = read_conditional(reader, &index);
    if (!err)
        err = follow_reference(reader, &index);
    if (!err && !reader->skipping)
        err = cli_value_bits(reader->view->moment, &index, (uint64_t *)&key->number);
    return err;
}

static int apply_index(struct reader *reader, struct cli_value *value)
{
    struct cli_std_key key;
    struct cli_value element;
    int err = read_key(reader, &key);
    if (!err && !take(reader, "]"))
        err = fail_syntax(reader);
    if (err || is_skipping(reader, value))
        return err;
    err = follow_reference(reader, value);
    if (!err)
        err = element_at(reader->view->moment, value, &key, &element);
    if (!err)
        *value = element;
    return err;
}

static int dereference(struct reader *reader, struct cli_value *value)
{
    struct cli_value target;
    if (is_skipping(reader, value))
        return 0;
    int err = follow_reference(reader, value);
    if (!err)
        err = cli_std_target(reader->view->moment, value, &target);
    if (err == -WETDBG_ERR_USAGE)
        err = cli_value_target(reader->view->moment, value, &target);
    if (!err && target.type.kind == WETDBG_TYPE_VOID)
        err = wetdbg_fail(-WETDBG_ERR_USAGE,
                          "a 'void *' points to nothing that can be shown: cast it");
    if (!err)
        *value = target;
    return err;
}

/* As gdb, takes `p.member` of a pointer to a structure for `p->member`. */
static int point_through(struct reader *reader, struct cli_value *value)
{
    struct cli_value pointer = *value, target;
    if (reader->skipping || follow_reference(reader, &pointer) != 0 ||
        pointer.type.kind != WETDBG_TYPE_POINTER || !pointer.type.handle ||
        cli_value_target(reader->view->moment, &pointer, &target) != 0 ||
        !is_aggregate(&target.type))
        return 0;
    *value = target;
    return 0;
}

static int read_postfix(struct reader *reader, struct cli_value *value)
{
    int err = read_primary(reader, value);
    while (!err) {
        if (take(reader, "->")) {
            err = dereference(reader, value);
            if (!err)
                err = apply_member(reader, value);
        } else if (take(reader, ".")) {
            err = point_through(reader, value);
            if (!err)
                err = apply_member(reader, value);
        } else if (take(reader, "[")) {
            err = apply_index(reader, value);
        } else if (take(reader, "(")) {
            err = fail_call();
        } else if (take(reader, "++") || take(reader, "--")) {
            err = fail_change();
        } else {
            break;
        }
    }
    return err;
}

/* ---- unary operators ---- */

static int take_address(struct reader *reader, struct cli_value *value)
{
    struct wetdbg_type type;
    if (is_skipping(reader, value))
        return 0;
    int err = follow_reference(reader, value);
    if (!err && (!value->is_in_memory || value->bit_size))
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "the value has no address");
    if (!err)
        err = wetdbg_type_pointer(reader->view->moment->model, &value->type, &type);
    if (!err)
        cli_value_set(value, &type, value->address);
    return err;
}

/* Takes a type's name, as in a cast: not if there is a variable of the name. */
static bool take_type(struct reader *reader, struct wetdbg_type *type)
{
    const struct cli_frame *frame = &reader->view->moment->frames[reader->view->frame];
    struct reader ahead = *reader;
    struct wetdbg_variable variable;
    const char *at;
    skip_blanks(&ahead);
    at = ahead.at;
    char *name = take_name(&ahead);
    if (!name)
        return false;
    bool is_variable = wetdbg_variable_find_at(reader->view->moment->model, frame->lookup_pc,
                                               frame->depth, name, &variable) == 0;
    free(name);
    if (is_variable || cli_type_parse(reader->view, &at, type) != 0)
        return false;
    reader->at = at;
    return true;
}

static int read_cast(struct reader *reader, const struct wetdbg_type *type, struct cli_value *value)
{
    struct cli_value operand;
    if (!take(reader, ")"))
        return fail_syntax(reader);
    int result = read_unary(reader, &operand);
    if (result || is_skipping(reader, value))
        return result;
    result = follow_reference(reader, &operand);
    return result ? result : cli_cast(reader->view->moment, &operand, type, value);
}

static int read_sizeof(struct reader *reader, struct cli_value *value)
{
    struct wetdbg_type type;
    struct cli_value operand;
    struct reader ahead = *reader;
    if (take(&ahead, "(") && take_type(&ahead, &type) && take(&ahead, ")")) {
        reader->at = ahead.at;
    } else {
        reader->types_only++;
        int err = read_unary(reader, &operand);
        reader->types_only--;
        if (!err)
            err = follow_reference(reader, &operand);
        if (err)
            return err;
        type = operand.type;
    }
    cli_value_set(value, cli_type_basic(CLI_BASIC_UNSIGNED_LONG), type.size_bytes);
    return 0;
}

/* Reads "{TYPE} ADDRESS". */
static int read_typed_memory(struct reader *reader, struct cli_value *value)
{
    struct wetdbg_type type;
    struct cli_value address, number;
    if (!take_type(reader, &type) || !take(reader, "}"))
        return fail_syntax(reader);
    int err = read_unary(reader, &address);
    if (err || is_skipping(reader, value))
        return err;
    uint64_t bits;
    err = follow_reference(reader, &address);
    if (!err)
        err = cli_cast(reader->view->moment, &address, cli_type_basic(CLI_BASIC_LONG), &number);
    if (!err)
        err = cli_value_bits(reader->view->moment, &number, &bits);
    if (!err)
        *value = (struct cli_value){.type = type, .is_in_memory = true, .address = bits};
    return err;
}

static int read_sign(struct reader *reader, char sign, struct cli_value *value)
{
    struct cli_value operand;
    bool is_true;
    int err = read_unary(reader, &operand);
    if (err || is_skipping(reader, value))
        return err;
    err = follow_reference(reader, &operand);
    if (!err && sign != '!')
        return cli_negate(reader->view->moment, sign, &operand, value);
    if (!err)
        err = cli_truth(reader->view->moment, &operand, &is_true);
    if (!err)
        cli_value_set(value, cli_type_basic(reader->is_c ? CLI_BASIC_INT : CLI_BASIC_BOOL),
                      !is_true);
    return err;
}

static bool take_sizeof(struct reader *reader)
{
    skip_blanks(reader);
    if (strncmp(reader->at, "sizeof", 6) != 0 || is_name_byte(reader->at[6]))
        return false;
    reader->at += 6;
    return true;
}

static int read_operator(struct reader *reader, struct cli_value *value)
{
    struct wetdbg_type type;
    int result;
    if (take(reader, "*")) {
        result = read_unary(reader, value);
        return result ? result : dereference(reader, value);
    }
    if (take(reader, "&")) {
        result = read_unary(reader, value);
        return result ? result : take_address(reader, value);
    }
    if (take(reader, "++"))
        return read_change(reader, CLI_OP_ADD, value);
    if (take(reader, "--"))
        return read_change(reader, CLI_OP_SUBTRACT, value);
    skip_blanks(reader);
    if (*reader->at && strchr("-~+!", *reader->at))
        return read_sign(reader, *reader->at++, value);
    if (take(reader, "{"))
        return read_typed_memory(reader, value);
    if (take_sizeof(reader))
        return read_sizeof(reader, value);
    struct reader ahead = *reader;
    if (take(&ahead, "(") && take_type(&ahead, &type)) {
        reader->at = ahead.at;
        return read_cast(reader, &type, value);
    }
    return read_postfix(reader, value);
}

static int read_unary(struct reader *reader, struct cli_value *value)
{
    if (++reader->nesting > NESTING_MAX)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "the expression is nested too deeply");
    int err = read_operator(reader, value);
    reader->nesting--;
    return err;
}

/* ---- binary operators ---- */

enum { AT = CLI_OP_GREATER_EQUAL + 1, AND_THEN, OR_ELSE, NO_OPERATOR };

/* The operators, longer ones before those that they begin with; a higher level binds tighter. */
static const struct {
    const char *token;
    unsigned level;
    int op;
    const char *unless; /* characters that make it another token */
} operators[] = {
    {"||", 1, OR_ELSE, ""},
    {"&&", 2, AND_THEN, ""},
    {"==", 6, CLI_OP_EQUAL, ""},
    {"!=", 6, CLI_OP_NOT_EQUAL, ""},
    {"<<", 8, CLI_OP_SHIFT_LEFT, "="},
    {">>", 8, CLI_OP_SHIFT_RIGHT, "="},
    {"<=", 7, CLI_OP_LESS_EQUAL, ""},
    {">=", 7, CLI_OP_GREATER_EQUAL, ""},
    {"<", 7, CLI_OP_LESS, ""},
    {">", 7, CLI_OP_GREATER, ""},
    {"|", 3, CLI_OP_OR, "="},
    {"^", 4, CLI_OP_XOR, "="},
    {"&", 5, CLI_OP_AND, "="},
    {"@", 9, AT, ""},
    {"+", 10, CLI_OP_ADD, "="},
    {"-", 10, CLI_OP_SUBTRACT, "="},
    {"*", 11, CLI_OP_MULTIPLY, "="},
    {"/", 11, CLI_OP_DIVIDE, "="},
    {"%", 11, CLI_OP_REMAINDER, "="},
};
#define OPERATOR_COUNT (sizeof(operators) / sizeof(*operators))

/* The operator that comes next, of a level of at least `least`; or OPERATOR_COUNT. */
static size_t take_operator(struct reader *reader, unsigned least)
{
    skip_blanks(reader);
    for (size_t i = 0; i < OPERATOR_COUNT; i++) {
        size_t length = strlen(operators[i].token);
        if (strncmp(reader->at, operators[i].token, length) != 0)
            continue;
        char next = reader->at[length];
        if (operators[i].level < least || (next && strchr(operators[i].unless, next)))
            return OPERATOR_COUNT;
        reader->at += length;
        return i;
    }
    return OPERATOR_COUNT;
}

/* Makes the array that gdb writes as first@count. */
static int make_array(struct cli_moment *moment, const struct cli_value *first,
                      const struct cli_value *count, struct cli_value *result)
{
    struct wetdbg_type type;
    uint64_t number;
    int err = cli_value_bits(moment, count, &number);
    if (!err && ((int64_t)number < 1))
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "behind '@' comes how many values, at least 1");
    if (!err && (!first->is_in_memory || first->bit_size))
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "only values in memory can be repeated by '@'");
    if (!err)
        err = wetdbg_type_array(moment->model, &first->type, number, &type);
    if (!err)
        *result = (struct cli_value){.type = type, .is_in_memory = true, .address = first->address};
    return err;
}

static int combine(struct reader *reader, int op, struct cli_value *left, struct cli_value *right)
{
    struct cli_moment *moment = reader->view->moment;
    struct cli_value made;
    if (is_skipping(reader, left))
        return 0;
    int err = follow_reference(reader, left);
    if (!err)
        err = follow_reference(reader, right);
    if (!err)
        err = op == AT
                  ? make_array(moment, left, right, &made)
                  : cli_operate(moment, (enum cli_operator)op, left, right, reader->is_c, &made);
    if (!err)
        *left = made;
    return err;
}

static int read_binary(struct reader *reader, unsigned least, struct cli_value *value);

/* Reads what is behind && or ||, which counts if the left side does not decide. */
static int read_logical(struct reader *reader, int op, unsigned level, struct cli_value *value)
{
    struct cli_moment *moment = reader->view->moment;
    struct cli_value right;
    bool is_true = false;
    int err = follow_reference(reader, value);
    if (!err && !reader->skipping)
        err = cli_truth(moment, value, &is_true);
    if (err)
        return err;
    bool is_decided = is_true == (op == OR_ELSE);
    reader->skipping += is_decided;
    err = read_binary(reader, level + 1, &right);
    if (!err)
        err = follow_reference(reader, &right);
    if (!err && !reader->skipping)
        err = cli_truth(moment, &right, &is_true);
    reader->skipping -= is_decided;
    if (!err)
        cli_value_set(value, cli_type_basic(reader->is_c ? CLI_BASIC_INT : CLI_BASIC_BOOL),
                      is_true);
    return err;
}

static int read_binary(struct reader *reader, unsigned least, struct cli_value *value)
{
    struct cli_value right;
    int err = read_unary(reader, value);
    while (!err) {
        size_t i = take_operator(reader, least);
        if (i == OPERATOR_COUNT)
            break;
        if (operators[i].op == AND_THEN || operators[i].op == OR_ELSE) {
            err = read_logical(reader, operators[i].op, operators[i].level, value);
            continue;
        }
        err = read_binary(reader, operators[i].level + 1, &right);
        if (!err)
            err = combine(reader, operators[i].op, value, &right);
    }
    return err;
}

static int read_branches(struct reader *reader, bool is_true, struct cli_value *value)
{
    struct cli_value other;
    reader->skipping += !is_true;
    int err = read_conditional(reader, is_true ? value : &other);
    reader->skipping -= !is_true;
    if (!err && !take(reader, ":"))
        err = fail_syntax(reader);
    if (err)
        return err;
    reader->skipping += is_true;
    err = read_conditional(reader, is_true ? &other : value);
    reader->skipping -= is_true;
    return err;
}

static int read_conditional(struct reader *reader, struct cli_value *value)
{
    bool is_true = false;
    if (++reader->nesting > NESTING_MAX)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "the expression is nested too deeply");
    int err = read_binary(reader, 1, value);
    if (!err && take(reader, "?")) {
        err = follow_reference(reader, value);
        if (!err && !reader->skipping)
            err = cli_truth(reader->view->moment, value, &is_true);
        if (!err)
            err = read_branches(reader, is_true, value);
    }
    reader->nesting--;
    skip_blanks(reader);
    if (!err && *reader->at && strchr("=+-*/%&|^<>", *reader->at) && strchr(reader->at, '='))
        err = fail_change();
    return err;
}

/* Reads "=", "+=" and the like: *op is NO_OPERATOR, or the operator. */
static bool take_assignment(struct reader *reader, int *op)
{
    struct reader ahead = *reader;
    *op = NO_OPERATOR;
    for (size_t i = 0; i < OPERATOR_COUNT; i++)
        if (strcmp(operators[i].unless, "=") == 0 && take(&ahead, operators[i].token)) {
            *op = operators[i].op;
            break;
        }
    if (*ahead.at != '=' && *op == NO_OPERATOR)
        skip_blanks(&ahead);
    if (*ahead.at != '=' || ahead.at[1] == '=')
        return false;
    reader->at = ahead.at + 1;
    return true;
}

/* Assigns what was read behind the operator. */
static int assign(struct reader *reader, const char *name, int op, struct cli_value *value)
{
    struct cli_value left, made;
    if (is_skipping(reader, value))
        return 0;
    if (op == NO_OPERATOR)
        return set_dollar(reader, name, value);
    int err = get_dollar(reader, name, &left);
    if (!err)
        err = follow_reference(reader, value);
    if (!err)
        err = cli_operate(reader->view->moment, (enum cli_operator)op, &left, value, reader->is_c,
                          &made);
    if (err)
        return err;
    *value = made;
    return set_dollar(reader, name, value);
}

/* Reads an assignment to a variable of the session's, or what is none. */
static int read_assignment(struct reader *reader, struct cli_value *value)
{
    struct reader ahead = *reader;
    int op, err;
    char *name = take_dollar(&ahead);
    if (!name || !take_assignment(&ahead, &op)) {
        free(name);
        return read_conditional(reader, value);
    }
    reader->at = ahead.at;
    if (++reader->nesting > NESTING_MAX)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "the expression is nested too deeply");
    else
        err = read_assignment(reader, value);
    reader->nesting--;
    if (!err)
        err = assign(reader, name, op, value);
    free(name);
    return err;
}

static int evaluate(struct cli_frame_view *view, const char *text, bool types_only,
                    struct cli_value *value)
{
    const struct cli_frame *frame = &view->moment->frames[view->frame];
    struct reader reader = {.view = view, .text = text, .at = text, .types_only = types_only};
    reader.is_c = wetdbg_is_of_c(view->moment->model, frame->lookup_pc);
    int err = read_assignment(&reader, value);
    skip_blanks(&reader);
    if (!err && *reader.at)
        err = fail_syntax(&reader);
    return err;
}

/* What is shown for code without lines, "bc+0x2f1b", is code as a function's name is. */
static int evaluate_shown(struct cli_frame_view *view, const char *text, int code,
                          struct cli_value *value)
{
    static const struct wetdbg_type type = {
        .kind = WETDBG_TYPE_FUNCTION, .size_bytes = 1, .name = "<text, no debug info>"};
    char *sentence = cli_strdup(wetdbg_error(code));
    uint64_t address;
    bool is_shown = wetdbg_address_named(view->moment->model, text, &address) == 0;
    if (is_shown)
        *value = (struct cli_value){.type = type, .is_in_memory = true, .address = address};
    else
        wetdbg_fail(code, "%s", sentence);
    free(sentence);
    return is_shown ? 0 : code;
}

int cli_value_evaluate(struct cli_frame_view *view, const char *text, struct cli_value *value)
{
    int err = evaluate(view, text, false, value);
    bool may_be_shown = err == -WETDBG_ERR_NOT_FOUND || err == -WETDBG_ERR_USAGE;
    return may_be_shown && strstr(text, "+0x") ? evaluate_shown(view, text, err, value) : err;
}

int cli_value_type(struct cli_frame_view *view, const char *text, struct wetdbg_type *type)
{
    struct cli_value value;
    int err = evaluate(view, text, true, &value);
    if (!err)
        *type = value.type;
    return err;
}
