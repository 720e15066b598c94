/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/eval/value.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/eval/arithmetic.h"
#include "dbgcli/eval/printer.h"
#include "dbgcli/eval/registers.h"
#include <wetdbg/errors.h>

/* As in gdb. */
const struct cli_manner cli_manner_usual = {.elements = 200, .repeats = 10};

#define TEXT_MAX             (1 << 20) /* bytes of a text without another end */
#define DEPTH_MAX            20
#define ELEMENT_COMPARED_MAX 4096    /* larger ones are not put together */
#define REPEATS_COUNTED_MAX  1000000 /* a wrong count of elements must end */

static struct cli_printer printer_new(struct cli_out *out, struct cli_moment *moment,
                                      const char *format, bool is_brief)
{
    const struct cli_manner *manner = moment->manner ? moment->manner : &cli_manner_usual;
    return (struct cli_printer){
        .out = out,
        .moment = moment,
        .format = format,
        .is_brief = is_brief,
        .is_plain = is_brief,
        .elements_max = manner->elements ? manner->elements : UINT64_MAX,
        .repeats_max = manner->repeats ? manner->repeats : UINT64_MAX,
        .is_pretty = manner->is_pretty,
    };
}

/* ---- bytes ---- */

int cli_value_load(struct cli_moment *moment, const struct cli_value *value, void *bytes,
                   size_t size)
{
    if (value->is_in_memory && value->kept) {
        if (size > value->kept_bytes)
            return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "not all of the value was kept");
        memcpy(bytes, value->kept, size);
        return 0;
    }
    if (value->is_in_memory)
        return wetdbg_state_read(moment->state, value->address, bytes, size);
    if (size > sizeof(value->bytes))
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "the value is not in memory as a whole");
    if (cli_value_is_missing(value, 0, size) || cli_value_synthetic(value))
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the value is optimized out here");
    memcpy(bytes, value->bytes, size);
    return 0;
}

static uint64_t extend(uint64_t bits, unsigned width, bool is_signed)
{
    if (width == 0 || width >= 64)
        return bits;
    bits &= (UINT64_C(1) << width) - 1;
    if (is_signed && bits >> (width - 1) & 1)
        bits |= ~UINT64_C(0) << width;
    return bits;
}

/* A bit field may reach over 9 bytes: hence 16 are loaded where they are there. */
int cli_value_bits(struct cli_moment *moment, const struct cli_value *value, uint64_t *bits)
{
    uint64_t words[2] = {0};
    const struct wetdbg_type *type = &value->type;
    size_t size = type->size_bytes;
    if (value->bit_size)
        size = (value->bit_offset + value->bit_size + 7) / 8;
    if (size == 0 || size > 16 || (size > 8 && !value->bit_size) || value->bit_size > 64)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "'%s' is no scalar of at most 8 bytes",
                           type->name);
    int err = cli_value_load(moment, value, words, size);
    if (err)
        return err;
    unsigned width = value->bit_size ? value->bit_size : (unsigned)size * 8;
    unsigned shift = value->bit_size ? value->bit_offset % 128 : 0;
    uint64_t low = words[0];
    if (shift >= 64)
        low = words[1] >> (shift - 64);
    else if (shift)
        low = low >> shift | words[1] << (64 - shift);
    *bits = extend(low, width, type->is_signed || type->kind == WETDBG_TYPE_SIGNED);
    return 0;
}

/* ---- scalars ---- */

int cli_value_format_check(const char *format)
{
    if (!*format || (strchr("xzduotcafs", *format) && !format[1]))
        return 0;
    return wetdbg_fail(-WETDBG_ERR_USAGE, "unknown format '/%s': /x /z /d /u /o /t /c /a /f /s",
                       format);
}

