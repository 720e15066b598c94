/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info symbol`, `info line`, `info source`, `info frame` and `info sharedlibrary`: gdb's questions
 * about a place in the code, a frame and what is loaded. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/args.h"
#include "dbgcli/commands/breakpoints.h"
#include "dbgcli/commands/info_subject.h"
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
    struct cli_value value, number;
    int err = selected_frame(session, &frame);
    if (err)
        return err;
    struct cli_frame_view view = {session->moment, session->frame};
    err = cli_value_evaluate(&view, text, &value);
    if (!err)
        err = cli_value_dereference(session->moment, &value);
    if (!err)
        err = cli_cast(session->moment, &value, cli_type_basic(CLI_BASIC_LONG), &number);
    return err ? err : cli_value_bits(session->moment, &number, address);
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
    bool is_of_c = wetdbg_is_of_c(session->model, frame->lookup_pc);
    if (out->json) {
        json_t *object = cli_json_object("wetdbg.source/1");
        cli_json_set(object, "file", cli_json_text(file));
        cli_json_set(object, "lines", count ? json_integer(count) : json_null());
        cli_json_set(object, "language", is_of_c ? json_string("c") : json_null());
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
    if (is_of_c)
        fputs("Source language is c.\n", out->stream);
    return 0;
}

/* ---- info frame ---- */

/* Where a frame begins, as call frame information tells it; false if that is not known. */
static bool frame_address(struct cli_moment *moment, size_t index, uint64_t *cfa)
{
    struct cli_frame_view view = {moment, index};
    struct wetdbg_machine machine = cli_frame_machine(&view);
    return wetdbg_frame_cfa(moment->model, moment->frames[index].lookup_pc, &machine, cfa) == 0;
}

static void print_neighbours(struct cli_session *session, size_t index)
{
    FILE *stream = session->out->stream;
    struct cli_moment *moment = session->moment;
    uint64_t other;
    bool is_first = true;
    if (index + 1 == moment->frame_count)
        fputs(" outermost frame", stream), is_first = false;
    else if (moment->frames[index].is_inlined)
        fprintf(stream, " inlined into frame %zu", index + 1), is_first = false;
    else if (moment->frames[index].is_tail)
        fputs(" tail call frame", stream), is_first = false;
    else if (frame_address(moment, index + 1, &other))
        fprintf(stream, " called by frame at 0x%" PRIx64, other), is_first = false;
    if (index && frame_address(moment, index - 1, &other))
        fprintf(stream, "%s caller of frame at 0x%" PRIx64, is_first ? "" : ",", other);
    putc('\n', stream);
}

static void print_frame(struct cli_session *session, size_t index, const uint64_t *cfa,
                        const uint64_t *saved)
{
    struct cli_out *out = session->out;
    const struct cli_frame *frame = &session->moment->frames[index];
    fprintf(out->stream, "Stack level %zu, frame at ", index);
    if (cfa)
        fprintf(out->stream, "0x%" PRIx64 ":\n", *cfa);
    else
        fputs("an unknown place:\n", out->stream);
    fprintf(out->stream, " rip = 0x%" PRIx64, frame->regs.value[WETDBG_REG_RIP]);
    if (frame->function) {
        fputs(" in ", out->stream);
        cli_out_text(out, frame->function);
    }
    if (frame->file) {
        fputs(" (", out->stream);
        cli_out_text(out, cli_base_name(frame->file));
        fprintf(out->stream, ":%" PRIu32 ")", frame->line);
    }
    if (saved)
        fprintf(out->stream, "; saved rip = 0x%" PRIx64, *saved);
    putc('\n', out->stream);
    print_neighbours(session, index);
    if (wetdbg_is_of_c(session->model, frame->lookup_pc))
        fputs(" source language c.\n", out->stream);
    if (cfa)
        fprintf(out->stream, " Previous frame's sp is 0x%" PRIx64 "\n", *cfa);
}

int cli_info_frame(struct cli_session *session, const char *operand)
{
    const struct cli_frame *frame;
    uint64_t cfa, saved;
    (void)operand;
    int err = selected_frame(session, &frame);
    if (err)
        return err;
    bool has_cfa = frame_address(session->moment, session->frame, &cfa);
    bool has_saved = has_cfa && wetdbg_state_read(session->moment->state, cfa - sizeof(saved),
                                                  &saved, sizeof(saved)) == 0;
    if (!session->out->json) {
        print_frame(session, session->frame, has_cfa ? &cfa : NULL, has_saved ? &saved : NULL);
        return 0;
    }
    json_t *object = cli_json_object("wetdbg.stack_frame/1");
    cli_json_set(object, "frame", cli_json_count(session->frame));
    cli_json_set(object, "address", has_cfa ? cli_json_address(cfa) : json_null());
    cli_json_set(object, "pc", cli_json_address(frame->regs.value[WETDBG_REG_RIP]));
    cli_json_set(object, "saved_pc", has_saved ? cli_json_address(saved) : json_null());
    cli_json_set(object, "function", cli_json_text(frame->function));
    cli_json_set(object, "inlined", json_boolean(frame->is_inlined));
    cli_json_set(object, "tail_call", json_boolean(frame->is_tail));
    cli_out_json(session->out, object);
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
