/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/report/marked_source.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"

#define FILES_MAX   40
#define WHOLE_MAX   400  /* lines of a file that is shown as it is */
#define SHOWN_MAX   3000 /* lines in all */
#define AROUND      6    /* lines before and behind a suspect of the list and a step of a way */
#define AROUND_REST 2    /* and around others of the slice */

/* ---- files ---- */

static struct cli_source_file *find_file(struct cli_marked_source *source, const char *path)
{
    for (size_t i = 0; i < source->count; i++)
        if (strcmp(source->files[i].path, path) == 0)
            return &source->files[i];
    return NULL;
}

static void read_file(const struct cli_page *page, struct cli_source_file *file, uint64_t pc)
{
    const char *text;
    unsigned flags;

    while (file->line_count < UINT32_MAX &&
           wetdbg_source_line(page->session->model, file->path, file->line_count + 1, pc, &text,
                              &flags) == 0 &&
           text) {
        file->line_count++;
        file->is_newer |= (flags & WETDBG_SOURCE_NEWER) != 0;
    }
    file->lines = cli_realloc(NULL, (size_t)file->line_count + 1, sizeof(*file->lines));
    memset(file->lines, 0, file->line_count * sizeof(*file->lines));
}

static int mark_code(void *context, const struct wetdbg_line *line)
{
    struct cli_source_file *file = context;

    if (line->line && line->line <= file->line_count && strcmp(line->file, file->path) == 0)
        file->lines[line->line - 1].has_code = true;
    return 0;
}

static void add_file(const struct cli_page *page, struct cli_marked_source *source,
                     const char *path, uint64_t pc)
{
    if (!path || find_file(source, path))
        return;
    if (source->count == FILES_MAX) {
        source->is_cut = true;
        return;
    }
    struct cli_source_file *file = &source->files[source->count++];
    *file = (struct cli_source_file){.path = path};
    read_file(page, file, pc);
    wetdbg_lines_each(page->session->model, path, mark_code, file);
}

/* ---- lines ---- */

static struct cli_source_line *find_line(struct cli_marked_source *source, const char *path,
                                         uint32_t line)
{
    struct cli_source_file *file = path ? find_file(source, path) : NULL;

    return file && line && line <= file->line_count ? &file->lines[line - 1] : NULL;
}

static void mark_suspects(const struct cli_page *page, struct cli_marked_source *source)
{
    for (size_t i = 0; i < page->suspect_count; i++) {
        const struct wetdbg_suspect *suspect = &page->suspects[i];
        struct cli_source_file *file = find_file(source, suspect->file);
        struct cli_source_line *line = find_line(source, suspect->file, suspect->line);
        if (!file)
            continue;
        file->ran++;
        file->in_slice += suspect->evidence.in_slice;
        if (!line)
            continue;
        line->suspect = suspect;
        line->rank = i < page->shown ? (uint32_t)i + 1 : 0;
    }
}

/* Shows lines [line - around, line + around], as far as the limit lets it. */
static void show(struct cli_marked_source *source, const char *path, uint32_t line, uint32_t around,
                 size_t *left)
{
    struct cli_source_file *file = path ? find_file(source, path) : NULL;
    uint32_t first = line > around ? line - around : 1;

    for (uint32_t n = first; file && n <= file->line_count && n - first <= 2 * around; n++) {
        struct cli_source_line *at = &file->lines[n - 1];
        if (at->is_shown || !*left)
            continue;
        at->is_shown = true;
        file->shown++;
        --*left;
    }
}

static int by_place(const void *left, const void *right)
{
    const struct wetdbg_suspect *const *a = left, *const *b = right;

    return (*a)->evidence.place < (*b)->evidence.place
               ? -1
               : (*a)->evidence.place > (*b)->evidence.place;
}

/* The suspects that are in the slice, the nearest first; to be freed. */
static const struct wetdbg_suspect **list_slice(const struct cli_page *page, size_t *count)
{
    const struct wetdbg_suspect **list = cli_realloc(NULL, page->suspect_count + 1, sizeof(*list));

    *count = 0;
    for (size_t i = 0; i < page->suspect_count; i++)
        if (page->suspects[i].evidence.in_slice)
            list[(*count)++] = &page->suspects[i];
    qsort(list, *count, sizeof(*list), by_place);
    return list;
}

/* ---- all of it ---- */

static void add_files(const struct cli_page *page, struct cli_marked_source *source,
                      const struct wetdbg_suspect *const *slice, size_t slice_count)
{
    for (size_t i = 0; i < page->shown; i++)
        add_file(page, source, page->suspects[i].file, page->suspects[i].pc);
    for (size_t i = 0; i < page->way_count; i++)
        for (size_t k = 0; k < page->ways[i].count; k++)
            if (page->ways[i].steps[k].is_own)
                add_file(page, source, page->ways[i].steps[k].place.file,
                         page->ways[i].steps[k].place.pc);
    for (size_t i = 0; i < slice_count; i++)
        add_file(page, source, slice[i]->file, slice[i]->pc);
}

static void show_near(const struct cli_page *page, struct cli_marked_source *source,
                      const struct wetdbg_suspect *const *slice, size_t slice_count)
{
    size_t left = SHOWN_MAX;

    for (size_t i = 0; i < page->shown; i++)
        show(source, page->suspects[i].file, page->suspects[i].line, AROUND, &left);
    for (size_t i = 0; i < page->way_count; i++)
        for (size_t k = 0; k < page->ways[i].count; k++)
            if (page->ways[i].steps[k].is_own)
                show(source, page->ways[i].steps[k].place.file, page->ways[i].steps[k].place.line,
                     AROUND, &left);
    for (size_t i = 0; i < source->count; i++)
        if (source->files[i].line_count && source->files[i].line_count <= WHOLE_MAX)
            show(source, source->files[i].path, 1, source->files[i].line_count, &left);
    for (size_t i = 0; i < slice_count; i++)
        show(source, slice[i]->file, slice[i]->line, AROUND_REST, &left);
}

struct cli_marked_source *cli_marked_source_make(const struct cli_page *page)
{
    struct cli_marked_source *source = cli_malloc(sizeof(*source));
    size_t slice_count;
    const struct wetdbg_suspect **slice = list_slice(page, &slice_count);

    *source =
        (struct cli_marked_source){.files = cli_realloc(NULL, FILES_MAX, sizeof(*source->files))};
    add_files(page, source, slice, slice_count);
    mark_suspects(page, source);
    show_near(page, source, slice, slice_count);
    free(slice);
    return source;
}

void cli_marked_source_free(struct cli_marked_source *source)
{
    if (!source)
        return;
    for (size_t i = 0; i < source->count; i++)
        free(source->files[i].lines);
    free(source->files);
    free(source);
}

int cli_marked_source_find(const struct cli_marked_source *source, const char *file, uint32_t line)
{
    for (size_t i = 0; i < source->count; i++) {
        const struct cli_source_file *one = &source->files[i];
        if (strcmp(one->path, file) == 0)
            return line && line <= one->line_count && one->lines[line - 1].is_shown ? (int)i : -1;
    }
    return -1;
}
