/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `slice`: what led to a criterion, by source line or by instance, as text or as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/origin_place.h"
#include "dbgcli/commands/slice_against.h"
#include "dbgcli/commands/slice_implied.h"
#include "dbgcli/commands/slice_initials.h"
#include "dbgcli/commands/slice_made.h"
#include "dbgcli/commands/slice_manner.h"
#include "dbgcli/commands/slice_reached.h"
#include "dbgcli/commands/slice_view.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>

static const struct cli_option options[] = {
    {"data", 0, NULL, "no control dependence"},
    {"control", 0, NULL, "control dependence only"},
    {"thin", 0, NULL, "what computed the values only: no control, no addresses"},
    {"instances", 0, NULL, "under each line, its instances: time, distance, dependence"},
    {"unfold", 0, NULL, "with --instances, each one, not those of an instruction as one row"},
    {"limit", 0, "N", "at most N lines (40) and, unfolded, at most N instances of each; 0: all"},
    {"all", 0, NULL, "every line, also of libraries, and what only called others"},
    {"stats", 0, NULL, "how many instances by kind, module and function, in place of lines"},
    CLI_GRAPH_OPTIONS,
    CLI_AGAINST_OPTIONS,
    CLI_IMPLIED_OPTIONS,
    {"from-write", 0, NULL,
     "of output, from the call that wrote it; else from its buffer's filling"},
    {"no-exits", 0, NULL, "what decided not to exit, abort or longjmp controls nothing"},
    {"no-bypass", 0, NULL, "show the saving and restoring of registers around calls too"},
    {"loader", 0, NULL, "follow the dynamic linker too, which is passed by otherwise"},
    {0},
};

const struct cli_syntax cli_cmd_slice_syntax = {
    .example = "slice backward --data output:28",
    .usage = "backward|forward|both [--data|--control|--thin] CRITERION [--instances] [--limit N]\n"
             "      [--all]",
    .options = options,
    .next = "more",
    .operands_min = 1,
    .operands_max = 2,
    .details =
        "Backward: which executed instructions made a value what it is, by source line, the\n"
        "nearest first. Forward: which ones depend on it, the nearest to it first, and what of\n"
        "the output they came to. Both: the two together, a line as near as either way says.\n"
        "What only copies a value is as near as who uses the copy.\n"
        "CRITERION is one of\n"
        "  crash                          what the signal that ended the run was due to\n"
        "  exit                           the exit status\n"
        "  output[:FD]:OFFSET[+LEN]       bytes that were written (see 'output'), from where the\n"
        "                                 program put them into the buffer that was written\n"
        "  output:PATH:OFFSET[+LEN]       bytes of a file that the program wrote, as it left it\n"
        "  output[:FD|:PATH]:end          why there was no more of it\n"
        "  input[:FD|:PATH]:OFFSET[+LEN]  bytes that were read, from descriptor 0 by default\n"
        "  argv:N[:OFFSET[+LEN]]          an argument, or bytes of it\n"
        "  env:NAME[:OFFSET[+LEN]]        a variable of the environment\n"
        "  FILE:LINE[#K][:VARIABLE]       a variable just before a line ran the K-th time, or\n"
        "                                 all that the line used; without #K, the last time\n"
        "  FUNCTION[#K]                   its K-th call: why it was called, and its arguments\n"
        "  MODULE+0xOFFSET[#K]            all that an instruction used, by how it is shown:\n"
        "                                 bc+0x2f1b, main+20\n"
        "  VARIABLE[@TIME]                a variable, member or element as 'print' takes it\n"
        "  *ADDRESS[+LEN][@TIME]          bytes of memory just before TIME; without @TIME, now\n"
        "  $REGISTER[@TIME]               a register, a part ($ah, $xmm3) or a flag ($zf)",
};

enum direction { BACKWARD, FORWARD, BOTH };
static const char *const directions[] = {"backward", "forward", "both"};

/* What is asked for. */
struct request {
    enum direction direction;
    const char *text; /* the criterion, borrowed */
    bool from_write;
    const struct cli_args *implied; /* the options of implicit dependences; NULL: none are wanted */
    struct wetdbg_slice_options how;
};

