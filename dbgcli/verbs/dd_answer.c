/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/dd_answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/shell_word.h"
#include "dbgcli/verbs/base64.h"

#define PIECES_SHOWN  20
#define CONTEXT_BYTES 24
#define PIECE_BYTES   60  /* of a piece that is longer, its ends */
#define WHOLE_BYTES   200 /* inputs up to here are shown whole */

static bool has_items(const struct wetdbg_dd_options *how)
{
    return how->unit > WETDBG_DD_TREE;
}

static const char *item_name(const struct wetdbg_dd_options *how, bool is_one)
{
    switch (how->unit) {
    case WETDBG_DD_ARGV:
        return is_one ? "argument" : "arguments";
    case WETDBG_DD_ENV:
        return is_one ? "variable" : "variables";
    case WETDBG_DD_FILES:
        return is_one ? "file" : "files";
    default:
        return is_one ? "byte" : "bytes";
    }
}

static uint64_t items_count(const uint8_t *bytes, uint64_t size)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < size; i++)
        count += !bytes[i];
    return count;
}

/* Bytes, or items, of a part of an input. */
static uint64_t size_of(const struct wetdbg_dd_options *how, const struct wetdbg_dd_bytes *input,
                        uint64_t offset, uint64_t length)
{
    return has_items(how) ? items_count(input->data + offset, length) : length;
}

/* ---- text ---- */

static void print_head(struct cli_out *out, const struct wetdbg_dd_options *how,
                       const struct wetdbg_dd_result *found)
{
    uint64_t there = 0, missing = 0;
    for (size_t i = 0; i < found->piece_count; i++) {
        const struct wetdbg_dd_piece *piece = &found->pieces[i];
        there += size_of(how, &found->fail, piece->fail_offset, piece->length);
        missing += size_of(how, &found->pass, piece->pass_offset, piece->missing);
    }
    fprintf(out->stream, "%" PRIu64 " tests", found->tests);
    if (found->live)
        fprintf(out->stream, " (%" PRIu64 " live, %" PRIu64 " real)", found->live,
                found->tests - found->live);
    fprintf(out->stream, ", %.2f s: ", found->seconds);
    if (there || !missing)
        fprintf(out->stream, "%" PRIu64 " %s", there, item_name(how, there == 1));
    if (there && missing)
        fputs(" in place of ", out->stream);
    if (missing)
        fprintf(out->stream, "%" PRIu64 " %s%s", missing, item_name(how, missing == 1),
                there          ? ""
                : missing == 1 ? " that is missing"
                               : " that are missing");
    bool is_one = there <= 1 && missing <= 1;
    if (how->pass)
        fprintf(out->stream, " make%s the difference\n", is_one ? "s" : "");
    else
        fprintf(out->stream, " %s enough to fail\n", is_one ? "is" : "are");
    fputs("failure: ", out->stream);
    cli_out_text(out, found->failure);
    putc('\n', out->stream);
    if (found->resumed)
        fprintf(out->stream, "%" PRIu64 " tests were known from before\n", found->resumed);
    if (found->unresolved)
        fprintf(out->stream,
                "%" PRIu64 " of the real run%s since a live one could not tell, the first: ",
                found->unresolved, found->unresolved == 1 ? " was made" : "s were made");
    if (found->unresolved) {
        cli_out_text(out, found->unresolved_because);
        putc('\n', out->stream);
    }
    if (found->unconfirmed)
        fprintf(out->stream,
                "of what makes it minimal real runs confirmed %" PRIu64 " tests, %" PRIu64
                " were live only\n",
                found->confirmed, found->unconfirmed);
    if (found->not_live[0] && (found->live || how->runs == WETDBG_DD_RUNS_LIVE)) {
        fputs(found->live ? "live runs ended: " : "no live runs: ", out->stream);
        cli_out_text(out, found->not_live);
        putc('\n', out->stream);
    }
}

/* Words as they are; of a file's name the directory ends with "//" in it. */
static void print_items(struct cli_out *out, const struct wetdbg_dd_options *how,
                        const uint8_t *bytes, uint64_t size, const char *mark)
{
    for (uint64_t at = 0; at < size;) {
        const char *item = (const char *)bytes + at;
        const char *below = how->unit == WETDBG_DD_FILES ? strstr(item, "//") : NULL;
        char *text =
            below ? cli_asprintf("%.*s%s", (int)(below - item), item, below + 1) : cli_strdup(item);
        fprintf(out->stream, "  %s ", mark);
        cli_out_text(out, text);
        putc('\n', out->stream);
        free(text);
        at += strlen(item) + 1;
    }
}

/* Bytes in quotes; of too many the first and the last ones. */
static void print_bytes(struct cli_out *out, const uint8_t *bytes, uint64_t size)
{
    if (size <= PIECE_BYTES) {
        cli_out_quoted(out, bytes, (size_t)size);
        return;
    }
    cli_out_quoted(out, bytes, PIECE_BYTES / 2);
    fputs(" ... ", out->stream);
    cli_out_quoted(out, bytes + size - PIECE_BYTES / 2, PIECE_BYTES / 2);
}

