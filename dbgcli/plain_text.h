/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The last thing before a terminal. Names of types, members and functions come from the recorded
 * program's own file, and are written in many places: what of them would steer a terminal is
 * replaced here, once for all.
 */
#ifndef DBGCLI_PLAIN_TEXT_H
#define DBGCLI_PLAIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* What is written in one colour, those of gdb. */
enum cli_style {
    CLI_STYLE_NONE,
    CLI_STYLE_BOLD,
    CLI_STYLE_DIM,
    CLI_STYLE_FILE,
    CLI_STYLE_FUNCTION,
    CLI_STYLE_ADDRESS,
    CLI_STYLE_VARIABLE,
    CLI_STYLE_COUNT,
};

#define CLI_STYLE_BYTES_MAX 5

/* All zero at first. Holds the beginning of a sequence whose end is still to come. */
struct cli_filter {
    unsigned char held[CLI_STYLE_BYTES_MAX];
    size_t held_count;
};

/*
 * Passes printable text on: newline, tab, ASCII, UTF-8 without C1 controls, and with `is_styled`
 * our own styles (cli_style_sequences). Any other byte becomes '?'. `to` has room for size + sizeof
 * held; returns how much of it is used.
 */
size_t cli_filter_pass(struct cli_filter *filter, bool is_styled, const char *bytes, size_t size,
                       char *to);

/* Length of the UTF-8 sequence at `bytes`, 0 if there is none. C1 controls count as none. */
size_t cli_utf8_length(const unsigned char *bytes, size_t left);

/* What turns each enum cli_style on; none is longer than the filter can hold. */
extern const char *const cli_style_sequences[CLI_STYLE_COUNT];

#endif
