/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the program was given, with the bytes marked that led to what is wrong. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/report/html.h"
#include "dbgcli/report/input_marks.h"
#include "dbgcli/report/page_parts.h"
#include <wetdbg/files.h>

#define INPUTS_MAX 4
#define ARGS_MAX   16

/* ---- bytes ---- */

/* Marked and unmarked stretches in turn. */
static void put_bytes(struct cli_page *page, const struct cli_input *input)
{
    fputs("<pre class=\"input\" tabindex=\"0\"><code>", page->to);
    for (size_t at = 0; at < input->size;) {
        size_t end = at;
        while (end < input->size && input->marks[end] == input->marks[at])
            end++;
        bool is_marked = input->marks[at] != CLI_INPUT_UNUSED;
        fputs(input->marks[at] == CLI_INPUT_MATTERS  ? "<mark>"
              : input->marks[at] == CLI_INPUT_COARSE ? "<mark class=\"coarse\">"
                                                     : "",
              page->to);
        cli_html_bytes(page->to, input->bytes + at, end - at);
        fputs(is_marked ? "</mark>" : "", page->to);
        at = end;
    }
    fputs("</code></pre>\n", page->to);
}

static size_t count_marks(const struct cli_input *input, enum cli_input_mark mark)
{
    size_t count = 0;

    for (size_t i = 0; i < input->size; i++)
        count += input->marks[i] == mark;
    return count;
}

static void put_input(struct cli_page *page, const char *name, const struct cli_input *input)
{
    size_t matters = count_marks(input, CLI_INPUT_MATTERS);
    size_t coarse = count_marks(input, CLI_INPUT_COARSE);

    fputs("<h3>", page->to);
    cli_html_text(page->to, name);
    fprintf(page->to, "</h3> <span class=\"note\">%zu of %zu bytes", matters, input->size);
    if (coarse)
        fprintf(page->to, ", %zu not looked at closely", coarse);
    fputs("</span>\n", page->to);
    put_bytes(page, input);
    if (input->is_cut)
        fputs("<p class=\"more\">There is more of it, which was not looked at.</p>\n", page->to);
}

/* ---- what there is ---- */

static bool put_one(struct cli_page *page, const char *criterion, const char *name, uint64_t size)
{
    struct cli_input input;

    if (!cli_page_has_time(page) || cli_input_read(page, criterion, size, &input) != 0)
        return false;
    cli_input_mark(page, criterion, &input);
    put_input(page, name, &input);
    cli_input_fini(&input);
    return true;
}

static bool put_arguments(struct cli_page *page)
{
    const struct wetdbg_info *info = page->session->info;
    bool is_any = false;

    for (size_t i = 1; i < info->argc && i < ARGS_MAX; i++) {
        char *criterion = cli_asprintf("argv:%zu", i);
        char *name = cli_asprintf("argument %zu", i);
        is_any |= put_one(page, criterion, name, strlen(info->argv[i]));
        free(name);
        free(criterion);
    }
    return is_any;
}

/* Files that the program was told to read are input, those of the system are not. */
static bool is_input(const struct wetdbg_file *file)
{
    static const char *const systems[] = {"/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/dev/"};

    if (!file->read_bytes || !file->name)
        return false;
    for (size_t i = 0; file->is_path && i < sizeof(systems) / sizeof(*systems); i++)
        if (strncmp(file->name, systems[i], strlen(systems[i])) == 0)
            return false;
    return file->is_path || strcmp(file->name, "standard input") == 0;
}

static bool put_files(struct cli_page *page)
{
    struct wetdbg_files *files;
    size_t shown = 0;

    if (wetdbg_files_open(page->session->wet, &files))
        return false;
    for (size_t i = 0; i < wetdbg_files_count(files) && shown < INPUTS_MAX; i++) {
        struct wetdbg_file file = wetdbg_files_get(files, i);
        if (!is_input(&file))
            continue;
        char *criterion = file.is_path ? cli_asprintf("input:%s", file.name) : cli_strdup("input");
        shown += put_one(page, criterion, file.name, file.read_bytes);
        free(criterion);
    }
    wetdbg_files_close(files);
    return shown != 0;
}

void cli_page_put_input(struct cli_page *page)
{
    fputs(
        "<p class=\"intro\"><mark>Marked</mark> are the bytes whose values went into what is "
        "wrong, or into a step of the ways above: by value, not by what they let run or where they "
        "pointed. <mark class=\"coarse\">Dotted</mark> are stretches for which there was no time "
        "to find out.</p>\n",
        page->to);
    bool is_any = put_arguments(page);
    is_any |= put_files(page);
    if (!is_any && !cli_page_has_time(page))
        fputs("<p>There was no time to look at it.</p>\n", page->to);
    else if (!is_any)
        fputs("<p>The run was given no arguments and read nothing that is shown here.</p>\n",
              page->to);
}
