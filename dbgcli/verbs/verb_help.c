/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg help`: all verbs, or one of them. */
#include <string.h>

#include "dbgcli/commands/session.h"
#include "dbgcli/help.h"
#include "dbgcli/suggest.h"
#include "dbgcli/verbs/verb.h"
#include <wetdbg/build.h>
#include <wetdbg/errors.h>

#define VERB_COLUMN 10

const struct cli_syntax cli_help_syntax = {
    .usage = "[VERB]",
    .operands_max = 1,
};

const struct cli_syntax cli_version_syntax = {
    .usage = "",
};

static void print_all(struct cli_out *out)
{
    cli_help_print_lines(
        out, 0,
        "usage: wetdbg VERB [OPTION]... [ARGUMENT]...\n\n"
        "Records a failing program, replays it, and answers where a wrong value, a wrong\n"
        "output or a crash came from: backward slices over the whole execution.\n\n");
    for (const struct cli_verb *verb = cli_verbs; verb->name; verb++)
        cli_help_print_lines(out, VERB_COLUMN + 1, "  %-8s %s", verb->name, verb->summary);
    cli_help_print_lines(out, 0, "\nOptions by verb:");
    for (const struct cli_verb *verb = cli_verbs; verb->name; verb++) {
        cli_help_print_lines(out, 0, "\n wetdbg %s%s%s", verb->name,
                             *verb->syntax->usage ? " " : "", verb->syntax->usage);
        cli_help_print_options(out, verb->syntax->options);
    }
    cli_help_print_lines(
        out, 0,
        "\nTRACE is a recording's directory, or its name as 'wetdbg ls' shows it.\n"
        "'wetdbg help VERB' and wetdbg(1) say more; 'help' at the prompt lists the commands.");
}

int cli_help_print(struct cli_out *out, const char *name)
{
    if (!name) {
        print_all(out);
        return 0;
    }
    const struct cli_verb *verb = cli_verb_find(name);
    if (verb) {
        cli_help_print_syntax(out, "wetdbg ", verb->name, verb->summary, verb->syntax);
        return 0;
    }
    for (const struct cli_command *command = cli_commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return wetdbg_fail(-WETDBG_ERR_USAGE,
                               "'%s' is a command of the prompt; 'help %s' there explains it", name,
                               name);
    struct cli_suggestion suggestion = {.wanted = name};
    for (verb = cli_verbs; verb->name; verb++)
        cli_suggestion_offer(&suggestion, verb->name);
    if (suggestion.best)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "no verb '%s'; did you mean '%s'?", name,
                           suggestion.best);
    return wetdbg_fail(-WETDBG_ERR_USAGE, "no verb '%s' (see 'wetdbg help')", name);
}

void cli_help_print_synopsis(FILE *to)
{
    fputs("usage: wetdbg VERB [OPTION]... [ARGUMENT]...\n"
          "for example:\n"
          "  wetdbg record ./program input    record a run\n"
          "  wetdbg replay                    ask about the newest recording\n"
          "'wetdbg help' lists the verbs.\n",
          to);
}

int cli_help_run(struct cli_app *app, const struct cli_args *args)
{
    return cli_help_print(app->out, args->operands[0]);
}

int cli_version_run(struct cli_app *app, const struct cli_args *args)
{
    (void)args;
    fprintf(app->out->stream, "wetdbg %s\n", wetdbg_version());
    return 0;
}
