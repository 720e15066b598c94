/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/pruning.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/nearness.h"
#include "dbgcli/commands/rest.h"
#include "dbgcli/commands/slice_groups.h"
#include "dbgcli/commands/slice_implied.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/meter.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>

/* Of a larger slice distances would take more memory than they are worth. */
#define DISTANCES_MAX (UINT64_C(4) << 20)

struct cli_pruning *cli_pruning_of(struct cli_session *session)
{
    if (!session->pruning) {
        session->pruning = cli_malloc(sizeof(*session->pruning));
        *session->pruning = (struct cli_pruning){0};
    }
    return session->pruning;
}

void cli_pruning_forget_right(struct cli_pruning *pruning)
{
    for (size_t i = 0; i < pruning->right_count; i++)
        wetdbg_criterion_free(pruning->right[i]);
    free(pruning->right);
    pruning->right = NULL;
    pruning->right_count = 0;
}

int cli_pruning_narrow(struct cli_pruning *pruning, struct wetdbg_set *set)
{
    struct wetdbg_set *both;
    int err = 0;
    if (pruning->within) {
        err = wetdbg_set_combine(pruning->within, WETDBG_SET_AND, set, &both);
        wetdbg_set_free(set);
        if (err)
            return err;
        set = both;
        wetdbg_set_free(pruning->within);
    }
    pruning->within = set;
    return err;
}

void cli_pruning_free(struct cli_pruning *pruning)
{
    if (!pruning)
        return;
    cli_pruning_forget_right(pruning);
    cli_pruning_forget_wrongs(pruning);
    for (size_t i = 0; i < pruning->mark_count; i++) {
        free(pruning->marks[i].text);
        free(pruning->marks[i].times);
    }
    free(pruning->marks);
    wetdbg_set_free(pruning->within);
    wetdbg_profile_free(pruning->profile);
    free(pruning->wrong);
    free(pruning);
}

/* ---- what is wrong, what is right ---- */

static const char *described(const struct cli_session *session)
{
    return wetdbg_criterion_get_info(session->criterion)->description;
}

/* Whether the session's criterion is not what the last round was about. */
static bool is_another(const struct cli_session *session)
{
    const char *wrong = session->pruning->wrong;
    return !wrong || strcmp(wrong, described(session)) != 0;
}

void cli_pruning_settle(struct cli_session *session)
{
    struct cli_pruning *pruning = cli_pruning_of(session);
    free(pruning->wrong);
    pruning->wrong = cli_strdup(described(session));
}

int cli_prune_check(struct cli_session *session)
{
    cli_pruning_of(session);
    if (!session->criterion)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "prune: of what? there is no slice yet; say prune --wrong CRITERION");
    if (session->is_forward)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "prune: of what? the last slice went forward, from a source; say prune "
                           "--wrong CRITERION");
    if (is_another(session))
        cli_pruning_forget_wrongs(session->pruning);
    return 0;
}

void cli_pruning_forget_wrongs(struct cli_pruning *pruning)
{
    for (size_t i = 0; i < pruning->wrong_count; i++)
        wetdbg_criterion_free(pruning->wrongs[i]);
    free(pruning->wrongs);
    pruning->wrongs = NULL;
    pruning->wrong_count = 0;
}

void cli_pruning_add_wrong(struct cli_pruning *pruning, struct wetdbg_criterion *criterion)
{
    pruning->wrongs =
        cli_realloc(pruning->wrongs, pruning->wrong_count + 1, sizeof(*pruning->wrongs));
    pruning->wrongs[pruning->wrong_count++] = criterion;
}

