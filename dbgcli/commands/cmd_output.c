/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the program put out, and when: the pieces of write(2) and its kin, and what the kernel
 * passed on for it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>
#include <wetdbg/files.h>

#define LIMIT_DEFAULT 200
/* How much of one piece is shown. A program that writes a gigabyte at once need not be shown all of
 * it. */
#define TEXT_BYTES_MAX 4096
#define JSON_BYTES_MAX (1u << 20)

static const struct cli_option options[] = {
    {"limit", 0, "N", "show at most N writes (200); 0: all"},
    {0},
};

const struct cli_syntax cli_cmd_output_syntax = {
    .example = "output 2 --limit 20",
    .usage = "[FD|PATH] [OFFSET[+LEN]] [--limit N]",
    .options = options,
    .operands_max = 2,
    .details = "What was put out by a descriptor (1), with the time of each piece and its offset\n"
               "in all that was put out there; or to a file (the end of its path will do), with\n"
               "offsets in it. OFFSET selects bytes from there on, OFFSET+LEN only these; a lone\n"
               "number is a descriptor ('output 1 100' is an offset, './1' a file). 'info files'\n"
               "lists what there is.",
};

struct range {
    int fd;              /* -1: of a file */
    const char *path;    /* NULL: of a descriptor */
    uint64_t start, end; /* of bytes wanted; end is exclusive */
};

/* Parses OFFSET or OFFSET+LEN. */
static int parse_range(const char *text, struct range *range)
{
    char *copy = cli_strdup(text);
    char *plus = strchr(copy, '+');
    uint64_t length = 0;
    if (plus)
        *plus++ = 0;
    bool is_good = cli_number_parse(copy, &range->start);
    if (is_good && plus)
        is_good = cli_number_parse(plus, &length) &&
                  !__builtin_add_overflow(range->start, length, &range->end);
    free(copy);
    return is_good
               ? 0
               : wetdbg_fail(-WETDBG_ERR_USAGE, "output: '%s' is not OFFSET or OFFSET+LEN", text);
}

static int parse_operands(const struct cli_args *args, struct range *range)
{
    const char *first = args->operands[0], *second = first ? args->operands[1] : NULL;
    uint64_t fd = 1;
    *range = (struct range){.fd = 1, .end = UINT64_MAX};
    if (first && !second && strchr(first, '+'))
        return parse_range(first, range);
    if (first && cli_number_parse(first, &fd) && fd > INT32_MAX)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "output: '%s' is no descriptor", first);
    range->path = first && !cli_number_parse(first, &fd) ? first : NULL;
    range->fd = range->path ? -1 : (int)fd;
    return second ? parse_range(second, range) : 0;
}

static json_t *piece_to_json(struct cli_session *session, const struct wetdbg_output *piece,
                             uint64_t cut, uint64_t size, const char *bytes, size_t shown)
{
    json_t *row = json_object();
    cli_json_set(row, "time", cli_json_count(piece->time));
    cli_json_set(row, "offset",
                 piece->offset == UINT64_MAX ? json_null() : cli_json_count(piece->offset + cut));
    cli_json_set(row, "size", cli_json_count(size));
    cli_json_set(row, "text", bytes ? cli_json_bytes(bytes, shown) : json_null());
    cli_json_set(row, "cut", json_boolean(shown < size));
    cli_thread_to_json_at(row, session, piece->time);
    return row;
}

static void print_piece(struct cli_session *session, const struct wetdbg_output *piece,
                        uint64_t cut, uint64_t size, const char *bytes, size_t shown)
{
    struct cli_out *out = session->out;
    fprintf(out->stream, "time %-12" PRIu64 " ", piece->time);
    if (piece->offset == UINT64_MAX)
        fprintf(out->stream, "%8s+%-6" PRIu64 " ", "?", size);
    else
        fprintf(out->stream, "%8" PRIu64 "+%-6" PRIu64 " ", piece->offset + cut, size);
    if (bytes) {
        putc('"', out->stream);
        cli_out_quoted(out, bytes, shown);
        fputs(shown < size ? "\"..." : "\"", out->stream);
    } else {
        fputs("(passed on by the kernel)", out->stream);
    }
    cli_thread_print_at(session, piece->time);
    putc('\n', out->stream);
}

