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

static bool is_one_of(const char *const *words, const char *text, size_t length)
{
    while (*words && (strlen(*words) != length || strncmp(*words, text, length) != 0))
        words++;
    return *words != NULL;
}

/* `but`: options that are refused here, or NULL. */
static void complete_option(const struct cli_command *command, const char *const *but,
                            const char *typed, struct cli_completions *completions)
{
    const struct cli_option *option = command->syntax->options;
    for (; option && (option->name || option->letter); option++) {
        if (!option->name || !option->help ||
            (but && is_one_of(but, option->name, strlen(option->name))))
            continue;
        char *word = cli_asprintf("--%s", option->name);
        cli_completions_add(completions, typed, word);
        free(word);
    }
    cli_completions_add(completions, typed, "--help");
}

/* The option that takes a value and is called "--name" or "-x" like the word, or NULL. */
static const struct cli_option *option_of(const struct cli_command *command, const char *word,
                                          size_t length)
{
    const struct cli_option *option = command->syntax->options;
    for (; option && (option->name || option->letter); option++) {
        bool is_long = option->name && length == strlen(option->name) + 2 &&
                       strncmp(word, "--", 2) == 0 &&
                       strncmp(word + 2, option->name, length - 2) == 0;
        bool is_short =
            option->letter && length == 2 && word[0] == '-' && word[1] == option->letter;
        if (is_long || is_short)
            return option->value ? option : NULL;
    }
    return NULL;
}

/* ---- a line ---- */

struct scan {
    const struct cli_command *command;
    char *before; /* the operand before the cursor's word, or NULL */
    size_t operands;
    const struct cli_option *option; /* whose value the cursor's word is, or NULL */
};

/* Scans the words before the cursor's own. */
static void scan_words(struct scan *scan, const char *line, size_t end)
{
    size_t at = strspn(line, blanks);
    at += strcspn(line + at, blanks);
    while ((at += strspn(line + at, blanks)) < end) {
        size_t length = strcspn(line + at, blanks);
        const char *word = line + at;
        if (scan->option) {
            scan->option = NULL;
        } else if (word[0] == '-' && length > 1) {
            scan->option = option_of(scan->command, word, length);
        } else {
            free(scan->before);
            scan->before = cli_strndup(word, length);
            scan->operands++;
        }
        at += length;
    }
}

/* Completes an option's name, or its value behind '='. */
static void complete_dashed(struct cli_repl *repl, const struct cli_command *command,
                            const char *const *but, const char *typed,
                            cli_complete_operand_fn operand, struct cli_completions *completions)
{
    const char *equals = strchr(typed, '=');
    if (!equals) {
        complete_option(command, but, typed, completions);
        return;
    }
    const struct cli_option *option = option_of(command, typed, (size_t)(equals - typed));
    completions->start += (size_t)(equals + 1 - typed);
    if (option && operand)
        operand(repl, command, CLI_COMPLETE_VALUE, option->name, equals + 1, completions);
}

/* Completes the cursor's word of the line that begins at line[from]; `but` as above. */
static void complete_rest(struct cli_repl *repl, const char *line, size_t from,
                          const char *const *but, cli_complete_operand_fn operand,
                          struct cli_completions *completions)
{
    struct scan scan = {.option = NULL};
    const char *typed = line + completions->start;
    size_t first = from + strspn(line + from, blanks);
    char *name = cli_strndup(line + first, strcspn(line + first, " \t/"));
    if (cli_command_find(repl->commands, name, &scan.command) == 0) {
        scan_words(&scan, line + from, completions->start - from);
        if (scan.option && operand)
            operand(repl, scan.command, CLI_COMPLETE_VALUE, scan.option->name, typed, completions);
        else if (!scan.option && typed[0] == '-')
            complete_dashed(repl, scan.command, but, typed, operand, completions);
        else if (!scan.option && operand)
            operand(repl, scan.command, scan.operands, scan.before, typed, completions);
    }
    free(scan.before);
    free(name);
}

/* The command of a line that makes something by what is behind its first '=', with *behind that
 * place; NULL: of another line, or the cursor is before it. */
static const struct cli_command *find_maker(const struct cli_repl *repl, const char *line,
                                            size_t *behind)
{
    const struct cli_command *command;
    const char *equals = strchr(line, '=');
    size_t first = strspn(line, blanks);
    char *name = cli_strndup(line + first, strcspn(line + first, blanks));
    int err = cli_command_find(repl->commands, name, &command);
    free(name);
    if (err || !command->syntax->made_by || !equals)
        return NULL;
    *behind = (size_t)(equals + 1 - line);
    return command;
}

/* Completes what is behind the '=': a line of one of the makers, or an operand. */
static void complete_made(struct cli_repl *repl, const struct cli_command *command,
                          const char *line, size_t behind, cli_complete_operand_fn operand,
                          struct cli_completions *completions)
{
    const char *const *makers = command->syntax->made_by;
    size_t first = behind + strspn(line + behind, blanks);
    size_t start = completions->start < behind ? behind : completions->start;
    completions->start = start;
    size_t length = strcspn(line + first, blanks);
    if (first < start && is_one_of(makers, line + first, length)) {
        char *maker = cli_strndup(line + first, length);
        const struct cli_command *other;
        if (cli_command_find(repl->commands, maker, &other) == 0)
            complete_rest(repl, line, first, command->syntax->made_without, operand, completions);
        else if (operand)
            operand(repl, command, 1, maker, line + start, completions);
        free(maker);
        return;
    }
    if (operand)
        operand(repl, command, 1, NULL, line + start, completions);
    /* Behind an operator the operand's word is narrower: only names stand there. */
    for (; first >= start && completions->start == start && *makers; makers++)
        cli_completions_add(completions, line + start, *makers);
}

static void complete_operands(struct cli_repl *repl, const char *line,
                              cli_complete_operand_fn operand, struct cli_completions *completions)
{
    size_t behind;
    const struct cli_command *maker = find_maker(repl, line, &behind);
    if (maker)
        complete_made(repl, maker, line, behind, operand, completions);
    else
        complete_rest(repl, line, 0, NULL, operand, completions);
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
            complete_operands(repl, head, operand, completions);
    }
    sort_out(completions);
    free(head);
}
