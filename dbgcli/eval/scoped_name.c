/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variables by name and place of declaration, as gdb has them: 'f.c'::x, function::x. */
#include <stdint.h>
#include <stdlib.h>

#include "dbgcli/eval/value.h"
#include <wetdbg/errors.h>

/* The function or the file in which a name is looked up. */
struct name_scope {
    const char *text;
    uint64_t start, end; /* of a function; else where some code of the file begins, and 0 */
};

static int take_start(void *context, const struct wetdbg_line *line)
{
    struct name_scope *scope = context;
    scope->start = line->start;
    return 1;
}

static int find_scope(struct wetdbg_model *model, bool is_file, struct name_scope *scope)
{
    struct wetdbg_function *functions;
    size_t count;
    if (!is_file && wetdbg_functions_named(model, scope->text, &functions, &count) == 0) {
        scope->start = functions[0].start;
        scope->end = functions[0].end;
        free(functions);
        return 0;
    }
    int result = wetdbg_lines_each(model, scope->text, take_start, scope);
    if (result > 0)
        return 0;
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no %s is called '%s'",
                       is_file ? "file with code" : "function", scope->text);
}

/* The frame in which a function runs, the innermost one; or that it is in none. */
static bool find_frame(const struct cli_moment *moment, const struct name_scope *scope,
                       size_t *frame)
{
    for (size_t i = 0; i < moment->frame_count; i++) {
        uint64_t pc = moment->frames[i].lookup_pc;
        if (!moment->frames[i].is_inlined && pc >= scope->start && pc < scope->end) {
            *frame = i;
            return true;
        }
    }
    return false;
}

/* A variable that needs no frame. */
static int static_value(struct wetdbg_model *model, const struct name_scope *scope,
                        const struct wetdbg_variable *variable, struct cli_value *value)
{
    struct wetdbg_place place;
    int err = wetdbg_variable_locate(model, variable, scope->start, NULL, &place);
    if (err || (place.kind != WETDBG_PLACE_MEMORY && place.kind != WETDBG_PLACE_VALUE))
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "'%s' of %s has no value here: %s",
                           variable->name, scope->text,
                           err ? "the function is not being executed" : "it is optimized out");
    *value = (struct cli_value){.type = variable->type};
    value->is_in_memory = place.kind == WETDBG_PLACE_MEMORY;
    value->address = place.address;
    for (size_t i = 0; i < sizeof(place.value) && !value->is_in_memory; i++)
        value->bytes[i] = (uint8_t)(place.value >> 8 * i);
    return 0;
}

int cli_value_scoped(struct cli_frame_view *view, const char *text, bool is_file, const char *name,
                     struct cli_value *value)
{
    struct cli_moment *moment = view->moment;
    struct name_scope scope = {.text = text};
    struct cli_frame_view inner = {.moment = moment};
    struct wetdbg_variable variable;
    int err = find_scope(moment->model, is_file, &scope);
    if (err)
        return err;
    bool has_frame = find_frame(moment, &scope, &inner.frame);
    uint64_t pc = has_frame ? moment->frames[inner.frame].lookup_pc : scope.start;
    size_t depth = has_frame ? moment->frames[inner.frame].depth : 0;
    /* no function's locals are visible from the file */
    err = wetdbg_variable_find_at(moment->model, pc, scope.end ? depth : SIZE_MAX, name, &variable);
    bool is_local =
        !err && (variable.scope == WETDBG_SCOPE_LOCAL || variable.scope == WETDBG_SCOPE_PARAM);
    if (err || (scope.end && !is_local))
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no variable '%s' is declared in %s", name, text);
    return has_frame ? cli_value_of_variable(&inner, &variable, value)
                     : static_value(moment->model, &scope, &variable, value);
}