int cli_pruning_add_right(struct cli_session *session, struct wetdbg_criterion *criterion)
{
    struct cli_pruning *pruning = session->pruning;
    int err = wetdbg_prune_check(criterion, session->criterion);
    for (size_t i = 0; i < pruning->wrong_count && !err; i++)
        err = wetdbg_prune_check(criterion, pruning->wrongs[i]);
    if (err) {
        wetdbg_criterion_free(criterion);
        return err;
    }
    pruning->right = cli_realloc(pruning->right, pruning->right_count + 1, sizeof(*pruning->right));
    pruning->right[pruning->right_count++] = criterion;
    return 0;
}

int cli_prune_begin(struct cli_session *session)
{
    struct cli_pruning *pruning = cli_pruning_of(session);
    struct wetdbg_criterion *criterion;
    int err = cli_prune_check(session);
    if (err || !is_another(session))
        return err;
    cli_pruning_forget_right(pruning);
    err = wetdbg_prune_right_before(session->wet, session->criterion, &criterion);
    if (!err)
        err = cli_pruning_add_right(session, criterion);
    if (err && err != -WETDBG_ERR_NOT_FOUND)
        return err;
    cli_pruning_settle(session);
    return 0;
}

/* ---- a round ---- */

struct round {
    struct cli_session *session;
    const struct cli_prune_view *how;
    const struct wetdbg_slice *slice;
    struct wetdbg_slice *own; /* to be freed */
    struct wetdbg_prune *prune;
    wetdbg_time *good;
    size_t good_count;
    struct row {
        const struct wetdbg_prune_line *line;
        uint32_t distance;
        size_t rank; /* by a first look; the same of all lines if there are distances */
    } * rows;        /* the least confidence first, then the nearest */
    size_t count;
};

static int on_progress(void *arg, uint64_t done, uint64_t total)
{
    return cli_meter_update(arg, done, total);
}

static int said_so(int err)
{
    if (err == -WETDBG_ERR_INTERRUPTED)
        wetdbg_fail(err, "interrupted");
    return err;
}

/* Cuts the slice by what it is to be within; distances stay, if there are any. */
static int cut_slice(struct round *round)
{
    const struct wetdbg_slice_options options = {.session = round->session->slices};
    struct wetdbg_set *all, *left = NULL;
    struct wetdbg_slice *slice = NULL;
    bool has_distances = round->slice == round->session->slice;
    int err = wetdbg_set_of_slice(round->slice, &all);
    if (err)
        return err;
    err = wetdbg_set_combine(all, WETDBG_SET_AND, round->session->pruning->within, &left);
    wetdbg_set_free(all);
    if (!err && !wetdbg_set_count(left))
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                          "nothing of the slice is in what --from, --through and --within name; "
                          "leave one out");
    if (!err)
        err = has_distances ? wetdbg_slice_within(round->slice, left, &slice)
                            : wetdbg_slice_of_set(left, &options, &slice);
    wetdbg_set_free(left);
    if (err)
        return err;
    wetdbg_slice_free(round->own);
    round->slice = round->own = slice;
    return 0;
}

/* With distances, if it is not too large for that. */
static int make_slice(struct round *round)
{
    struct cli_session *session = round->session;
    struct wetdbg_slice_options how = {.kinds = WETDBG_SLICE_FULL, .no_exits = session->no_exits};
    int err = 0;

    if (session->implied)
        cli_implied_follow(session->implied, &how);
    if (!session->slice || session->kinds != WETDBG_SLICE_FULL)
        err = cli_slice_run(session, session->criterion, &how, false, NULL, &round->own);
    if (err)
        return err;
    round->slice = round->own;
    if (round->own && wetdbg_slice_get_counts(round->own)->instances > DISTANCES_MAX)
        return 0;
    err = cli_slice_need(session, WETDBG_SLICE_FULL);
    round->slice = session->slice;
    return err;
}

/* When the latest of what is right was. */
static wetdbg_time last_right(const struct round *round)
{
    const struct cli_pruning *pruning = round->session->pruning;
    wetdbg_time last = 0;
    for (size_t i = 0; i < pruning->right_count; i++) {
        wetdbg_time time = wetdbg_criterion_get_info(pruning->right[i])->time;
        last = time > last ? time : last;
    }
    for (size_t i = 0; i < round->good_count; i++)
        last = round->good[i] > last ? round->good[i] : last;
    return last;
}