/* What came of it. */
struct answer {
    enum direction direction;
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *backward, *forward; /* NULL: not asked for; or the run ends there */
    struct wetdbg_set *set;                  /* of both */
    struct wetdbg_slice *joined;             /* that set */
    struct wetdbg_slice *shown;              /* one of the three */
    struct wetdbg_slice *looks[2];           /* first ones back and ahead, for people; or NULL */
    struct cli_nearness *near;               /* what these tell */
    struct cli_implied *implied;             /* NULL: not asked for */
    uint64_t unknown_calls;
    double seconds;
};

/* ---- making it ---- */

static int parse_operands(const struct cli_args *args, struct request *request)
{
    const char *first = args->operands[0];
    size_t length = strlen(first), i = 0;
    while (i < 3 && strncmp(directions[i], first, length) != 0)
        i++;
    if (args->operand_count == 1 && i < 3)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "slice: of what? slice %s CRITERION; 'help slice' says what that can be",
                           directions[i]);
    if (args->operand_count == 2 && i == 3)
        return wetdbg_fail(
            -WETDBG_ERR_USAGE,
            "slice: '%s' is no direction; there are 'backward', 'forward' and 'both'", first);
    request->direction = args->operand_count == 2 ? (enum direction)i : BACKWARD;
    request->text = args->operands[args->operand_count - 1];
    return 0;
}

static int parse(const struct cli_args *args, struct request *request)
{
    *request = (struct request){
        .from_write = cli_args_has(args, "from-write"),
        .how =
            {
                .no_exits = cli_args_has(args, "no-exits"),
                .no_bypass = cli_args_has(args, "no-bypass"),
                .loader = cli_args_has(args, "loader"),
            },
    };
    int err = parse_operands(args, request);
    if (!err)
        err = cli_kinds_from(args, &request->how.kinds);
    bool is_linked =
        cli_args_has(args, "tree") || cli_args_has(args, "dot") || cli_args_has(args, "svg");
    if (!err && is_linked && request->direction == BOTH)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "slice: both ways there are no distances: --tree, --dot and --svg take "
                           "one direction");
    int implied = err ? 0
                      : cli_implied_wanted(args, request->direction == BACKWARD &&
                                                     request->how.kinds == WETDBG_SLICE_FULL);
    if (implied < 0)
        return implied;
    request->implied = implied ? args : NULL;
    request->how.record_parents =
        (is_linked || cli_args_has(args, "instances") || cli_args_has(args, "stats")) &&
        request->direction != BOTH;
    return err;
}

static void free_slices(struct answer *answer)
{
    cli_implied_free(answer->implied);
    wetdbg_slice_free(answer->looks[0]);
    wetdbg_slice_free(answer->looks[1]);
    cli_nearness_free(answer->near);
    wetdbg_slice_free(answer->joined);
    wetdbg_slice_free(answer->backward);
    wetdbg_slice_free(answer->forward);
    wetdbg_set_free(answer->set);
}

/* Puts the two slices together; of a criterion where the run ends there is only one. */
static int join(struct cli_session *session, struct answer *answer)
{
    struct wetdbg_set *one = NULL, *other = NULL;
    int err = wetdbg_set_of_slice(answer->backward, &one);
    if (!err && answer->forward)
        err = wetdbg_set_of_slice(answer->forward, &other);
    if (!err && other)
        err = wetdbg_set_combine(one, WETDBG_SET_OR, other, &answer->set);
    wetdbg_set_free(other);
    if (err || other)
        wetdbg_set_free(one);
    else
        answer->set = one;
    if (!err)
        err = cli_slice_of_set(session, answer->set, &answer->joined);
    answer->shown = answer->joined;
    return err;
}

static void count(struct answer *answer, const struct wetdbg_slice *slice)
{
    if (!slice)
        return;
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(slice);
    answer->unknown_calls += counts->unknown_calls;
    answer->seconds += counts->seconds;
}

