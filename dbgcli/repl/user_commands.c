/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/repl/user_commands.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/repl/block.h"
#include "dbgcli/repl/words.h"
#include <wetdbg/errors.h>

struct text {
    char **lines;
    size_t count;
};

struct cli_user_command {
    char *name;
    struct text body, help;
};

const struct cli_syntax cli_cmd_define_syntax = {
    .example = "define top",
    .usage = "NAME",
    .operands_min = 1,
    .operands_max = 1,
    .details = "Gives the lines that follow, up to 'end', a name: that is a command from then on.\n"
               "In them $arg0, $arg1 and so on are the words behind the name, $argc is how many.\n"
               "'document NAME' says what 'help NAME' shows, 'source FILE' reads such lines from\n"
               "a file.",
};

const struct cli_syntax cli_cmd_document_syntax = {
    .example = "document top",
    .usage = "NAME",
    .operands_min = 1,
    .operands_max = 1,
    .details = "The lines that follow, up to 'end', are what 'help NAME' shows of a command that\n"
               "'define' made.",
};

/* ---- the list ---- */

static void text_fini(struct text *text)
{
    for (size_t i = 0; i < text->count; i++)
        free(text->lines[i]);
    free(text->lines);
    *text = (struct text){0};
}

static void text_set(struct text *text, char *const *lines, size_t count)
{
    text_fini(text);
    text->lines = cli_realloc(NULL, count + 1, sizeof(*text->lines));
    text->count = count;
    for (size_t i = 0; i < count; i++)
        text->lines[i] = cli_strdup(lines[i]);
}

void cli_user_commands_fini(struct cli_repl *repl)
{
    for (size_t i = 0; i < repl->user_count; i++) {
        free(repl->user_commands[i].name);
        text_fini(&repl->user_commands[i].body);
        text_fini(&repl->user_commands[i].help);
    }
    free(repl->user_commands);
    repl->user_commands = NULL;
    repl->user_count = 0;
}

static struct cli_user_command *find(const struct cli_repl *repl, const char *name)
{
    for (size_t i = 0; i < repl->user_count; i++)
        if (strcmp(repl->user_commands[i].name, name) == 0)
            return &repl->user_commands[i];
    return NULL;
}

/* ---- making one ---- */

static int check_name(const struct cli_repl *repl, const char *name)
{
    const struct cli_command *command;
    for (const char *at = name; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("_-.", *at))
            return wetdbg_fail(-WETDBG_ERR_USAGE,
                               "define: a name has letters, digits, '-', '_' and '.', not '%c'",
                               *at);
    if (strncmp(name, "hook", 4) == 0)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "define: there are no hooks; 'display' shows a value "
                                              "at each stop, 'commands' runs lines at one");
    if (cli_command_find(repl->commands, name, &command) == 0 && strcmp(command->name, name) == 0)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "define: '%s' is a command already", name);
    return 0;
}

static void answer(struct cli_repl *repl, const char *name, size_t count)
{
    if (!repl->out->json)
        return;
    json_t *object = cli_json_object("wetdbg.define/1");
    cli_json_set(object, "name", cli_json_text(name));
    cli_json_set(object, "lines", cli_json_count(count));
    cli_out_json(repl->out, object);
}

static int take_body(struct cli_repl *repl, char **lines, size_t count, void *arg)
{
    char *name = arg;
    struct cli_user_command *command = find(repl, name);
    if (lines && !command) {
        repl->user_commands =
            cli_realloc(repl->user_commands, repl->user_count + 1, sizeof(*repl->user_commands));
        command = &repl->user_commands[repl->user_count++];
        *command = (struct cli_user_command){.name = cli_strdup(name)};
    }
    if (lines) {
        text_set(&command->body, lines, count);
        answer(repl, name, count);
    }
    free(name);
    return 0;
}

int cli_cmd_define(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    int err = check_name(repl, args->operands[0]);
    if (!err)
        cli_repl_collect(repl, take_body, cli_strdup(args->operands[0]));
    return err;
}