/* Of a long run values are looked at as far back as the pass is likely to come. */
#define LOOKED_PER_JUDGED 16

static int need_profile(const struct round *round)
{
    struct cli_session *session = round->session;
    struct cli_pruning *pruning = session->pruning;
    uint64_t instructions = round->how->judge * LOOKED_PER_JUDGED;
    wetdbg_time last = last_right(round);
    struct cli_meter meter;
    if (instructions >= session->info->instructions ||
        round->how->judge > UINT64_MAX / LOOKED_PER_JUDGED)
        instructions = 0;
    if (!instructions)
        last = 0;
    if (pruning->profile && pruning->profile_last == last &&
        pruning->profile_instructions == instructions)
        return 0;
    wetdbg_profile_free(pruning->profile);
    pruning->profile = NULL;
    cli_meter_begin(&meter, session->out, "looking at values");
    int err = wetdbg_profile_make(session->wet, last, instructions, on_progress, &meter,
                                  &pruning->profile);
    cli_meter_end(&meter);
    pruning->profile_last = last;
    pruning->profile_instructions = instructions;
    return said_so(err);
}

static void gather_good(struct round *round)
{
    const struct cli_pruning *pruning = round->session->pruning;
    size_t count = 0;
    for (size_t i = 0; i < pruning->mark_count; i++)
        count += pruning->marks[i].is_good ? pruning->marks[i].count : 0;
    round->good = cli_malloc((count + 1) * sizeof(*round->good));
    for (size_t i = 0; i < pruning->mark_count; i++) {
        const struct cli_mark *mark = &pruning->marks[i];
        if (!mark->is_good || !mark->count)
            continue;
        memcpy(round->good + round->good_count, mark->times, mark->count * sizeof(*mark->times));
        round->good_count += mark->count;
    }
}

static int judge(struct round *round)
{
    struct cli_session *session = round->session;
    struct cli_pruning *pruning = session->pruning;
    struct cli_meter meter;
    struct wetdbg_prune_options options = {
        .right = (const struct wetdbg_criterion *const *)pruning->right,
        .right_count = pruning->right_count,
        .good = round->good,
        .good_count = round->good_count,
        .profile = pruning->profile,
        .limit = round->how->judge,
        .progress = on_progress,
        .arg = &meter,
    };
    cli_meter_begin(&meter, session->out, "looking for what is right");
    int err = wetdbg_prune(round->slice, &options, &round->prune);
    cli_meter_end(&meter);
    return said_so(err);
}

/* ---- lines in order ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (!x->line->looked != !y->line->looked)
        return !x->line->looked - !y->line->looked;
    if (x->line->confidence != y->line->confidence)
        return x->line->confidence < y->line->confidence ? -1 : 1;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

/* A slice without distances: those of the nearest lines are told by a first look. */
static int rank_rows(struct round *round)
{
    const struct wetdbg_slice_options how = {.kinds = WETDBG_SLICE_FULL,
                                             .no_exits = round->session->no_exits};
    struct wetdbg_slice *look;
    int err = cli_slice_look(round->session, round->session->criterion, &how, false, &look);
    if (err)
        return err;
    struct cli_nearness *near = cli_nearness_of(look);
    struct wetdbg_slice_line *lines = cli_realloc(NULL, round->count + 1, sizeof(*lines));
    size_t *order = cli_realloc(NULL, round->count + 1, sizeof(*order));
    for (size_t i = 0; i < round->count; i++) {
        lines[i] = *round->rows[i].line->line;
        order[i] = i;
    }
    cli_nearness_sort(near, lines, order, round->count);
    for (size_t n = 0; n < round->count; n++)
        round->rows[order[n]].rank = n;
    free(order);
    free(lines);
    cli_nearness_free(near);
    wetdbg_slice_free(look);
    return 0;
}

