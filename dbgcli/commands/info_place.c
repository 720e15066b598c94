/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info symbol`, `info line`, `info source` and `info sharedlibrary`: gdb's questions about a
 * place in the code and what is loaded. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/args.h"
#include "dbgcli/commands/breakpoints.h"
#include "dbgcli/commands/info_subject.h"
#include "dbgcli/commands/last_address.h"
#include "dbgcli/eval/arithmetic.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>

/* The moment, and the selected frame in it. */
static int selected_frame(struct cli_session *session, const struct cli_frame **frame)
{
    struct cli_moment *moment;
    int err = cli_session_moment(session, &moment);
    if (!err)
        *frame = &moment->frames[session->frame];
    return err;
}

/* ---- info symbol ---- */

/* The address that an expression is, or is at. */
static int address_of(struct cli_session *session, const char *text, uint64_t *address)
{
    const struct cli_frame *frame;
    int err = selected_frame(session, &frame);
    if (err)
        return err;
    struct cli_frame_view view = {session->moment, session->frame};
    return cli_address_ask(&view, text, address);
}

int cli_info_symbol(struct cli_session *session, const char *text)
{
    struct wetdbg_function function;
    struct wetdbg_symbol symbol;
    struct wetdbg_module module = {.path = "?"};
    const char *name = NULL;
    uint64_t address, start = 0;
    if (!text)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "info symbol: of which address?");
    int err = address_of(session, text, &address);
    if (err)
        return err;
    if (wetdbg_function_at(session->model, address, &function) == 0) {
        name = wetdbg_name_full(session->model, function.linkage_name);
        start = function.start;
    } else if (wetdbg_symbol_at(session->model, address, &symbol) == 0) {
        name = wetdbg_name_full(session->model, symbol.name);
        start = symbol.start;
    }
    if (!name)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no symbol is at 0x%" PRIx64, address);
    wetdbg_module_at(session->model, address, &module);
    if (session->out->json) {
        json_t *object = cli_json_object("wetdbg.symbol/1");
        cli_json_set(object, "symbol", cli_json_text(name));
        cli_json_set(object, "address", cli_json_address(address));
        cli_json_set(object, "offset", cli_json_count(address - start));
        cli_json_set(object, "module", cli_json_text(module.path));
        cli_out_json(session->out, object);
        return 0;
    }
    cli_out_text(session->out, name);
    if (address > start)
        fprintf(session->out->stream, " + %" PRIu64, address - start);
    fputs(" in ", session->out->stream);
    cli_out_text(session->out, module.path);
    putc('\n', session->out->stream);
    return 0;
}

/* ---- info line ---- */

/* `number` is that of the line that was asked for, which may have no code; or 0. */
static void show_line(struct cli_session *session, const struct wetdbg_line *line, uint64_t number,
                      json_t *array)
{
    struct cli_out *out = session->out;
    if (array) {
        json_t *row = json_object();
        cli_json_set(row, "file", cli_json_text(line->file));
        cli_json_set(row, "line", json_integer(line->line));
        cli_json_set(row, "start", cli_json_address(line->run_start));
        cli_json_set(row, "end", cli_json_address(line->run_end));
        cli_json_append(array, row);
        return;
    }
    bool has_code = !number || number == line->line;
    fprintf(out->stream, "Line %" PRIu64 " of \"", has_code ? line->line : number);
    cli_out_text(out, cli_base_name(line->file));
    fprintf(out->stream, "\" %s at address ", has_code ? "starts" : "is");
    cli_address_print(out->stream, session->model, line->run_start);
    if (!has_code) {
        fputs(" but contains no code.\n", out->stream);
        return;
    }
    fputs(" and ends at ", out->stream);
    cli_address_print(out->stream, session->model, line->run_end);
    fputs(".\n", out->stream);
}

/* The number of the line that was typed; 0: no line was. */
static uint64_t typed_number(const char *text)
{
    const char *colon = text ? strrchr(text, ':') : NULL;
    uint64_t number = 0;
    bool is_number = text && *text != '*' && cli_number_parse(colon ? colon + 1 : text, &number);
    return is_number ? number : 0;
}

/* Gets the line at pc. Breakpoints stand behind a function's prologue: of a function, and of the
 * line that it begins with, it is the one before that. */
static bool line_of(struct cli_session *session, const char *text, uint64_t pc,
                    struct wetdbg_line *line)
{
    struct wetdbg_function function;
    struct wetdbg_line first;
    uint64_t body;
    if (wetdbg_line_at(session->model, pc, line) != 0 || !line->line)
        return false;
    bool is_body = wetdbg_function_at(session->model, pc, &function) == 0 &&
                   wetdbg_function_body(session->model, function.start, &body) == 0 && body == pc;
    if (text && *text != '*' && is_body &&
        wetdbg_line_at(session->model, function.start, &first) == 0 &&
        first.line >= typed_number(text))
        *line = first;
    return true;
}

static int line_pcs(struct cli_session *session, const char *text, uint64_t **pcs, size_t *count)
{
    const struct cli_frame *frame;
    int err = selected_frame(session, &frame);
    if (err)
        return err;
    if (text)
        return cli_break_location(session, text, pcs, count);
    *pcs = cli_realloc(NULL, 1, sizeof(**pcs));
    **pcs = frame->lookup_pc;
    *count = 1;
    return 0;
}

int cli_info_line(struct cli_session *session, const char *text)
{
    uint64_t *pcs;
    size_t count, shown = 0;
    int err = line_pcs(session, text, &pcs, &count);
    if (err)
        return err;
    json_t *array = session->out->json ? json_array() : NULL;
    for (size_t i = 0; i < count; i++) {
        struct wetdbg_line line;
        if (!line_of(session, text, pcs[i], &line))
            continue;
        show_line(session, &line, typed_number(text), array);
        cli_last_address_next(session, line.run_start);
        shown++;
    }
    free(pcs);
    if (!shown) {
        json_decref(array);
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no line of source is known there");
    }
    if (array) {
        json_t *object = cli_json_object("wetdbg.line/1");
        cli_json_set(object, "lines", array);
        cli_out_json(session->out, object);
    }
    return 0;
}

/* ---- info source ---- */

static uint32_t count_lines(struct cli_session *session, const char *file)
{
    const char *text;
    unsigned flags = 0;
    uint32_t count = 0;
    while (wetdbg_source_line(session->model, file, count + 1, 0, &text, &flags) == 0 && text)
        count++;
    return count;
}

int cli_info_source(struct cli_session *session, const char *operand)
{
    struct cli_out *out = session->out;
    const struct cli_frame *frame;
    (void)operand;
    int err = selected_frame(session, &frame);
    if (err)
        return err;
    const char *file = session->list_file ? session->list_file : frame->file;
    if (!file)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no source file is known of the code here");
    uint32_t count = count_lines(session, file);
    const char *language = wetdbg_language_at(session->model, frame->lookup_pc);
    if (out->json) {
        json_t *object = cli_json_object("wetdbg.source/1");
        cli_json_set(object, "file", cli_json_text(file));
        cli_json_set(object, "lines", count ? json_integer(count) : json_null());
        cli_json_set(object, "language", cli_json_text(language));
        cli_out_json(out, object);
        return 0;
    }
    fputs("Current source file is ", out->stream);
    cli_out_text(out, cli_base_name(file));
    fputs("\nLocated in ", out->stream);
    cli_out_text(out, file);
    if (count)
        fprintf(out->stream, "\nContains %" PRIu32 " line%s.\n", count, count == 1 ? "" : "s");
    else
        fputs("\nIt cannot be read here.\n", out->stream);
    if (language)
        fprintf(out->stream, "Source language is %s.\n", language);
    return 0;
}

/* ---- info sharedlibrary ---- */

static bool is_library(const struct cli_session *session, const struct wetdbg_module *module)
{
    const char *name = cli_base_name(session->info->program);
    return module->is_elf && strcmp(module->name, name) != 0;
}

int cli_info_sharedlibrary(struct cli_session *session, const char *operand)
{
    struct cli_out *out = session->out;
    json_t *array = out->json ? json_array() : NULL;
    size_t count = wetdbg_module_count(session->model);
    (void)operand;
    if (!array)
        fputs("From                To                  Syms  Shared Object Library\n", out->stream);
    for (size_t i = 0; i < count; i++) {
        struct wetdbg_module module;
        struct wetdbg_module_debug debug;
        if (wetdbg_module_get(session->model, (wetdbg_module_id)i, &module) != 0 ||
            !is_library(session, &module) ||
            wetdbg_module_debug(session->model, (wetdbg_module_id)i, &debug) != 0)
            continue;
        if (array) {
            cli_json_append(array, cli_module_json(&module, &debug));
            continue;
        }
        fprintf(out->stream, "0x%016" PRIx64 "  0x%016" PRIx64 "  %-5s ", module.start, module.end,
                debug.has_dwarf ? "Yes" : "No");
        cli_out_text(out, module.path);
        putc('\n', out->stream);
    }
    if (array) {
        json_t *object = cli_json_object("wetdbg.libraries/1");
        cli_json_set(object, "libraries", array);
        cli_out_json(out, object);
    }
    return 0;
}
