/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The expressions that `print` understands, by recursive descent:
 *
 *   unary   := '*' unary | '&' unary | postfix
 *   postfix := primary { '.' name | '->' name | '[' (number | unary) ']' }
 *   primary := name | $register | '(' unary ')'
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "dbgcli/alloc.h"
#include "dbgcli/args.h"
#include "dbgcli/commands/value.h"

#define NESTING_MAX 64

struct reader {
    struct cli_frame_view *view;
    const char *text; /* all of it, for messages */
    const char *at;
    unsigned nesting;
};

static int read_unary(struct reader *reader, struct cli_value *value);

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
    return wd_fail(-WD_ERR_USAGE, "'%s' is no expression that print understands%s%s%s",
                   reader->text, *reader->at ? ", at '" : "", reader->at, *reader->at ? "'" : "");
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

static void set_bytes(struct cli_value *value, uint64_t bits)
{
    memcpy(value->bytes, &bits, sizeof bits);
}

int cli_value_of_variable(struct cli_frame_view *view, const struct mdl_variable *variable,
                          struct cli_value *value)
{
    const struct cli_frame *frame = &view->moment->frames[view->frame];
    struct mdl_machine machine = cli_frame_machine(view);
    struct mdl_place place;
    uint64_t bits;
    int result =
        mdl_variable_locate(view->moment->model, variable, frame->lookup_pc, &machine, &place);
    if (result)
        return result;
    *value = (struct cli_value){
        .type = variable->type,
        .bit_offset = variable->bit_offset,
        .bit_size = variable->bit_size,
    };
    switch (place.kind) {
    case MDL_PLACE_MEMORY:
        value->is_in_memory = true;
        value->address = place.address;
        return 0;
    case MDL_PLACE_REGISTER:
        result = cli_frame_register(view, place.reg, &bits);
        if (result)
            return result;
        set_bytes(value, place.offset_bytes < 8 ? bits >> (8 * place.offset_bytes) : 0);
        return 0;
    case MDL_PLACE_VALUE:
        set_bytes(value, place.value);
        return 0;
    case MDL_PLACE_NONE:
        break;
    }
    return wd_fail(-WD_ERR_NOT_FOUND, "%s is optimized out here%s%s%s", variable->name,
                   *place.reason ? " (" : "", place.reason, *place.reason ? ")" : "");
}

static int read_register(struct reader *reader, const char *name, struct cli_value *value)
{
    static const char *const names[MDL_FRAME_REG_COUNT] = {
        "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
        "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip",
    };
    bool is_alias = strcmp(name, "pc") == 0 || strcmp(name, "sp") == 0;
    if (is_alias)
        name = *name == 'p' ? "rip" : "rsp";
    for (unsigned i = 0; i < MDL_FRAME_REG_COUNT; i++) {
        uint64_t bits;
        if (strcmp(names[i], name) != 0)
            continue;
        int result = cli_frame_register(reader->view, i, &bits);
        if (result)
            return result;
        *value = (struct cli_value){
            .type = {.kind = MDL_TYPE_SIGNED, .is_signed = 1, .size_bytes = 8, .name = "long"}};
        set_bytes(value, bits);
        return 0;
    }
    return wd_fail(-WD_ERR_NOT_FOUND, "no register is called '$%s'", name);
}

static int read_primary(struct reader *reader, struct cli_value *value)
{
    struct mdl_variable variable;
    int result;
    if (take(reader, "(")) {
        result = read_unary(reader, value);
        if (!result && !take(reader, ")"))
            result = fail_syntax(reader);
        return result;
    }
    bool is_register = take(reader, "$");
    char *name = take_name(reader);
    if (!name)
        return fail_syntax(reader);
    if (is_register) {
        result = read_register(reader, name, value);
    } else {
        const struct cli_moment *moment = reader->view->moment;
        const struct cli_frame *frame = &moment->frames[reader->view->frame];
        result =
            mdl_variable_find_at(moment->model, frame->lookup_pc, frame->depth, name, &variable);
        if (result == -WD_ERR_NOT_FOUND)
            result = wd_fail(result, "no variable '%s' is visible here", name);
        if (!result)
            result = cli_value_of_variable(reader->view, &variable, value);
    }
    free(name);
    return result;
}

/* ---- postfixes ---- */

struct member_search {
    struct cli_frame_view *view;
    const char *name;
    uint64_t address; /* of the object whose members are looked at */
    struct mdl_member found;
    uint64_t found_address;
    unsigned depth;
};

/* 1 ends the enumeration: it is there. */
static int match_member(void *context, const struct mdl_member *member)
{
    struct member_search *search = context;
    if (!member->name || strcmp(member->name, search->name) != 0)
        return 0;
    search->found = *member;
    search->found_address = search->address + member->offset_bytes;
    return 1;
}

static int find_member(struct member_search *search, uint64_t type_handle);

/* Members of unnamed members and of base classes count as the whole's. */
static int match_unnamed(void *context, const struct mdl_member *member)
{
    struct member_search *search = context;
    struct mdl_machine machine = cli_frame_machine(search->view);
    uint64_t whole = search->address, offset;
    if (member->name || search->depth > 8)
        return 0;
    int result = mdl_member_offset(search->view->moment->model, member, &machine, whole, &offset);
    if (result)
        return result;
    search->depth++;
    search->address = whole + offset;
    result = find_member(search, member->type.handle);
    search->address = whole;
    search->depth--;
    return result;
}

