/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info locals` and `info registers`: the selected frame. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/err.h"
#include "dbgcli/alloc.h"
#include "dbgcli/commands/info_subject.h"
#include "dbgcli/commands/thread.h"
#include "dbgcli/commands/value.h"

struct locals_walk {
    struct cli_session *session;
    struct cli_frame_view view;
    json_t *array; /* NULL: text */
    uint64_t count;
};

static int show_variable(void *context, const struct mdl_variable *variable)
{
    struct locals_walk *walk = context;
    struct cli_out *out = walk->session->out;
    struct cli_value value;
    char *text;
    if (!variable->name)
        return 0;
    int result = cli_value_of_variable(&walk->view, variable, &value);
    text = result ? cli_asprintf("<%s>", wd_error_message(result))
                  : cli_value_text(walk->view.moment, &value, "", false);
    wd_error_clear();
    walk->count++;
    if (walk->array) {
        json_t *row = json_object();
        cli_json_set(row, "name", cli_json_text(variable->name));
        cli_json_set(row, "type", cli_json_text(variable->type.name));
        cli_json_set(row, "parameter", json_boolean(variable->scope == MDL_SCOPE_PARAM));
        cli_json_set(row, "value", result ? json_null() : cli_json_text(text));
        cli_json_append(walk->array, row);
    } else {
        cli_out_text(out, variable->name);
        fputs(" = ", out->stream);
        cli_out_text(out, text);
        putc('\n', out->stream);
    }
    free(text);
    return 0;
}

int cli_info_locals(struct cli_session *session, const char *operand)
{
    struct cli_moment *moment;
    (void)operand;
    int result = cli_session_moment(session, &moment);
    if (result)
        return result;
    struct locals_walk walk = {.session = session, .view = {moment, session->frame}};
    walk.array = session->out->json ? json_array() : NULL;
    const struct cli_frame *frame = &moment->frames[session->frame];
    result =
        mdl_variables_each_at(session->model, frame->lookup_pc, frame->depth, show_variable, &walk);
    if (result == 0 && !walk.count)
        result = wd_fail(-WD_ERR_NOT_FOUND, "no variables are known here");
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
    } else {
        cli_uncertain_print(session, session->time);
    }
    return 0;
}

/* In the order in which gdb shows them. */
static const struct {
    const char *name;
    unsigned number; /* of DWARF */
} registers[] = {
    {"rax", 0},  {"rbx", 3},  {"rcx", 2},  {"rdx", 1},  {"rsi", 4},  {"rdi", 5},
    {"rbp", 6},  {"rsp", 7},  {"r8", 8},   {"r9", 9},   {"r10", 10}, {"r11", 11},
    {"r12", 12}, {"r13", 13}, {"r14", 14}, {"r15", 15}, {"rip", 16},
};

static void show_register(struct cli_session *session, const char *name, const uint64_t *value,
                          json_t *object)
{
    FILE *stream = session->out->stream;
    if (object) {
        cli_json_set(object, name, value ? cli_json_address(*value) : json_null());
        return;
    }
    fprintf(stream, "%-8s", name);
    if (value)
        cli_address_print(stream, session->model, *value);
    else
        fputs("not preserved", stream);
    putc('\n', stream);
}

int cli_info_registers(struct cli_session *session, const char *operand)
{
    struct cli_moment *moment;
    (void)operand;
    int result = cli_session_moment(session, &moment);
    if (result)
        return result;
    struct cli_frame_view view = {moment, session->frame};
    const struct evq_regs *regs = wet_state_regs(moment->state);
    json_t *object = session->out->json ? json_object() : NULL;
    uint64_t value;
    for (size_t i = 0; i < sizeof registers / sizeof *registers; i++) {
        bool is_known = cli_frame_register(&view, registers[i].number, &value) == 0;
        show_register(session, registers[i].name, is_known ? &value : NULL, object);
    }
    wd_error_clear();
    bool is_top = moment->frames[session->frame].is_top;
    show_register(session, "eflags", is_top ? &regs->r[EVQ_EFLAGS] : NULL, object);
    show_register(session, "fs_base", &regs->r[EVQ_FS_BASE], object);
    if (object) {
        json_t *whole = cli_json_object("wetdbg.registers/1");
        cli_json_set(whole, "time", cli_json_count(session->time));
        cli_json_set(whole, "frame", json_integer((json_int_t)session->frame));
        cli_json_set(whole, "registers", object);
        cli_thread_to_json(whole, session, moment->thread);
        cli_uncertain_to_json(whole, session, session->time);
        cli_out_json(session->out, whole);
    } else {
        cli_uncertain_print(session, session->time);
    }
    return 0;
}
