/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/repl/complete.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include <wetdbg/errors.h>

static const char blanks[] = " \t";

void cli_completions_add(struct cli_completions *completions, const char *typed, const char *word)
{
    if (strncmp(word, typed, strlen(typed)) != 0 || completions->count == CLI_COMPLETIONS_MAX)
        return;
    completions->list =
        cli_realloc(completions->list, completions->count + 1, sizeof(*completions->list));
    completions->list[completions->count++] = cli_strdup(word);
}

void cli_completions_fini(struct cli_completions *completions)
{
    for (size_t i = 0; i < completions->count; i++)
        free(completions->list[i]);
    free(completions->list);
    *completions = (struct cli_completions){0};
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_out(struct cli_completions *completions)
{
    size_t kept = 0;
    if (!completions->count)
        return;
    qsort(completions->list, completions->count, sizeof(*completions->list), by_text);
    for (size_t i = 0; i < completions->count; i++) {
        if (kept && strcmp(completions->list[kept - 1], completions->list[i]) == 0)
            free(completions->list[i]);
        else
            completions->list[kept++] = completions->list[i];
    }
    completions->count = kept;
}

/* ---- commands and options ---- */

static void complete_command(struct cli_repl *repl, const char *typed,
                             struct cli_completions *completions)
{
    for (const struct cli_command *c = repl->commands; c->name; c++)
        cli_completions_add(completions, typed, c->name);
}

static void complete_option(const struct cli_command *command, const char *typed,
                            struct cli_completions *completions)
{
    const struct cli_option *option = command->syntax->options;
    for (; option && (option->name || option->letter); option++) {
        if (!option->name || !option->help)
            continue;
        char *word = cli_asprintf("--%s", option->name);
        cli_completions_add(completions, typed, word);
        free(word);
    }
    cli_completions_add(completions, typed, "--help");
}

/* Whether a word is an option whose value comes as the next word. */
static bool wants_value(const struct cli_command *command, const char *word)
{
    const struct cli_option *option = command->syntax->options;
    for (; option && (option->name || option->letter); option++) {
        bool is_long =
            option->name && strncmp(word, "--", 2) == 0 && strcmp(word + 2, option->name) == 0;
        bool is_short = option->letter && word[0] == '-' && word[1] == option->letter && !word[2];
        if (is_long || is_short)
            return option->value != NULL;
    }
    return false;
}

/* ---- a line ---- */

struct scan {
    const struct cli_command *command;
    char *before; /* the operand before the cursor's word, or NULL */
    size_t operands;
    bool is_value; /* the cursor's word is an option's value */
};

/* Scans the words before the cursor's own. */
static void scan_words(struct scan *scan, const char *line, size_t end)
{
    size_t at = strspn(line, blanks);
    at += strcspn(line + at, blanks);
    while ((at += strspn(line + at, blanks)) < end) {
        size_t length = strcspn(line + at, blanks);
        char *word = cli_strndup(line + at, length);
        if (scan->is_value) {
            scan->is_value = false;
        } else if (word[0] == '-' && word[1]) {
            scan->is_value = wants_value(scan->command, word);
        } else {
            free(scan->before);
            scan->before = cli_strdup(word);
            scan->operands++;
        }
        free(word);
        at += length;
    }
}

static void complete_rest(struct cli_repl *repl, const char *line, const char *typed,
                          cli_complete_operand_fn operand, struct cli_completions *completions)
{
    struct scan scan = {.is_value = false};
    size_t first = strspn(line, blanks);
    char *name = cli_strndup(line + first, strcspn(line + first, " \t/"));
    if (cli_command_find(repl->commands, name, &scan.command) == 0) {
        scan_words(&scan, line, completions->start);
        if (typed[0] == '-' && !scan.is_value)
            complete_option(scan.command, typed, completions);
        else if (operand && !scan.is_value)
            operand(repl, scan.command, scan.operands, scan.before, typed, completions);
    }
    free(scan.before);
    free(name);
}

void cli_complete(struct cli_repl *repl, const char *line, size_t cursor,
                  cli_complete_operand_fn operand, struct cli_completions *completions)
{
    char *head = cli_strndup(line, cursor);
    size_t start = strlen(head);
    while (start && !strchr(blanks, head[start - 1]))
        start--;
    *completions = (struct cli_completions){.start = start};
    if (head[strspn(head, blanks)] != '#') {
        if (strspn(head, blanks) >= start)
            complete_command(repl, head + start, completions);
        else
            complete_rest(repl, head, head + start, operand, completions);
    }
    sort_out(completions);
    free(head);
}