static int make_rows(struct round *round)
{
    const struct wetdbg_prune_line *lines = wetdbg_prune_lines(round->prune, &round->count);
    bool has_distances = false;
    round->rows = cli_malloc((round->count + 1) * sizeof(*round->rows));
    for (size_t i = 0; i < round->count; i++) {
        round->rows[i] = (struct row){&lines[i], lines[i].line->min_distance, 0};
        has_distances |= round->rows[i].distance != WETDBG_DISTANCE_UNKNOWN;
    }
    int err = has_distances ? 0 : rank_rows(round);
    qsort(round->rows, round->count, sizeof(*round->rows), compare_rows);
    return err;
}

/* ---- text ---- */

static bool is_shown(const struct round *round, const struct wetdbg_prune_line *line)
{
    bool is_pruned = line->confidence >= 1;
    if (is_pruned != round->how->shows_pruned)
        return false;
    return round->how->shows_all ? line->line->file != NULL
                                 : cli_slice_line_is_readable(round->session, line->line);
}

static void print_line(const struct round *round, const struct wetdbg_prune_line *row)
{
    struct cli_out *out = round->session->out;
    const struct wetdbg_slice_line *line = row->line;
    struct cli_place place = {.module = line->module, .file = line->file, .line = line->line};
    place.text = cli_source_text(round->session, line->file, line->line, line->pc);
    /* What is not certain is never shown as 1.00. */
    double shown = row->confidence < 1 && row->confidence > 0.99 ? 0.99 : row->confidence;
    if (row->looked)
        fprintf(out->stream, "%.2f  ", shown);
    else
        fputs("   ?  ", out->stream);
    cli_place_print(out, &place);
    fputs("  ", out->stream);
    cli_out_text(out, line->function);
    if (row->kept < line->instances && !round->how->shows_pruned)
        fprintf(out->stream, "  x%" PRIu64 " of %" PRIu64, row->kept, line->instances);
    else
        fprintf(out->stream, "  x%" PRIu64, line->instances);
    fputs("  | ", out->stream);
    cli_out_text(out, place.text);
    putc('\n', out->stream);
}

/* What was left out of a slice that is too large, or by Ctrl-C. */
static void print_looked(const struct round *round)
{
    const struct wetdbg_prune_counts *counts = wetdbg_prune_get_counts(round->prune);
    if (!counts->looked_to)
        return;
    fprintf(round->session->out->stream,
            "(%slooked at %" PRIu64 " of its instances, those from time %" PRIu64
            " on; the others have no confidence%s)\n",
            counts->is_interrupted ? "interrupted: " : "", counts->looked, counts->looked_to,
            counts->is_interrupted ? "" : "; --judge 0 looks at all");
}

static void print_summary(const struct round *round)
{
    struct cli_out *out = round->session->out;
    const struct wetdbg_prune_counts *counts = wetdbg_prune_get_counts(round->prune);
    const struct cli_pruning *pruning = round->session->pruning;
    cli_out_text(out, wetdbg_criterion_get_info(round->session->criterion)->description);
    fputs("\nright: ", out->stream);
    for (size_t i = 0; i < pruning->right_count; i++) {
        fputs(i ? ", " : "", out->stream);
        cli_out_text(out, wetdbg_criterion_get_info(pruning->right[i])->text);
    }
    for (size_t i = 0, shown = pruning->right_count; i < pruning->mark_count; i++)
        if (pruning->marks[i].is_good) {
            fputs(shown++ ? ", " : "", out->stream);
            cli_out_text(out, pruning->marks[i].text);
        }
    fprintf(out->stream,
            "\npruned slice: %" PRIu64 " of %" PRIu64 " instances, %" PRIu64 " of %" PRIu64
            " lines (%.2f s)\n",
            counts->kept, counts->instances, counts->kept_lines, counts->lines, counts->seconds);
    print_looked(round);
}

