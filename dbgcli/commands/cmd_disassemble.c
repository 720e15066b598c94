/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `disassemble`: the instructions of a function, and how often each was executed in the run. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/commands/disassembly.h"
#include "dbgcli/eval/arithmetic.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>

static const struct cli_option options[] = {
    {"intel", 0, NULL, "Intel's syntax, not AT&T's"},
    {0},
};

const struct cli_syntax cli_cmd_disassemble_syntax = {
    .example = "disassemble/s parse_line",
    .usage = "[FUNCTION|*ADDRESS] [--intel]",
    .options = options,
    .operands_max = 1,
    .details =
        "The instructions of a function (of the selected frame's without one), and before each\n"
        "how often it was executed in the run. disassemble/s: with the lines of source; /r: with\n"
        "the bytes.",
};

struct listing {
    struct cli_session *session;
    struct cli_moment *moment;
    struct wetdbg_function function;
    bool is_intel, has_source, has_bytes;
    const char *file; /* of the last line shown; the model's */
    uint32_t line;
    json_t *array; /* NULL: text */
};

/* Finds a function by its name or an address in it. */
static int find_function(struct listing *listing, const char *text)
{
    struct wetdbg_model *model = listing->session->model;
    struct cli_frame_view view = {listing->moment, listing->session->frame};
    struct wetdbg_function *functions;
    uint64_t pc = listing->moment->frames[view.frame].lookup_pc;
    size_t count;
    uint64_t address;
    if (text && cli_address_parse(model, text, &address)) {
        pc = address;
    } else if (text && *text != '*') {
        int result = wetdbg_functions_named(model, text, &functions, &count);
        if (result == -WETDBG_ERR_NOT_FOUND)
            return wetdbg_fail(result, "no function is called '%s'", text);
        if (result)
            return result;
        listing->function = functions[0];
        free(functions);
        return 0;
    } else if (text) {
        int result = cli_address_ask(&view, text + 1, &pc);
        if (result)
            return result;
    }
    if (wetdbg_function_at(model, pc, &listing->function) != 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no function contains address 0x%" PRIx64, pc);
    return 0;
}

static void show_source(struct listing *listing, uint64_t address)
{
    struct cli_out *out = listing->session->out;
    struct wetdbg_line line;
    if (wetdbg_line_at(listing->session->model, address, &line) != 0 || !line.line)
        return;
    bool is_new_file = line.file != listing->file;
    if (!is_new_file && line.line == listing->line)
        return;
    if (is_new_file) {
        cli_out_text(out, line.file);
        fputs(":\n", out->stream);
    }
    listing->file = line.file;
    listing->line = line.line;
    const char *text = cli_source_text(listing->session, line.file, line.line, address);
    fprintf(out->stream, "%" PRIu32 "\t", line.line);
    cli_out_text(out, text ? text : "");
    putc('\n', out->stream);
}

static void show_bytes(FILE *stream, const struct cli_instruction *instruction)
{
    for (unsigned i = 0; i < instruction->length; i++)
        fprintf(stream, "%s%02x", i ? " " : "", instruction->bytes[i]);
    putc('\t', stream);
}

static int show(struct listing *listing, const struct cli_instruction *instruction)
{
    struct cli_session *session = listing->session;
    FILE *stream = session->out->stream;
    uint64_t count = 0, pc = listing->moment->frames[session->frame].regs.value[WETDBG_REG_RIP];
    int err = wetdbg_count_instances(session->wet, &instruction->address, 1, &count);
    if (err)
        return err;
    bool is_current = instruction->address == pc;
    if (listing->array) {
        struct wetdbg_line line;
        bool has_line =
            wetdbg_line_at(session->model, instruction->address, &line) == 0 && line.line;
        json_t *row = json_object();
        cli_json_set(row, "address", cli_json_address(instruction->address));
        cli_json_set(row, "text", cli_json_text(instruction->text));
        cli_json_set(row, "executions", cli_json_count(count));
        cli_json_set(row, "line", has_line ? json_integer(line.line) : json_null());
        cli_json_set(row, "current", json_boolean(is_current));
        cli_json_append(listing->array, row);
        return 0;
    }
    if (listing->has_source)
        show_source(listing, instruction->address);
    fprintf(stream, "%s%10" PRIu64 "  0x%016" PRIx64 " <+%" PRIu64 ">:\t",
            is_current ? "=> " : "   ", count, instruction->address,
            instruction->address - listing->function.start);
    if (listing->has_bytes)
        show_bytes(stream, instruction);
    cli_out_text(session->out, instruction->text);
    putc('\n', stream);
    return 0;
}

static int show_all(struct listing *listing)
{
    struct cli_instruction instruction;
    uint64_t address = listing->function.start;
    int result = 0;
    while (!result && address < listing->function.end && !cli_out_is_gone(listing->session->out)) {
        if (cli_interrupt_is_pending())
            return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        result = cli_instruction_read(listing->moment, address, listing->is_intel, &instruction);
        if (!result)
            result = show(listing, &instruction);
        address += result ? 0 : instruction.length;
    }
    return result;
}

int cli_cmd_disassemble(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct listing listing = {
        .session = session,
        .is_intel = repl->session->is_intel || cli_args_has(args, "intel"),
        .has_source = strchr(format, 's') != NULL,
        .has_bytes = strchr(format, 'r') != NULL,
    };
    if (format[strspn(format, "sr")])
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "disassemble: '/%s' is no format; there are /s and /r", format);
    int err = cli_session_moment(session, &listing.moment);
    if (!err)
        err = find_function(&listing, args->operands[0]);
    if (err)
        return err;
    const char *name = wetdbg_name_full(session->model, listing.function.linkage_name);
    listing.array = session->out->json ? json_array() : NULL;
    if (!listing.array) {
        fputs("function ", session->out->stream);
        cli_out_text(session->out, name);
        fputs(":\n", session->out->stream);
    }
    err = show_all(&listing);
    if (!listing.array)
        return err;
    if (err) {
        json_decref(listing.array);
        return err;
    }
    json_t *object = cli_json_object("wetdbg.disassembly/1");
    cli_json_set(object, "function", cli_json_text(name));
    cli_json_set(object, "instructions", listing.array);
    cli_out_json(session->out, object);
    return 0;
}