/* Shows one piece, cut to what is wanted; `cut` of its first bytes are left out. */
static int show_piece(struct cli_session *session, const struct wetdbg_output *piece, uint64_t cut,
                      uint64_t size, json_t *array)
{
    size_t most = array ? JSON_BYTES_MAX : TEXT_BYTES_MAX;
    bool is_passed = piece->address == WETDBG_OUTPUT_PASSED;
    size_t shown = is_passed ? 0 : size < most ? size : most;
    struct wetdbg_state *state;
    char *bytes = is_passed ? NULL : malloc(shown ? shown : 1);
    if (!bytes && !is_passed)
        return wetdbg_fail(-ENOMEM, "out of memory for %zu bytes of output", shown);
    int err = is_passed ? 0 : wetdbg_state_open(session->wet, piece->time, &state);
    if (!err && !is_passed) {
        err = wetdbg_state_read(state, piece->address + cut, bytes, shown);
        wetdbg_state_close(state);
    }
    if (!err && array)
        cli_json_append(array, piece_to_json(session, piece, cut, size, bytes, shown));
    else if (!err)
        print_piece(session, piece, cut, size, bytes, shown);
    free(bytes);
    return err;
}

/* What was written to a file; *list is to be freed. */
static int outputs_of_file(struct cli_session *session, const char *path,
                           struct wetdbg_output **list, size_t *count)
{
    struct wetdbg_files *files;
    size_t n = 0;
    int err = wetdbg_files_open(session->wet, &files);
    *count = 0;
    if (err)
        return err;
    err = wetdbg_files_find_written(files, path, &n);
    if (!err)
        err = wetdbg_files_outputs(files, n, list, count);
    wetdbg_files_close(files);
    return err;
}

/* What is wanted of a piece: how many of its first bytes are not, and how many are. False: none. */
static bool cut_piece(const struct range *range, const struct wetdbg_output *piece, uint64_t *cut,
                      uint64_t *size)
{
    uint64_t end = piece->offset + piece->size;
    *cut = 0;
    *size = piece->size;
    if (piece->offset == UINT64_MAX) /* nobody knows where it went */
        return range->start == 0 && range->end == UINT64_MAX;
    *cut = range->start > piece->offset ? range->start - piece->offset : 0;
    *size = (end < range->end ? end : range->end) - piece->offset - *cut;
    return end > range->start && piece->offset < range->end;
}

static int show_pieces(struct cli_session *session, const struct range *range, uint64_t limit,
                       json_t *array, uint64_t *shown, uint64_t *left)
{
    struct wetdbg_output *list = NULL;
    size_t count = 0;
    int err = range->path ? outputs_of_file(session, range->path, &list, &count)
                          : wetdbg_descriptor_outputs(session->wet, range->fd, &list, &count);
    for (size_t i = 0; i < count && !err && !cli_out_is_gone(session->out); i++) {
        const struct wetdbg_output *piece = &list[i];
        uint64_t cut, size;
        if (!cut_piece(range, piece, &cut, &size))
            continue;
        if (limit && *shown == limit) {
            (*left)++;
            continue;
        }
        err = show_piece(session, piece, cut, size, array);
        (*shown)++;
    }
    free(list);
    return err;
}

int cli_cmd_output(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_out *out = repl->out;
    struct range range;
    uint64_t limit, shown = 0, left = 0;
    (void)format;
    int err = parse_operands(args, &range);
    if (!err)
        err = cli_args_number(args, "limit", LIMIT_DEFAULT, &limit);
    if (err)
        return err;
    json_t *array = out->json ? json_array() : NULL;
    err = show_pieces(repl->session, &range, limit, array, &shown, &left);
    if (!err && !shown && range.path)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "nothing was written to %s there", range.path);
    else if (!err && !shown)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "nothing was written to descriptor %d there",
                          range.fd);
    if (!err && array) {
        json_t *object = cli_json_object("wetdbg.output/1");
        cli_json_set(object, "fd", range.path ? json_null() : json_integer(range.fd));
        cli_json_set(object, "path", cli_json_text(range.path));
        cli_json_set(object, "writes", json_incref(array));
        cli_json_set(object, "more", cli_json_count(left));
        cli_out_json(out, object);
    } else if (!err && left) {
        fprintf(out->stream, "(%" PRIu64 " more; --limit 0 shows all)\n", left);
    }
    json_decref(array);
    return err;
}
