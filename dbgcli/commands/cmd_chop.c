/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `chop`: what led from a source to a target. */
#include "dbgcli/commands/chop.h"
#include "dbgcli/commands/named_slices.h"
#include "dbgcli/commands/origin_place.h"
#include "dbgcli/commands/slice_made.h"
#include "dbgcli/commands/slicing.h"

static const struct cli_option options[] = {
    {"data", 0, NULL, "no control dependence"},
    {"thin", 0, NULL, "what computed the values only: no control, no addresses"},
    {"limit", 0, "N", "at most N lines (40); 0: all"},
    {"all", 0, NULL, "every line, also of libraries, and what only called others"},
    CLI_STATS_OPTION,
    CLI_GRAPH_OPTIONS,
    {0},
};

const struct cli_syntax cli_cmd_chop_syntax = {
    .example = "chop --data input:1024 crash",
    .usage = "SOURCE TARGET [--data|--thin] [--limit N] [--all] [--stats] [--tree]",
    .options = options,
    .next = "more",
    .operands_min = 2,
    .operands_max = 2,
    .details = "What depends on SOURCE and led to TARGET: the instances that the forward slice of\n"
               "the one and the backward slice of the other have in common. Both are named as for\n"
               "'slice'. The lines come by the sum of their distances from the source and to the\n"
               "target, so that those on a short way from the one to the other come first.\n"
               "Distances are those of first looks of half a million instructions from both\n"
               "ends; lines that only one of them came to come next, and then the most recent.",
};

struct chop {
    struct cli_chop made;
    struct wetdbg_criterion *source, *target;
};

static int make(struct chop *chop, const struct cli_args *args)
{
    struct cli_session *session = chop->made.session;
    int err = cli_kinds_from(args, &chop->made.kinds);
    if (!err)
        err = cli_slice_criterion(session, args->operands[0], false, &chop->source);
    if (!err)
        err = cli_slice_criterion(session, args->operands[1], false, &chop->target);
    chop->made.target = chop->target;
    return err ? err : cli_chop_make(&chop->made, &chop->source, 1);
}

static void free_all(struct chop *chop)
{
    cli_chop_fini(&chop->made);
    wetdbg_criterion_free(chop->source);
    wetdbg_criterion_free(chop->target);
}

int cli_chop_to_set(struct cli_session *session, const struct cli_args *args, struct cli_made *made)
{
    struct chop chop = {.made.session = session};
    int err = make(&chop, args);
    made->set = chop.made.both;
    made->near = chop.made.near;
    chop.made.both = NULL;
    chop.made.near = NULL;
    made->lines = CLI_LINES_UNKNOWN;
    made->seconds = chop.made.seconds;
    free_all(&chop);
    return err;
}

static int show(const struct chop *chop, struct cli_slice_view *view,
                const struct cli_slice_manner *manner)
{
    struct cli_out *out = view->session->out;
    const struct wetdbg_criterion_info *source = wetdbg_criterion_get_info(chop->source);
    const struct wetdbg_criterion_info *target = wetdbg_criterion_get_info(chop->target);
    if (!out->json) {
        cli_out_text(out, source->source);
        fputs("\n-> ", out->stream);
        cli_out_text(out, target->description);
        putc('\n', out->stream);
        return cli_chop_print(&chop->made, view, manner);
    }
    json_t *object = cli_json_object("wetdbg.chop/1");
    cli_json_set(object, "source", cli_json_text(source->text));
    cli_json_set(object, "target", cli_json_text(target->text));
    int err = cli_chop_to_json(&chop->made, view, manner, object);
    if (err)
        json_decref(object);
    else
        cli_out_json(out, object);
    return err;
}

int cli_cmd_chop(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct chop chop = {.made.session = repl->session};
    struct cli_slice_view view = {.session = repl->session, .shows_all = cli_args_has(args, "all")};
    struct cli_slice_manner manner;
    (void)format;
    int err = cli_slice_view_limit(&view, args);
    bool is_graph = cli_slice_manner_parse(args, view.limit, &manner);
    chop.made.keeps_parents = is_graph || manner.has_stats;
    if (!err)
        err = make(&chop, args);
    if (!err)
        err = show(&chop, &view, &manner);
    free_all(&chop);
    return err;
}
