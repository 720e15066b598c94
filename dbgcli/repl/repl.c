/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/repl/repl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/exit_status.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/repl/block.h"
#include "dbgcli/repl/user_commands.h"
#include "dbgcli/repl/words.h"
#include <wetdbg/errors.h>

static const char blanks[] = " \t\r\n\f\v";

void cli_repl_fini(struct cli_repl *repl)
{
    cli_queue_drop(repl);
    cli_block_drop(repl);
    cli_user_commands_fini(repl);
    free(repl->last_line);
    repl->last_line = NULL;
}

/* ---- evaluate ---- */

static int print_help(struct cli_repl *repl, const char *name)
{
    char *operands[] = {(char *)name, NULL};
    struct cli_args args = {.name = "help", .operands = operands, .operand_count = 1};
    return cli_cmd_help(repl, &args, "");
}

static int run_command(struct cli_repl *repl, const struct cli_command *command, int argc,
                       char **argv, const char *format)
{
    struct cli_args args;
    if (*format && !command->takes_format)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s: takes no format ('/%s')", command->name, format);
    int err = cli_args_parse(&args, command->name, command->syntax, argc, argv);
    if (err)
        return err;
    if (args.wants_help)
        err = print_help(repl, command->name);
    else
        err = command->run(repl, &args, format);
    cli_args_fini(&args);
    return err;
}

/* The length of a line's first word: "if(x)" begins with "if". */
static size_t first_word(const char *line)
{
    size_t length = strcspn(line, blanks), letters = strcspn(line, "(");
    bool is_joined = letters < length && (cli_line_is(line, "if") || cli_line_is(line, "while"));
    return is_joined ? letters : length;
}

/* A line after its first word, as one operand, without the blanks around it. */
static char *raw_operand(const char *line)
{
    line += strspn(line, blanks);
    line += first_word(line);
    line += strspn(line, blanks);
    size_t length = strlen(line);
    while (length && strchr(blanks, line[length - 1]))
        length--;
    return cli_strndup(line, length);
}

/* Runs a command with what stands behind its name in the line. */
static int evaluate_command(struct cli_repl *repl, const struct cli_command *command,
                            const char *format, const char *line)
{
    struct cli_words words = {0};
    int err;
    if (command->syntax->is_raw) {
        char *operand = raw_operand(line);
        err = run_command(repl, command, *operand != 0, &operand, format);
        free(operand);
        return err;
    }
    err = cli_words_split(&words, line);
    if (!err)
        err = run_command(repl, command, (int)words.count - 1, words.list + 1, format);
    cli_words_fini(&words);
    return err;
}

/* "!COMMAND" is "shell COMMAND". */
static int evaluate_shell(struct cli_repl *repl, const char *line)
{
    char *longer = cli_asprintf("shell %s", line + 1);
    const struct cli_command *command;
    int err = cli_command_find(repl->commands, "shell", &command);
    if (!err)
        err = evaluate_command(repl, command, "", longer);
    free(longer);
    return err;
}

int cli_repl_explain(const struct cli_repl *repl, const char *name, int code)
{
    const struct cli_other_word *other = repl->other_words;
    size_t length = strlen(name);
    while (other && other->word && strcmp(other->word, name) != 0)
        other++;
    if (repl->other_words && !other->word && length >= 3)
        for (other = repl->other_words; other->word && strncmp(other->word, name, length) != 0;)
            other++;
    if (!other || !other->word)
        return code;
    return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' is no command here: %s", other->word,
                       other->instead);
}

static int evaluate(struct cli_repl *repl, const char *line)
{
    const char *start = line + strspn(line, blanks);
    if (*start == '!')
        return evaluate_shell(repl, start);
    size_t length = first_word(start);
    char *name = cli_strndup(start, length);
    const struct cli_command *command;
    int err = 0;
    if (!cli_user_command_run(repl, name, start + length, &err)) {
        char *slash = strchr(name, '/');
        if (slash)
            *slash = 0;
        err = cli_command_find(repl->commands, name, &command);
        err = err ? cli_repl_explain(repl, name, err)
                  : evaluate_command(repl, command, slash ? slash + 1 : "", start);
    }
    free(name);
    return err;
}

int cli_repl_run_inside(struct cli_repl *repl, const char *line)
{
    return evaluate(repl, line);
}

static int execute_one(struct cli_repl *repl, const char *line)
{
    line += strspn(line, blanks);
    if (!repl->block && (!*line || *line == '#'))
        return 0;
    if (repl->prepare)
        repl->prepare(repl->session);
    cli_out_begin(repl->out);
    int result = repl->block ? cli_block_take(repl, line) : evaluate(repl, line);
    int status = 0;
    int checked = repl->check ? repl->check(repl->session) : 0;
    if (checked) {
        result = checked;
        repl->is_quitting = true;
    }
    if (result < 0 && !cli_out_is_gone(repl->out))
        status = cli_out_error(repl->out, repl->place, result);
    cli_out_end(repl->out);
    /* Nobody reads any more: nothing that follows is of use. */
    if (cli_out_is_gone(repl->out))
        repl->is_quitting = true;
    return status;
}

