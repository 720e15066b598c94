/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `prune`: what is left of a slice when what also led to right output is taken away. */
#include <string.h>

#include "dbgcli/commands/origin_place.h"
#include "dbgcli/commands/pruning.h"
#include "dbgcli/commands/set_expression.h"
#include "dbgcli/commands/slice_manner.h"
#include "dbgcli/commands/slicing.h"
#include <wetdbg/errors.h>

#define LIMIT_DEFAULT 40

static const struct cli_option options[] = {
    {"ok", 0, "CRITERION",
     "this is right (several can be given); else all output before the wrong"},
    {"wrong", 0, "CRITERION", "this is wrong; else what was sliced last"},
    {"from", 0, "SOURCE", "only what depends on this, too, as in a chop (several can be given)"},
    {"through", 0, "CRITERION", "only what this depends on or what depends on it (several, too)"},
    {"within", 0, "NAME", "only what is in this named slice or expression (several, too)"},
    {"pruned", 0, NULL, "show the lines that are pruned instead"},
    {"judge", 0, "N", "judges at most N instances, the latest first (8388608); 0: all"},
    {"limit", 0, "N", "at most N lines (40); 0: all"},
    {"all", 0, NULL, "every line, also of libraries, and what only called others"},
    CLI_NO_GRAPH_OPTIONS,
    {0},
};

const struct cli_syntax cli_cmd_prune_syntax = {
    .example = "prune --ok output:0+28 --wrong output:28",
    .usage = "[--ok CRITERION]... [--wrong CRITERION] [--from SOURCE]... [--through CRITERION]...\n"
             "      [--within NAME]... [--pruned] [--judge N] [--limit N] [--all]",
    .options = options,
    .next = "more",
    .details =
        "The lines of a backward slice, the most suspect ones first and of these the nearest,\n"
        "each with its confidence: how far what is known to be right tells that its values are\n"
        "right. 0: any of the values that the line has computed in this run would do, or nothing\n"
        "right depends on it; 1: only the value that it had fits, and the line is left out. What\n"
        "is right is, if nothing is said, all output before the first wrong byte. --from and\n"
        "--through leave only what these have to do with, --within what is in a set that 'let'\n"
        "named. Then 'mark' says more of single lines, and the next round begins. Values are\n"
        "told by running the program again.\n"
        "Of a huge slice the latest instances are looked at, and the answer says how many: what\n"
        "came before has no confidence. Ctrl-C shows what is known by then.\n"
        "A fault is lost by it where a wrong value happened to give right output. Confidence can\n"
        "be too large of a value that comes to one use by two ways of computing: each is judged\n"
        "with the other as it was.",
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

/* ---- coarse pruning: several slices have it in common ---- */

static int slice_to_set(struct cli_session *session, const struct wetdbg_criterion *criterion,
                        bool is_forward, struct wetdbg_set **set)
{
    const struct wetdbg_slice_options how = {.kinds = WETDBG_SLICE_FULL};
    struct wetdbg_slice *slice;
    int err = cli_slice_run(session, criterion, &how, is_forward, NULL, &slice);
    if (err)
        return err;
    err = wetdbg_set_of_slice(slice, set);
    wetdbg_slice_free(slice);
    return err;
}

/* The forward slice of a criterion; both ways, the backward one, too. */
static int narrow(struct cli_session *session, const char *text, bool is_both)
{
    struct wetdbg_criterion *criterion;
    struct wetdbg_set *forward = NULL, *backward = NULL, *both = NULL;
    int err = cli_slice_criterion(session, text, false, &criterion);
    if (err)
        return err;
    err = slice_to_set(session, criterion, true, &forward);
    if (!err && is_both)
        err = slice_to_set(session, criterion, false, &backward);
    if (!err && is_both)
        err = wetdbg_set_combine(forward, WETDBG_SET_OR, backward, &both);
    if (is_both) {
        wetdbg_set_free(forward);
        forward = both;
    }
    if (!err)
        err = cli_pruning_narrow(session->pruning, forward);
    wetdbg_set_free(backward);
    wetdbg_criterion_free(criterion);
    return err;
}

static int narrow_to_set(struct cli_session *session, const char *text)
{
    struct cli_made made = {.set = NULL};
    int err = cli_set_evaluate(session->named, text, &made);
    if (err)
        return err;
    cli_nearness_free(made.near);
    wetdbg_set_free(made.plain);
    return cli_pruning_narrow(session->pruning, made.set);
}

static int narrow_all(struct cli_session *session, const struct cli_args *args)
{
    int err = 0;
    wetdbg_set_free(session->pruning->within);
    session->pruning->within = NULL;
    for (size_t i = 0; i < args->given_count && !err; i++) {
        const char *name = args->given[i].option->name;
        bool is_both = strcmp(name, "through") == 0;
        if (is_both || strcmp(name, "from") == 0)
            err = narrow(session, args->given[i].value, is_both);
        else if (strcmp(name, "within") == 0)
            err = narrow_to_set(session, args->given[i].value);
    }
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
    if (!err)
        err = cli_args_number(args, "judge", CLI_PRUNE_JUDGE, &view.judge);
    if (!err)
        err = cli_slice_manner_refuse(args, "it ranks lines; 'slice backward' draws them");
    if (!err && wrong)
        err = take_wrong(session, wrong);
    if (!err)
        err = cli_prune_check(session);
    if (!err && cli_args_has(args, "ok"))
        err = take_ok(session, args);
    if (!err)
        err = cli_prune_begin(session);
    if (!err)
        err = narrow_all(session, args);
    return err ? err : cli_prune_round(session, &view);
}
