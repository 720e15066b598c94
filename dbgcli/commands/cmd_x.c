/* SPDX-License-Identifier: GPL-3.0-or-later */
/* x/FMT ADDRESS: memory, as gdb shows it. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/disassembly.h"
#include "dbgcli/commands/last_address.h"
#include "dbgcli/eval/arithmetic.h"
#include "dbgcli/eval/value.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>

#define COUNT_MAX  1000000
#define STRING_MAX 200

const struct cli_syntax cli_cmd_x_syntax = {
    .example = "x/16xb buffer",
    .usage = "[ADDRESS]",
    .operands_max = 1,
    .is_raw = true,
    .goes_on = true,
    .details =
        "Memory from an address (an expression) on; without one, what follows. x/16xb: how many,\n"
        "a format (x, z, d, u, o, t, c, a, f, s for text, i for instructions) and a size (b, h, w "
        "or\n"
        "g: 1, 2, 4 or 8 bytes); format and size stay until others are given. $_ is the last\n"
        "address that was shown, $__ the number there.",
};

/* The unit that was shown last. */
struct last {
    uint64_t address;
    unsigned bytes; /* 0: none was */
    bool has_number;
    uint64_t number;
};

struct examination {
    struct cli_session *session;
    struct cli_moment *moment;
    uint64_t address, count;
    char format, size;
    json_t *array; /* NULL: text */
    struct last last;
};

/* ---- what was asked for ---- */

static int read_format(struct examination *x, const char *text)
{
    const char *at = text;
    char *end;
    bool has_size = false;
    x->count = 1;
    if (isdigit((unsigned char)*at)) {
        errno = 0;
        x->count = strtoull(at, &end, 10);
        at = end;
    }
    for (; *at; at++) {
        if (strchr("bhwg", *at)) {
            x->size = *at;
            has_size = true;
        } else if (strchr("xzduotcafsi", *at)) {
            x->format = *at;
        } else {
            return wetdbg_fail(-WETDBG_ERR_USAGE,
                               "x: '/%s' is no format: a count, one of x z d u o t c a f "
                               "s i, and one of b h w g",
                               text);
        }
    }
    if (!x->count || x->count > COUNT_MAX)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "x: between 1 and %d can be shown", COUNT_MAX);
    if (x->format == 'a')
        x->size = 'g';
    if (!has_size && x->format == 'c')
        x->size = 'b';
    if (!has_size && x->format == 'f' && x->size != 'w')
        x->size = 'g';
    return 0;
}

/* Reads an address, also one that an array, a function or a structure is at. */
static int read_address(struct examination *x, const char *text)
{
    struct cli_frame_view view = {x->moment, x->session->frame};
    struct cli_value value, number;
    int result = cli_value_evaluate_through(&view, text, &value);
    if (result)
        return result;
    bool is_aggregate =
        value.type.kind == WETDBG_TYPE_STRUCT || value.type.kind == WETDBG_TYPE_UNION;
    if (is_aggregate && value.is_in_memory) {
        x->address = value.address;
        return 0;
    }
    result = cli_cast(x->moment, &value, cli_type_basic(CLI_BASIC_LONG), &number);
    return result ? result : cli_value_bits(x->moment, &number, &x->address);
}

/* ---- what is there ---- */

static unsigned bytes_of(char size)
{
    return size == 'b' ? 1 : size == 'h' ? 2 : size == 'w' ? 4 : 8;
}

static unsigned per_line(const struct examination *x)
{
    if (x->format == 'c')
        return 8;
    return x->size == 'b' || x->size == 'h' ? 8 : x->size == 'w' ? 4 : 2;
}

static void print_octal(FILE *stream, uint64_t bits)
{
    fprintf(stream, "%s%" PRIo64, bits ? "0" : "", bits);
}

static void print_padded_binary(FILE *stream, uint64_t bits, unsigned width)
{
    for (unsigned i = width; i-- > 0;)
        putc(bits >> i & 1 ? '1' : '0', stream);
}

static int print_unit(struct cli_out *to, struct examination *x, uint64_t bits)
{
    struct cli_value value;
    unsigned size = bytes_of(x->size);
    char format[2] = {x->format, 0};
    struct wetdbg_type type = {.kind = WETDBG_TYPE_SIGNED, .is_signed = 1, .size_bytes = size};
    switch (x->format) {
    case 'x':
    case 'z':
        fprintf(to->stream, "0x%0*" PRIx64, (int)size * 2, bits);
        return 0;
    case 'o':
        print_octal(to->stream, bits);
        return 0;
    case 't':
        print_padded_binary(to->stream, bits, size * 8);
        return 0;
    default:
        cli_value_set(&value, &type, bits);
        return cli_value_print(to, x->moment, &value, format, false);
    }
}

static void print_address(struct examination *x, const char *before)
{
    fputs(before, x->session->out->stream);
    cli_address_print(x->session->out->stream, x->session->model, x->address);
    fputs(":", x->session->out->stream);
}

static int fail_memory(uint64_t address)
{
    return wetdbg_fail(-EFAULT, "cannot access memory at address 0x%" PRIx64, address);
}

/* What is being shown may be the last one. */
static void note_last(struct examination *x, unsigned bytes, const uint64_t *number)
{
    x->last = (struct last){x->address, bytes, number != NULL, number ? *number : 0};
}