void cli_address_print(FILE *stream, struct wetdbg_model *model, uint64_t address)
{
    struct wetdbg_function function;
    struct wetdbg_symbol symbol;
    struct wetdbg_module module;
    struct cli_out to = {.stream = stream};
    const char *name = NULL;
    uint64_t start = 0;
    bool is_function = wetdbg_function_at(model, address, &function) == 0;
    if (is_function && function.flags & WETDBG_FUNCTION_NAMELESS &&
        wetdbg_module_get(model, function.module, &module) == 0) {
        fprintf(stream, "0x%" PRIx64 " <", address);
        cli_out_text(&to, module.name);
        fprintf(stream, "+0x%" PRIx64 ">", address - module.bias);
        return;
    }
    if (is_function) {
        name = wetdbg_name_full(model, function.linkage_name);
        start = function.start;
    } else if (wetdbg_symbol_at(model, address, &symbol) == 0) {
        name = wetdbg_name_full(model, symbol.name);
        start = symbol.start;
    }
    fprintf(stream, "0x%" PRIx64, address);
    if (!name)
        return;
    fputs(" <", stream);
    cli_out_text(&to, name);
    if (address > start)
        fprintf(stream, "+%" PRIu64, address - start);
    putc('>', stream);
}

size_t cli_encode_utf8(uint32_t code, char text[4])
{
    static const unsigned char marks[] = {0, 0xc0, 0xe0, 0xf0};
    unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    for (unsigned i = more; i > 0; i--, code >>= 6)
        text[i] = (char)(0x80 | (code & 0x3f));
    text[0] = (char)(marks[more] | code);
    return more + 1;
}

/* Prints a char16_t or char32_t. */
static void print_wide_character(struct cli_out *out, uint32_t code, size_t size)
{
    char text[4];
    fprintf(out->stream, "%" PRIu32 " %c'", code, size == 2 ? 'u' : 'U');
    if (code == '\'')
        fputs("\\'", out->stream);
    else if (code == '"')
        putc('"', out->stream);
    else
        cli_out_quoted(out, text, cli_encode_utf8(code > 0x10ffff ? 0xfffd : code, text));
    putc('\'', out->stream);
}

static void print_character(struct cli_out *out, int64_t code)
{
    char byte = (char)code;
    fprintf(out->stream, "%" PRId64 " '", code);
    if (byte == '\'')
        fputs("\\'", out->stream);
    else if (byte == '"')
        putc('"', out->stream);
    else
        cli_out_quoted(out, &byte, 1);
    putc('\'', out->stream);
}

static void print_binary(FILE *stream, uint64_t bits)
{
    bool is_started = false;
    for (int i = 63; i >= 0; i--) {
        is_started = is_started || bits >> i & 1 || i == 0;
        if (is_started)
            putc(bits >> i & 1 ? '1' : '0', stream);
    }
}

/* Prints "nan(0x8000000000000)": with the bits of the fraction. */
static void print_nan(FILE *stream, const uint8_t *bytes, size_t size, bool is_negative)
{
    uint64_t fraction = 0;
    memcpy(&fraction, bytes, size < 8 ? size : 8);
    if (size == 4)
        fraction &= 0x7fffff;
    else if (size == 8)
        fraction &= 0xfffffffffffff;
    fprintf(stream, "%snan(0x%" PRIx64 ")", is_negative ? "-" : "", fraction);
}

static void print_float_bytes(FILE *stream, const void *bytes, size_t size)
{
    long double number;
    if (!cli_float_read(bytes, size, &number))
        return;
    if (isnan(number))
        print_nan(stream, bytes, size, signbit(number));
    else
        fprintf(stream, "%.*Lg", size == 4 ? 9 : size == 8 ? 17 : 21, number);
}

static void print_formatted(struct cli_printer *p, const struct cli_value *value, uint64_t bits)
{
    FILE *stream = p->out->stream;
    unsigned width = value->bit_size ? value->bit_size : (unsigned)value->type.size_bytes * 8;
    uint64_t plain = extend(bits, width, false);
    switch (*p->format) {
    case 'x':
        fprintf(stream, "0x%" PRIx64, plain);
        break;
    case 'z':
        fprintf(stream, "0x%0*" PRIx64, (int)(width + 3) / 4, plain);
        break;
    case 'f':
        if (width == 32 || width == 64)
            print_float_bytes(stream, &plain, width / 8);
        else
            fprintf(stream, "%" PRId64, (int64_t)bits);
        break;
    case 'o':
        fprintf(stream, "%s%" PRIo64, plain ? "0" : "", plain);
        break;
    case 'u':
        fprintf(stream, "%" PRIu64, plain);
        break;
    case 'd':
        fprintf(stream, "%" PRId64, (int64_t)extend(bits, width, true));
        break;
    case 't':
        print_binary(stream, plain);
        break;
    case 'c':
        print_character(p->out, value->type.is_signed ? (int8_t)bits : (uint8_t)bits);
        break;
    default:
        cli_address_print(stream, p->moment->model, plain);
    }
}

