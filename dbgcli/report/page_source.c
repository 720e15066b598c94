/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's own source: how often each line ran, how near it is, and how sure its values
 * are. */
#include <inttypes.h>

#include "dbgcli/report/html.h"
#include "dbgcli/report/marked_source.h"

#define TEXT_MAX   240            /* bytes of a line */
#define PAGE_BYTES (1400L * 1024) /* no more source once the page is so large */

/* ---- one line ---- */

static bool is_judged(const struct cli_page *page, const struct wetdbg_evidence *evidence)
{
    return page->run->prune && evidence->in_slice && evidence->is_judged;
}

/* Shading: of a line in the slice, the stronger the less of what came out right vouches for it. */
static const char *shade_of(const struct cli_page *page, const struct wetdbg_suspect *suspect)
{
    if (!suspect || !suspect->evidence.in_slice)
        return "";
    if (!is_judged(page, &suspect->evidence))
        return "u";
    double confidence = suspect->evidence.confidence;
    return confidence >= 1 ? "c4" : confidence >= 0.5 ? "c3" : confidence > 0 ? "c2" : "c1";
}

static void put_confidence(const struct cli_page *page, const struct wetdbg_evidence *evidence)
{
    if (!is_judged(page, evidence))
        return;
    if (evidence->confidence >= 1)
        fputs("&#x2713; 1", page->to);
    else
        fprintf(page->to, "%.2f", evidence->confidence);
}

static void put_known(struct cli_page *page, const struct cli_source_line *line)
{
    const struct wetdbg_suspect *suspect = line->suspect;

    fputs("<td>", page->to);
    if (line->rank)
        fprintf(page->to, "<a href=\"#suspect%" PRIu32 "\">%" PRIu32 "</a>", line->rank,
                line->rank);
    fputs("</td><td>", page->to);
    if (suspect)
        cli_html_count(page->to, suspect->evidence.executions);
    else if (line->has_code)
        putc('0', page->to);
    fputs("</td><td>", page->to);
    if (suspect && suspect->evidence.in_slice)
        fprintf(page->to, "&#x25c6; %" PRIu32, suspect->evidence.distance);
    fputs("</td><td>", page->to);
    if (suspect)
        put_confidence(page, &suspect->evidence);
    fputs("</td>", page->to);
}

static void put_line(struct cli_page *page, const struct cli_source_file *file, size_t index,
                     uint32_t number)
{
    const struct cli_source_line *line = &file->lines[number - 1];
    const char *text = NULL;
    unsigned flags;

    wetdbg_source_line(page->session->model, file->path, number, 0, &text, &flags);
    fprintf(page->to,
            "<tr id=\"f%zuL%" PRIu32 "\" class=\"%s%s%s\"><th scope=\"row\">%" PRIu32 "</th>",
            index, number, shade_of(page, line->suspect), line->rank ? " ranked" : "",
            line->has_code && !line->suspect ? " unrun" : "", number);
    put_known(page, line);
    fputs("<td><code>", page->to);
    cli_html_cut(page->to, text, TEXT_MAX);
    fputs("</code></td></tr>\n", page->to);
}

/* ---- a file ---- */

static void put_gap(struct cli_page *page, uint32_t count)
{
    fprintf(page->to,
            "<tr class=\"gap\"><td colspan=\"6\">%" PRIu32 " line%s not shown</td></tr>\n", count,
            count == 1 ? "" : "s");
}

static void put_lines(struct cli_page *page, const struct cli_source_file *file, size_t index)
{
    uint32_t hidden = 0;

    for (uint32_t n = 1; n <= file->line_count; n++) {
        bool is_full = ftell(page->to) > PAGE_BYTES;
        if (!file->lines[n - 1].is_shown || is_full) {
            hidden++;
            continue;
        }
        if (hidden)
            put_gap(page, hidden);
        hidden = 0;
        put_line(page, file, index, n);
    }
    if (hidden)
        put_gap(page, hidden);
}

static void put_heads(struct cli_page *page)
{
    static const char *const heads[] = {"Line", "Rank", "Runs", "Slice", "Sure", "Source"};

    fputs("<thead><tr>", page->to);
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
        fprintf(page->to, "<th scope=\"col\">%s</th>", heads[i]);
    fputs("</tr></thead>\n", page->to);
}

static void put_file(struct cli_page *page, size_t index)
{
    const struct cli_source_file *file = &page->source->files[index];
    const char *name = cli_base_name(file->path);

    fprintf(page->to, "<details class=\"file\" id=\"f%zu\"%s><summary><h3>", index,
            index ? "" : " open");
    cli_html_text(page->to, name);
    fprintf(page->to, "</h3> <span>%zu lines ran, %zu of them in the slice</span></summary>\n",
            file->ran, file->in_slice);
    fputs("<p class=\"more\">", page->to);
    cli_html_text(page->to, file->path);
    fputs(file->is_newer ? ". <strong>It is newer than the program: lines may have moved.</strong>"
                         : "",
          page->to);
    fputs(file->line_count ? "</p>\n" : ": it is not here, or cannot be read.</p>\n", page->to);
    if (file->shown) {
        fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Source of ",
              page->to);
        cli_html_text(page->to, name);
        fputs("\"><table><caption>", page->to);
        cli_html_text(page->to, name);
        fputs(", line by line</caption>\n", page->to);
        put_heads(page);
        fputs("<tbody>\n", page->to);
        put_lines(page, file, index);
        fputs("</tbody></table></div>\n", page->to);
    }
    fputs("</details>\n", page->to);
}

/* ---- the legend ---- */

static void put_legend(struct cli_page *page)
{
    static const char *const rows[] = {
        "<dt>Rank</dt><dd>its place in the list of suspects</dd>",
        "<dt>Runs</dt><dd>how often it ran; 0: it has code that did not</dd>",
        "<dt>Slice</dt><dd>&#x25c6;: what is wrong depends on it, by so many dependences</dd>",
    };

    fputs("<dl class=\"legend\">\n", page->to);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        fprintf(page->to, "<div>%s</div>\n", rows[i]);
    fputs(page->run->prune
              ? "<div><dt>Sure</dt><dd>confidence, by what came out right: "
                "<span class=\"key c1\">0.00</span> nothing vouches for it, "
                "<span class=\"key c2\">0.01</span> to <span class=\"key c3\">0.99</span>, "
                "<span class=\"key c4\">&#x2713; 1</span> only the value it had fits</dd></div>\n"
              : "<div><dt>Sure</dt><dd>confidence is not known in this run; lines in the slice are "
                "<span class=\"key u\">shaded</span></dd></div>\n",
          page->to);
    fputs("</dl>\n", page->to);
}

void cli_page_put_source(struct cli_page *page)
{
    const struct cli_marked_source *source = page->source;
    size_t i;

    put_legend(page);
    for (i = 0; i < source->count && ftell(page->to) <= PAGE_BYTES; i++)
        put_file(page, i);
    if (i < source->count || source->is_cut)
        fputs("<p class=\"more\">Further files are left out, so that this page stays small: "
              "<code>slice</code> at the prompt has all lines.</p>\n",
              page->to);
}
