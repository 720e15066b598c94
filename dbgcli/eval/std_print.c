/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of C++'s library, as gdb's printers for libstdc++ show them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/eval/printer.h"
#include "dbgcli/eval/std_containers.h"
#include "dbgcli/eval/std_values.h"
#include <wetdbg/errors.h>

/* Prints what has more than a byte for each character, of which surrogates come in pairs. */
static bool print_wide_string(struct cli_printer *p, const struct cli_value *first, uint64_t size)
{
    size_t shown = size < cli_printed_bytes(p) ? (size_t)size : cli_printed_bytes(p);
    size_t width = first->type.size_bytes, length = 0;
    char *codes = cli_malloc((shown + 1) * width), *text = cli_malloc(4 * shown + 4);
    bool is_there = width <= 4 && (!shown || wetdbg_state_read(p->moment->state, first->address,
                                                               codes, shown * width) == 0);
    for (size_t i = 0; i < shown && is_there; i++) {
        uint32_t code = 0, low = 0;
        memcpy(&code, codes + i * width, width);
        if (width == 2 && code >> 10 == 0xd800 >> 10 && i + 1 < shown) {
            memcpy(&low, codes + ++i * width, width);
            code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
        }
        length += cli_encode_utf8(code > 0x10ffff ? 0xfffd : code, text + length);
    }
    if (is_there) {
        const char *kind = first->type.name;
        fputs(strstr(kind, "char16_t")   ? "u\""
              : strstr(kind, "char32_t") ? "U\""
                                         : "L\"",
              p->out->stream);
        cli_out_quoted(p->out, text, length);
        fputs(shown < size ? "\"..." : "\"", p->out->stream);
    }
    free(codes);
    free(text);
    return is_there;
}

/* Prints a std::string as text, and nothing if that is not possible. */
static bool print_std_string(struct cli_printer *p, const struct cli_value *value)
{
    struct cli_value first;
    uint64_t size;
    if (!cli_std_string(p->moment, value, &first, &size))
        return false;
    if (first.type.size_bytes > 1)
        return print_wide_string(p, &first, size);
    size_t shown = size < cli_printed_bytes(p) ? (size_t)size : cli_printed_bytes(p);
    char *text = cli_malloc(shown + 1);
    bool is_there = !shown || wetdbg_state_read(p->moment->state, first.address, text, shown) == 0;
    if (is_there) {
        putc('"', p->out->stream);
        cli_out_quoted(p->out, text, shown);
        fputs(shown < size ? "\"..." : "\"", p->out->stream);
    }
    free(text);
    return is_there;
}

static bool print_std_vector(struct cli_printer *p, const struct cli_value *value)
{
    struct cli_value first;
    uint64_t count, capacity;
    if (!cli_std_vector(p->moment, value, &first, &count, &capacity))
        return false;
    fprintf(p->out->stream, "std::vector of length %" PRIu64 ", capacity %" PRIu64 "%s", count,
            capacity, count ? " = " : "");
    int err = count ? cli_print_elements(p, &first, &first.type, count) : 0;
    if (err)
        fprintf(p->out->stream, "<%s>", wetdbg_error(err));
    return true;
}

static int print_held(struct cli_printer *p, const struct cli_std_container *container,
                      const struct cli_std_held *held)
{
    FILE *stream = p->out->stream;
    int err = 0;
    if (container->labels == CLI_STD_NUMBERED)
        fprintf(stream, "[%" PRIu64 "] = ", container->index - 1 + container->first_number);
    else if (container->labels == CLI_STD_NAMED)
        fprintf(stream, "%s = ", container->label);
    if (container->labels == CLI_STD_KEYED) {
        putc('[', stream);
        err = cli_print_part(p, &held->key);
        fputs("] = ", stream);
    }
    return err ? err : cli_print_part(p, &held->value);
}

static bool print_std_container(struct cli_printer *p, const struct cli_value *value)
{
    FILE *stream = p->out->stream;
    struct cli_std_container container;
    struct cli_std_held held;
    int more = 1;
    if (!cli_std_container_open(p->moment, value, &container))
        return false;
    cli_out_text(p->out, container.title);
    if (!container.count)
        return true;
    fputs(*container.title ? " = {" : "{", stream);
    while (container.index < p->elements_max && p->parts < CLI_PARTS_MAX &&
           (more = cli_std_container_next(&container, &held)) > 0) {
        fputs(container.index > 1 ? ", " : "", stream);
        more = print_held(p, &container, &held);
        if (more < 0)
            break;
    }
    if (more < 0)
        fprintf(stream, "<%s>", wetdbg_error(more));
    fputs(more >= 0 && container.index < container.count ? "...}" : "}", stream);
    return true;
}

/* Prints what is another value of the library in its place: what it wraps, a path's name. */
static bool print_std_wrapped(struct cli_printer *p, const struct cli_value *value)
{
    static const struct {
        const char *class, *title, *member;
    } wrapped[] = {
        {"std::stack<", "std::stack wrapping: ", "c"},
        {"std::queue<", "std::queue wrapping: ", "c"},
        {"std::priority_queue<", "std::priority_queue wrapping: ", "c"},
        {"std::filesystem::__cxx11::path", "filesystem::path ", "_M_pathname"},
    };
    struct cli_value member;
    for (size_t i = 0; i < sizeof(wrapped) / sizeof(*wrapped); i++) {
        if (strncmp(value->type.name, wrapped[i].class, strlen(wrapped[i].class)) != 0 ||
            cli_value_member(p->moment, value, wrapped[i].member, &member) != 0)
            continue;
        fputs(wrapped[i].title, p->out->stream);
        int err = cli_print_part(p, &member);
        if (err)
            fprintf(p->out->stream, "<%s>", wetdbg_error(err));
        return true;
    }
    return false;
}

bool cli_print_std(struct cli_printer *p, const struct cli_value *given)
{
    const struct cli_value value = cli_std_value(p->moment, given);
    if (cli_is_std_string(&value))
        return print_std_string(p, &value);
    if (cli_is_std_vector(&value))
        return print_std_vector(p, &value);
    return print_std_container(p, &value) || print_std_wrapped(p, &value);
}