static int find_member(struct member_search *search, uint64_t type_handle)
{
    struct mdl_model *model = search->view->moment->model;
    int result = mdl_type_members_each(model, type_handle, match_member, search);
    return result ? result : mdl_type_members_each(model, type_handle, match_unnamed, search);
}

/* What a reference refers to; other values stay. */
static int follow_reference(struct reader *reader, struct cli_value *value)
{
    struct cli_value target;
    if (!value->type.is_reference)
        return 0;
    int result = cli_value_target(reader->view->moment, value, &target);
    if (!result)
        *value = target;
    return result;
}

int cli_value_member(struct cli_moment *moment, const struct cli_value *value, const char *name,
                     struct cli_value *member)
{
    struct cli_frame_view view = {moment, 0};
    struct member_search search = {.view = &view, .name = name, .address = value->address};
    int result = find_member(&search, value->type.handle);
    if (result <= 0)
        return result ? result : -WD_ERR_NOT_FOUND;
    *member = (struct cli_value){
        .type = search.found.type,
        .is_in_memory = true,
        .address = search.found_address,
        .bit_offset = search.found.bit_offset,
        .bit_size = search.found.bit_size,
    };
    return 0;
}

static int apply_member(struct reader *reader, struct cli_value *value)
{
    struct cli_value member;
    int result = follow_reference(reader, value);
    if (result)
        return result;
    enum mdl_type_kind kind = value->type.kind;
    char *name = take_name(reader);
    if (!name)
        return fail_syntax(reader);
    if (kind != MDL_TYPE_STRUCT && kind != MDL_TYPE_UNION)
        result = wd_fail(-WD_ERR_USAGE, "a value of type '%s' has no members", value->type.name);
    else if (!value->is_in_memory)
        result = wd_fail(-WD_ERR_UNSUPPORTED, "the value is spread over registers");
    else
        result = cli_value_member(reader->view->moment, value, name, &member);
    if (result == -WD_ERR_NOT_FOUND)
        result = wd_fail(result, "'%s' has no member '%s'", value->type.name, name);
    free(name);
    if (!result)
        *value = member;
    return result;
}

static int apply_index(struct reader *reader, struct cli_value *value)
{
    struct cli_value index, element;
    uint64_t number;
    int result = 0;
    bool is_negative = take(reader, "-");
    skip_blanks(reader);
    if (isdigit((unsigned char)*reader->at)) {
        char *digits = cli_strndup(reader->at, strspn(reader->at, "0123456789abcdefABCDEFxX"));
        reader->at += strlen(digits);
        if (!cli_number_parse(digits, &number))
            result = fail_syntax(reader);
        free(digits);
    } else {
        result = read_unary(reader, &index);
        if (!result)
            result = follow_reference(reader, &index);
        if (!result)
            result = cli_value_bits(reader->view->moment, &index, &number);
    }
    if (!result && !take(reader, "]"))
        result = fail_syntax(reader);
    if (!result)
        result = follow_reference(reader, value);
    if (!result)
        result = cli_value_target(reader->view->moment, value, &element);
    if (result)
        return result;
    element.address += (is_negative ? -number : number) * element.type.size_bytes;
    *value = element;
    return 0;
}

static int dereference(struct reader *reader, struct cli_value *value)
{
    struct cli_value target;
    int result = follow_reference(reader, value);
    if (!result)
        result = cli_value_target(reader->view->moment, value, &target);
    if (!result)
        *value = target;
    return result;
}

static int read_postfix(struct reader *reader, struct cli_value *value)
{
    int result = read_primary(reader, value);
    while (!result) {
        if (take(reader, "->")) {
            result = dereference(reader, value);
            if (!result)
                result = apply_member(reader, value);
        } else if (take(reader, ".")) {
            result = apply_member(reader, value);
        } else if (take(reader, "[")) {
            result = apply_index(reader, value);
        } else {
            break;
        }
    }
    return result;
}

static int take_address(struct cli_value *value)
{
    if (!value->is_in_memory || value->bit_size)
        return wd_fail(-WD_ERR_USAGE, "the value has no address");
    uint64_t address = value->address;
    struct mdl_type type = {.kind = MDL_TYPE_POINTER, .size_bytes = 8};
    /* gdb's "(int *) 0x..." needs only the name; the model has no type for it. */
    strcpy(type.name, value->type.name);
    size_t length = strlen(type.name);
    if (length + 3 < sizeof type.name)
        strcpy(type.name + length, " *");
    *value = (struct cli_value){.type = type};
    set_bytes(value, address);
    return 0;
}

static int read_unary(struct reader *reader, struct cli_value *value)
{
    int result;
    if (++reader->nesting > NESTING_MAX)
        return wd_fail(-WD_ERR_USAGE, "the expression is nested too deeply");
    if (take(reader, "*")) {
        result = read_unary(reader, value);
        if (!result)
            result = dereference(reader, value);
    } else if (take(reader, "&")) {
        result = read_unary(reader, value);
        if (!result)
            result = follow_reference(reader, value);
        if (!result)
            result = take_address(value);
    } else {
        result = read_postfix(reader, value);
    }
    reader->nesting--;
    return result;
}

int cli_value_evaluate(struct cli_frame_view *view, const char *text, struct cli_value *value)
{
    struct reader reader = {.view = view, .text = text, .at = text};
    int result = read_unary(&reader, value);
    skip_blanks(&reader);
    if (!result && *reader.at)
        result = fail_syntax(&reader);
    return result;
}
