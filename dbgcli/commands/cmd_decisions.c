/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `decisions`: the branches that lie nearest to the last criterion, and what else could have
 * been. */
#include <inttypes.h>
#include <stdlib.h>

#include "dbgcli/commands/origin_place.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/decisions.h>
#include <wetdbg/errors.h>

#define LIMIT_DEFAULT 10

static const struct cli_option options[] = {
    {"control", 0, NULL, "follow control dependence only"},
    {"no-exits", 0, NULL, "what decided not to exit, abort or longjmp controls nothing"},
    {"from-write", 0, NULL,
     "of output, from the call that wrote it; else from its buffer's filling"},
    {"limit", 0, "N", "at most N lines (10); 0: all"},
    {0},
};

const struct cli_syntax cli_cmd_decisions_syntax = {
    .example = "decisions output:28",
    .usage = "[CRITERION] [--control] [--limit N]",
    .options = options,
    .operands_max = 1,
    .details =
        "The program's branches that lie nearest to a criterion (as for slice; without one,\n"
        "that of the last slice), each line once, with the number of its instances in\n"
        "the slice (and of its branches: a condition with && has several): when the nearest ran,\n"
        "where the program went, and where it would have gone otherwise. Without line\n"
        "information each branch is told by its address.",
};

/* ---- the slice ---- */

static int take_criterion(struct cli_session *session, const struct cli_args *args)
{
    struct wetdbg_criterion *criterion;
    int err = cli_slice_criterion(session, args->operands[0], cli_args_has(args, "from-write"),
                                  &criterion);
    if (err)
        return err;
    cli_slice_remember(session, criterion,
                       &(struct wetdbg_slice_options){.kinds = WETDBG_SLICE_FULL}, false, NULL);
    return 0;
}

static int make_slice(struct cli_session *session, const struct cli_args *args)
{
    enum wetdbg_slice_kinds kinds =
        cli_args_has(args, "control") ? WETDBG_SLICE_CONTROL : WETDBG_SLICE_FULL;
    bool no_exits = cli_args_has(args, "no-exits");
    int err = args->operand_count ? take_criterion(session, args) : 0;
    if (!err && !session->criterion)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "decisions: of what? there is no slice yet");
    if (!err && session->is_forward)
        err = wetdbg_fail(-WETDBG_ERR_USAGE,
                          "decisions: of what? the last slice went forward, from a source");
    if (err)
        return err;
    if (no_exits != session->no_exits) {
        wetdbg_slice_free(session->slice);
        session->slice = NULL;
        session->no_exits = no_exits;
    }
    return cli_slice_need(session, kinds);
}

/* ---- text ---- */

static void print_place(struct cli_session *session, const char *before, uint64_t pc)
{
    struct cli_place place;
    cli_place_of_pc(session, pc, &place);
    fputs(before, session->out->stream);
    cli_place_print_exact(session, &place);
}

static const char *or_unknown(const char *name)
{
    return name ? name : "?";
}

static void print_decision(struct cli_session *session, const struct wetdbg_decision *decision)
{
    struct cli_out *out = session->out;
    struct cli_place place;
    cli_place_of_pc(session, decision->instance.pc, &place);
    fprintf(out->stream, "time %-12" PRIu64 " ", decision->instance.time);
    cli_place_print_exact(session, &place);
    fputs("  ", out->stream);
    cli_out_text(out, or_unknown(place.file ? place.function : place.module));
    fprintf(out->stream, "  x%" PRIu64, decision->instances);
    if (decision->branches > 1)
        fprintf(out->stream, " of %" PRIu32 " branches", decision->branches);
    cli_thread_print_at(session, decision->instance.time);
    if (place.text) {
        fputs("  | ", out->stream);
        cli_out_text(out, place.text);
    }
    if (decision->went)
        print_place(session, "\n     it went on to ", decision->went);
    if (decision->other)
        print_place(session, "; otherwise to ", decision->other);
    if (decision->is_way_out)
        fputs(", and would have left there", out->stream);
    putc('\n', out->stream);
}

static void print_text(struct cli_session *session, const struct wetdbg_decision *decisions,
                       size_t count)
{
    cli_out_text(session->out, wetdbg_criterion_get_info(session->criterion)->description);
    putc('\n', session->out->stream);
    for (size_t i = 0; i < count && !cli_out_is_gone(session->out); i++)
        print_decision(session, &decisions[i]);
    if (count == 0)
        fputs("no branch of the program's own decided it\n", session->out->stream);
    cli_uncertain_print(session, wetdbg_criterion_get_info(session->criterion)->time);
}

/* ---- JSON ---- */

static json_t *json_of_place(struct cli_session *session, uint64_t pc)
{
    struct cli_place place;
    if (!pc)
        return json_null();
    json_t *object = json_object();
    cli_place_of_pc(session, pc, &place);
    cli_place_to_json(object, &place);
    return object;
}

static void print_json(struct cli_session *session, const struct wetdbg_decision *decisions,
                       size_t count)
{
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(session->criterion);
    json_t *object = cli_json_object("wetdbg.decisions/1"), *rows = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *row = json_of_place(session, decisions[i].instance.pc);
        cli_json_set(row, "time", cli_json_count(decisions[i].instance.time));
        cli_json_set(row, "distance", json_integer(decisions[i].instance.distance));
        cli_json_set(row, "instances", cli_json_count(decisions[i].instances));
        cli_json_set(row, "branches", json_integer(decisions[i].branches));
        cli_json_set(row, "went", json_of_place(session, decisions[i].went));
        cli_json_set(row, "other", json_of_place(session, decisions[i].other));
        cli_json_set(row, "is_way_out", json_boolean(decisions[i].is_way_out));
        cli_thread_to_json_at(row, session, decisions[i].instance.time);
        cli_json_append(rows, row);
    }
    cli_json_set(object, "criterion", cli_json_text(info->text));
    cli_json_set(object, "description", cli_json_text(info->description));
    cli_uncertain_to_json(object, session, info->time);
    cli_json_set(object, "decisions", rows);
    cli_out_json(session->out, object);
}

int cli_cmd_decisions(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct wetdbg_decision *decisions;
    uint64_t limit;
    size_t count;
    (void)format;
    int err = cli_args_number(args, "limit", LIMIT_DEFAULT, &limit);
    if (!err)
        err = make_slice(session, args);
    if (!err)
        err = wetdbg_slice_decisions(session->slice, (size_t)limit, &decisions, &count);
    if (err)
        return err;
    if (repl->out->json)
        print_json(session, decisions, count);
    else
        print_text(session, decisions, count);
    free(decisions);
    return 0;
}
