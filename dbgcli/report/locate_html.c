/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/report/locate_html.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/report/html.h"
#include "dbgcli/report/marked_source.h"
#include "dbgcli/whole_file.h"
#include <wetdbg/errors.h>

#define SHOWN_MAX 30 /* suspects; --limit has it otherwise */
#define SECONDS   4  /* for finding ways */
#define NAME_END  "}}"

/* The template, of page.S: page.html with style and script in it. */
extern const char cli_page_template[], cli_page_template_end[];

bool cli_page_has_time(const struct cli_page *page)
{
    return !cli_interrupt_is_pending() && cli_locating_seconds(page->run) < page->end;
}

void cli_page_put_place(const struct cli_page *page, const char *file, uint32_t line)
{
    int index = cli_marked_source_find(page->source, file, line);

    if (index >= 0)
        fprintf(page->to, "<a href=\"#f%dL%" PRIu32 "\">", index, line);
    fputs("<code>", page->to);
    cli_html_text(page->to, cli_base_name(file));
    fprintf(page->to, ":%" PRIu32 "</code>", line);
    if (index >= 0)
        fputs("</a>", page->to);
}

void cli_page_put_command(const struct cli_page *page, const char *command)
{
    fputs("<code class=\"command\">", page->to);
    cli_html_text(page->to, command);
    fputs("</code>", page->to);
}

/* ---- the template ---- */

static const struct {
    const char *name;
    void (*put)(struct cli_page *page);
    unsigned seconds; /* for its questions */
} parts[] = {
    {"title", cli_page_put_title, 0},     {"facts", cli_page_put_facts, 0},
    {"story", cli_page_put_story, 0},     {"suspects", cli_page_put_suspects, 0},
    {"ways", cli_page_put_ways, 6},       {"source", cli_page_put_source, 0},
    {"other", cli_page_put_other, 4},     {"input", cli_page_put_input, 4},
    {"missing", cli_page_put_missing, 0},
};

static void put_part(struct cli_page *page, const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (strlen(parts[i].name) != length || memcmp(parts[i].name, name, length) != 0)
            continue;
        page->end = cli_locating_seconds(page->run) + parts[i].seconds;
        parts[i].put(page);
    }
}

/* The template with each {{NAME}} replaced by its part. */
static void put_page(struct cli_page *page)
{
    const char *at = cli_page_template, *end = cli_page_template_end;

    while (at < end) {
        const char *begin = memmem(at, (size_t)(end - at), "{{", 2);
        fwrite(at, 1, (size_t)((begin ? begin : end) - at), page->to);
        if (!begin)
            return;
        begin += 2;
        const char *stop = memmem(begin, (size_t)(end - begin), NAME_END, strlen(NAME_END));
        put_part(page, begin, (size_t)(stop - begin));
        at = stop + strlen(NAME_END);
    }
}

/* ---- what it is made of ---- */

static void find_ways(struct cli_page *page)
{
    for (size_t i = 0; i < page->shown && page->way_count < CLI_PAGE_WAYS; i++) {
        struct cli_way *way = &page->ways[page->way_count];
        if (!page->suspects[i].evidence.in_slice || !cli_page_has_time(page) ||
            cli_way_find(page->session, page->run->slice, &page->suspects[i], way) != 0)
            continue;
        way->rank = i + 1;
        page->way_count++;
    }
}

static void choose(struct cli_page *page)
{
    uint64_t limit =
        page->run->limit && page->run->limit > SHOWN_MAX ? page->run->limit : SHOWN_MAX;

    page->shown = page->suspect_count < limit ? page->suspect_count : (size_t)limit;
    for (size_t i = 0; i < page->suspect_count; i++)
        page->slice_lines += page->suspects[i].evidence.in_slice;
    find_ways(page);
    page->source = cli_marked_source_make(page);
}

/* The page as text, to be freed. */
static char *make(struct cli_page *page, size_t *size)
{
    char *text = NULL;

    page->to = open_memstream(&text, size);
    if (!page->to)
        cli_die();
    choose(page);
    put_page(page);
    if (fclose(page->to) || !text)
        cli_die();
    cli_marked_source_free(page->source);
    for (size_t i = 0; i < page->way_count; i++)
        cli_way_fini(&page->ways[i]);
    return text;
}

int cli_locate_html(struct cli_locating *self, const char *path)
{
    struct cli_page page = {
        .run = self, .session = self->session, .end = cli_locating_seconds(self) + SECONDS};
    size_t size;
    int err = wetdbg_locate_suspects(self->locate, &page.suspects, &page.suspect_count);

    if (err)
        return err;
    cli_interrupt_clear();
    wetdbg_interrupt_clear(self->session->wet);
    char *text = make(&page, &size);
    err = cli_whole_file_write(path, text, size);
    free(text);
    if (!err && !self->session->out->json) {
        fputs("report in ", self->session->out->stream);
        cli_out_text(self->session->out, path);
        putc('\n', self->session->out->stream);
    }
    return err;
}
