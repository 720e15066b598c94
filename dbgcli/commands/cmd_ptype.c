/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatis and ptype: the type of an expression, or of its name. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/commands/declaration.h"
#include "dbgcli/commands/session.h"
#include "dbgcli/eval/value.h"
#include <wetdbg/errors.h>

const struct cli_syntax cli_cmd_whatis_syntax = {
    .example = "whatis list->next",
    .usage = "EXPRESSION|TYPE",
    .operands_min = 1,
    .operands_max = 1,
    .is_raw = true,
    .details = "The type of an expression, by name.",
};

const struct cli_syntax cli_cmd_ptype_syntax = {
    .example = "ptype struct node",
    .usage = "EXPRESSION|TYPE",
    .operands_min = 1,
    .operands_max = 1,
    .is_raw = true,
    .details = "The type of an expression, or of that name, with its members.",
};

/* Finds an expression's type, else the type of that name. */
static int find_type(struct cli_session *session, const char *text, struct wetdbg_type *type)
{
    struct cli_moment *moment;
    const char *at = text;
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    struct cli_frame_view view = {moment, session->frame};
    err = cli_value_type(&view, text, type);
    if (!err)
        return 0;
    if (cli_type_parse(&view, &at, type) == 0 && !at[strspn(at, " \t")]) {
        struct wetdbg_type plain;
        /* of a type's name what it stands for */
        if (type->handle && wetdbg_type_plain(session->model, type, &plain) == 0)
            *type = plain;
        return 0;
    }
    /* the expression's failure is what is told */
    return cli_value_type(&view, text, type);
}

void cli_declaration_print(FILE *stream, const char *type, const char *name)
{
    const char *pointer = strstr(type, "(*"), *bracket = strchr(type, '[');
    size_t length = strlen(type);
    if (pointer) {
        size_t head = (size_t)(pointer - type) + 2;
        head += strspn(type + head, "*");
        fprintf(stream, "%.*s%s%s", (int)head, type, name, type + head);
    } else if (bracket && type[length - 1] == ']') {
        size_t head = (size_t)(bracket - type);
        while (head && type[head - 1] == ' ')
            head--;
        fprintf(stream, "%.*s%s%s%s", (int)head, type, head && type[head - 1] == '*' ? "" : " ",
                name, bracket);
    } else {
        fprintf(stream, "%s%s%s", type, length && strchr("*&", type[length - 1]) ? "" : " ", name);
    }
}

struct member_list {
    FILE *stream;
    json_t *array; /* NULL: text */
    size_t bases;
};

static int show_base(void *context, const struct wetdbg_member *member)
{
    struct member_list *list = context;
    if (member->is_base)
        fprintf(list->stream, "%s%s%s", list->bases++ ? ", " : ": ",
                member->is_virtual ? "virtual " : "", member->type.name);
    return 0;
}

static int show_member(void *context, const struct wetdbg_member *member)
{
    struct member_list *list = context;
    if (list->array) {
        json_t *row = json_object();
        cli_json_set(row, "name", cli_json_text(member->name));
        cli_json_set(row, "type", cli_json_text(member->type.name));
        cli_json_set(row, "base", json_boolean(member->is_base));
        cli_json_set(row, "offset", cli_json_count(member->offset_bytes));
        cli_json_set(row, "bits", cli_json_count(member->bit_size));
        cli_json_append(list->array, row);
        return 0;
    }
    if (member->is_base)
        return 0;
    fputs("    ", list->stream);
    cli_declaration_print(list->stream, member->type.name, member->name ? member->name : "");
    if (member->bit_size)
        fprintf(list->stream, " : %" PRIu32, member->bit_size);
    fputs(";\n", list->stream);
    return 0;
}

struct enumerator_list {
    FILE *stream;
    size_t count;
    int64_t next;
};

static int show_enumerator(void *context, const char *name, int64_t value)
{
    struct enumerator_list *list = context;
    fprintf(list->stream, "%s%s", list->count++ ? ", " : "", name);
    if (value != list->next)
        fprintf(list->stream, " = %" PRId64, value);
    list->next = value + 1;
    return 0;
}

