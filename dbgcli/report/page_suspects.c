/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines to suspect, with the reasons. */
#include <inttypes.h>
#include <stdlib.h>

#include "dbgcli/report/html.h"
#include "dbgcli/report/page_parts.h"
#include "dbgcli/verbs/locate_words.h"

#define OPEN_MAX   3 /* suspects whose reasons are seen at once */
#define TEXT_MAX   160
#define NAME_SHOWN 120

/* Reasons of one strength look alike: what was tried, what was compared, what the slice says. */
struct reason_class {
    const char *name, *words;
};

static struct reason_class class_of(enum wetdbg_reason_kind kind)
{
    switch (kind) {
    case WETDBG_REASON_MUTANT:
    case WETDBG_REASON_SWITCH:
    case WETDBG_REASON_REPAIR:
    case WETDBG_REASON_IMPLICIT:
        return (struct reason_class){"tried", "tried out"};
    case WETDBG_REASON_ONLY_HERE:
    case WETDBG_REASON_RARELY:
    case WETDBG_REASON_VALUES:
        return (struct reason_class){"compared", "against passing runs"};
    case WETDBG_REASON_TEST:
        return (struct reason_class){"noticed", "only checks"};
    default:
        return (struct reason_class){"sliced", "from the slice"};
    }
}

static void put_reason(struct cli_page *page, const struct wetdbg_suspect *suspect,
                       const struct wetdbg_reason *reason)
{
    char *words = cli_locate_words(page->run, suspect, reason);
    char *command = cli_locate_command(page->run, suspect, reason);
    struct reason_class look = class_of(reason->kind);

    fprintf(page->to, "<li class=\"%s\"><span class=\"tag\">%s</span> ", look.name, look.words);
    cli_html_text(page->to, words);
    if (command) {
        putc(' ', page->to);
        cli_page_put_command(page, command);
    }
    fputs("</li>\n", page->to);
    free(command);
    free(words);
}

/* How much it is suspected, beside the first one. */
static void put_score(struct cli_page *page, const struct wetdbg_suspect *suspect)
{
    double most = page->suspects[0].score;
    double share = most > 0 && suspect->score > 0 ? suspect->score / most : 0;

    fprintf(page->to,
            "<span class=\"score\"><meter min=\"0\" max=\"1\" value=\"%.3f\" "
            "aria-label=\"score beside the first suspect\"></meter> <span>%.2f</span></span>",
            share, suspect->score);
}

static void put_suspect(struct cli_page *page, size_t index)
{
    const struct wetdbg_suspect *suspect = &page->suspects[index];
    const char *text = cli_source_text(page->session, suspect->file, suspect->line, suspect->pc);

    fprintf(page->to, "<li id=\"suspect%zu\"><details%s><summary><span class=\"rank\">%zu</span>",
            index + 1, index < OPEN_MAX ? " open" : "", index + 1);
    fputs("<span class=\"what\"><span class=\"where\">", page->to);
    cli_html_text(page->to, cli_base_name(suspect->file));
    fprintf(page->to, ":%" PRIu32 "</span> <span class=\"in\">in ", suspect->line);
    cli_html_cut(page->to, suspect->function, NAME_SHOWN);
    fputs("</span> <code class=\"line\">", page->to);
    cli_html_cut(page->to, text ? text : "(its source is not here)", TEXT_MAX);
    fputs("</code></span>", page->to);
    put_score(page, suspect);
    fputs("</summary>\n<ul class=\"reasons\">\n", page->to);
    for (unsigned i = 0; i < suspect->reason_count; i++)
        put_reason(page, suspect, &suspect->reasons[i]);
    fputs("</ul>\n<p class=\"more\">In the source: ", page->to);
    cli_page_put_place(page, suspect->file, suspect->line);
    fprintf(page->to, ", which ran %" PRIu64 " time%s.</p></details></li>\n",
            suspect->evidence.executions, suspect->evidence.executions == 1 ? "" : "s");
}

void cli_page_put_suspects(struct cli_page *page)
{
    fputs("<ol class=\"suspects\" data-list=\"suspect\">\n", page->to);
    for (size_t i = 0; i < page->shown; i++)
        put_suspect(page, i);
    fputs("</ol>\n", page->to);
    if (page->shown < page->suspect_count) {
        fputs("<p class=\"more\">", page->to);
        cli_html_count(page->to, page->suspect_count - page->shown);
        fputs(" lines that are less suspicious are left out here; <code>--limit=N</code> lists "
              "more.</p>\n",
              page->to);
    }
}
