/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/exit_status.h"
#include "dbgcli/plain_text.h"
#include "dbgcli/screen.h"
#include <wetdbg/errors.h>

/* ---- the stream ---- */

/* Writes what passed the filter. The stream is a cookie's rather than stdout: stdio forgets the
 * errno of a flush that happened inside some printf, and the end of a pipe must be told from a full
 * disk. */
static void write_clean(struct cli_out *out, const char *bytes, size_t size)
{
    size_t done = 0;
    if (out->screen) {
        int err = out->write_errno ? 0 : cli_screen_write(out->screen, bytes, size);
        out->write_errno = err ? err : out->write_errno;
        return;
    }
    while (done < size && !out->write_errno) {
        ssize_t count = write(out->fd, bytes + done, size - done);
        if (count >= 0)
            done += (size_t)count;
        else if (errno != EINTR)
            out->write_errno = errno;
    }
}

static ssize_t write_cookie(void *cookie, const char *bytes, size_t size)
{
    struct cli_out *out = cookie;
    char clean[4096 + sizeof(out->filter.held)];
    for (size_t at = 0; at < size;) {
        size_t count = size - at < 4096 ? size - at : 4096;
        write_clean(out, clean,
                    cli_filter_pass(&out->filter, out->is_styled, bytes + at, count, clean));
        at += count;
    }
    return (ssize_t)size;
}

int cli_out_init(struct cli_out *out, int fd, FILE *errors)
{
    cookie_io_functions_t functions = {.write = write_cookie};
    const char *no_color = getenv("NO_COLOR");
    bool is_terminal = isatty(fd);
    *out = (struct cli_out){.errors = errors, .fd = fd};
    const char *terminal = getenv("TERM");
    out->is_styled =
        is_terminal && !(no_color && *no_color) && !(terminal && strcmp(terminal, "dumb") == 0);
    out->stream = fopencookie(out, "w", functions);
    if (!out->stream)
        return wetdbg_fail_errno("cannot open the output");
    setvbuf(out->stream, NULL, is_terminal ? _IOLBF : _IOFBF, 1 << 16);
    return 0;
}

int cli_out_fini(struct cli_out *out)
{
    if (!out->stream)
        return 0;
    fclose(out->stream);
    out->stream = NULL;
    if (!out->write_errno || out->write_errno == EPIPE)
        return 0;
    errno = out->write_errno;
    return wetdbg_fail_errno("cannot write the output");
}

bool cli_out_is_gone(const struct cli_out *out)
{
    return out->write_errno != 0 || (out->screen && cli_screen_is_left(out->screen));
}

int cli_out_color(struct cli_out *out, const char *when)
{
    if (!when || strcmp(when, "auto") == 0)
        return 0;
    if (strcmp(when, "always") != 0 && strcmp(when, "never") != 0)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "--color is auto, always or never, not '%s'", when);
    out->is_styled = strcmp(when, "always") == 0;
    return 0;
}

void cli_out_begin(struct cli_out *out)
{
    fflush(out->stream);
    if (out->screen)
        cli_screen_begin(out->screen);
}

void cli_out_end(struct cli_out *out)
{
    fflush(out->stream);
    if (out->screen)
        cli_screen_end(out->screen);
}

FILE *cli_out_aside(struct cli_out *out)
{
    fflush(out->stream);
    if (out->screen && cli_screen_is_paging(out->screen))
        return out->stream;
    if (out->screen)
        cli_screen_show(out->screen);
    return out->errors;
}