/* Runs what a line left to be run, up to the first that fails. */
static int drain(struct cli_repl *repl)
{
    const char *outer_place = repl->place;
    struct cli_waiting next;
    int status = 0;
    bool has_run = false;
    repl->is_draining = true;
    while (!status && !repl->is_quitting && !cli_interrupt_is_pending() &&
           cli_queue_take(repl, &next)) {
        has_run = true;
        repl->place = next.place;
        repl->depth = next.depth;
        status = execute_one(repl, next.line);
        cli_waiting_fini(&next);
    }
    repl->place = outer_place;
    repl->depth = 0;
    cli_queue_drop(repl);
    if (has_run)
        cli_block_drop(repl); /* lines that wait end their blocks themselves */
    repl->is_draining = false;
    return status;
}

int cli_repl_execute(struct cli_repl *repl, const char *line)
{
    cli_interrupt_clear();
    int status = execute_one(repl, line);
    return status || repl->is_draining ? status : drain(repl);
}

/* ---- scripts ---- */

static int run_lines(struct cli_repl *repl, const char *path, FILE *file)
{
    const char *outer_place = repl->place;
    unsigned long number = 0;
    char *line = NULL;
    int status = 0, got = 0;
    while (!status && !repl->is_quitting && (got = cli_line_plain.read(file, "", &line)) == 1) {
        char *place = cli_asprintf("%s:%lu", path, ++number);
        repl->place = place;
        status = cli_repl_execute(repl, line);
        if (!status && cli_interrupt_is_pending())
            status = CLI_EXIT_INTERRUPTED;
        repl->place = outer_place;
        free(place);
        free(line);
    }
    if (got < 0 && got != -EINTR) /* a directory, for one, can be opened */
        status = cli_out_error(repl->out, outer_place,
                               wetdbg_fail(got, "cannot read '%s': %s", path, strerror(-got)));
    return status;
}

int cli_repl_run_script(struct cli_repl *repl, const char *path, FILE *input)
{
    if (strcmp(path, "-") == 0)
        return run_lines(repl, "standard input", input);
    FILE *file = fopen(path, "re");
    if (!file)
        return cli_out_error(repl->out, repl->place, wetdbg_fail_errno("cannot read '%s'", path));
    int status = run_lines(repl, path, file);
    cli_block_drop(repl);
    fclose(file);
    return status;
}

/* ---- the loop ---- */

/* What an empty line after this one stands for, to be freed; NULL: nothing. */
static char *repetition(struct cli_repl *repl, const char *line)
{
    const struct cli_command *command;
    const char *start = line + strspn(line, blanks);
    if (cli_line_nesting(line) > 0)
        return NULL; /* the lines that followed are not kept */
    char *word = cli_strndup(start, strcspn(start, blanks));
    char *name = cli_strndup(word, strcspn(word, "/"));
    bool is_known = cli_command_find(repl->commands, name, &command) == 0;
    free(name);
    if (is_known && command->syntax->goes_on)
        return word;
    free(word);
    if (is_known && command->syntax->next)
        return cli_strdup(command->syntax->next);
    return cli_strdup(line);
}

/* An empty line stands for the last one; a new one is remembered. NULL: nothing to do. */
static const char *line_to_run(struct cli_repl *repl, const struct cli_line_hooks *lines,
                               const char *line)
{
    if (!line[strspn(line, blanks)])
        return repl->last_line;
    lines->keep(line);
    if (line[strspn(line, blanks)] != '#') {
        free(repl->last_line);
        repl->last_line = repetition(repl, line);
    }
    return line;
}

int cli_repl_loop(struct cli_repl *repl, const struct cli_line_hooks *lines, FILE *from,
                  const char *prompt)
{
    int status = 0;
    repl->is_typed = lines->is_interactive;
    lines->start();
    while (!repl->is_quitting) {
        char *line;
        cli_interrupt_clear();
        int result = lines->read(from, repl->block ? ">" : prompt, &line);
        if (result == -EINTR && lines->is_interactive) {
            cli_block_drop(repl);
            continue;
        }
        if (result < 0)
            return cli_out_error(
                repl->out, repl->place,
                result == -EINTR
                    ? wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted")
                    : wetdbg_fail(result, "cannot read commands: %s", strerror(-result)));
        if (result == 0)
            break;
        bool is_command = lines->is_interactive && !repl->block;
        const char *text = is_command ? line_to_run(repl, lines, line) : line;
        int failed = text ? cli_repl_execute(repl, text) : 0;
        status = failed ? failed : status;
        free(line);
        if (!lines->is_interactive && cli_interrupt_is_pending())
            return CLI_EXIT_INTERRUPTED;
    }
    return lines->is_interactive ? 0 : status;
}