/* First looks, each way that is asked for. Nothing comes after the end of the run. */
static int look(struct cli_session *session, const struct request *request, struct answer *answer)
{
    int err = 0;
    if (request->direction != FORWARD)
        err = cli_slice_look(session, answer->criterion, &request->how, false, &answer->looks[0]);
    if (!err && request->direction != BACKWARD)
        err = cli_slice_look(session, answer->criterion, &request->how, true, &answer->looks[1]);
    if (err == -WETDBG_ERR_NOT_FOUND && answer->looks[0])
        err = 0;
    struct cli_nearness *back = cli_nearness_of(answer->looks[0]);
    struct cli_nearness *ahead = cli_nearness_of(answer->looks[1]);
    answer->near = cli_nearness_combine(back, WETDBG_SET_OR, ahead);
    cli_nearness_free(back);
    cli_nearness_free(ahead);
    return err;
}

static int slice(struct cli_session *session, const struct request *request, struct answer *answer)
{
    int err = 0;
    if (request->direction != FORWARD)
        err = cli_slice_run(session, answer->criterion, &request->how, false, answer->looks[0],
                            &answer->backward);
    if (!err && request->direction != BACKWARD)
        err = cli_slice_run(session, answer->criterion, &request->how, true, answer->looks[1],
                            &answer->forward);
    if (err == -WETDBG_ERR_NOT_FOUND && answer->backward)
        err = 0; /* nothing comes after it */
    answer->shown = answer->backward ? answer->backward : answer->forward;
    if (!err && request->direction == BOTH)
        err = join(session, answer);
    return err;
}

/* Of a criterion that the answer has. */
static int make_slices(struct cli_session *session, const struct request *request,
                       struct answer *answer)
{
    int err = 0;
    if (!request->how.record_parents && !session->out->json)
        err = look(session, request, answer);
    if (!err)
        err = slice(session, request, answer);
    if (err) {
        free_slices(answer);
        wetdbg_criterion_free(answer->criterion);
        return err;
    }
    if (request->how.record_parents)
        answer->near = cli_nearness_of(answer->shown);
    count(answer, answer->backward);
    count(answer, answer->forward);
    count(answer, answer->joined);
    return 0;
}

static int make(struct cli_session *session, const struct request *request, struct answer *answer)
{
    *answer = (struct answer){.direction = request->direction};
    int err = cli_slice_criterion(session, request->text, request->from_write, &answer->criterion);
    struct request with = *request;
    if (!err && request->implied) {
        err = cli_implied_find(session, request->implied, answer->criterion, &with.how,
                               &answer->implied);
        if (err)
            wetdbg_criterion_free(answer->criterion);
    }
    return err ? err : make_slices(session, &with, answer);
}

/* From now on `why`, `decisions` and `prune` speak of it: of both ways, of what led there. The
 * session takes the criterion and implicit dependences over. */
static void remember(struct cli_session *session, const struct request *request,
                     const struct answer *answer)
{
    cli_slice_remember(session, answer->criterion, &request->how, request->direction == FORWARD,
                       NULL);
    session->implied = answer->implied;
}

int cli_slice_to_set(struct cli_session *session, const struct cli_args *args,
                     struct cli_made *made)
{
    struct request request;
    struct answer answer;
    int err = parse(args, &request);
    if (!err)
        err = make(session, &request, &answer);
    if (err)
        return err;
    made->set = answer.set;
    made->near = answer.near;
    answer.set = NULL;
    answer.near = NULL;
    if (!made->set)
        err = wetdbg_set_of_slice(answer.shown, &made->set);
    if (!err && answer.implied && answer.implied->plain)
        err = wetdbg_set_of_slice(answer.implied->plain, &made->plain);
    made->lines = wetdbg_slice_get_counts(answer.shown)->lines;
    made->seconds = answer.seconds;
    remember(session, &request, &answer);
    answer.implied = NULL; /* the session has it */
    free_slices(&answer);
    return err;
}

/* ---- text ---- */

static wetdbg_time looked_to(const struct wetdbg_slice *look)
{
    return look ? wetdbg_slice_get_counts(look)->looked_to : 0;
}