/* Of rows that are shown for their own sake: the first ones, then those that `more` shows. */
static void print_rows(const struct round *round, uint64_t *callers)
{
    struct cli_session *session = round->session;
    uint64_t shown = 0, left = 0;
    *callers = 0;
    for (size_t i = 0; i < round->count && !cli_out_is_gone(session->out); i++) {
        const struct wetdbg_prune_line *row = round->rows[i].line;
        if (!is_shown(round, row))
            continue;
        if (wetdbg_slice_line_only_calls(row->line) && !round->how->shows_all) {
            ++*callers;
            continue;
        }
        bool is_left = round->how->limit && shown == round->how->limit;
        if (is_left && !left++)
            cli_rest_begin(session);
        print_line(round, row);
        if (is_left)
            cli_rest_end_line(session);
        else
            shown++;
    }
    if (!left)
        return;
    cli_rest_end(session);
    fprintf(session->out->stream,
            "(%" PRIu64 " more; 'more' shows the next, --limit 0 shows all)\n", left);
}

/* What is left of libraries, by function. */
static void print_others(const struct round *round)
{
    struct wetdbg_slice_line *lines = cli_realloc(NULL, round->count + 1, sizeof(*lines));
    size_t count = 0;
    for (size_t i = 0; i < round->count; i++) {
        const struct wetdbg_prune_line *row = round->rows[i].line;
        if ((row->confidence >= 1) != round->how->shows_pruned)
            continue;
        lines[count] = *row->line;
        lines[count++].instances = round->how->shows_pruned ? row->line->instances : row->kept;
    }
    cli_slice_groups_print(round->session, lines, count, round->how->shows_all);
    free(lines);
}

static int show_text(const struct round *round)
{
    struct cli_out *out = round->session->out;
    uint64_t callers;
    print_summary(round);
    cli_rest_free(round->session);
    print_rows(round, &callers);
    if (callers)
        fprintf(out->stream,
                "(left out: %" PRIu64 " line%s that only called what is in the slice; --all shows "
                "%s)\n",
                callers, callers == 1 ? "" : "s", callers == 1 ? "it" : "them");
    print_others(round);
    return 0;
}

/* ---- JSON ---- */

static json_t *json_of_line(const struct round *round, const struct row *shown)
{
    const struct wetdbg_prune_line *row = shown->line;
    const struct wetdbg_slice_line *line = row->line;
    bool has_distance = shown->distance != WETDBG_DISTANCE_UNKNOWN;
    json_t *object = json_object();
    cli_json_set(object, "file", cli_json_text(line->file));
    cli_json_set(object, "line", line->file ? json_integer(line->line) : json_null());
    cli_json_set(object, "function", cli_json_text(line->function));
    cli_json_set(object, "linkage_name", cli_json_text(line->linkage_name));
    cli_json_set(object, "module", cli_json_text(line->module));
    cli_json_set(object, "confidence", row->looked ? json_real(row->confidence) : json_null());
    cli_json_set(object, "looked", cli_json_count(row->looked));
    cli_json_set(object, "instances", cli_json_count(line->instances));
    cli_json_set(object, "kept", cli_json_count(row->kept));
    cli_json_set(object, "only_calls", json_boolean(wetdbg_slice_line_only_calls(line)));
    cli_json_set(object, "distance", has_distance ? json_integer(shown->distance) : json_null());
    cli_json_set(object, "first_time", cli_json_count(line->first_time));
    cli_json_set(object, "last_time", cli_json_count(line->last_time));
    cli_json_set(object, "text",
                 cli_json_text(cli_source_text(round->session, line->file, line->line, line->pc)));
    return object;
}