#define DERIVED_MAX                                                                                \
    64 /* pointers and arrays around a type; damaged ones may be made of themselves */

/* Describes a type with its members, and what `derived` pointers and arrays around it add
 * behind. */
static int describe(struct wetdbg_model *model, FILE *stream, const struct wetdbg_type *type,
                    unsigned derived)
{
    struct wetdbg_type plain = *type, target;
    uint64_t count;
    if (type->handle && type->kind != WETDBG_TYPE_VOID)
        wetdbg_type_plain(model, type, &plain);
    if (plain.kind == WETDBG_TYPE_STRUCT || plain.kind == WETDBG_TYPE_UNION) {
        struct member_list list = {.stream = stream};
        fputs(plain.name, stream);
        wetdbg_type_members_each(model, plain.handle, show_base, &list);
        fputs(" {\n", stream);
        int err = wetdbg_type_members_each(model, plain.handle, show_member, &list);
        putc('}', stream);
        return err;
    }
    if (plain.kind == WETDBG_TYPE_ENUM) {
        struct enumerator_list list = {.stream = stream};
        fprintf(stream, "%s {", plain.name);
        int err = wetdbg_type_enumerators_each(model, plain.handle, show_enumerator, &list);
        putc('}', stream);
        return err;
    }
    bool is_derived = (plain.kind == WETDBG_TYPE_POINTER || plain.kind == WETDBG_TYPE_ARRAY) &&
                      derived < DERIVED_MAX && plain.handle &&
                      wetdbg_type_target(model, plain.handle, &target, &count) == 0 &&
                      !strstr(plain.name, "(*");
    if (!is_derived) {
        fputs(plain.name, stream);
        return 0;
    }
    int err = describe(model, stream, &target, derived + 1);
    const char *suffix = plain.kind == WETDBG_TYPE_ARRAY ? strchr(plain.name, '[') : NULL;
    if (plain.kind == WETDBG_TYPE_ARRAY && suffix && target.kind != WETDBG_TYPE_ARRAY)
        fprintf(stream, " %s", suffix);
    else if (plain.kind == WETDBG_TYPE_POINTER)
        fputs(target.kind == WETDBG_TYPE_POINTER ? "*" : plain.is_reference ? " &" : " *", stream);
    return err;
}

static json_t *members_of(struct wetdbg_model *model, const struct wetdbg_type *type)
{
    struct member_list list = {.array = json_array()};
    if (type->handle)
        wetdbg_type_members_each(model, type->handle, show_member, &list);
    return list.array;
}

static int show_type(struct cli_session *session, const struct cli_args *args, bool has_members)
{
    struct cli_out *out = session->out;
    struct wetdbg_type type;
    char *text = NULL;
    size_t size;
    int result = find_type(session, args->operands[0], &type);
    if (result)
        return result;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return wetdbg_fail_errno("cannot print");
    if (has_members)
        result = describe(session->model, stream, &type, 0);
    else
        fputs(type.name, stream);
    fclose(stream);
    if (!result && out->json) {
        json_t *object = cli_json_object("wetdbg.type/1");
        cli_json_set(object, "expression", cli_json_text(args->operands[0]));
        cli_json_set(object, "type", cli_json_text(type.name));
        cli_json_set(object, "bytes", cli_json_count(type.size_bytes));
        if (has_members)
            cli_json_set(object, "members", members_of(session->model, &type));
        cli_out_json(out, object);
    } else if (!result) {
        fputs("type = ", out->stream);
        for (const char *at = text; at && *at;) {
            const char *end = strchr(at, '\n');
            size_t length = end ? (size_t)(end - at) : strlen(at);
            char *line = strndup(at, length);
            cli_out_text(out, line);
            free(line);
            putc('\n', out->stream);
            at += length + (end != NULL);
        }
    }
    free(text);
    return result < 0 ? result : 0;
}

int cli_cmd_whatis(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    return show_type(repl->session, args, false);
}

int cli_cmd_ptype(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    return show_type(repl->session, args, true);
}