/* Which instances have distances, if not all have. */
static void print_looked(const struct answer *answer, FILE *to)
{
    wetdbg_time since = looked_to(answer->looks[0]), until = looked_to(answer->looks[1]);
    if (!since && !until)
        return;
    fputs("(the nearest first, of those ", to);
    if (since)
        fprintf(to, "since time %" PRIu64, since);
    if (until)
        fprintf(to, "%sup to time %" PRIu64, since ? " and " : "", until);
    fprintf(to, "; then the %s)\n", answer->direction == FORWARD ? "earliest" : "most recent");
}

static void print_counts(const struct cli_session *session, const struct answer *answer)
{
    static const char *const ways[] = {"slice", "forward slice", "slice both ways"};
    FILE *to = session->out->stream;
    uint64_t later = answer->forward ? wetdbg_slice_get_counts(answer->forward)->instances : 0;
    fprintf(to, "%s %s: ", cli_kinds_name(session->kinds), ways[answer->direction]);
    cli_slice_counts_print(to, wetdbg_slice_get_counts(answer->shown));
    if (answer->direction == BOTH)
        fprintf(to, ", %" PRIu64 " led to it, %" PRIu64 " depend%s on it",
                wetdbg_slice_get_counts(answer->backward)->instances, later, later == 1 ? "s" : "");
    fprintf(to, " (%.2f s)\n", answer->seconds);
    if (answer->unknown_calls)
        fprintf(to,
                "(approximate: what %" PRIu64 " system call%s read is not known, no signature)\n",
                answer->unknown_calls, answer->unknown_calls == 1 ? "" : "s");
    print_looked(answer, to);
}

static int print_body(struct cli_slice_view *view, const struct answer *answer,
                      const struct cli_slice_manner *manner)
{
    struct cli_session *session = view->session;
    bool is_all;
    int err = cli_slice_manner_print(view, manner, answer->direction != BOTH, &is_all);
    if (err || is_all)
        return err;
    err = cli_slice_view_print(view);
    if (err)
        return err;
    if (answer->forward)
        cli_slice_reached_print(session, answer->forward, view->shows_all);
    if (answer->backward)
        cli_slice_initials_print(session, answer->backward, view->shows_all);
    return 0;
}

static int print_text(struct cli_slice_view *view, const struct answer *answer,
                      const struct cli_slice_manner *manner)
{
    struct cli_out *out = view->session->out;
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(answer->criterion);
    bool is_forward = answer->direction == FORWARD;
    cli_out_text(out, is_forward ? info->source : info->description);
    if (info->written && !is_forward)
        fprintf(out->stream,
                "\n(from there to the write at time %" PRIu64 " it is one step, %" PRIu64
                " instructions; --from-write follows it)",
                info->written, info->written - info->born.time);
    putc('\n', out->stream);
    print_counts(view->session, answer);
    cli_implied_print(view->session, answer->implied, view->shows_all);
    int err = print_body(view, answer, manner);
    if (!err)
        cli_uncertain_print(view->session, info->time);
    return err;
}

/* ---- JSON ---- */

/* Where output was put into its buffer, if the slice begins there. */
static json_t *json_of_birth(struct cli_slice_view *view, const struct wetdbg_criterion_info *info)
{
    struct cli_place place;
    if (!info->written)
        return json_null();
    json_t *object = json_object();
    cli_json_set(object, "time", cli_json_count(info->born.time));
    cli_place_of_pc(view->session, info->born.pc, &place);
    place.file = info->born.file;
    place.line = info->born.line;
    place.function = info->born.function;
    place.text = cli_source_text(view->session, place.file, place.line, place.pc);
    cli_place_to_json(object, &place);
    cli_json_set(object, "written", cli_json_count(info->written));
    return object;
}