size_t cli_printed_bytes(const struct cli_printer *p)
{
    return p->elements_max < TEXT_MAX ? (size_t)p->elements_max : TEXT_MAX;
}

/* Prints as many characters as there are up to a NUL, or as are to be shown at most. */
static void print_string_at(struct cli_printer *p, uint64_t address)
{
    size_t length = 0, most = cli_printed_bytes(p);
    char *text = cli_malloc(most);
    while (length < most &&
           wetdbg_state_read(p->moment->state, address + length, text + length, 1) == 0) {
        if (!text[length])
            break;
        length++;
    }
    uint8_t byte;
    if (length == 0 && wetdbg_state_read(p->moment->state, address, &byte, 1) != 0) {
        fprintf(p->out->stream, " <error: Cannot access memory at address 0x%" PRIx64 ">", address);
    } else {
        fputs(" \"", p->out->stream);
        cli_out_quoted(p->out, text, length);
        fputs(length == most ? "\"..." : "\"", p->out->stream);
    }
    free(text);
}

static void print_pointer(struct cli_printer *p, const struct cli_value *value, uint64_t bits)
{
    struct wetdbg_type target;
    uint64_t count;
    bool is_typed = value->type.handle &&
                    wetdbg_type_target(p->moment->model, value->type.handle, &target, &count) == 0;
    bool is_text = is_typed && target.kind == WETDBG_TYPE_CHAR && target.size_bytes == 1;
    if (!is_text && p->depth == 0 && !p->is_plain)
        fprintf(p->out->stream, "(%s) ", value->type.name);
    if (bits)
        cli_address_print(p->out->stream, p->moment->model, bits);
    else
        fputs("0x0", p->out->stream);
    if (is_text && bits)
        print_string_at(p, bits);
}

static int print_float(struct cli_printer *p, const struct cli_value *value)
{
    uint8_t bytes[16];
    size_t size = value->type.size_bytes;
    if (size != 4 && size != 8 && size != 16)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "type '%s' cannot be shown", value->type.name);
    int err = cli_value_load(p->moment, value, bytes, size);
    if (!err)
        print_float_bytes(p->out->stream, bytes, size);
    return err;
}

/* Prints "(int &) @0x7ffe0: 7"; inside of structures only where it refers to. */
static int print_reference(struct cli_printer *p, const struct cli_value *value)
{
    struct cli_value target;
    int err = cli_value_target(p->moment, value, &target);
    if (err)
        return err;
    p->depth++;
    bool is_printed =
        !*p->format && !p->is_brief && p->depth < DEPTH_MAX && cli_print_std(p, &target);
    p->depth--;
    if (is_printed)
        return 0;
    if (p->depth == 0 && !p->is_plain)
        fprintf(p->out->stream, "(%s) ", value->type.name);
    fprintf(p->out->stream, "@0x%" PRIx64, target.address);
    if (p->depth > 0)
        return 0;
    fputs(": ", p->out->stream);
    return cli_print_part(p, &target);
}

static int print_huge(struct cli_printer *p, const struct cli_value *value)
{
    unsigned __int128 number = 0;
    char digits[48], *at = digits + sizeof(digits);
    int err = cli_value_load(p->moment, value, &number, sizeof(number));
    bool is_negative = value->type.is_signed && number >> 127;
    if (err)
        return err;
    if (is_negative)
        number = -number;
    *--at = 0;
    do
        *--at = (char)('0' + (unsigned)(number % 10));
    while (number /= 10);
    fprintf(p->out->stream, "%s%s", is_negative ? "-" : "", at);
    return 0;
}

/* An enumeration of flags: each enumerator one bit of its own. */
struct flag_walk {
    struct cli_out *out;
    int64_t known, left;
    bool is_flags;
    size_t count;
};