static int take_help(struct cli_repl *repl, char **lines, size_t count, void *arg)
{
    char *name = arg;
    struct cli_user_command *command = find(repl, name);
    if (lines && command) {
        text_set(&command->help, lines, count);
        answer(repl, name, count);
    }
    free(name);
    return 0;
}

int cli_cmd_document(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    if (!find(repl, args->operands[0]))
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "document: 'define' made no command '%s'",
                           args->operands[0]);
    cli_repl_collect_text(repl, take_help, cli_strdup(args->operands[0]));
    return 0;
}

/* ---- running one ---- */

/* Splits at blanks outside of quotes, which stay: the lines read them again. */
static void split(struct cli_words *words, const char *text)
{
    static const char blanks[] = " \t";
    *words = (struct cli_words){0};
    for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
        const char *start = text;
        char quote = 0;
        for (; *text && (quote || !strchr(blanks, *text)); text++)
            if (*text == '\'' || *text == '"')
                quote = !quote ? *text : quote == *text ? 0 : quote;
        words->list = cli_realloc(words->list, words->count + 1, sizeof(*words->list));
        words->list[words->count++] = cli_strndup(start, (size_t)(text - start));
    }
}

/* A line with the words in place of $arg0 and the like, to be freed. */
static char *filled(const char *line, const struct cli_words *words)
{
    char *made = cli_strdup("");
    while (*line) {
        const char *at = strstr(line, "$arg");
        size_t plain = at ? (size_t)(at - line) : strlen(line), digits = 0;
        const char *word = "";
        char count[24];
        snprintf(count, sizeof(count), "%zu", words->count);
        if (at && at[4] == 'c') {
            word = count;
            digits = 1;
        } else if (at && isdigit((unsigned char)at[4])) {
            size_t index = strtoul(at + 4, NULL, 10);
            digits = strspn(at + 4, "0123456789");
            word = index < words->count ? words->list[index] : "";
        } else if (at) {
            word = "$arg"; /* another variable's name */
        }
        char *longer = cli_asprintf("%s%.*s%s", made, (int)plain, line, word);
        free(made);
        made = longer;
        line += plain + (at ? 4 + digits : 0);
    }
    return made;
}

bool cli_user_command_run(struct cli_repl *repl, const char *name, const char *operands, int *err)
{
    const struct cli_user_command *command = find(repl, name);
    struct cli_words words;
    if (!command)
        return false;
    *err = repl->depth < CLI_DEPTH_MAX
               ? 0
               : wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' calls itself without end", name);
    if (*err)
        return true;
    split(&words, operands);
    for (size_t i = 0; i < command->body.count; i++) {
        char *line = filled(command->body.lines[i], &words);
        cli_repl_queue(repl, line);
        free(line);
    }
    cli_words_fini(&words);
    return true;
}

/* ---- what is said of them ---- */

bool cli_user_command_help(struct cli_repl *repl, const char *name)
{
    const struct cli_user_command *command = find(repl, name);
    if (!command)
        return false;
    const struct text *text = command->help.count ? &command->help : &command->body;
    json_t *lines = repl->out->json ? json_array() : NULL;
    for (size_t i = 0; i < text->count; i++) {
        if (lines) {
            cli_json_append(lines, cli_json_text(text->lines[i]));
            continue;
        }
        cli_out_text(repl->out, text->lines[i]);
        putc('\n', repl->out->stream);
    }
    if (lines) {
        json_t *object = cli_json_object("wetdbg.define/1");
        cli_json_set(object, "name", cli_json_text(name));
        cli_json_set(object, command->help.count ? "help" : "body", lines);
        cli_out_json(repl->out, object);
    }
    return true;
}

void cli_user_commands_list(const struct cli_repl *repl)
{
    if (!repl->user_count)
        return;
    fputs("\nYours:", repl->out->stream);
    for (size_t i = 0; i < repl->user_count; i++) {
        putc(' ', repl->out->stream);
        cli_out_text(repl->out, repl->user_commands[i].name);
    }
    putc('\n', repl->out->stream);
}
