/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `diff`: what one named slice has and the other has not. */
#include <inttypes.h>
#include <stdlib.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/rest.h"
#include "dbgcli/commands/set_expression.h"
#include "dbgcli/commands/slice_manner.h"
#include "dbgcli/commands/slicing.h"
#include <wetdbg/errors.h>

static const struct cli_option options[] = {
    {"limit", 0, "N", "at most N lines of each (40); 0: all"},
    {"all", 0, NULL, "every line, also of libraries, and what only called others"},
    CLI_STATS_OPTION,
    CLI_NO_GRAPH_OPTIONS,
    {0},
};

const struct cli_syntax cli_cmd_diff_syntax = {
    .example = "diff A B",
    .usage = "A B [--limit N] [--all] [--stats]",
    .options = options,
    .next = "more",
    .operands_min = 2,
    .operands_max = 2,
    .details =
        "By line, the instances of a named slice that another one has not, and the other way\n"
        "round. A line of which both have instances, but not the same, says so. Either may\n"
        "be an expression in quotes: diff A 'B | C'. Lines come as 'show' has them: the nearest\n"
        "first, as far as distances are known.",
};

/* Instances that are in one and not in the other, or in both. */
struct part {
    struct wetdbg_set *set;
    struct wetdbg_slice *slice;
};

/* A line, whichever slice it is of: slices of a session share what their lines are made of. */
struct key {
    const char *file, *function;
    uint32_t line;
};

struct keys {
    struct key *list;
    size_t count;
};

struct comparison {
    struct cli_session *session;
    const char *names[2];
    uint64_t instances[2]; /* of each */
    struct part only[2], both;
    struct keys keys[2];          /* the lines of each */
    struct cli_nearness *near[2]; /* of each */
    struct cli_slice_manner manner;
};

static int make_part(struct comparison *comparison, const struct wetdbg_set *a,
                     enum wetdbg_set_operation operation, const struct wetdbg_set *b,
                     struct part *part)
{
    int err = wetdbg_set_combine(a, operation, b, &part->set);
    return err ? err : cli_slice_of_set(comparison->session, part->set, &part->slice);
}

static int by_line(const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    if (a->file != b->file)
        return (uintptr_t)a->file < (uintptr_t)b->file ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return (uintptr_t)a->function < (uintptr_t)b->function ? -1 : a->function != b->function;
}

static struct key key_of(const struct wetdbg_slice_line *line)
{
    return (struct key){line->file, line->function, line->line};
}

static void add_keys(struct keys *keys, const struct wetdbg_slice *slice)
{
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);
    keys->list = cli_realloc(keys->list, keys->count + count + 1, sizeof(*keys->list));
    for (size_t i = 0; i < count; i++)
        keys->list[keys->count++] = key_of(&lines[i]);
}

static int make(struct comparison *comparison)
{
    struct cli_named_slices *named = comparison->session->named;
    struct cli_made made[2] = {{.set = NULL}};
    struct wetdbg_set *sets[2] = {NULL, NULL};
    int err = 0;
    for (size_t i = 0; i < 2 && !err; i++) {
        err = cli_set_evaluate(named, comparison->names[i], &made[i]);
        sets[i] = made[i].set;
        comparison->near[i] = made[i].near;
        wetdbg_set_free(made[i].plain);
    }
    if (!err)
        err = make_part(comparison, sets[0], WETDBG_SET_MINUS, sets[1], &comparison->only[0]);
    if (!err)
        err = make_part(comparison, sets[1], WETDBG_SET_MINUS, sets[0], &comparison->only[1]);
    if (!err)
        err = make_part(comparison, sets[0], WETDBG_SET_AND, sets[1], &comparison->both);
    for (size_t i = 0; i < 2; i++) {
        if (!err) {
            comparison->instances[i] = wetdbg_set_count(sets[i]);
            add_keys(&comparison->keys[i], comparison->only[i].slice);
            add_keys(&comparison->keys[i], comparison->both.slice);
            qsort(comparison->keys[i].list, comparison->keys[i].count, sizeof(struct key), by_line);
        }
        wetdbg_set_free(sets[i]);
    }
    return err;
}

static void free_part(struct part *part)
{
    wetdbg_slice_free(part->slice);
    wetdbg_set_free(part->set);
}

static bool is_in_keys(const void *arg, const struct wetdbg_slice_line *line)
{
    const struct keys *keys = arg;
    const struct key key = key_of(line);
    return bsearch(&key, keys->list, keys->count, sizeof(key), by_line) != NULL;
}