static int check_flag(void *context, const char *name, int64_t flag)
{
    struct flag_walk *walk = context;
    (void)name;
    if (flag < 0 || (flag & (flag - 1)) || (flag & walk->known))
        walk->is_flags = false;
    walk->known |= flag;
    return !walk->is_flags;
}

static int print_flag(void *context, const char *name, int64_t flag)
{
    struct flag_walk *walk = context;
    if (!(walk->left & flag))
        return 0;
    fputs(walk->count++ ? " | " : "(", walk->out->stream);
    cli_out_text(walk->out, name);
    walk->left &= ~flag;
    return 0;
}

static void print_enumeration(struct cli_printer *p, const struct cli_value *value, int64_t bits)
{
    struct flag_walk walk = {.out = p->out, .left = bits, .is_flags = true};
    struct wetdbg_model *model = p->moment->model;
    const char *name;
    bool is_named = wetdbg_type_enumerator(model, value->type.handle, bits, &name) == 0;
    if (is_named)
        cli_out_text(p->out, name);
    else if (bits)
        wetdbg_type_enumerators_each(model, value->type.handle, check_flag, &walk);
    if (is_named)
        return;
    if (!bits || !walk.is_flags || !walk.known) {
        fprintf(p->out->stream, "%" PRId64, bits);
        return;
    }
    wetdbg_type_enumerators_each(model, value->type.handle, print_flag, &walk);
    if (walk.left)
        fprintf(p->out->stream, "%sunknown: 0x%" PRIx64, walk.count ? " | " : "(",
                (uint64_t)walk.left);
    putc(')', p->out->stream);
}

/* Prints what takes the place of a value that was optimized out; false if it was not. */
static bool print_gone(struct cli_printer *p, const struct cli_value *value)
{
    bool is_field = value->bit_size != 0;
    uint64_t start = is_field ? value->bit_offset / 8 : 0;
    uint64_t end =
        is_field ? (value->bit_offset + value->bit_size + 7) / 8 : value->type.size_bytes;
    bool is_pointer = value->type.kind == WETDBG_TYPE_POINTER && cli_value_synthetic(value);
    if (is_pointer && p->depth == 0 && !p->is_plain)
        fprintf(p->out->stream, "(%s) ", value->type.name);
    if (is_pointer)
        fputs("<synthetic pointer>", p->out->stream);
    else if (cli_value_is_missing(value, start, end - start))
        fputs("<optimized out>", p->out->stream);
    else
        return false;
    return true;
}

static int print_scalar(struct cli_printer *p, const struct cli_value *value)
{
    FILE *stream = p->out->stream;
    uint64_t bits;
    if (print_gone(p, value))
        return 0;
    if (value->type.kind == WETDBG_TYPE_FLOAT &&
        (!*p->format || *p->format == 'f' || value->type.size_bytes > 8))
        return print_float(p, value);
    if (value->type.is_reference)
        return print_reference(p, value);
    if (value->type.size_bytes == 16 && !value->bit_size && !*p->format &&
        (value->type.kind == WETDBG_TYPE_SIGNED || value->type.kind == WETDBG_TYPE_UNSIGNED))
        return print_huge(p, value);
    int err = cli_value_bits(p->moment, value, &bits);
    if (err)
        return err;
    if (*p->format && *p->format != 's') {
        print_formatted(p, value, bits);
        return 0;
    }
    if (strcmp(value->type.name, CLI_TYPE_FLAGS) == 0 ||
        strcmp(value->type.name, CLI_TYPE_MXCSR) == 0) {
        cli_flags_print(stream, bits, strcmp(value->type.name, CLI_TYPE_MXCSR) == 0);
        return 0;
    }
    switch (value->type.kind) {
    case WETDBG_TYPE_CHAR:
        if (value->type.size_bytes > 1)
            print_wide_character(p->out, (uint32_t)bits, value->type.size_bytes);
        else
            print_character(p->out, (int64_t)bits);
        break;
    case WETDBG_TYPE_BOOL:
        if (bits > 1)
            fprintf(stream, "%" PRIu64, bits);
        else
            fputs(bits ? "true" : "false", stream);
        break;
    case WETDBG_TYPE_POINTER:
        print_pointer(p, value, bits);
        break;
    case WETDBG_TYPE_ENUM:
        print_enumeration(p, value, (int64_t)bits);
        break;
    case WETDBG_TYPE_SIGNED:
        fprintf(stream, "%" PRId64, (int64_t)bits);
        break;
    default:
        fprintf(stream, "%" PRIu64, bits);
    }
    return 0;
}