unsigned cli_out_columns(const struct cli_out *out)
{
    struct winsize size;
    if (!isatty(out->fd))
        return 0;
    return ioctl(out->fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

const char *cli_out_style(const struct cli_out *out, enum cli_style style)
{
    return out->is_styled ? cli_style_sequences[style] : "";
}

void cli_out_styled(struct cli_out *out, enum cli_style style, const char *text)
{
    fputs(cli_out_style(out, style), out->stream);
    cli_out_text(out, text);
    fputs(cli_out_style(out, CLI_STYLE_NONE), out->stream);
}

/* ---- text ---- */

/* What a recording names may be anything: no byte of it steers the terminal. */
void cli_text_put(FILE *stream, const char *text)
{
    size_t left = text ? strlen(text) : 0;
    while (left) {
        unsigned char byte = (unsigned char)*text;
        size_t length = cli_utf8_length((const unsigned char *)text, left);
        bool is_control = (byte < 0x20 && byte != '\t') || byte == 0x7f;
        if (length > 1)
            fwrite(text, 1, length, stream);
        else
            putc(length && !is_control ? byte : '?', stream);
        text += length ? length : 1;
        left -= length ? length : 1;
    }
}

void cli_out_text(struct cli_out *out, const char *text)
{
    cli_text_put(out->stream, text);
}

void cli_out_lines(struct cli_out *out, const char *text)
{
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        char *line = cli_strndup(text, (size_t)(end - text));
        cli_text_put(out->stream, line);
        putc('\n', out->stream);
        free(line);
    }
    cli_text_put(out->stream, text);
}

static void put_escaped(FILE *stream, unsigned char byte)
{
    static const char named[] = "\a\b\f\n\r\t\v\"\\";
    static const char letters[] = "abfnrtv\"\\";
    const char *found = byte ? strchr(named, byte) : NULL;
    if (found)
        fprintf(stream, "\\%c", letters[found - named]);
    else if (byte >= 0x20 && byte < 0x7f)
        putc(byte, stream);
    else
        fprintf(stream, "\\%03o", byte);
}

void cli_out_quoted(struct cli_out *out, const void *bytes, size_t size_bytes)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size_bytes;) {
        size_t length = cli_utf8_length(at + i, size_bytes - i);
        if (length > 1) {
            fwrite(at + i, 1, length, out->stream);
            i += length;
        } else {
            put_escaped(out->stream, at[i++]);
        }
    }
}

/* ---- JSON ---- */

json_t *cli_json_bytes(const void *bytes, size_t size_bytes)
{
    const unsigned char *from = bytes;
    char *clean = cli_malloc(size_bytes * 3 + 1);
    size_t used = 0;
    for (size_t i = 0; i < size_bytes;) {
        size_t length = cli_utf8_length(from + i, size_bytes - i);
        if (length == 0) {
            memcpy(clean + used, "\xef\xbf\xbd", 3);
            used += 3;
            i++;
        } else {
            memcpy(clean + used, from + i, length);
            used += length;
            i += length;
        }
    }
    json_t *value = json_stringn_nocheck(clean, used);
    free(clean);
    return value ? value : (cli_die(), NULL);
}

json_t *cli_json_text(const char *text)
{
    return text ? cli_json_bytes(text, strlen(text)) : json_null();
}

json_t *cli_json_count(uint64_t value)
{
    char digits[24];
    if (value <= INT64_MAX)
        return json_integer((json_int_t)value);
    snprintf(digits, sizeof(digits), "%" PRIu64, value);
    return json_string(digits);
}

json_t *cli_json_address(uint64_t address)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "0x%" PRIx64, address);
    return json_string(digits);
}

json_t *cli_json_object(const char *schema)
{
    json_t *object = json_object();
    if (!object)
        cli_die();
    cli_json_set(object, "schema", json_string(schema));
    return object;
}

void cli_json_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new_nocheck(object, key, value) != 0)
        cli_die();
}

void cli_json_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        cli_die();
}

/* jansson escapes all that steers a terminal but DEL, which can only be in a string here. */
static int dump_piece(const char *bytes, size_t size, void *stream)
{
    for (const char *end = bytes + size; bytes < end;) {
        const char *del = memchr(bytes, 0x7f, (size_t)(end - bytes));
        size_t plain = (size_t)((del ? del : end) - bytes);
        if (fwrite(bytes, 1, plain, stream) != plain || (del && fputs("\\u007f", stream) < 0))
            return -1;
        bytes += plain + (del != NULL);
    }
    return 0;
}

void cli_out_json(struct cli_out *out, json_t *value)
{
    json_dump_callback(value, dump_piece, out->stream, JSON_COMPACT);
    putc('\n', out->stream);
    json_decref(value);
}

int cli_out_error(struct cli_out *out, const char *place, int code)
{
    return cli_out_error_as(out, place, code, cli_exit_status(code));
}

int cli_out_error_as(struct cli_out *out, const char *place, int code, int status)
{
    const char *message = wetdbg_error(code);
    cli_out_end(out);
    if (out->json) {
        json_t *object = cli_json_object("wetdbg.error/1");
        cli_json_set(object, "message", cli_json_text(message));
        cli_json_set(object, "status", json_integer(status));
        cli_out_json(out, object);
        fflush(out->stream);
    } else {
        if (place && *place) {
            cli_text_put(out->errors, place);
            fputs(": ", out->errors);
        }
        cli_text_put(out->errors, message);
        putc('\n', out->errors);
    }
    return status;
}
