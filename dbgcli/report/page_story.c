/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What happened, in five sentences: each says what was found out, and no more. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/run_facts.h"
#include "dbgcli/plain_text.h"
#include "dbgcli/report/html.h"
#include "dbgcli/report/page_parts.h"
#include "dbgcli/signal_name.h"
#include "dbgcli/verbs/locate_words.h"

#define REASONS_TOLD 2 /* of the first suspect */

/* ---- the head of the page ---- */

static const char *kind_words(enum cli_failure_kind kind)
{
    static const char *const words[] = {
        [CLI_FAILURE_GIVEN] = "what you asked about",
        [CLI_FAILURE_COMPARED] = "wrong output",
        [CLI_FAILURE_CRASH] = "a crash",
        [CLI_FAILURE_REPORT] = "a sanitizer's report",
        [CLI_FAILURE_HANG] = "it went on and on",
        [CLI_FAILURE_OUTPUT] = "wrong output",
        [CLI_FAILURE_MESSAGE] = "missing output",
        [CLI_FAILURE_MISSING] = "missing output",
        [CLI_FAILURE_EXIT] = "a wrong exit status",
        [CLI_FAILURE_TEST] = "a failing test",
        [CLI_FAILURE_ANY] = "a run that is wrong",
    };

    return words[kind];
}

void cli_page_put_title(struct cli_page *page)
{
    cli_html_text(page->to, cli_base_name(page->session->info->program));
    fprintf(page->to, ": %s", kind_words(page->run->failure.kind));
}

static void put_end(struct cli_page *page)
{
    int number;

    switch (cli_run_end(page->session->wet, &number)) {
    case CLI_RUN_END_EXIT:
        fprintf(page->to, "exit status %d", number);
        break;
    case CLI_RUN_END_SIGNAL:
        fputs(cli_signal_name(number), page->to);
        break;
    case CLI_RUN_END_KILLED:
        fprintf(page->to, "%s from outside", cli_signal_name(number));
        break;
    case CLI_RUN_END_EXEC:
        fputs("another program took over", page->to);
        break;
    case CLI_RUN_END_UNKNOWN:
        fputs("not known", page->to);
        break;
    }
}

static void put_fact(struct cli_page *page, const char *name, uint64_t count)
{
    fprintf(page->to, "<div><dt>%s</dt><dd>", name);
    cli_html_count(page->to, count);
    fputs("</dd></div>\n", page->to);
}

void cli_page_put_facts(struct cli_page *page)
{
    const struct wetdbg_info *info = page->session->info;

    fputs("<div><dt>ended with</dt><dd>", page->to);
    put_end(page);
    fputs("</dd></div>\n", page->to);
    put_fact(page, "instructions", info->instructions);
    put_fact(page, "own lines that ran", wetdbg_locate_executed(page->run->locate));
    if (page->run->slice)
        put_fact(page, "of them in the slice", page->slice_lines);
    if (info->threads > 1)
        put_fact(page, "threads", info->threads);
    put_fact(page, "passing runs beside it", page->run->passing_count);
    fprintf(page->to, "<div><dt>seconds</dt><dd>%.1f</dd></div>\n",
            cli_locating_seconds(page->run));
}

/* ---- what ran ---- */

static void put_what_ran(struct cli_page *page)
{
    const struct wetdbg_info *info = page->session->info;
    FILE *to = page->to;

    fputs("<code>", to);
    for (size_t i = 0; i < info->argc; i++) {
        if (i)
            putc(' ', to);
        cli_html_cut(to, i ? info->argv[i] : cli_base_name(info->argv[0]), 120);
    }
    fputs("</code> ran ", to);
    cli_html_count(to, info->instructions);
    fputs(" instructions and ended with ", to);
    put_end(page);
    fputs(info->change ? ", in a run that was changed: " : ".", to);
    cli_html_text(to, info->change);
    fputs(info->change ? "." : "", to);
}

/* ---- what is wrong ---- */

static void put_what_is_wrong(struct cli_page *page)
{
    char *words = cli_locate_failure_words(page->run);

    fputs("What is wrong is ", page->to);
    cli_html_text(page->to, words);
    fputs(": ", page->to);
    cli_html_text(page->to, wetdbg_criterion_get_info(page->run->criterion)->description);
    putc('.', page->to);
    free(words);
}

/* ---- what it should have been ---- */

static int right_status(const struct cli_page *page)
{
    return page->run->right.status < 0 ? 0 : page->run->right.status;
}

static void put_right(struct cli_page *page)
{
    const struct cli_failure *failure = &page->run->failure;
    FILE *to = page->to;

    switch (failure->kind) {
    case CLI_FAILURE_OUTPUT:
        fprintf(to, "The expected output has something else from byte %" PRIu64 " on, as below.",
                failure->offset);
        break;
    case CLI_FAILURE_MESSAGE:
    case CLI_FAILURE_MISSING:
        fprintf(to, "The expected output goes on after byte %" PRIu64 ", where this one ends%s.",
                failure->offset,
                failure->kind == CLI_FAILURE_MESSAGE ? "; the program put out a message instead"
                                                     : "");
        break;
    case CLI_FAILURE_CRASH:
        fputs("A right run ends without a signal", to);
        fputs(page->run->right.expected ? ", and puts out what is expected."
                                        : "; what it should have put out, nobody has said.",
              to);
        break;
    case CLI_FAILURE_EXIT:
        fprintf(to, "The right exit status is %d.", right_status(page));
        break;
    case CLI_FAILURE_TEST:
        fputs("In a right run this test passes.", to);
        break;
    case CLI_FAILURE_HANG:
        fputs(
            "A right run ends by itself: that is taken for granted, since this one was ended from "
            "outside.",
            to);
        break;
    case CLI_FAILURE_REPORT:
        fputs("In a right run the sanitizer has nothing to report.", to);
        break;
    case CLI_FAILURE_ANY:
        fputs("The command of <code>--oracle</code> says that the run is wrong, but not which byte "
              "of it.",
              to);
        break;
    case CLI_FAILURE_COMPARED:
        fputs("In a right run the test would have found no difference.", to);
        break;
    case CLI_FAILURE_GIVEN:
        fputs("What it should have been, nobody has said: <code>--expect=FILE</code> or "
              "<code>--oracle=CMD</code> would.",
              to);
        break;
    }
}

