/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/dd_source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dbgcli/alloc.h"

#define OFFSETS_SHOWN 20

/* Of a piece, what one of the two inputs has. */
struct side {
    const struct wetdbg_dd_options *how;
    const struct wetdbg_dd_result *found;
    const char *input;
    bool is_fail;
};

static uint64_t offset_of(const struct side *side, size_t i)
{
    const struct wetdbg_dd_piece *piece = &side->found->pieces[i];
    return side->is_fail ? piece->fail_offset : piece->pass_offset;
}

static uint64_t length_of(const struct side *side, size_t i)
{
    const struct wetdbg_dd_piece *piece = &side->found->pieces[i];
    return side->is_fail ? piece->length : piece->missing;
}

static void add(struct cli_dd_sources *sources, char *text)
{
    if (sources->count < CLI_DD_SOURCES_MAX) {
        sources->texts[sources->count++] = text;
        return;
    }
    sources->left_out++;
    free(text);
}

/* ---- bytes of a file or of the standard input ---- */

static char *bytes_text(const char *file, uint64_t offset, uint64_t length)
{
    const char *colon = file ? ":" : "";
    if (length == 1)
        return cli_asprintf("input%s%s:%" PRIu64, colon, file ? file : "", offset);
    return cli_asprintf("input%s%s:%" PRIu64 "+%" PRIu64, colon, file ? file : "", offset, length);
}

/* Pieces that stand together now are one source, also if they did not in the original input. */
static void add_bytes(const struct side *side, const char *file, struct cli_dd_sources *sources)
{
    for (size_t i = 0; i < side->found->piece_count;) {
        uint64_t first = offset_of(side, i), end = first;
        for (; i < side->found->piece_count && offset_of(side, i) == end; i++)
            end += length_of(side, i);
        if (end > first)
            add(sources, bytes_text(file, first, end - first));
    }
}

/* ---- arguments, variables, files ---- */

/* How many items begin before an offset. */
static uint64_t item_number(const struct wetdbg_dd_bytes *items, uint64_t offset)
{
    uint64_t number = 0;
    for (uint64_t at = 0; at < offset; at++)
        number += !items->data[at];
    return number;
}

/* A name in the failing directory, "ko//sub/b", has its last parts in the run's, too. */
static char *file_text(const char *input, const char *name)
{
    struct stat st;
    const char *below = strstr(name, "//");
    uint64_t size = stat(name, &st) == 0 ? (uint64_t)st.st_size : 0;
    char *path = cli_asprintf("%s/%s", input ? input : "", below ? below + 2 : name);
    char *text = size ? bytes_text(path, 0, size) : NULL;
    free(path);
    return text;
}

static char *item_text(const struct side *side, const char *item, uint64_t number)
{
    switch (side->how->unit) {
    case WETDBG_DD_ARGV:
        return cli_asprintf("argv:%" PRIu64, number + 1);
    case WETDBG_DD_ENV:
        return cli_asprintf("env:%.*s", (int)strcspn(item, "="), item);
    default:
        return file_text(side->input, item);
    }
}

static void add_items(const struct side *side, struct cli_dd_sources *sources)
{
    const struct wetdbg_dd_bytes *items = side->is_fail ? &side->found->fail : &side->found->pass;
    for (size_t i = 0; i < side->found->piece_count; i++) {
        uint64_t at = offset_of(side, i), end = at + length_of(side, i);
        uint64_t number = item_number(items, at);
        for (; at < end; number++) {
            const char *item = (const char *)items->data + at;
            char *text = item_text(side, item, number);
            if (text)
                add(sources, text);
            at += strlen(item) + 1;
        }
    }
}

void cli_dd_sources_make(const struct wetdbg_dd_options *how, const struct wetdbg_dd_result *found,
                         bool is_fail, const char *input, struct cli_dd_sources *sources)
{
    const char *slash = input ? strrchr(input, '/') : NULL;
    const struct side side = {how, found, input, is_fail};
    *sources = (struct cli_dd_sources){0};
    if (how->unit > WETDBG_DD_TREE)
        add_items(&side, sources);
    else
        add_bytes(&side, slash ? slash + 1 : input, sources);
}

void cli_dd_sources_free(struct cli_dd_sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        free(sources->texts[i]);
    sources->count = 0;
}

/* ---- where that was ---- */

void cli_dd_offsets_print(struct cli_out *out, const struct wetdbg_dd_options *how,
                          const struct wetdbg_dd_result *found)
{
    size_t shown = 0;
    if (how->unit > WETDBG_DD_TREE)
        return;
    for (size_t i = 0; i < found->piece_count; i++) {
        const struct wetdbg_dd_piece *piece = &found->pieces[i];
        if (piece->offset == piece->fail_offset || !piece->length)
            continue;
        if (shown++ == OFFSETS_SHOWN) {
            fputs("  (and more; 'origins' of --json has all)\n", out->stream);
            return;
        }
        char *now = bytes_text(NULL, piece->fail_offset, piece->length);
        char *then = bytes_text(NULL, piece->offset, piece->length);
        fprintf(out->stream, "  %s here is %s of ", now, then);
        cli_out_text(out, how->fail);
        putc('\n', out->stream);
        free(now);
        free(then);
    }
}
