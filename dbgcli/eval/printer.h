/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a value is printed: what the files that print one share. */
#ifndef DBGCLI_EVAL_PRINTER_H
#define DBGCLI_EVAL_PRINTER_H

#include "dbgcli/eval/value.h"

#define CLI_PARTS_MAX 20000 /* of one value: a type may say that it is made of itself */

struct cli_printer {
    struct cli_out *out;
    struct cli_moment *moment;
    const char *format;
    bool is_brief;
    bool is_plain; /* no types before pointers */
    unsigned depth, parts;
    uint64_t elements_max, repeats_max;
    bool is_pretty;
};

/* A value, or one inside of another. */
int cli_print_part(struct cli_printer *p, const struct cli_value *value);

/* What lies side by side from `value` on, in braces. */
int cli_print_elements(struct cli_printer *p, const struct cli_value *value,
                       const struct wetdbg_type *type, uint64_t count);

/* How many characters of a text are shown at most. */
size_t cli_printed_bytes(const struct cli_printer *p);

/* Writes a code as UTF-8; how many bytes that takes. */
size_t cli_encode_utf8(uint32_t code, char text[4]);

/* A value of a class of C++'s library as what it means; false, and nothing is printed, if it is
 * none, or does not look like one. */
bool cli_print_std(struct cli_printer *p, const struct cli_value *value);

#endif