/* Where two lines part: the length of what both begin with, in whole characters. */
static size_t common_start(const char *a, const char *b)
{
    size_t at = 0;

    while (a[at] && a[at] == b[at])
        at++;
    while (at && ((unsigned char)a[at] & 0xc0) == 0x80)
        at--;
    return at;
}

static void put_marked(struct cli_page *page, const char *head, const char *class_name,
                       const char *text, size_t from)
{
    size_t size = strlen(text), at = from < size ? from : size;
    size_t length = at < size ? cli_utf8_length((const unsigned char *)text + at, size - at) : 0;

    length = at < size && !length ? 1 : length;
    fprintf(page->to, "<div class=\"%s\"><dt>%s</dt><dd><code>", class_name, head);
    cli_html_bytes(page->to, text, at);
    if (length) {
        fputs("<mark>", page->to);
        cli_html_bytes(page->to, text + at, length);
        fputs("</mark>", page->to);
        cli_html_bytes(page->to, text + at + length, size - at - length);
    } else {
        fputs("<mark>(nothing more)</mark>", page->to);
    }
    fputs("</code></dd></div>\n", page->to);
}

static void put_both_lines(struct cli_page *page)
{
    const struct cli_failure *failure = &page->run->failure;

    if (!failure->got)
        return;
    size_t from = common_start(failure->got, failure->wanted);
    fputs("<dl class=\"both\">\n", page->to);
    put_marked(page, "&#x2717; it is", "is", failure->got, from);
    put_marked(page, "&#x2713; expected", "should", failure->wanted, from);
    fputs("</dl>\n", page->to);
}

/* ---- the first suspect ---- */

static void put_suspect(struct cli_page *page)
{
    const struct wetdbg_suspect *suspect = page->suspects;

    if (!page->suspect_count) {
        fputs("No own line of it ran.", page->to);
        return;
    }
    fputs("Of ", page->to);
    cli_html_count(page->to, page->suspect_count);
    fputs(" own lines that ran, the most suspicious is ", page->to);
    cli_page_put_place(page, suspect->file, suspect->line);
    fputs(" in <code>", page->to);
    cli_html_text(page->to, suspect->function);
    fputs("</code>", page->to);
    for (unsigned i = 0; i < suspect->reason_count && i < REASONS_TOLD; i++) {
        char *words = cli_locate_words(page->run, suspect, &suspect->reasons[i]);
        fputs(i ? "; " : ": ", page->to);
        cli_html_text(page->to, words);
        free(words);
    }
    putc('.', page->to);
}

/* ---- what to do next ---- */

static char *first_command(const struct cli_page *page)
{
    const struct wetdbg_suspect *suspect = page->suspects;

    for (unsigned i = 0; page->suspect_count && i < suspect->reason_count; i++) {
        char *command = cli_locate_command(page->run, suspect, &suspect->reasons[i]);
        if (command)
            return command;
    }
    return NULL;
}

static void put_next(struct cli_page *page)
{
    char *open = cli_asprintf("wetdbg open %s", page->run->wet_path);
    char *slice = cli_asprintf("slice backward %s", page->run->failure.criterion);
    char *command = first_command(page);

    fputs("To see for yourself, start ", page->to);
    cli_page_put_command(page, open);
    fputs(", then type ", page->to);
    cli_page_put_command(page, slice);
    if (command) {
        fputs(" and ", page->to);
        cli_page_put_command(page, command);
    }
    fputs(page->run->passing_count
              ? "."
              : "; an input that passes (<code>--pass=INPUT</code>) would tell more.",
          page->to);
    free(command);
    free(slice);
    free(open);
}

void cli_page_put_story(struct cli_page *page)
{
    static void (*const sentences[])(struct cli_page *) = {put_what_ran, put_what_is_wrong,
                                                           put_right, put_suspect, put_next};

    for (size_t i = 0; i < sizeof(sentences) / sizeof(*sentences); i++) {
        fputs("<p>", page->to);
        sentences[i](page);
        fputs("</p>\n", page->to);
        if (sentences[i] == put_right)
            put_both_lines(page);
    }
}

/* ---- what is missing ---- */

void cli_page_put_missing(struct cli_page *page)
{
    if (!page->run->missing_count) {
        fputs("<p>Every question could be asked.</p>\n", page->to);
        return;
    }
    fputs("<ul>\n", page->to);
    for (size_t i = 0; i < page->run->missing_count; i++) {
        fputs("<li>", page->to);
        cli_html_text(page->to, page->run->missing[i]);
        fputs("</li>\n", page->to);
    }
    fputs("</ul>\n", page->to);
}
