/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `help` and `quit`, the two commands that concern the prompt itself. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/help.h"
#include "dbgcli/repl/repl.h"
#include "dbgcli/repl/user_commands.h"
#include <wetdbg/errors.h>

#define NAME_COLUMNS 16

const struct cli_syntax cli_cmd_help_syntax = {
    .example = "help slice",
    .usage = "[COMMAND]",
    .operands_max = 1,
};

const struct cli_syntax cli_cmd_apropos_syntax = {
    .example = "apropos thread",
    .usage = "REGEX",
    .operands_min = 1,
    .operands_max = 1,
    .is_raw = true,
    .details = "Lists the commands whose name or help has the text, capital letters or not.",
};

const struct cli_syntax cli_cmd_quit_syntax = {
    .example = "quit",
    .usage = "",
};

static json_t *json_of_commands(const struct cli_command *commands)
{
    json_t *array = json_array();
    for (const struct cli_command *c = commands; c->name; c++) {
        json_t *row = json_object();
        cli_json_set(row, "name", json_string(c->name));
        cli_json_set(row, "usage", json_string(c->syntax->usage));
        cli_json_set(row, "summary", json_string(c->summary));
        cli_json_set(row, "example", cli_json_text(c->syntax->example));
        cli_json_append(array, row);
    }
    return array;
}

static void print_rows(struct cli_out *out, const struct cli_command *commands)
{
    for (const struct cli_command *c = commands; c->name; c++)
        cli_help_print_lines(out, NAME_COLUMNS + 2, "%s%-*s%s  %s",
                             cli_out_style(out, CLI_STYLE_BOLD), NAME_COLUMNS, c->name,
                             cli_out_style(out, CLI_STYLE_NONE), c->summary);
}

static void print_list(struct cli_out *out, const struct cli_command *commands)
{
    print_rows(out, commands);
    cli_help_print_lines(out, 0,
                         "\nNames may be cut as long as they fit one command; 'help COMMAND' says "
                         "more, 'apropos WORD'\n"
                         "finds the commands that have to do with something.");
}

int cli_cmd_help(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    const struct cli_command *command = NULL;
    (void)format;
    if (args->operand_count) {
        if (cli_user_command_help(repl, args->operands[0]))
            return 0;
        int err = cli_command_find(repl->commands, args->operands[0], &command);
        if (err)
            return cli_repl_explain(repl, args->operands[0], err);
    }
    if (repl->out->json) {
        struct cli_command only[2] = {command ? *command : (struct cli_command){0}};
        json_t *object = cli_json_object("wetdbg.help/1");
        cli_json_set(object, "commands", json_of_commands(command ? only : repl->commands));
        cli_out_json(repl->out, object);
    } else if (command) {
        cli_help_print_syntax(repl->out, "", command->name, command->summary, command->syntax);
        if (command->aliases)
            cli_help_print_lines(repl->out, 0, "\nalso: %s", command->aliases);
    } else {
        print_list(repl->out, repl->commands);
        cli_user_commands_list(repl);
    }
    return 0;
}

/* ---- apropos ---- */

static bool has_text(const regex_t *regex, const char *text)
{
    return text && regexec(regex, text, 0, NULL, 0) == 0;
}

static bool is_about(const struct cli_command *command, const regex_t *regex)
{
    bool is_found = has_text(regex, command->name) || has_text(regex, command->aliases) ||
                    has_text(regex, command->summary) || has_text(regex, command->syntax->usage) ||
                    has_text(regex, command->syntax->details);
    const struct cli_option *option = command->syntax->options;
    for (; !is_found && option && (option->name || option->letter); option++)
        is_found = option->help && (has_text(regex, option->name) || has_text(regex, option->help));
    return is_found;
}

int cli_cmd_apropos(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_command *found;
    size_t count = 0;
    regex_t regex;
    (void)format;
    int code = regcomp(&regex, args->operands[0], REG_EXTENDED | REG_ICASE | REG_NOSUB);
    if (code) {
        char reason[128];
        regerror(code, &regex, reason, sizeof(reason));
        return wetdbg_fail(-WETDBG_ERR_USAGE, "apropos: '%s': %s", args->operands[0], reason);
    }
    found = cli_malloc(sizeof(*found));
    for (const struct cli_command *c = repl->commands; c->name; c++)
        if (is_about(c, &regex)) {
            found = cli_realloc(found, count + 2, sizeof(*found));
            found[count++] = *c;
        }
    found[count] = (struct cli_command){0};
    regfree(&regex);
    int err = 0;
    if (repl->out->json) {
        json_t *object = cli_json_object("wetdbg.help/1");
        cli_json_set(object, "commands", json_of_commands(found));
        cli_out_json(repl->out, object);
    } else if (count) {
        print_rows(repl->out, found);
    } else {
        err =
            wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no command has to do with '%s'", args->operands[0]);
    }
    free(found);
    return err;
}

int cli_cmd_quit(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)args;
    (void)format;
    repl->is_quitting = true;
    return 0;
}
