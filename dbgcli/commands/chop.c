/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/chop.h"

#include <inttypes.h>

#include "dbgcli/commands/slicing.h"
#include <wetdbg/errors.h>

/* ---- making ---- */

static int slice_one(struct cli_chop *chop, const struct wetdbg_criterion *criterion,
                     bool is_forward, struct wetdbg_set **set)
{
    const struct wetdbg_slice_options how = {.kinds = chop->kinds};
    struct wetdbg_slice *slice;
    int err = cli_slice_run(chop->session, criterion, &how, is_forward, false, &slice);
    if (err)
        return err;
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(slice);
    chop->seconds += counts->seconds;
    chop->unknown_calls += is_forward ? 0 : counts->unknown_calls;
    err = wetdbg_set_of_slice(slice, set);
    wetdbg_slice_free(slice);
    return err;
}

static int add_forward(struct cli_chop *chop, const struct wetdbg_criterion *source)
{
    struct wetdbg_set *set, *joined;
    int err = slice_one(chop, source, true, &set);
    if (err || !chop->forward) {
        chop->forward = err ? chop->forward : set;
        return err;
    }
    err = wetdbg_set_combine(chop->forward, WETDBG_SET_OR, set, &joined);
    wetdbg_set_free(set);
    if (err)
        return err;
    wetdbg_set_free(chop->forward);
    chop->forward = joined;
    return 0;
}

static wetdbg_time time_of(const struct wetdbg_criterion *criterion)
{
    return wetdbg_criterion_get_info(criterion)->time;
}

int cli_chop_make(struct cli_chop *chop, struct wetdbg_criterion *const *sources, size_t count)
{
    int err = 0, missed = 0;
    for (size_t i = 0; i < count && !err; i++) {
        if (!chop->source || time_of(sources[i]) < time_of(chop->source))
            chop->source = sources[i];
        err = add_forward(chop, sources[i]);
        if (err == -WETDBG_ERR_NOT_FOUND) {
            missed = err;
            err = 0;
        }
    }
    if (!err && !chop->forward)
        err = missed;
    if (!err)
        err = slice_one(chop, chop->target, false, &chop->backward);
    if (!err)
        err = wetdbg_set_combine(chop->forward, WETDBG_SET_AND, chop->backward, &chop->both);
    return err;
}

void cli_chop_fini(struct cli_chop *chop)
{
    wetdbg_set_free(chop->both);
    wetdbg_set_free(chop->backward);
    wetdbg_set_free(chop->forward);
    chop->both = chop->backward = chop->forward = NULL;
    chop->source = NULL;
    chop->unknown_calls = 0;
    chop->seconds = 0;
}

/* ---- showing ---- */

const char *cli_chop_why_empty(const struct cli_chop *chop)
{
    if (wetdbg_set_count(chop->both))
        return NULL;
    if (time_of(chop->source) > time_of(chop->target))
        return "the source is later than the target; turn them round";
    if (!wetdbg_set_count(chop->forward))
        return "nothing uses the source";
    if (chop->kinds != WETDBG_SLICE_FULL)
        return "no such dependence leads from the source to the target; leave out --data and "
               "--thin to follow control";
    if (chop->unknown_calls)
        return "no dependence that is known leads from the source to the target, and what some "
               "system calls read is not known; see 'slice backward' of the target";
    return "no dependence leads from the source to the target: perhaps what did not run is to "
           "blame, of which a run shows nothing; see the branches that led to it with 'decisions' "
           "and the target's 'slice backward'";
}

static void print_head(const struct cli_chop *chop, const struct wetdbg_slice *slice)
{
    struct cli_out *out = chop->session->out;
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(slice);
    const char *reason = cli_chop_why_empty(chop);
    fprintf(out->stream,
            "%s chop: %" PRIu64 " instances of %" PRIu64 " instructions in %" PRIu64
            " lines, of %" PRIu64 " that depend on the source and %" PRIu64
            " that led to the target (%.2f s)\n",
            cli_kinds_name(chop->kinds), counts->instances, counts->statements, counts->lines,
            wetdbg_set_count(chop->forward), wetdbg_set_count(chop->backward),
            chop->seconds + counts->seconds);
    if (reason)
        fprintf(out->stream, "empty: %s\n", reason);
}

static int members_to_json(const struct cli_chop *chop, struct cli_slice_view *view, json_t *object)
{
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(view->slice);
    cli_json_set(object, "kinds", cli_json_text(cli_kinds_name(chop->kinds)));
    cli_json_set(object, "instances", cli_json_count(counts->instances));
    cli_json_set(object, "statements", cli_json_count(counts->statements));
    cli_json_set(object, "line_count", cli_json_count(counts->lines));
    cli_json_set(object, "forward_instances", cli_json_count(wetdbg_set_count(chop->forward)));
    cli_json_set(object, "backward_instances", cli_json_count(wetdbg_set_count(chop->backward)));
    cli_json_set(object, "empty_because", cli_json_text(cli_chop_why_empty(chop)));
    cli_json_set(object, "seconds", json_real(chop->seconds + counts->seconds));
    return cli_slice_view_to_json(view, object);
}

/* As text, or into `object` if there is one. */
static int show(const struct cli_chop *chop, struct cli_slice_view *view, json_t *object)
{
    struct wetdbg_slice *slice;
    int err = cli_slice_of_set(chop->session, chop->both, &slice);
    if (err)
        return err;
    err = cli_slice_view_open(view, slice);
    if (!err && object)
        err = members_to_json(chop, view, object);
    if (!err && !object) {
        print_head(chop, slice);
        err = cli_slice_view_print(view);
    }
    cli_slice_view_close(view);
    wetdbg_slice_free(slice);
    return err;
}

int cli_chop_print(const struct cli_chop *chop, struct cli_slice_view *view)
{
    return show(chop, view, NULL);
}

int cli_chop_to_json(const struct cli_chop *chop, struct cli_slice_view *view, json_t *object)
{
    return show(chop, view, object);
}