static int show_units(struct examination *x)
{
    struct cli_out *out = x->session->out;
    unsigned size = bytes_of(x->size), columns = per_line(x);
    for (uint64_t i = 0; i < x->count && !cli_out_is_gone(out); i++, x->address += size) {
        uint64_t bits = 0;
        if (cli_interrupt_is_pending()) {
            if (i && !x->array)
                putc('\n', out->stream);
            return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        }
        if (wetdbg_state_read(x->moment->state, x->address, &bits, size) != 0) {
            if (i && !x->array)
                putc('\n', out->stream);
            return fail_memory(x->address);
        }
        note_last(x, size, &bits);
        if (x->array) {
            char *text = NULL;
            size_t length;
            struct cli_out to = {.stream = open_memstream(&text, &length)};
            if (!to.stream)
                return wetdbg_fail_errno("cannot print");
            print_unit(&to, x, bits);
            fclose(to.stream);
            json_t *row = json_object();
            cli_json_set(row, "address", cli_json_address(x->address));
            cli_json_set(row, "value", cli_json_text(text));
            cli_json_append(x->array, row);
            free(text);
            continue;
        }
        if (i % columns == 0)
            print_address(x, i ? "\n" : "");
        putc('\t', out->stream);
        print_unit(out, x, bits);
    }
    if (!x->array)
        putc('\n', out->stream);
    return 0;
}

/* Shows one text of at most STRING_MAX characters; the next one begins behind its NUL, or goes
 * on. */
static int show_string(struct examination *x)
{
    struct cli_out *out = x->session->out;
    char text[STRING_MAX];
    size_t length = 0;
    bool is_ended = false;
    while (length < sizeof(text) && !is_ended) {
        if (wetdbg_state_read(x->moment->state, x->address + length, text + length, 1) != 0)
            break;
        is_ended = !text[length];
        length += !is_ended;
    }
    if (!length && !is_ended)
        return fail_memory(x->address);
    if (x->array) {
        json_t *row = json_object();
        cli_json_set(row, "address", cli_json_address(x->address));
        cli_json_set(row, "value", cli_json_bytes(text, length));
        cli_json_append(x->array, row);
    } else {
        print_address(x, "");
        fputs("\t\"", out->stream);
        cli_out_quoted(out, text, length);
        fputs(length == sizeof(text) ? "\"...\n" : "\"\n", out->stream);
    }
    note_last(x, 1, NULL);
    x->address += length + is_ended;
    return 0;
}

static int show_instruction(struct examination *x)
{
    struct cli_instruction instruction;
    struct cli_out *out = x->session->out;
    int err = cli_instruction_read(x->moment, x->address, x->session->is_intel, &instruction);
    if (err)
        return err;
    bool is_current = x->address == x->moment->frames[x->session->frame].regs.value[WETDBG_REG_RIP];
    if (x->array) {
        json_t *row = json_object();
        cli_json_set(row, "address", cli_json_address(x->address));
        cli_json_set(row, "value", cli_json_text(instruction.text));
        cli_json_set(row, "current", json_boolean(is_current));
        cli_json_append(x->array, row);
    } else {
        print_address(x, is_current ? "=> " : "   ");
        putc('\t', out->stream);
        cli_out_text(out, instruction.text);
        putc('\n', out->stream);
    }
    note_last(x, 1, NULL);
    x->address += instruction.length;
    return 0;
}

static int show(struct examination *x)
{
    int err = 0;
    if (x->format != 's' && x->format != 'i')
        return show_units(x);
    for (uint64_t i = 0; i < x->count && !err && !cli_out_is_gone(x->session->out); i++) {
        if (cli_interrupt_is_pending())
            return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        err = x->format == 's' ? show_string(x) : show_instruction(x);
    }
    return err;
}

int cli_cmd_x(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct examination x = {.session = session, .address = session->examine_next};
    x.format = session->examine_is_set ? session->examine_format : 'x';
    x.size = session->examine_is_set ? session->examine_size : 'w';
    int err = cli_session_moment(session, &x.moment);
    if (!err)
        err = read_format(&x, format);
    if (!err && args->operand_count)
        err = read_address(&x, args->operands[0]);
    else if (!err && !session->examine_is_set)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "x: from which address on?");
    if (err)
        return err;
    x.array = session->out->json ? json_array() : NULL;
    err = show(&x);
    if (x.last.bytes)
        cli_last_address_set(session, x.last.address, x.last.bytes,
                             x.last.has_number ? &x.last.number : NULL);
    session->examine_is_set = true;
    session->examine_next = x.address;
    session->examine_format = x.format;
    session->examine_size = x.size;
    if (err) {
        json_decref(x.array);
        return err;
    }
    if (x.array) {
        json_t *object = cli_json_object("wetdbg.memory/1");
        cli_json_set(object, "time", cli_json_count(session->time));
        cli_json_set(object, "units", x.array);
        cli_thread_to_json(object, session, x.moment->thread);
        cli_uncertain_to_json(object, session, session->time);
        cli_out_json(session->out, object);
    } else {
        cli_uncertain_print(session, session->time);
    }
    return 0;
}