/* Where only something is missing: what stands around it. */
static void print_gap(struct cli_out *out, const struct wetdbg_dd_result *found,
                      const struct wetdbg_dd_piece *piece, uint64_t before, uint64_t after)
{
    const uint8_t *at = found->fail.data + piece->fail_offset;
    static const char *const where[] = {"in the empty input", "behind \"", "before \"",
                                        "between \""};
    fputs(where[(before > 0) + 2 * (after > 0)], out->stream);
    print_bytes(out, at - before, before);
    fputs(before && after ? "\" and \"" : "", out->stream);
    print_bytes(out, at, after);
    fputs(before || after ? "\"" : "", out->stream);
    fputs(": \"", out->stream);
    print_bytes(out, found->pass.data + piece->pass_offset, piece->missing);
    fputs("\" there passes", out->stream);
}

/* A piece in what stands around it in the minimal failing input. */
static void print_in_context(struct cli_out *out, const struct wetdbg_dd_result *found,
                             const struct wetdbg_dd_piece *piece)
{
    uint64_t at = piece->fail_offset, end = at + piece->length;
    uint64_t before = at < CONTEXT_BYTES ? at : CONTEXT_BYTES;
    uint64_t after =
        found->fail.size - end < CONTEXT_BYTES ? found->fail.size - end : CONTEXT_BYTES;
    if (!piece->length) {
        print_gap(out, found, piece, before, after);
        return;
    }
    fputs(before < at ? "..." : "", out->stream);
    print_bytes(out, found->fail.data + at - before, before);
    fprintf(out->stream, "%s[", cli_out_style(out, CLI_STYLE_BOLD));
    print_bytes(out, found->fail.data + at, piece->length);
    fprintf(out->stream, "]%s", cli_out_style(out, CLI_STYLE_NONE));
    print_bytes(out, found->fail.data + end, after);
    fputs(end + after < found->fail.size ? "..." : "", out->stream);
    if (piece->missing) {
        fputs("  where ", out->stream);
        print_bytes(out, found->pass.data + piece->pass_offset, piece->missing);
        fputs(" passes", out->stream);
    }
}

/* Without a passing input the pieces are all that is left, and have no context. */
static void print_piece(struct cli_out *out, const struct wetdbg_dd_options *how,
                        const struct wetdbg_dd_result *found, const struct wetdbg_dd_piece *piece)
{
    char place[64], minimal[32] = "";
    if (piece->length > 1)
        snprintf(place, sizeof(place), "input:%" PRIu64 "+%" PRIu64, piece->offset, piece->length);
    else
        snprintf(place, sizeof(place), "input:%" PRIu64, piece->offset);
    if (piece->offset != piece->fail_offset)
        snprintf(minimal, sizeof(minimal), "(now %" PRIu64 ") ", piece->fail_offset);
    fprintf(out->stream, "  %-16s %s ", place, minimal);
    if (how->pass)
        print_in_context(out, found, piece);
    else
        print_bytes(out, found->fail.data + piece->fail_offset, piece->length);
    putc('\n', out->stream);
}

void cli_dd_print(struct cli_out *out, const struct wetdbg_dd_options *how,
                  const struct wetdbg_dd_result *found)
{
    print_head(out, how, found);
    for (size_t i = 0; i < found->piece_count && i < PIECES_SHOWN; i++) {
        const struct wetdbg_dd_piece *piece = &found->pieces[i];
        if (!has_items(how)) {
            print_piece(out, how, found, piece);
            continue;
        }
        print_items(out, how, found->fail.data + piece->fail_offset, piece->length, "+");
        print_items(out, how, found->pass.data + piece->pass_offset, piece->missing, "-");
    }
    if (found->piece_count > PIECES_SHOWN)
        fprintf(out->stream, "  ... and %zu more places (--json has all)\n",
                found->piece_count - PIECES_SHOWN);
    /* What passes may be the larger one, and what was found lies between the two. */
    fprintf(out->stream,
            found->fail.size > found->original_bytes
                ? "the minimal failing input has %" PRIu64 " bytes, the original one %" PRIu64
                : "the minimal failing input has %" PRIu64 " of %" PRIu64 " bytes",
            (uint64_t)found->fail.size, found->original_bytes);
    if (found->fail.size <= WHOLE_BYTES && !has_items(how)) {
        fputs(": \"", out->stream);
        cli_out_quoted(out, found->fail.data, found->fail.size);
        putc('"', out->stream);
    }
    putc('\n', out->stream);
}

/* ---- what to do next ---- */

void cli_dd_print_word(struct cli_out *out, const char *word)
{
    char *text = cli_shell_word(word, strlen(word));
    putc(' ', out->stream);
    cli_out_text(out, text);
    free(text);
}

/* The program's words, with the kept file in the input's place. True if it has to come by standard
 * input. */