/* ---- structures and arrays ---- */

struct member_walk {
    struct cli_printer *printer;
    const struct cli_value *whole;
    size_t count;
    bool is_after_base;
};

static void print_indent(const struct cli_printer *p, unsigned depth)
{
    fprintf(p->out->stream, "%*s", (int)depth * 2, "");
}

/* Prints what stands before a member: a comma or, if it is pretty, a line's end. */
static void print_joint(struct member_walk *walk, const struct wetdbg_member *member)
{
    struct cli_printer *p = walk->printer;
    FILE *stream = p->out->stream;
    if (walk->count++)
        fputs(p->is_pretty && !walk->is_after_base ? "," : ", ", stream);
    if (!p->is_pretty)
        return;
    putc('\n', stream);
    print_indent(p, p->depth);
    if (walk->is_after_base && !member->is_base) {
        fputs("members of ", stream);
        cli_out_text(p->out, walk->whole->type.name);
        fputs(":\n", stream);
        print_indent(p, p->depth);
    }
    walk->is_after_base = member->is_base;
}

static void print_member_name(struct cli_out *out, const struct wetdbg_member *member)
{
    if (!member->is_base && !member->name)
        return;
    fputs(member->is_base ? "<" : "", out->stream);
    cli_out_text(out, member->is_base ? member->type.name : member->name);
    fputs(member->is_base ? "> = " : " = ", out->stream);
}

static int print_member(void *context, const struct wetdbg_member *member)
{
    struct member_walk *walk = context;
    struct cli_frame_view view = {walk->printer->moment, 0};
    struct wetdbg_machine machine = cli_frame_machine(&view);
    uint64_t offset;
    int err = wetdbg_member_offset(walk->printer->moment->model, member, &machine,
                                   walk->whole->address, &offset);
    if (err)
        return err;
    struct cli_value part;
    err = cli_value_part(walk->whole, offset, &member->type, &part);
    if (err)
        return err;
    part.bit_offset = member->bit_offset;
    part.bit_size = member->bit_size;
    print_joint(walk, member);
    print_member_name(walk->printer->out, member);
    return cli_print_part(walk->printer, &part);
}

static int print_structure(struct cli_printer *p, const struct cli_value *value)
{
    if (!*p->format && cli_print_std(p, value))
        return 0;
    struct member_walk walk = {.printer = p, .whole = value};
    putc('{', p->out->stream);
    int err = wetdbg_type_members_each(p->moment->model, value->type.handle, print_member, &walk);
    if (p->is_pretty && walk.count) {
        putc('\n', p->out->stream);
        print_indent(p, p->depth - 1);
    }
    putc('}', p->out->stream);
    return err;
}

/* How many bytes from `at` on are the same. */
static size_t run_length(const uint8_t *bytes, size_t count, size_t at)
{
    size_t run = 1;
    while (at + run < count && bytes[at + run] == bytes[at])
        run++;
    return run;
}

/* Prints as many runs of equal characters as are begun within what is shown at most, each as a
 * whole. */
static void print_char_array(struct cli_printer *p, const uint8_t *bytes, size_t all, bool is_cut)
{
    FILE *stream = p->out->stream;
    const char *joint = "";
    size_t run = 0, end, count = 0;
    if (!is_cut && all > 1 && !bytes[all - 1])
        all--;
    while (count < all && count < p->elements_max)
        count += run_length(bytes, all, count);
    is_cut |= count < all;
    for (size_t i = 0; i < count; i = end) {
        size_t start = i;
        for (end = i; end < count; end += run) {
            run = run_length(bytes, count, end);
            if (run > p->repeats_max)
                break;
        }
        if (end > start) {
            fprintf(stream, "%s\"", joint);
            cli_out_quoted(p->out, bytes + start, end - start);
            putc('"', stream);
            joint = ", ";
        }
        if (end < count) {
            fprintf(stream, "%s'", joint);
            cli_out_quoted(p->out, bytes + end, 1);
            fprintf(stream, "' <repeats %zu times>", run);
            joint = ", ";
            end += run;
        }
    }
    fputs(is_cut ? "..." : "", stream);
}