static json_t *json_of_right(const struct cli_pruning *pruning)
{
    json_t *right = json_array();
    for (size_t i = 0; i < pruning->right_count; i++)
        cli_json_append(right, cli_json_text(wetdbg_criterion_get_info(pruning->right[i])->text));
    return right;
}

json_t *cli_marks_to_json(const struct cli_pruning *pruning)
{
    json_t *marks = json_array();
    for (size_t i = 0; i < pruning->mark_count; i++) {
        json_t *mark = json_object();
        cli_json_set(mark, "place", cli_json_text(pruning->marks[i].text));
        cli_json_set(mark, "good", json_boolean(pruning->marks[i].is_good));
        cli_json_set(mark, "instances", cli_json_count(pruning->marks[i].count));
        cli_json_append(marks, mark);
    }
    return marks;
}

static int show_json(const struct round *round)
{
    const struct cli_session *session = round->session;
    const struct wetdbg_prune_counts *counts = wetdbg_prune_get_counts(round->prune);
    json_t *object = cli_json_object("wetdbg.prune/1");
    json_t *lines = json_array(), *others = json_array();
    uint64_t shown = 0;
    cli_json_set(object, "criterion",
                 cli_json_text(wetdbg_criterion_get_info(session->criterion)->text));
    cli_json_set(object, "right", json_of_right(session->pruning));
    cli_json_set(object, "marks", cli_marks_to_json(session->pruning));
    cli_json_set(object, "instances", cli_json_count(counts->instances));
    cli_json_set(object, "kept_instances", cli_json_count(counts->kept));
    cli_json_set(object, "line_count", cli_json_count(counts->lines));
    cli_json_set(object, "kept_line_count", cli_json_count(counts->kept_lines));
    cli_json_set(object, "right_bytes", cli_json_count(counts->right_bytes));
    cli_json_set(object, "known_instances", cli_json_count(counts->known));
    cli_json_set(object, "unjudged_instances", cli_json_count(counts->unjudged));
    cli_json_set(object, "looked_instances", cli_json_count(counts->looked));
    cli_json_set(object, "looked_to",
                 counts->looked_to ? cli_json_count(counts->looked_to) : json_null());
    cli_json_set(object, "interrupted", json_boolean(counts->is_interrupted));
    cli_json_set(object, "seconds", json_real(counts->seconds));
    for (size_t i = 0; i < round->count; i++) {
        bool has_source = round->rows[i].line->line->file != NULL;
        if (has_source && round->how->limit && shown == round->how->limit)
            continue;
        shown += has_source;
        cli_json_append(has_source ? lines : others, json_of_line(round, &round->rows[i]));
    }
    cli_json_set(object, "lines", lines);
    cli_json_set(object, "without_lines", others);
    cli_out_json(session->out, object);
    return 0;
}

/* ---- all of it ---- */

/* Why there is nothing to begin from, and what to try. */
static int no_right(struct cli_session *session)
{
    struct wetdbg_criterion *criterion;
    int err = wetdbg_prune_right_before(session->wet, session->criterion, &criterion);
    if (!err) {
        wetdbg_criterion_free(criterion);
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "nothing is known to be right; say prune --ok");
    }
    return err;
}

int cli_prune_round(struct cli_session *session, const struct cli_prune_view *how)
{
    struct round round = {.session = session, .how = how};
    struct cli_pruning *pruning = session->pruning;
    int err = 0;
    gather_good(&round);
    if (!pruning->right_count && !round.good_count)
        err = no_right(session);
    if (!err)
        err = need_profile(&round);
    if (!err)
        err = make_slice(&round);
    if (!err && pruning->within)
        err = cut_slice(&round);
    if (!err)
        err = judge(&round);
    if (!err)
        err = make_rows(&round);
    if (!err) {
        err = session->out->json ? show_json(&round) : show_text(&round);
    }
    free(round.rows);
    wetdbg_prune_free(round.prune);
    wetdbg_slice_free(round.own);
    free(round.good);
    return err;
}
