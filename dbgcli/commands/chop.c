/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/chop.h"

#include <inttypes.h>

#include "dbgcli/commands/slicing.h"
#include <wetdbg/errors.h>

/* ---- making ---- */

/* Slices one way; *slice is the slice itself where it is wanted, else that is NULL. */
static int slice_one(struct cli_chop *chop, const struct wetdbg_criterion *criterion,
                     bool is_forward, struct wetdbg_set **set, struct cli_nearness **near,
                     struct wetdbg_slice **kept)
{
    struct wetdbg_slice_options how = {.kinds = chop->kinds};
    struct wetdbg_slice *slice, *look = NULL;
    int err = 0;
    if (!chop->session->out->json)
        err = cli_slice_look(chop->session, criterion, &how, is_forward, &look);
    how.record_parents = kept != NULL;
    if (!err)
        err = cli_slice_run(chop->session, criterion, &how, is_forward, look, &slice);
    *near = cli_nearness_of(look);
    wetdbg_slice_free(look);
    if (err)
        return err;
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(slice);
    chop->seconds += counts->seconds;
    chop->unknown_calls += is_forward ? 0 : counts->unknown_calls;
    err = wetdbg_set_of_slice(slice, set);
    if (!err && kept)
        *kept = slice;
    else
        wetdbg_slice_free(slice);
    return err;
}

/* Puts what is known of a further source to what is known of those before. */
static void join_near(struct cli_nearness **all, enum wetdbg_set_operation operation,
                      struct cli_nearness *one)
{
    struct cli_nearness *both = cli_nearness_combine(*all, operation, one);
    cli_nearness_free(*all);
    cli_nearness_free(one);
    *all = both;
}

static int add_forward(struct cli_chop *chop, const struct wetdbg_criterion *source)
{
    struct wetdbg_set *set, *joined;
    struct cli_nearness *near = NULL;
    int err = slice_one(chop, source, true, &set, &near, NULL);
    join_near(&chop->near, WETDBG_SET_OR, near);
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

static int cut_backward(struct cli_chop *chop)
{
    struct wetdbg_slice *slice = NULL;
    struct cli_nearness *near = NULL;
    int err = slice_one(chop, chop->target, false, &chop->backward, &near,
                        chop->keeps_parents ? &slice : NULL);
    join_near(&chop->near, WETDBG_SET_AND, near);
    if (!err)
        err = wetdbg_set_chop(chop->forward, chop->backward, &chop->both);
    if (!err && slice)
        err = wetdbg_slice_within(slice, chop->both, &chop->linked);
    wetdbg_slice_free(slice);
    return err;
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
    return err ? err : cut_backward(chop);
}

void cli_chop_fini(struct cli_chop *chop)
{
    wetdbg_slice_free(chop->linked);
    cli_nearness_free(chop->near);
    chop->linked = NULL;
    chop->near = NULL;
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
    if (chop->kinds == WETDBG_SLICE_THIN)
        return "no such dependence leads from the source to the target; --data in place of --thin "
               "follows addresses, too (of tables that are looked up), and without both control";
    if (chop->kinds != WETDBG_SLICE_FULL)
        return "no such dependence leads from the source to the target; leave out --data to "
               "follow control";
    if (chop->unknown_calls)
        return "no dependence that is known leads from the source to the target, and what some "
               "system calls read is not known; see 'slice backward' of the target";
    return "no dependence leads from the source to the target: perhaps what did not run is to "
           "blame, of which a run shows nothing; 'slice backward' of the target with --implicit "
           "tries decisions the other way to find it, 'decisions' has those that led there";
}

static void print_head(const struct cli_chop *chop, const struct wetdbg_slice *slice)
{
    struct cli_out *out = chop->session->out;
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(slice);
    const char *reason = cli_chop_why_empty(chop);
    fprintf(out->stream, "%s chop: ", cli_kinds_name(chop->kinds));
    cli_slice_counts_print(out->stream, counts);
    fprintf(out->stream,
            ", of %" PRIu64 " that depend on the source and %" PRIu64
            " that led to the target (%.2f s)\n",
            wetdbg_set_count(chop->forward), wetdbg_set_count(chop->backward),
            chop->seconds + counts->seconds);
    if (reason)
        fprintf(out->stream, "empty: %s\n", reason);
}

static int members_to_json(const struct cli_chop *chop, const struct cli_slice_view *view,
                           const struct cli_slice_manner *manner, json_t *object)
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
    int err = cli_slice_view_to_json(view, object);
    return err || !manner ? err
                          : cli_slice_manner_to_json(view, manner, chop->keeps_parents, object);
}

static int print_text(const struct cli_chop *chop, struct cli_slice_view *view,
                      const struct cli_slice_manner *manner)
{
    bool is_all = false;
    print_head(chop, view->slice);
    int err = manner ? cli_slice_manner_print(view, manner, chop->keeps_parents, &is_all) : 0;
    if (err || is_all)
        return err;
    if (view->near && wetdbg_set_count(chop->both))
        fputs("(by the sum of the distances from the source and to the target)\n",
              chop->session->out->stream);
    return cli_slice_view_print(view);
}

/* As text, or into `object` if there is one. */
static int show(const struct cli_chop *chop, struct cli_slice_view *view,
                const struct cli_slice_manner *manner, json_t *object)
{
    struct wetdbg_slice *slice = NULL;
    int err = chop->linked ? 0 : cli_slice_of_set(chop->session, chop->both, &slice);
    if (err)
        return err;
    view->near = chop->near;
    err = cli_slice_view_open(view, slice ? slice : chop->linked);
    if (!err)
        err = object ? members_to_json(chop, view, manner, object) : print_text(chop, view, manner);
    cli_slice_view_close(view);
    wetdbg_slice_free(slice);
    return err;
}

int cli_chop_print(const struct cli_chop *chop, struct cli_slice_view *view,
                   const struct cli_slice_manner *manner)
{
    return show(chop, view, manner, NULL);
}

int cli_chop_to_json(const struct cli_chop *chop, struct cli_slice_view *view,
                     const struct cli_slice_manner *manner, json_t *object)
{
    return show(chop, view, manner, object);
}