/* How many elements from `first` on are the same; at most up to `count`. */
static uint64_t count_repeats(struct cli_printer *p, const struct cli_value *value,
                              const struct wetdbg_type *type, uint64_t first, uint64_t count)
{
    uint8_t one[ELEMENT_COMPARED_MAX], other[ELEMENT_COMPARED_MAX];
    struct cli_value element;
    size_t size = type->size_bytes;
    uint64_t run = 1;
    if (!size || size > sizeof(one) || cli_value_part(value, first * size, type, &element) != 0 ||
        cli_value_load(p->moment, &element, one, size) != 0)
        return 1;
    while (first + run < count && run < REPEATS_COUNTED_MAX &&
           cli_value_part(value, (first + run) * size, type, &element) == 0 &&
           cli_value_load(p->moment, &element, other, size) == 0 && memcmp(one, other, size) == 0)
        run++;
    return run;
}

int cli_print_elements(struct cli_printer *p, const struct cli_value *value,
                       const struct wetdbg_type *type, uint64_t count)
{
    FILE *stream = p->out->stream;
    uint64_t shown = 0, i = 0, run;
    int err = 0;
    putc('{', stream);
    for (; i < count && shown < p->elements_max && !err; i += run) {
        struct cli_value element;
        run = count_repeats(p, value, type, i, count);
        fputs(i ? ", " : "", stream);
        err = cli_value_part(value, i * type->size_bytes, type, &element);
        if (!err)
            err = cli_print_part(p, &element);
        if (run > p->repeats_max)
            fprintf(stream, " <repeats %" PRIu64 " times>", run);
        else
            run = 1;
        shown += run > p->repeats_max ? p->repeats_max : 1;
    }
    fputs(i < count ? "...}" : "}", stream);
    return err;
}

static void print_wide_hex(FILE *stream, const uint64_t *words)
{
    if (words[1])
        fprintf(stream, "0x%" PRIx64 "%016" PRIx64, words[1], words[0]);
    else
        fprintf(stream, "0x%" PRIx64, words[0]);
}

/* Prints all that a vector register can be seen as. */
static int print_vector(struct cli_printer *p, const struct cli_value *value)
{
    static const struct {
        const char *name;
        enum cli_basic basic;
    } shapes[] = {
        {"float", CLI_BASIC_FLOAT}, {"double", CLI_BASIC_DOUBLE}, {"int8", CLI_BASIC_SIGNED_CHAR},
        {"int16", CLI_BASIC_SHORT}, {"int32", CLI_BASIC_INT},     {"int64", CLI_BASIC_LONG},
    };
    FILE *stream = p->out->stream;
    uint64_t words[CLI_VALUE_BYTES_MAX / 8];
    size_t wide_count = value->type.size_bytes / 16;
    int err = 0;
    putc('{', stream);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes) && !err; i++) {
        struct wetdbg_type type = *cli_type_basic(shapes[i].basic);
        uint64_t count = value->type.size_bytes / type.size_bytes;
        if (type.kind == WETDBG_TYPE_CHAR || *p->format)
            type.kind = WETDBG_TYPE_SIGNED; /* in a format: the bits as they are */
        fprintf(stream, "%sv%" PRIu64 "_%s = ", i ? ", " : "", count, shapes[i].name);
        err = cli_print_elements(p, value, &type, count);
    }
    memcpy(words, value->bytes, sizeof(words));
    if (wide_count == 1)
        fputs(", uint128 = ", stream);
    else
        fprintf(stream, ", v%zu_int128 = {", wide_count);
    for (size_t i = 0; i < wide_count; i++) {
        fputs(i ? ", " : "", stream);
        print_wide_hex(stream, words + 2 * i);
    }
    fputs(wide_count == 1 ? "}" : "}}", stream);
    return err;
}