static bool print_words(struct cli_out *out, const struct wetdbg_dd_options *how, const char *kept)
{
    bool is_named = false;
    for (char *const *word = how->argv; *word; word++) {
        const char *found = word == how->argv ? NULL : strstr(*word, "@@");
        bool is_file = word != how->argv && how->fail && strcmp(*word, how->fail) == 0;
        is_named = is_named || found || is_file;
        if (is_file || (found && strcmp(*word, "@@") == 0)) {
            cli_dd_print_word(out, kept);
        } else if (found) {
            char *made = NULL;
            if (asprintf(&made, "%.*s%s%s", (int)(found - *word), *word, kept, found + 2) >= 0)
                cli_dd_print_word(out, made);
            free(made);
        } else {
            cli_dd_print_word(out, *word);
        }
    }
    return !is_named;
}

void cli_dd_print_next(struct cli_out *out, const struct wetdbg_dd_options *how,
                       const struct wetdbg_dd_result *found, const char *kept)
{
    if (has_items(how) || !how->argv[0])
        return;
    if (!kept) {
        fputs("-o FILE keeps it\n", out->stream);
        return;
    }
    fputs("next:\n  wetdbg record -o minimal --", out->stream);
    if (print_words(out, how, kept)) {
        fputs(" <", out->stream);
        cli_dd_print_word(out, kept);
    }
    fputs("\n  wetdbg replay minimal", out->stream);
    if (how->oracle == WETDBG_DD_EXPECT)
        fprintf(out->stream, " -e 'slice backward output:%" PRIu64 "'", found->wrong_offset);
    else if (how->oracle != WETDBG_DD_COMMAND)
        fputs(" -e 'slice backward crash'", out->stream);
    putc('\n', out->stream);
}

/* ---- JSON ---- */

static json_t *pieces_json(const struct wetdbg_dd_result *found)
{
    json_t *list = json_array();
    for (size_t i = 0; i < found->piece_count; i++) {
        const struct wetdbg_dd_piece *piece = &found->pieces[i];
        json_t *object = json_object();
        cli_json_set(object, "offset", cli_json_count(piece->offset));
        cli_json_set(object, "length", cli_json_count(piece->length));
        cli_json_set(object, "fail_offset", cli_json_count(piece->fail_offset));
        cli_json_set(object, "pass_offset", cli_json_count(piece->pass_offset));
        cli_json_set(object, "missing",
                     cli_json_base64(found->pass.data + piece->pass_offset, piece->missing));
        cli_json_append(list, object);
    }
    return list;
}

/* Where the minimal failing input's bytes come from: runs of bytes that stood together, too. */
static json_t *origins_json(const struct wetdbg_dd_result *found)
{
    json_t *list = json_array();
    for (uint64_t at = 0, end; at < found->fail.size; at = end) {
        uint64_t origin = found->origins[at];
        bool is_there = origin != WETDBG_DD_NOWHERE;
        for (end = at + 1; end < found->fail.size; end++)
            if (found->origins[end] != (is_there ? origin + (end - at) : WETDBG_DD_NOWHERE))
                break;
        json_t *object = json_object();
        cli_json_set(object, "fail_offset", cli_json_count(at));
        cli_json_set(object, "length", cli_json_count(end - at));
        cli_json_set(object, "offset", is_there ? cli_json_count(origin) : json_null());
        cli_json_append(list, object);
    }
    return list;
}

json_t *cli_dd_json(const struct wetdbg_dd_options *how, const struct wetdbg_dd_result *found)
{
    json_t *object = cli_json_object("wetdbg.dd/1");
    cli_json_set(object, "tests", cli_json_count(found->tests));
    cli_json_set(object, "live", cli_json_count(found->live));
    cli_json_set(object, "confirmed", cli_json_count(found->confirmed));
    cli_json_set(object, "unconfirmed", cli_json_count(found->unconfirmed));
    cli_json_set(object, "not_live",
                 found->not_live[0] ? cli_json_text(found->not_live) : json_null());
    cli_json_set(object, "unresolved_live", cli_json_count(found->unresolved));
    cli_json_set(object, "unresolved_because",
                 found->unresolved ? cli_json_text(found->unresolved_because) : json_null());
    cli_json_set(object, "recalled", cli_json_count(found->recalled));
    cli_json_set(object, "resumed", cli_json_count(found->resumed));
    cli_json_set(object, "seconds", json_real(found->seconds));
    cli_json_set(object, "failure", cli_json_text(found->failure));
    cli_json_set(object, "output_offset",
                 found->wrong_offset == WETDBG_DD_NOWHERE ? json_null()
                                                          : cli_json_count(found->wrong_offset));
    cli_json_set(object, "input_bytes", cli_json_count(found->original_bytes));
    cli_json_set(object, "isolated", json_boolean(how->pass != NULL));
    cli_json_set(object, "pass", cli_json_base64(found->pass.data, found->pass.size));
    cli_json_set(object, "fail", cli_json_base64(found->fail.data, found->fail.size));
    cli_json_set(object, "difference", pieces_json(found));
    cli_json_set(object, "origins", origins_json(found));
    return object;
}
