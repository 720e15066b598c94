/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `prune`: what is left of a slice when what also led to right output is taken away. */
#include <string.h>

#include "dbgcli/commands/origin_place.h"
#include "dbgcli/commands/pruning.h"
#include "dbgcli/commands/slicing.h"
#include <wetdbg/errors.h>

#define LIMIT_DEFAULT 40

static const struct cli_option options[] = {
    {"ok", 0, "CRITERION",
     "this is right (several can be given); else all output before the wrong"},
    {"wrong", 0, "CRITERION", "this is wrong; else what was sliced last"},
    {"pruned", 0, NULL, "show the lines that are pruned instead"},
    {"limit", 0, "N", "at most N lines (40); 0: all"},
    {"all", 0, NULL, "every line, also of libraries whose source is not here"},
    {0},
};

const struct cli_syntax cli_cmd_prune_syntax = {
    .example = "prune --ok output:0+28 --wrong output:28",
    .usage = "[--ok CRITERION]... [--wrong CRITERION] [--pruned] [--limit N] [--all]",
    .options = options,
    .details =
        "The lines of a backward slice, the most suspect ones first, each with its confidence: "
        "how\n"
        "far what is known to be right tells that its values are right. 0: any of the values that\n"
        "the line has computed in this run would do, or nothing right depends on it; 1: only the\n"
        "value that it had fits, and the line is left out. What is right is, if nothing is said,\n"
        "all output before the first wrong byte. Then 'mark' says more of single lines, and the\n"
        "next round begins. Values and memory are told by running the program again.\n"
        "A fault is lost by it where a wrong value happened to give right output.",
};

static int take_wrong(struct cli_session *session, const char *text)
{
    struct wetdbg_criterion *criterion;
    int err = cli_slice_criterion(session, text, false, &criterion);
    if (!err)
        cli_slice_remember(session, criterion,
                           &(struct wetdbg_slice_options){.kinds = WETDBG_SLICE_FULL}, false, NULL);
    return err;
}

static int take_ok(struct cli_session *session, const struct cli_args *args)
{
    struct wetdbg_criterion *criterion;
    int err = 0;
    cli_pruning_forget_right(session->pruning);
    for (size_t i = 0; i < args->given_count && !err; i++) {
        if (!args->given[i].option->name || strcmp(args->given[i].option->name, "ok") != 0)
            continue;
        err = cli_slice_criterion(session, args->given[i].value, true, &criterion);
        if (!err)
            err = cli_pruning_add_right(session, criterion);
    }
    if (!err)
        cli_pruning_settle(session);
    return err;
}

int cli_cmd_prune(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct cli_prune_view view = {
        .shows_all = cli_args_has(args, "all"),
        .shows_pruned = cli_args_has(args, "pruned"),
    };
    const char *wrong = cli_args_value(args, "wrong");
    (void)format;
    int err = cli_args_number(args, "limit", repl->out->json ? 0 : LIMIT_DEFAULT, &view.limit);
    if (!err && wrong)
        err = take_wrong(session, wrong);
    if (!err)
        err = cli_prune_check(session);
    if (!err && cli_args_has(args, "ok"))
        err = take_ok(session, args);
    if (!err)
        err = cli_prune_begin(session);
    return err ? err : cli_prune_round(session, &view);
}
