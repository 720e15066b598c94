/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/slice_against.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/passing_run.h"
#include "dbgcli/meter.h"
#include <wetdbg/errors.h>

struct cli_against {
    enum wetdbg_measure measure;
    struct cli_passing_run *runs;
    size_t count;
    struct wetdbg_against *lines;
    size_t line_count;
    size_t *order;
};

static void *zeroed(size_t count, size_t bytes)
{
    return memset(cli_malloc(count * bytes + 1), 0, count * bytes);
}

/* ---- the order ---- */

static double score(const struct cli_against *against, uint32_t passing)
{
    const struct wetdbg_spectrum spectrum = {
        .fail_with = 1, .pass_with = passing, .pass_without = against->count - passing};
    return wetdbg_measure_score(against->measure, &spectrum);
}

static double newness(const struct wetdbg_against *line)
{
    return line->values ? (double)line->new_values / line->values : 0;
}

/* > 0 if b comes before a: more suspicious by executions, then by slices, then by values; 0 if they
 * are alike. */
static int compare(const struct cli_against *against, size_t a, size_t b)
{
    const struct wetdbg_against *x = &against->lines[a], *y = &against->lines[b];
    const double keys[][2] = {
        {score(against, x->executed), score(against, y->executed)},
        {score(against, x->sliced), score(against, y->sliced)},
        {newness(x), newness(y)},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? 1 : -1;
    return 0;
}

/* A line on its way to its place. */
struct ranked {
    const struct cli_against *against;
    size_t line, at; /* in the old order */
};

static int by_suspicion(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    int order = compare(a->against, a->line, b->line);
    return order ? order : a->at < b->at ? -1 : a->at > b->at;
}

void cli_against_sort(const struct cli_against *against, size_t *lines, size_t count)
{
    if (!against || !count)
        return;
    struct ranked *ranked = cli_realloc(NULL, count, sizeof(*ranked));
    for (size_t i = 0; i < count; i++)
        ranked[i] = (struct ranked){against, lines[i], i};
    qsort(ranked, count, sizeof(*ranked), by_suspicion);
    for (size_t i = 0; i < count; i++)
        lines[i] = ranked[i].line;
    free(ranked);
}

static void rank(struct cli_against *against)
{
    against->order = zeroed(against->line_count + 1, sizeof(*against->order));
    for (size_t i = 0; i < against->line_count; i++)
        against->order[i] = i;
    cli_against_sort(against, against->order, against->line_count);
}

/* ---- making it ---- */

static bool is_unwanted(void *arg)
{
    return cli_meter_update(arg, 0, 1);
}

static int hold(struct cli_session *session, const struct wetdbg_slice *slice,
                struct cli_against *against)
{
    struct wetdbg_passing *passing = zeroed(against->count, sizeof(*passing));
    struct cli_meter meter;
    for (size_t i = 0; i < against->count; i++)
        passing[i] = (struct wetdbg_passing){against->runs[i].session.wet, against->runs[i].slice};
    cli_meter_begin(&meter, session->out, "comparing");
    int err = wetdbg_slice_hold_against(slice, passing, against->count, is_unwanted, &meter,
                                        &against->lines);
    cli_meter_end(&meter);
    free(passing);
    wetdbg_slice_lines(slice, &against->line_count);
    if (!err)
        rank(against);
    return err;
}

static int parse(const struct cli_args *args, struct cli_against **out)
{
    const char *measure = cli_args_value(args, "measure");
    size_t count = 0;
    *out = NULL;
    for (size_t i = 0; i < args->given_count; i++)
        count += args->given[i].option->name && strcmp(args->given[i].option->name, "against") == 0;
    if (!count)
        return measure ? wetdbg_fail(-WETDBG_ERR_USAGE,
                                     "%s: --measure ranks what --against=RUN compares", args->name)
                       : 0;
    struct cli_against *against = zeroed(1, sizeof(*against));
    against->runs = zeroed(count, sizeof(*against->runs));
    for (size_t i = 0; i < args->given_count; i++)
        if (args->given[i].option->name && strcmp(args->given[i].option->name, "against") == 0)
            against->runs[against->count++].name = args->given[i].value;
    *out = against;
    return measure ? wetdbg_measure_parse(measure, &against->measure) : 0;
}

int cli_against_make(struct cli_session *session, const struct cli_args *args,
                     const struct wetdbg_criterion *criterion,
                     const struct wetdbg_slice_options *how, bool is_forward,
                     const struct wetdbg_slice *slice, struct cli_against **out)
{
    int err = parse(args, out);
    struct cli_against *against = *out;
    for (size_t i = 0; against && i < against->count && !err; i++) {
        struct cli_passing_run *run = &against->runs[i];
        err = cli_passing_run_open(session, run);
        if (!err)
            err = cli_passing_run_slice(session, criterion, how, is_forward, run);
    }
    if (against && !err)
        err = hold(session, slice, against);
    if (err) {
        cli_against_free(against);
        *out = NULL;
    }
    return err;
}

void cli_against_free(struct cli_against *against)
{
    if (!against)
        return;
    for (size_t i = 0; i < against->count; i++)
        cli_passing_run_close(&against->runs[i]);
    free(against->runs);
    free(against->lines);
    free(against->order);
    free(against);
}

/* ---- showing it ---- */

size_t cli_against_line(const struct cli_against *against, size_t n)
{
    return against ? against->order[n] : n;
}

void cli_against_print_head(const struct cli_against *against, struct cli_out *out)
{
    size_t sliced = 0;
    if (!against)
        return;
    for (size_t i = 0; i < against->count; i++)
        sliced += against->runs[i].slice != NULL;
    fprintf(out->stream,
            "by %s, against %zu passing run%s (%zu with a slice that corresponds)\n"
            "* no passing run executed it   + none has it in its slice   ~ values that none "
            "made\n",
            wetdbg_measure_name(against->measure), against->count, against->count == 1 ? "" : "s",
            sliced);
}

const char *cli_against_mark(const struct cli_against *against, size_t line)
{
    if (!against)
        return "";
    const struct wetdbg_against *found = &against->lines[line];
    return !found->executed ? "* " : !found->sliced ? "+ " : found->new_values ? "~ " : "  ";
}

void cli_against_print_score(const struct cli_against *against, struct cli_out *out, size_t line)
{
    if (!against)
        return;
    const struct wetdbg_against *found = &against->lines[line];
    fprintf(out->stream, "  %.2f", score(against, found->executed));
    if (found->new_values)
        fprintf(out->stream, " (%" PRIu32 " of %" PRIu32 " values)", found->new_values,
                found->values);
}

void cli_against_to_json(const struct cli_against *against, json_t *object)
{
    if (!against)
        return;
    json_t *info = json_object(), *runs = json_array();
    for (size_t i = 0; i < against->count; i++) {
        json_t *run = json_object();
        cli_json_set(run, "run", cli_json_text(against->runs[i].name));
        cli_json_set(run, "has_slice", json_boolean(against->runs[i].slice != NULL));
        cli_json_append(runs, run);
    }
    cli_json_set(info, "measure", cli_json_text(wetdbg_measure_name(against->measure)));
    cli_json_set(info, "runs", runs);
    cli_json_set(object, "against", info);
}

void cli_against_line_to_json(const struct cli_against *against, size_t line, json_t *row)
{
    if (!against)
        return;
    const struct wetdbg_against *found = &against->lines[line];
    json_t *object = json_object();
    cli_json_set(object, "score", json_real(score(against, found->executed)));
    cli_json_set(object, "slice_score", json_real(score(against, found->sliced)));
    cli_json_set(object, "executed", cli_json_count(found->executed));
    cli_json_set(object, "sliced", cli_json_count(found->sliced));
    cli_json_set(object, "values", cli_json_count(found->values));
    cli_json_set(object, "new_values", cli_json_count(found->new_values));
    cli_json_set(row, "against", object);
}