/* ---- showing ---- */

static int show_side_text(const struct comparison *comparison, size_t side,
                          struct cli_slice_view *view)
{
    struct cli_out *out = comparison->session->out;
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(view->slice);
    fputs("only in ", out->stream);
    cli_out_text(out, comparison->names[side]);
    if (!wetdbg_set_count(comparison->only[side].set)) {
        fputs(": nothing\n", out->stream);
        return 0;
    }
    fputs(": ", out->stream);
    cli_slice_counts_print(out->stream, counts);
    putc('\n', out->stream);
    bool is_all;
    int err = cli_slice_manner_print(view, &comparison->manner, false, &is_all);
    return err || is_all ? err : cli_slice_view_print(view);
}

static int show_side_json(const struct comparison *comparison, size_t side,
                          struct cli_slice_view *view, json_t *object)
{
    static const char *const keys[] = {"only_a", "only_b"};
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(view->slice);
    json_t *row = json_object();
    cli_json_set(row, "instances", cli_json_count(counts->instances));
    cli_json_set(row, "line_count", cli_json_count(counts->lines));
    int err = cli_slice_view_to_json(view, row);
    if (!err)
        err = cli_slice_manner_to_json(view, &comparison->manner, false, row);
    cli_json_set(object, keys[side], row);
    return err;
}

/* `object` NULL: as text. */
static int show_side(const struct comparison *comparison, size_t side,
                     const struct cli_slice_view *how, json_t *object)
{
    struct cli_slice_view view = *how;
    char *other = cli_asprintf("(%s has others)", comparison->names[!side]);
    char *title = cli_asprintf("only in %s", comparison->names[side]);
    view.near = comparison->near[side];
    view.rest_title = title;
    view.is_shared = is_in_keys;
    view.shared_arg = &comparison->keys[!side];
    view.shared_text = other;
    int err = cli_slice_view_open(&view, comparison->only[side].slice);
    if (!err)
        err = object ? show_side_json(comparison, side, &view, object)
                     : show_side_text(comparison, side, &view);
    cli_slice_view_close(&view);
    free(other);
    free(title);
    return err;
}

static int show_text(const struct comparison *comparison, const struct cli_slice_view *how)
{
    struct cli_out *out = comparison->session->out;
    cli_out_text(out, comparison->names[0]);
    fprintf(out->stream, " has %" PRIu64 " instances, ", comparison->instances[0]);
    cli_out_text(out, comparison->names[1]);
    fprintf(out->stream, " %" PRIu64 "; both have %" PRIu64 "\n", comparison->instances[1],
            wetdbg_set_count(comparison->both.set));
    cli_rest_free(comparison->session);
    int err = show_side(comparison, 0, how, NULL);
    return err ? err : show_side(comparison, 1, how, NULL);
}

static int show_json(const struct comparison *comparison, const struct cli_slice_view *how)
{
    json_t *object = cli_json_object("wetdbg.diff/1");
    cli_json_set(object, "a", cli_json_text(comparison->names[0]));
    cli_json_set(object, "b", cli_json_text(comparison->names[1]));
    cli_json_set(object, "a_instances", cli_json_count(comparison->instances[0]));
    cli_json_set(object, "b_instances", cli_json_count(comparison->instances[1]));
    cli_json_set(object, "both_instances", cli_json_count(wetdbg_set_count(comparison->both.set)));
    int err = show_side(comparison, 0, how, object);
    if (!err)
        err = show_side(comparison, 1, how, object);
    if (err)
        json_decref(object);
    else
        cli_out_json(comparison->session->out, object);
    return err;
}

int cli_cmd_diff(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct comparison comparison = {.session = repl->session,
                                    .names = {args->operands[0], args->operands[1]}};
    struct cli_slice_view how = {.session = repl->session, .shows_all = cli_args_has(args, "all")};
    (void)format;
    int err = cli_slice_view_limit(&how, args);
    if (!err)
        err =
            cli_slice_manner_refuse(args, "a set has no dependences; 'slice' and 'chop' draw them");
    cli_slice_manner_parse(args, how.limit, &comparison.manner);
    if (!err)
        err = make(&comparison);
    if (!err)
        err = repl->out->json ? show_json(&comparison, &how) : show_text(&comparison, &how);
    for (size_t i = 0; i < 2; i++) {
        free_part(&comparison.only[i]);
        free(comparison.keys[i].list);
        cli_nearness_free(comparison.near[i]);
    }
    free_part(&comparison.both);
    return err;
}
