/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Values as C knows them, at a moment of the run: what `print x` and the arguments of a backtrace
 * show. Written as gdb writes them: 97 'a', (int *) 0x7ffe0, {x = 1, y = 2}, "text".
 */
#ifndef DBGCLI_COMMANDS_VALUE_H
#define DBGCLI_COMMANDS_VALUE_H

#include "dbgcli/commands/moment.h"
#include "dbgcli/out.h"

#define CLI_SCALAR_BYTES_MAX 16

struct cli_value {
    struct mdl_type type;
    bool is_in_memory;
    uint64_t address;                    /* if it is */
    uint8_t bytes[CLI_SCALAR_BYTES_MAX]; /* if it is not; little-endian */
    uint32_t bit_offset, bit_size;       /* a bit field of the bytes, if bit_size is not 0 */
};

/*
 * Evaluates VARIABLE as the code of a frame sees it. Also understood: $rax and the other registers,
 * *p, &x, x.member, p->member, a[N] and a[variable], parentheses, decimal and 0x numbers as index.
 * -WD_ERR_USAGE for other text; -WD_ERR_NOT_FOUND for unknown names and values that are optimized
 * out; -EFAULT for memory that is not there.
 */
int cli_value_evaluate(struct cli_frame_view *view, const char *text, struct cli_value *value);

/* A variable that is already known, in a frame. */
int cli_value_of_variable(struct cli_frame_view *view, const struct mdl_variable *variable,
                          struct cli_value *value);

/* A member of a structure, its base classes' included. -WD_ERR_NOT_FOUND without a message if it has
 * none of that name. */
int cli_value_member(struct cli_moment *moment, const struct cli_value *value, const char *name,
                     struct cli_value *member);

/* What `value` points to (or an array's first element). -WD_ERR_USAGE for other types. */
int cli_value_target(struct cli_moment *moment, const struct cli_value *value,
                     struct cli_value *target);

/* A scalar's bits, sign-extended if its type is signed. */
int cli_value_bits(struct cli_moment *moment, const struct cli_value *value, uint64_t *bits);

/*
 * Writes a value. `format` is "" or a letter as of gdb: x, d, u, o, t, c, a; cli_value_format_check
 * says whether it is one. With `is_brief` structures and arrays are shown as "...".
 */
int cli_value_print(struct cli_out *out, struct cli_moment *moment, const struct cli_value *value,
                    const char *format, bool is_brief);
int cli_value_format_check(const char *format);

/* The same text, to be freed; never NULL: a failure is shown as "<message>". */
char *cli_value_text(struct cli_moment *moment, const struct cli_value *value, const char *format,
                     bool is_brief);

/* "0x401136 <main+4>", symbol only if there is one. */
void cli_address_print(FILE *stream, struct mdl_model *model, uint64_t address);

#endif
