/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `chop`: what led from a source to a target. */
#include <inttypes.h>

#include "dbgcli/commands/origin_place.h"
#include "dbgcli/commands/slice_view.h"
#include "dbgcli/commands/slicing.h"
#include <wetdbg/errors.h>
#include <wetdbg/set.h>

static const struct cli_option options[] = {
    {"data", 0, NULL, "no control dependence"},
    {"thin", 0, NULL, "what computed the values only: no control, no addresses"},
    {"limit", 0, "N", "at most N lines; 0: all (the default)"},
    {"all", 0, NULL, "every line, also of libraries whose source is not here"},
    {0},
};

const struct cli_syntax cli_cmd_chop_syntax = {
    .example = "chop --data input:1024 crash",
    .usage = "SOURCE TARGET [--data|--thin] [--limit N] [--all]",
    .options = options,
    .operands_min = 2,
    .operands_max = 2,
    .details = "What depends on SOURCE and led to TARGET: the instances that the forward slice of\n"
               "the one and the backward slice of the other have in common. Both are named as for\n"
               "'slice'.",
};

struct chop {
    struct cli_session *session;
    struct wetdbg_slice_options how;
    struct wetdbg_criterion *source, *target;
    struct wetdbg_set *forward, *backward, *both;
    double seconds; /* of the two slices */
};

static int slice_one(struct chop *chop, const struct wetdbg_criterion *criterion, bool is_forward,
                     struct wetdbg_set **set)
{
    struct wetdbg_slice *slice;
    int err = cli_slice_run(chop->session, criterion, &chop->how, is_forward, false, &slice);
    if (err)
        return err;
    chop->seconds += wetdbg_slice_get_counts(slice)->seconds;
    err = wetdbg_set_of_slice(slice, set);
    wetdbg_slice_free(slice);
    return err;
}

static int make(struct chop *chop, const struct cli_args *args)
{
    struct cli_session *session = chop->session;
    int err = cli_slice_criterion(session, args->operands[0], false, &chop->source);
    if (!err)
        err = cli_slice_criterion(session, args->operands[1], false, &chop->target);
    if (!err)
        err = slice_one(chop, chop->source, true, &chop->forward);
    if (!err)
        err = slice_one(chop, chop->target, false, &chop->backward);
    if (!err)
        err = wetdbg_set_combine(chop->forward, WETDBG_SET_AND, chop->backward, &chop->both);
    return err;
}

static void free_all(struct chop *chop)
{
    wetdbg_set_free(chop->both);
    wetdbg_set_free(chop->backward);
    wetdbg_set_free(chop->forward);
    wetdbg_criterion_free(chop->source);
    wetdbg_criterion_free(chop->target);
}

/* Why nothing led from the one to the other, and what to try; NULL if something did. */
static const char *why_empty(const struct chop *chop)
{
    const struct wetdbg_criterion_info *source = wetdbg_criterion_get_info(chop->source);
    const struct wetdbg_criterion_info *target = wetdbg_criterion_get_info(chop->target);
    if (wetdbg_set_count(chop->both))
        return NULL;
    if (source->time > target->time)
        return "the source is later than the target; turn them round";
    if (!wetdbg_set_count(chop->forward))
        return "nothing uses the source";
    if (chop->how.kinds != WETDBG_SLICE_FULL)
        return "no such dependence leads from the source to the target; leave out --data and "
               "--thin "
               "to follow control";
    return "no dependence leads from the source to the target: perhaps what did not run is to "
           "blame, of "
           "which a run shows nothing; see the branches that led to it with 'decisions' and the "
           "target's 'slice backward'";
}

static int show_text(const struct chop *chop, const struct cli_slice_view *view)
{
    struct cli_out *out = view->session->out;
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(view->slice);
    const char *reason = why_empty(chop);
    cli_out_text(out, wetdbg_criterion_get_info(chop->source)->source);
    fputs("\n-> ", out->stream);
    cli_out_text(out, wetdbg_criterion_get_info(chop->target)->description);
    fprintf(out->stream,
            "\n%s chop: %" PRIu64 " instances of %" PRIu64 " instructions in %" PRIu64
            " lines, of %" PRIu64 " that depend on the source and %" PRIu64
            " that led to the target (%.2f s)\n",
            cli_kinds_name(chop->how.kinds), counts->instances, counts->statements, counts->lines,
            wetdbg_set_count(chop->forward), wetdbg_set_count(chop->backward),
            chop->seconds + counts->seconds);
    if (reason)
        fprintf(out->stream, "empty: %s\n", reason);
    return cli_slice_view_print(view);
}

static int show_json(const struct chop *chop, const struct cli_slice_view *view)
{
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(view->slice);
    json_t *object = cli_json_object("wetdbg.chop/1");
    cli_json_set(object, "source", cli_json_text(wetdbg_criterion_get_info(chop->source)->text));
    cli_json_set(object, "target", cli_json_text(wetdbg_criterion_get_info(chop->target)->text));
    cli_json_set(object, "kinds", cli_json_text(cli_kinds_name(chop->how.kinds)));
    cli_json_set(object, "instances", cli_json_count(counts->instances));
    cli_json_set(object, "statements", cli_json_count(counts->statements));
    cli_json_set(object, "line_count", cli_json_count(counts->lines));
    cli_json_set(object, "forward_instances", cli_json_count(wetdbg_set_count(chop->forward)));
    cli_json_set(object, "backward_instances", cli_json_count(wetdbg_set_count(chop->backward)));
    cli_json_set(object, "empty_because", cli_json_text(why_empty(chop)));
    cli_json_set(object, "seconds", json_real(chop->seconds + counts->seconds));
    int err = cli_slice_view_to_json(view, object);
    if (err)
        json_decref(object);
    else
        cli_out_json(view->session->out, object);
    return err;
}

static int show(const struct chop *chop, struct cli_slice_view *view)
{
    const struct wetdbg_slice_options options = {.session = chop->session->slices};
    struct wetdbg_slice *slice;
    int err = wetdbg_slice_of_set(chop->both, &options, &slice);
    if (err)
        return err;
    err = cli_slice_view_open(view, slice);
    if (!err)
        err = chop->session->out->json ? show_json(chop, view) : show_text(chop, view);
    cli_slice_view_close(view);
    wetdbg_slice_free(slice);
    return err;
}

int cli_cmd_chop(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct chop chop = {.session = repl->session};
    struct cli_slice_view view = {.session = repl->session, .shows_all = cli_args_has(args, "all")};
    (void)format;
    int err = cli_kinds_from(args, &chop.how.kinds);
    if (!err)
        err = cli_args_number(args, "limit", 0, &view.limit);
    if (!err)
        err = make(&chop, args);
    if (!err)
        err = show(&chop, &view);
    free_all(&chop);
    return err;
}
