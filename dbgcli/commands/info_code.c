/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info functions` and `info lines`: what the program model knows. */
#include <inttypes.h>

#include "dbgcli/commands/info_subject.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>

struct walk {
    struct cli_session *session;
    json_t *array; /* NULL: text */
    uint64_t count;
};

#define STOP 1

static int stop_wanted(const struct walk *walk)
{
    if (cli_interrupt_is_pending())
        return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    return cli_out_is_gone(walk->session->out) ? STOP : 0;
}

static int finish(struct walk *walk, int result, const char *schema, const char *key)
{
    if (result < 0) {
        json_decref(walk->array);
        return result;
    }
    if (walk->array) {
        json_t *object = cli_json_object(schema);
        cli_json_set(object, key, walk->array);
        cli_out_json(walk->session->out, object);
    }
    return 0;
}

static int show_function(void *context, const struct wetdbg_function *function)
{
    struct walk *walk = context;
    struct cli_out *out = walk->session->out;
    struct wetdbg_module module;
    const char *name = "?", *full = wetdbg_name_full(walk->session->model, function->linkage_name);
    if (wetdbg_module_get(walk->session->model, function->module, &module) == 0)
        name = module.name;
    walk->count++;
    if (walk->array) {
        json_t *row = json_object();
        cli_json_set(row, "name", cli_json_text(function->name));
        cli_json_set(row, "full_name", cli_json_text(full));
        cli_json_set(row, "linkage_name", cli_json_text(function->linkage_name));
        cli_json_set(row, "start", cli_json_address(function->start));
        cli_json_set(row, "end", cli_json_address(function->end));
        cli_json_set(row, "module", cli_json_text(name));
        cli_json_append(walk->array, row);
    } else {
        fprintf(out->stream, "0x%016" PRIx64 "  ", function->start);
        cli_out_text(out, full);
        fputs("  ", out->stream);
        cli_out_text(out, name);
        putc('\n', out->stream);
    }
    return stop_wanted(walk);
}

int cli_info_functions(struct cli_session *session, const char *regex)
{
    struct walk walk = {.session = session};
    walk.array = session->out->json ? json_array() : NULL;
    int result = wetdbg_functions_each(session->model, regex, show_function, &walk);
    if (result >= 0 && !walk.count)
        result = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no function's name matches '%s'",
                             regex ? regex : "");
    return finish(&walk, result, "wetdbg.functions/1", "functions");
}

static int show_line(void *context, const struct wetdbg_line *line)
{
    struct walk *walk = context;
    struct cli_out *out = walk->session->out;
    struct wetdbg_function function;
    if (!line->line || !line->is_stmt)
        return stop_wanted(walk);
    walk->count++;
    const char *name = wetdbg_function_at(walk->session->model, line->start, &function) == 0
                           ? function.name
                           : NULL;
    if (walk->array) {
        json_t *row = json_object();
        cli_json_set(row, "file", cli_json_text(line->file));
        cli_json_set(row, "line", json_integer(line->line));
        cli_json_set(row, "start", cli_json_address(line->start));
        cli_json_set(row, "end", cli_json_address(line->end));
        cli_json_set(row, "function", cli_json_text(name));
        cli_json_append(walk->array, row);
    } else {
        cli_out_text(out, cli_base_name(line->file));
        fprintf(out->stream, ":%-6" PRIu32 " 0x%016" PRIx64 " to 0x%016" PRIx64 "  ", line->line,
                line->start, line->end);
        cli_out_text(out, name ? name : "?");
        putc('\n', out->stream);
    }
    return stop_wanted(walk);
}

int cli_info_lines(struct cli_session *session, const char *file)
{
    struct walk walk = {.session = session};
    if (!file)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "info lines: of which file?");
    walk.array = session->out->json ? json_array() : NULL;
    int result = wetdbg_lines_each(session->model, file, show_line, &walk);
    if (result >= 0 && !walk.count)
        result = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no module knows a source file '%s'", file);
    return finish(&walk, result, "wetdbg.lines/1", "lines");
}
