/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/ci_summary.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/verbs/locate_words.h"
#include <wetdbg/errors.h>

/* Punctuation as entities, which mean nothing in Markdown and HTML. */
static void put(FILE *to, const char *text)
{
    json_t *clean = cli_json_text(text);
    const char *at = json_is_string(clean) ? json_string_value(clean) : "";

    for (; *at; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte < 0x20 || byte == 0x7f)
            putc(' ', to);
        else if (byte < 0x80 && ispunct(byte) && !strchr(".,:;/-", byte))
            fprintf(to, "&#%u;", byte);
        else
            putc(byte, to);
    }
    json_decref(clean);
}

void cli_ci_summary_say(struct cli_ci_summary *summary, const char *text)
{
    char *said = NULL;
    size_t size;
    FILE *to = open_memstream(&said, &size);

    if (!to)
        cli_die();
    fputs(summary->said ? summary->said : "", to);
    fputs("- ", to);
    put(to, text);
    putc('\n', to);
    fclose(to);
    free(summary->said);
    summary->said = said;
}

static void put_row(FILE *to, const struct cli_locating *locating,
                    const struct wetdbg_suspect *suspect, size_t rank)
{
    char *reasons = cli_locate_reasons(locating, suspect);

    fprintf(to, "| %zu | ", rank);
    put(to, cli_base_name(suspect->file));
    fprintf(to, ":%" PRIu32 " | ", suspect->line);
    put(to, suspect->function);
    fputs(" | ", to);
    put(to, reasons);
    fputs(" |\n", to);
    free(reasons);
}

int cli_ci_summary_take(struct cli_ci_summary *summary, struct cli_locating *locating)
{
    const struct wetdbg_suspect *suspects;
    size_t count, size;
    int err = wetdbg_locate_suspects(locating->locate, &suspects, &count);

    if (err)
        return err;
    FILE *to = open_memstream(&summary->table, &size);
    if (!to)
        cli_die();
    char *wrong = cli_locate_failure_words(locating);
    fputs("What is wrong: ", to);
    put(to, wrong);
    fputs(": ", to);
    put(to, wetdbg_criterion_get_info(locating->criterion)->description);
    fputs("\n\n| | line | function | why |\n| --- | --- | --- | --- |\n", to);
    for (size_t i = 0; i < count && i < locating->reported; i++)
        put_row(to, locating, &suspects[i], i + 1);
    free(wrong);
    fclose(to);
    return 0;
}

char *cli_ci_summary_text(const struct cli_ci_summary *summary, char *const *argv)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);

    if (!to)
        cli_die();
    fputs("### ", to);
    for (; *argv; argv++) {
        put(to, *argv);
        putc(argv[1] ? ' ' : '\n', to);
    }
    putc('\n', to);
    if (summary->table)
        fprintf(to, "%s\n", summary->table);
    fprintf(to, "%s\n", summary->said ? summary->said : "");
    fclose(to);
    return text;
}

void cli_ci_summary_fini(struct cli_ci_summary *summary)
{
    free(summary->said);
    free(summary->table);
    *summary = (struct cli_ci_summary){0};
}
