/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/report/input_marks.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/slicing.h"
#include <wetdbg/errors.h>

#define BYTES_MAX 16384 /* of an input */

/* The criterion of a stretch of an input. */
static int parse(const struct cli_page *page, const char *criterion, size_t offset, size_t size,
                 struct wetdbg_criterion **out)
{
    char *text = cli_asprintf("%s:%zu+%zu", criterion, offset, size);
    int err = cli_criterion_parse(page->session, text, false, out);

    free(text);
    return err;
}

/* ---- reading ---- */

/* Reads a stretch that lies in one place; -WETDBG_ERR_USAGE if it does not. */
static int read_piece(const struct cli_page *page, const char *criterion, size_t offset,
                      size_t size, char *bytes)
{
    struct wetdbg_change *change = cli_malloc(sizeof(*change));
    struct wetdbg_criterion *place = NULL;
    struct wetdbg_state *state;
    int err = parse(page, criterion, offset, size, &place);

    if (!err)
        err = wetdbg_change_of_criterion(place, bytes, size, change);
    if (!err && change->size != size)
        err = -WETDBG_ERR_USAGE;
    if (!err)
        err = wetdbg_state_open(page->session->wet, change->time, &state);
    if (!err) {
        err = wetdbg_state_read(state, change->address, bytes, size);
        wetdbg_state_close(state);
    }
    wetdbg_criterion_free(place);
    free(change);
    return err;
}

/* Several calls may have delivered it: then each half for itself. */
static int read_range(const struct cli_page *page, const char *criterion, size_t offset,
                      size_t size, char *bytes)
{
    int err = size > WETDBG_CHANGE_BYTES_MAX ? -WETDBG_ERR_USAGE
                                             : read_piece(page, criterion, offset, size, bytes);

    if (err != -WETDBG_ERR_USAGE || size < 2)
        return err;
    size_t half = size > WETDBG_CHANGE_BYTES_MAX ? WETDBG_CHANGE_BYTES_MAX : size / 2;
    err = read_range(page, criterion, offset, half, bytes);
    return err ? err : read_range(page, criterion, offset + half, size - half, bytes + half);
}

int cli_input_read(const struct cli_page *page, const char *criterion, uint64_t size,
                   struct cli_input *input)
{
    *input = (struct cli_input){.size = size < BYTES_MAX ? (size_t)size : BYTES_MAX,
                                .is_cut = size > BYTES_MAX};
    input->bytes = cli_malloc(input->size + 1);
    input->marks = cli_malloc(input->size + 1);
    memset(input->bytes, 0, input->size + 1);
    memset(input->marks, CLI_INPUT_UNUSED, input->size + 1);
    int err = input->size ? read_range(page, criterion, 0, input->size, input->bytes) : -ENODATA;
    if (err)
        cli_input_fini(input);
    return err;
}

void cli_input_fini(struct cli_input *input)
{
    free(input->bytes);
    free(input->marks);
    *input = (struct cli_input){0};
}

/* ---- what a stretch leads to ---- */

/* Whether the bytes of output that are wrong are among those that a forward slice came to. */
static bool reaches_output(const struct wetdbg_slice *slice,
                           const struct wetdbg_criterion_info *wrong)
{
    size_t count;
    const struct wetdbg_slice_reached *pieces = wetdbg_slice_get_reached(slice, &count);

    for (size_t i = 0; i < count; i++)
        if (pieces[i].fd == wrong->output_fd && !pieces[i].is_control &&
            pieces[i].offset < wrong->output_offset + wrong->output_size &&
            wrong->output_offset < pieces[i].offset + pieces[i].size)
            return true;
    return false;
}

static bool reaches_wrong(const struct wetdbg_slice *slice, const struct wetdbg_criterion *wrong)
{
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(wrong);

    if (info->output_size)
        return reaches_output(slice, info);
    return info->kind == WETDBG_CRITERION_CRASH && !info->executed
               ? wetdbg_slice_reaches_crash(slice)
               : wetdbg_slice_contains_time(slice, info->time);
}

/* Whether a step of the ways took part in it. */
static bool reaches_way(const struct wetdbg_slice *slice, const struct cli_page *page)
{
    for (size_t i = 0; i < page->way_count; i++)
        for (size_t k = 0; k < page->ways[i].path->count; k++)
            if (wetdbg_slice_contains_time(slice, page->ways[i].path->hops[k].time))
                return true;
    return false;
}

static int is_late(void *arg, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    return !cli_page_has_time(arg);
}

/* 1, 0, or an error. */
static int matters(struct cli_page *page, const char *criterion, size_t offset, size_t size)
{
    const struct wetdbg_slice_options how = {.kinds = WETDBG_SLICE_THIN,
                                             .session = page->session->slices,
                                             .progress = is_late,
                                             .arg = page};
    struct wetdbg_criterion *source;
    struct wetdbg_slice *slice;
    int err = cli_page_has_time(page) ? parse(page, criterion, offset, size, &source)
                                      : -WETDBG_ERR_INTERRUPTED;

    if (err)
        return err;
    err = wetdbg_slice_forward(page->session->wet, source, &how, &slice);
    if (!err) {
        err = reaches_wrong(slice, page->run->criterion) || reaches_way(slice, page);
        wetdbg_slice_free(slice);
    }
    wetdbg_criterion_free(source);
    return err;
}

/* ---- halving ---- */

struct stretch {
    size_t offset, size;
};

static void mark(struct cli_input *input, struct stretch stretch, enum cli_input_mark as)
{
    memset(input->marks + stretch.offset, (int)as, stretch.size);
}

/* Where a stretch is cut: behind a line's or a word's end near the middle, else in the middle. */
static size_t cut_of(const struct cli_input *input, struct stretch stretch)
{
    const char *bytes = input->bytes + stretch.offset;
    size_t middle = stretch.size / 2;

    for (size_t away = 0; away < stretch.size / 4; away++)
        if (bytes[middle + away] == '\n' || bytes[middle + away] == ' ')
            return middle + away + 1 < stretch.size ? middle + away + 1 : middle;
    return middle;
}

void cli_input_mark(struct cli_page *page, const char *criterion, struct cli_input *input)
{
    struct stretch *queue = cli_realloc(NULL, 2 * input->size + 2, sizeof(*queue));
    size_t count = 1, next = 0;

    queue[0] = (struct stretch){0, input->size};
    for (; next < count; next++) { /* in this order all of it gets finer alike */
        struct stretch one = queue[next];
        int answer = matters(page, criterion, one.offset, one.size);
        mark(input, one,
             answer < 0    ? CLI_INPUT_COARSE
             : answer == 0 ? CLI_INPUT_UNUSED
                           : CLI_INPUT_MATTERS);
        if (answer <= 0 || one.size == 1)
            continue;
        size_t cut = cut_of(input, one);
        queue[count++] = (struct stretch){one.offset, cut};
        queue[count++] = (struct stretch){one.offset + cut, one.size - cut};
    }
    free(queue);
}
