/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `help` and `quit`, the two commands that concern the prompt itself. */
#include <stddef.h>

#include "dbgcli/help.h"
#include "dbgcli/repl/repl.h"

#define NAME_COLUMNS 16

const struct cli_syntax cli_cmd_help_syntax = {
    .example = "help slice",
    .usage = "[COMMAND]",
    .operands_max = 1,
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

static void print_list(struct cli_out *out, const struct cli_command *commands)
{
    for (const struct cli_command *c = commands; c->name; c++)
        fprintf(out->stream, "%s%-*s%s  %s\n", cli_out_style(out, CLI_STYLE_BOLD), NAME_COLUMNS,
                c->name, cli_out_style(out, CLI_STYLE_NONE), c->summary);
    fputs("\nNames may be cut as long as they fit one command; 'help COMMAND' says more.\n",
          out->stream);
}

int cli_cmd_help(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    const struct cli_command *command = NULL;
    (void)format;
    if (args->operand_count) {
        int err = cli_command_find(repl->commands, args->operands[0], &command);
        if (err)
            return err;
    }
    if (repl->out->json) {
        struct cli_command only[2] = {command ? *command : (struct cli_command){0}};
        json_t *object = cli_json_object("wetdbg.help/1");
        cli_json_set(object, "commands", json_of_commands(command ? only : repl->commands));
        cli_out_json(repl->out, object);
    } else if (command) {
        cli_help_print_syntax(repl->out, "", command->name, command->summary, command->syntax);
        if (command->aliases)
            fprintf(repl->out->stream, "\nalso: %s\n", command->aliases);
    } else {
        print_list(repl->out, repl->commands);
    }
    return 0;
}

int cli_cmd_quit(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)args;
    (void)format;
    repl->is_quitting = true;
    return 0;
}