static int print_json(struct cli_slice_view *view, const struct answer *answer,
                      const struct cli_slice_manner *manner)
{
    struct cli_session *session = view->session;
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(answer->criterion);
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(answer->shown);
    const struct wetdbg_slice *back = answer->backward ? answer->backward : answer->forward;
    json_t *object = cli_json_object("wetdbg.slice/1");
    cli_json_set(object, "criterion", cli_json_text(info->text));
    cli_json_set(object, "description",
                 cli_json_text(answer->direction == FORWARD ? info->source : info->description));
    cli_json_set(object, "time", cli_json_count(info->time));
    cli_thread_to_json_at(object, session, info->time);
    cli_uncertain_to_json(object, session, info->time);
    cli_json_set(object, "birth", json_of_birth(view, info));
    cli_json_set(object, "direction", cli_json_text(directions[answer->direction]));
    cli_json_set(object, "kinds", cli_json_text(cli_kinds_name(session->kinds)));
    cli_json_set(object, "instances", cli_json_count(counts->instances));
    cli_json_set(object, "statements", cli_json_count(counts->statements));
    cli_json_set(object, "line_count", cli_json_count(counts->lines));
    cli_json_set(object, "unknown_calls", cli_json_count(answer->unknown_calls));
    cli_json_set(object, "seconds", json_real(answer->seconds));
    cli_implied_to_json(session, answer->implied, object);
    int err = cli_slice_view_to_json(view, object);
    if (!err)
        err = cli_slice_manner_to_json(view, manner, answer->direction != BOTH, object);
    cli_json_set(object, "initials", cli_slice_initials_json(session, back));
    cli_json_set(object, "start", cli_slice_start_json(session, back));
    if (answer->direction != BACKWARD)
        cli_slice_reached_to_json(object, answer->forward ? answer->forward : answer->shown);
    if (err)
        json_decref(object);
    else
        cli_out_json(session->out, object);
    return err;
}

/* ---- one of an instance, amid another answer ---- */

int cli_slice_both_show(struct cli_session *session, struct wetdbg_criterion *criterion,
                        uint64_t limit, json_t *object)
{
    struct request request = {.direction = BOTH, .how = {.kinds = WETDBG_SLICE_FULL}};
    struct answer answer = {.direction = BOTH, .criterion = criterion};
    int err = make_slices(session, &request, &answer);
    if (err)
        return err;
    struct cli_slice_view view = {.session = session,
                                  .limit = limit,
                                  .has_lines_only = true,
                                  .near = answer.near,
                                  .rest_hint = "'slice both' of it shows them"};
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(answer.shown);
    err = cli_slice_view_open(&view, answer.shown);
    if (!err && object) {
        cli_json_set(object, "instances", cli_json_count(counts->instances));
        cli_json_set(object, "line_count", cli_json_count(counts->lines));
        err = cli_slice_view_to_json(&view, object);
    } else if (!err) {
        print_counts(session, &answer);
        err = cli_slice_view_print(&view);
    }
    cli_slice_view_close(&view);
    free_slices(&answer);
    wetdbg_criterion_free(criterion);
    return err;
}

/* ---- the command ---- */

int cli_cmd_slice(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct cli_slice_view view = {
        .session = session,
        .has_instances = cli_args_has(args, "instances"),
        .unfolds = cli_args_has(args, "unfold"),
        .shows_all = cli_args_has(args, "all"),
    };
    struct cli_slice_manner manner;
    struct request request;
    struct answer answer;
    (void)format;
    int err = parse(args, &request);
    if (!err)
        err = cli_slice_view_limit(&view, args);
    if (!err)
        err = make(session, &request, &answer);
    if (err)
        return err;
    struct cli_against *against;
    err = cli_against_make(session, args, answer.criterion, &request.how,
                           request.direction == FORWARD, answer.shown, &against);
    if (err) {
        free_slices(&answer);
        wetdbg_criterion_free(answer.criterion);
        return err;
    }
    cli_slice_manner_parse(args, view.limit, &manner);
    remember(session, &request, &answer);
    view.against = against;
    view.near = answer.near;
    if (answer.implied)
        view.plain = answer.implied->plain ? answer.implied->plain : answer.shown;
    err = cli_slice_view_open(&view, answer.shown);
    if (!err)
        err = repl->out->json ? print_json(&view, &answer, &manner)
                              : print_text(&view, &answer, &manner);
    cli_slice_view_close(&view);
    cli_against_free(against);
    if (request.how.record_parents && !request.how.no_bypass && !request.how.loader) {
        session->slice = answer.shown;
        answer.backward = answer.forward = NULL;
    }
    answer.implied = NULL; /* the session has it */
    free_slices(&answer);
    return err;
}
