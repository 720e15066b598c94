/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a command's answer goes: text for people, or one JSON object per command and line.
 *
 * Strings that come from recordings, programs and source files are untrusted: on their way to a
 * terminal control characters are replaced, on their way to JSON bytes that are not UTF-8. What is
 * written past cli_out_text() meets the same rule when it leaves (dbgcli/plain_text.h).
 * A reader that went away (`| head`) is no error: the stream swallows the rest and
 * cli_out_is_gone() tells long enumerations to stop.
 */
#ifndef DBGCLI_OUT_H
#define DBGCLI_OUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dbgcli/plain_text.h"

struct cli_screen; /* dbgcli/screen.h */

/* Embedded by its holder; `stream` and `json` are for everybody, the rest is private. */
struct cli_out {
    FILE *stream; /* answers */
    FILE *errors;
    bool json;
    bool is_styled; /* a terminal, and NO_COLOR is not set */
    int fd;
    int write_errno; /* of the first write that failed, or 0 */
    struct cli_filter filter;
    struct cli_screen *screen; /* a terminal with a person before it, or NULL; the holder's */
};

/* Opens it: answers to `fd`, errors to `errors`; both stay the caller's. 0 or -ENOMEM. */
int cli_out_init(struct cli_out *out, int fd, FILE *errors);

/* Flushes and releases. 0; or a negative errno, explained, if something could not be written
 * for any other reason than that the reader went away. */
int cli_out_fini(struct cli_out *out);

/* True once the reader is gone or the medium full: nothing more needs to be said. Of an answer
 * also once its pager was left. */
bool cli_out_is_gone(const struct cli_out *out);

/* Styles always, never, or (auto, NULL) as cli_out_init() found. -WETDBG_ERR_USAGE for another
 * word. */
int cli_out_color(struct cli_out *out, const char *when);

/* Begin and end an answer: on a terminal it may go through a pager. */
void cli_out_begin(struct cli_out *out);
void cli_out_end(struct cli_out *out);

/* For a remark amid an answer: where it goes, so that it stands behind what was written before. */
FILE *cli_out_aside(struct cli_out *out);

/* How wide the terminal is that the answers go to; 0 if they go elsewhere. */
unsigned cli_out_columns(const struct cli_out *out);

/* Escape sequence that starts a style (CLI_STYLE_NONE ends it); "" when not styled. */
const char *cli_out_style(const struct cli_out *out, enum cli_style style);

/* Writes untrusted text as cli_out_text() does, in a style. */
void cli_out_styled(struct cli_out *out, enum cli_style style, const char *text);

/* Writes untrusted text; control characters but tab, and bytes that are no UTF-8, become '?'. NULL
 * writes nothing. */
void cli_out_text(struct cli_out *out, const char *text);

/* Writes untrusted text as cli_out_text() does, but the ends of its lines stay. */
void cli_out_lines(struct cli_out *out, const char *text);

/* cli_out_text() to any stream that ends up at a terminal. */
void cli_text_put(FILE *stream, const char *text);

/* Writes bytes as the inside of a C string literal: \n, \t, \", \\, \ooo; UTF-8 stays. */
void cli_out_quoted(struct cli_out *out, const void *bytes, size_t size_bytes);

/* Writes an object or array as one line and drops the reference. */
void cli_out_json(struct cli_out *out, json_t *value);

/*
 * Reports a failure: "PLACE: message" to `errors`, or an object of schema wetdbg.error/1.
 * Returns the exit status that belongs to `code`.
 */
int cli_out_error(struct cli_out *out, const char *place, int code);

/* The same, where another exit status belongs to the error; returns it. */
int cli_out_error_as(struct cli_out *out, const char *place, int code, int status);

/* JSON string of untrusted bytes (invalid UTF-8 becomes U+FFFD); null for NULL. Never fails:
 * where memory is short the process ends. */
json_t *cli_json_text(const char *text);
json_t *cli_json_bytes(const void *bytes, size_t size_bytes);

/* A JSON integer; those above 2^63 - 1 become strings of digits, "18446744073709551615". */
json_t *cli_json_count(uint64_t value);

/* "0x7ffff7e12345": addresses do not survive as doubles in most readers of JSON. */
json_t *cli_json_address(uint64_t address);

/* A new object that begins with "schema": NAME. */
json_t *cli_json_object(const char *schema);

/* Adds to an object or array and takes over `value`; dies where memory is short. */
void cli_json_set(json_t *object, const char *key, json_t *value);
void cli_json_append(json_t *array, json_t *value);

#endif