/* Prints a function: "{int (int, char **)} 0x401136 <main>". */
static int print_function(struct cli_printer *p, const struct cli_value *value)
{
    putc('{', p->out->stream);
    cli_out_text(p->out, value->type.name);
    fputs("} ", p->out->stream);
    cli_address_print(p->out->stream, p->moment->model, value->address);
    return 0;
}

static int print_text_array(struct cli_printer *p, const struct cli_value *value, uint64_t count)
{
    size_t shown = count < REPEATS_COUNTED_MAX ? count : REPEATS_COUNTED_MAX;
    uint8_t *text = cli_malloc(shown + 1);
    int err = cli_value_load(p->moment, value, text, shown);
    if (!err && !shown)
        fputs("\"\"", p->out->stream);
    else if (!err)
        print_char_array(p, text, shown, shown < count);
    free(text);
    return err;
}

static int print_array(struct cli_printer *p, const struct cli_value *value)
{
    struct wetdbg_type type;
    uint64_t count;
    int err = wetdbg_type_target(p->moment->model, value->type.handle, &type, &count);
    if (err)
        return err;
    if (type.kind != WETDBG_TYPE_CHAR || type.size_bytes > 1 || (*p->format && *p->format != 's') ||
        cli_value_is_missing(value, 0, count))
        return cli_print_elements(p, value, &type, count);
    return print_text_array(p, value, count);
}

int cli_print_part(struct cli_printer *p, const struct cli_value *value)
{
    enum wetdbg_type_kind kind = value->type.kind;
    bool is_structure = kind == WETDBG_TYPE_STRUCT || kind == WETDBG_TYPE_UNION;
    if (p->parts++ >= CLI_PARTS_MAX) {
        fputs("...", p->out->stream);
        return 0;
    }
    if (kind == WETDBG_TYPE_FUNCTION)
        return print_function(p, value);
    if (kind == WETDBG_TYPE_VOID) {
        fputs("void", p->out->stream);
        return 0;
    }
    if (kind == WETDBG_TYPE_OTHER && strncmp(value->type.name, "vec", 3) == 0 &&
        !value->type.handle)
        return print_vector(p, value);
    if (!is_structure && kind != WETDBG_TYPE_ARRAY)
        return print_scalar(p, value);
    if (p->is_brief || p->depth == DEPTH_MAX) {
        fputs("...", p->out->stream);
        return 0;
    }
    if (!value->is_in_memory && value->type.size_bytes > sizeof(value->bytes))
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "the value is spread over registers");
    if (p->depth == 0 && cli_value_is_all_missing(value, 0, value->type.size_bytes)) {
        fputs("<optimized out>", p->out->stream); /* in a value its parts are, one by one */
        return 0;
    }
    p->depth++;
    int err = is_structure ? print_structure(p, value) : print_array(p, value);
    p->depth--;
    return err;
}

int cli_value_print(struct cli_out *out, struct cli_moment *moment, const struct cli_value *value,
                    const char *format, bool is_brief)
{
    struct cli_printer printer = printer_new(out, moment, format, is_brief);
    return cli_print_part(&printer, value);
}

char *cli_value_plain_text(struct cli_moment *moment, const struct cli_value *value, bool is_brief)
{
    char *text = NULL;
    size_t size;
    struct cli_out out = {.stream = open_memstream(&text, &size)};
    struct cli_printer printer = printer_new(&out, moment, "", is_brief);
    printer.is_plain = true;
    if (!out.stream)
        cli_die();
    int err = cli_print_part(&printer, value);
    if (err)
        fprintf(out.stream, "<%s>", wetdbg_error(err));
    fclose(out.stream);
    return text ? text : (cli_die(), NULL);
}

char *cli_value_text(struct cli_moment *moment, const struct cli_value *value, const char *format,
                     bool is_brief)
{
    char *text = NULL;
    size_t size;
    struct cli_out out = {.stream = open_memstream(&text, &size)};
    if (!out.stream)
        cli_die();
    int err = cli_value_print(&out, moment, value, format, is_brief);
    if (err)
        fprintf(out.stream, "<%s>", wetdbg_error(err));
    fclose(out.stream);
    return text ? text : (cli_die(), NULL);
}
