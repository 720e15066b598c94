/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info locals`, `info args`, `info registers`, `info all-registers`: the selected frame. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/info_subject.h"
#include "dbgcli/eval/registers.h"
#include "dbgcli/eval/value.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>

/* ---- variables ---- */

struct locals_walk {
    struct cli_session *session;
    struct cli_frame_view view;
    bool are_arguments;
    json_t *array;      /* NULL: text */
    const char *indent; /* of a line of text */
    uint64_t count;
};

static int show_variable(void *context, const struct wetdbg_variable *variable)
{
    struct locals_walk *walk = context;
    struct cli_out *out = walk->session->out;
    struct cli_value value;
    char *text;
    bool is_argument = variable->scope == WETDBG_SCOPE_PARAM;
    /* JSON has both kinds, and says which */
    if (!variable->name || (is_argument != walk->are_arguments && (!walk->array || !is_argument)))
        return 0;
    int result = cli_value_of_variable(&walk->view, variable, &value);
    if (result == -WETDBG_ERR_NOT_FOUND)
        text = cli_strdup("<optimized out>");
    else if (result)
        text = cli_asprintf("<%s>", wetdbg_error(result));
    else
        text = cli_value_plain_text(walk->view.moment, &value, false);
    walk->count++;
    if (walk->array) {
        json_t *row = json_object();
        cli_json_set(row, "name", cli_json_text(variable->name));
        cli_json_set(row, "type", cli_json_text(variable->type.name));
        cli_json_set(row, "parameter", json_boolean(is_argument));
        cli_json_set(row, "value", result ? json_null() : cli_json_text(text));
        cli_json_append(walk->array, row);
    } else {
        fputs(walk->indent, out->stream);
        cli_out_styled(out, CLI_STYLE_VARIABLE, variable->name);
        fputs(" = ", out->stream);
        cli_out_lines(out, text);
        putc('\n', out->stream);
    }
    free(text);
    return cli_out_is_gone(out);
}

static int fail_without_debug(struct cli_session *session, const struct cli_frame *frame)
{
    char *missing = cli_debug_missing(session->model, frame->lookup_pc);
    int err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no debug information about %s%s%s",
                          frame->function ? frame->function : "the code that runs here",
                          missing ? ": " : "", missing ? missing : "");
    free(missing);
    return err;
}

static int show_variables(struct cli_session *session, bool are_arguments)
{
    struct cli_moment *moment;
    int result = cli_session_moment(session, &moment);
    if (result)
        return result;
    struct locals_walk walk = {
        .session = session,
        .view = {moment, session->frame},
        .are_arguments = are_arguments,
        .indent = "",
    };
    walk.array = session->out->json ? json_array() : NULL;
    const struct cli_frame *frame = &moment->frames[session->frame];
    result = wetdbg_variables_each_at(session->model, frame->lookup_pc, frame->depth, show_variable,
                                      &walk);
    if (result == -WETDBG_ERR_NOT_FOUND || (result == 0 && !frame->file && !walk.count))
        result = fail_without_debug(session, frame);
    if (result < 0) {
        json_decref(walk.array);
        return result;
    }
    if (walk.array) {
        json_t *object = cli_json_object("wetdbg.locals/1");
        cli_json_set(object, "time", cli_json_count(session->time));
        cli_json_set(object, "frame", json_integer((json_int_t)session->frame));
        cli_json_set(object, "variables", walk.array);
        cli_thread_to_json(object, session, moment->thread);
        cli_uncertain_to_json(object, session, session->time);
        cli_out_json(session->out, object);
        return 0;
    }
    if (!walk.count)
        fputs(are_arguments ? "No arguments.\n" : "No locals.\n", session->out->stream);
    cli_uncertain_print(session, session->time);
    return 0;
}

int cli_frame_locals(struct cli_session *session, size_t index, json_t *array)
{
    struct cli_moment *moment = session->moment;
    const struct cli_frame *frame = &moment->frames[index];
    struct locals_walk walk = {
        .session = session, .view = {moment, index}, .array = array, .indent = "        "};
    int result = wetdbg_variables_each_at(session->model, frame->lookup_pc, frame->depth,
                                          show_variable, &walk);
    if (!array && !walk.count)
        fputs(frame->file ? "No locals.\n" : "No symbol table info available.\n",
              session->out->stream);
    return result == -WETDBG_ERR_NOT_FOUND ? 0 : result;
}

int cli_info_locals(struct cli_session *session, const char *operand)
{
    (void)operand;
    return show_variables(session, false);
}

int cli_info_args(struct cli_session *session, const char *operand)
{
    (void)operand;
    return show_variables(session, true);
}

/* ---- registers ---- */

struct register_list {
    struct cli_session *session;
    struct cli_frame_view view;
    json_t *object; /* NULL: text */
};

static void print_columns(FILE *stream, const char *raw, const char *natural)
{
    fprintf(stream, "%-20s%s\n", raw, natural);
}

/* Prints a register in gdb's columns: the name, the bits in hexadecimal, and as the type would be
 * printed. */
static void print_register(struct register_list *list, const char *name, struct cli_value *value)
{
    FILE *stream = list->session->out->stream;
    struct cli_moment *moment = list->view.moment;
    char *raw, *text;
    fprintf(stream, "%-15s", name);
    if (value->type.kind == WETDBG_TYPE_OTHER) {
        text = cli_value_text(moment, value, "x", false);
        fprintf(stream, "%s\n", text);
        free(text);
        return;
    }
    text = cli_value_text(moment, value, value->type.kind == WETDBG_TYPE_POINTER ? "a" : "", false);
    if (value->type.kind == WETDBG_TYPE_FLOAT) {
        uint64_t words[2];
        memcpy(words, value->bytes, sizeof(words));
        char *bits =
            cli_asprintf("(raw 0x%04" PRIx64 "%016" PRIx64 ")", words[1] & 0xffff, words[0]);
        print_columns(stream, text, bits);
        free(bits);
    } else {
        raw = cli_value_text(moment, value, "x", false);
        print_columns(stream, raw, text);
        free(raw);
    }
    free(text);
}

static int show_register(struct register_list *list, const char *name)
{
    struct cli_value value;
    uint64_t bits;
    int err = cli_register_value(&list->view, name, &value);
    if (err && err != -WETDBG_ERR_NOT_FOUND)
        return err;
    if (!list->object && err) {
        fprintf(list->session->out->stream, "%-15s<not saved>\n", name);
    } else if (!list->object) {
        print_register(list, name, &value);
    } else if (err) {
        cli_json_set(list->object, name, json_null());
    } else if (value.type.size_bytes <= 8 &&
               cli_value_bits(list->view.moment, &value, &bits) == 0) {
        if (value.type.size_bytes < 8)
            bits &= (UINT64_C(1) << 8 * value.type.size_bytes) - 1;
        cli_json_set(list->object, name, cli_json_address(bits));
    } else {
        char *text = cli_value_text(list->view.moment, &value, "", false);
        cli_json_set(list->object, name, cli_json_text(text));
        free(text);
    }
    return 0;
}

static int show_group(struct register_list *list, enum cli_register_group group)
{
    const char *name;
    int err = 0;
    for (size_t i = 0; !err && (name = cli_register_name(group, i)); i++)
        err = show_register(list, name);
    return err;
}

static bool has_avx512(struct cli_frame_view *view)
{
    uint64_t mask;
    bool has = wetdbg_state_mask(view->moment->state, 0, &mask) == 0;
    return has;
}

/* Shows the registers that are named, as in "rax $xmm0 eflags". */
static int show_named(struct register_list *list, const char *names)
{
    int err = 0;
    while (!err && *names) {
        size_t length = strcspn(names, " ");
        char *name = cli_strndup(names, length);
        err = show_register(list, name + (*name == '$'));
        free(name);
        names += length;
        names += strspn(names, " ");
    }
    return err;
}

static int show_registers(struct cli_session *session, const char *names, bool are_all)
{
    struct cli_moment *moment;
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    struct register_list list = {.session = session, .view = {moment, session->frame}};
    list.object = session->out->json ? json_object() : NULL;
    if (names)
        err = show_named(&list, names);
    else
        err = show_group(&list, CLI_REGISTERS_GENERAL);
    if (!err && are_all && !names)
        err = show_group(&list, CLI_REGISTERS_FLOAT);
    if (!err && are_all && !names)
        err = show_group(&list, CLI_REGISTERS_VECTOR);
    if (!err && are_all && !names && has_avx512(&list.view))
        err = show_group(&list, CLI_REGISTERS_AVX512);
    if (err) {
        json_decref(list.object);
        return err;
    }
    if (list.object) {
        json_t *whole = cli_json_object("wetdbg.registers/1");
        cli_json_set(whole, "time", cli_json_count(session->time));
        cli_json_set(whole, "frame", json_integer((json_int_t)session->frame));
        cli_json_set(whole, "registers", list.object);
        cli_thread_to_json(whole, session, moment->thread);
        cli_uncertain_to_json(whole, session, session->time);
        cli_out_json(session->out, whole);
    } else {
        cli_uncertain_print(session, session->time);
    }
    return 0;
}

int cli_info_registers(struct cli_session *session, const char *operand)
{
    return show_registers(session, operand, false);
}

int cli_info_all_registers(struct cli_session *session, const char *operand)
{
    return show_registers(session, operand, true);
}
