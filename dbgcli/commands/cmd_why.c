/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A shortest chain of dependences from the last criterion to a line, an instruction or an instance:
 * what passed over each edge. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/hop_rows.h"
#include "dbgcli/commands/hop_value.h"
#include "dbgcli/commands/origin_place.h"
#include "dbgcli/commands/slice_implied.h"
#include "dbgcli/commands/slice_path.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>

#define LIMIT_DEFAULT 100

static const struct cli_option options[] = {
    {"data", 0, NULL, "no control dependence"},
    {"control", 0, NULL, "control dependence only"},
    {"thin", 0, NULL, "what computed the values only: no control, no addresses"},
    {"limit", 0, "N", "of a longer chain show both ends, N rows (100); 0: all"},
    {"unfold", 0, NULL, "each hop of a loop that goes on and on"},
    {0},
};

const struct cli_syntax cli_cmd_why_syntax = {
    .example = "why parse.c:120",
    .usage =
        "FILE:LINE[#K]|FUNCTION|*ADDRESS|TIME [--data|--control|--thin] [--limit N] [--unfold]",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .details =
        "Why a line is in the last slice: a shortest chain of dependences from its criterion\n"
        "to the nearest instance of the line, or to the K-th one; of an instruction by its\n"
        "address, of a function without lines, or to what ran at a time. Each hop says when it\n"
        "ran and what the hop above took from it. Hops that a loop repeats are one row; in JSON\n"
        "all are there.",
};

/* ---- what is in the slice ---- */

/* Finds the code of a function that has no lines, as the slice's groups name it. */
static bool find_function(const struct wetdbg_slice *slice, const char *name, size_t *index)
{
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);
    *index = 0;
    while (*index < count &&
           (lines[*index].file || (strcmp(lines[*index].function, name) != 0 &&
                                   strcmp(lines[*index].linkage_name, name) != 0)))
        ++*index;
    return *index < count;
}

static int not_in_slice(const struct cli_session *session, const char *text)
{
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s is not in the %s slice of %s", text,
                       cli_kinds_name(session->kinds),
                       wetdbg_criterion_get_info(session->criterion)->text);
}

/* Says that a line is not in the slice, or that there is no such line at all. */
static int fail_absent(struct cli_session *session, const char *text, const char *file,
                       uint32_t line)
{
    struct wetdbg_line_location *locations;
    size_t count;
    int err = wetdbg_line_locations(session->model, file, line, &locations, &count);
    if (err)
        return err;
    free(locations);
    return not_in_slice(session, text);
}

/* ---- one hop ---- */

/* The switch that proves an implicit hop; NULL of others. */
static const struct wetdbg_implicit *proof_of(const struct cli_session *session,
                                              const struct wetdbg_slice_instance *hop)
{
    return hop->edge == WETDBG_EDGE_IMPLICIT
               ? cli_implied_of(session->implied, hop->parent, hop->time)
               : NULL;
}

static void print_hop(struct cli_session *session, size_t number,
                      const struct wetdbg_slice_instance *hop)
{
    struct cli_out *out = session->out;
    struct cli_place place;
    char *value = cli_hop_value(session, hop);
    cli_place_of_pc(session, hop->pc, &place);
    fprintf(out->stream, "#%-3zu time %-12" PRIu64 " %-9s ", number, hop->time,
            wetdbg_edge_name(hop->edge));
    if (place.file)
        cli_out_text(out, place.function ? place.function : "?");
    else
        cli_place_print_exact(session, &place);
    fputs("  ", out->stream);
    cli_place_print(out, &place);
    cli_thread_print_at(session, hop->time);
    if (place.text) {
        fputs("  | ", out->stream);
        cli_out_text(out, place.text);
    }
    if (value) {
        fprintf(out->stream, "  %s[", cli_out_style(out, CLI_STYLE_DIM));
        cli_out_text(out, value);
        fprintf(out->stream, "]%s", cli_out_style(out, CLI_STYLE_NONE));
    }
    putc('\n', out->stream);
    free(value);
    const struct wetdbg_implicit *proof = proof_of(session, hop);
    if (!proof)
        return;
    fputs("     ", out->stream);
    cli_implied_print_proof(session, proof);
    putc('\n', out->stream);
}

static json_t *json_of_hop(struct cli_session *session, const struct wetdbg_slice_instance *hop)
{
    struct cli_place place;
    json_t *row = json_object();
    char *value = cli_hop_value(session, hop);
    cli_place_of_pc(session, hop->pc, &place);
    cli_json_set(row, "time", cli_json_count(hop->time));
    cli_json_set(row, "kind", cli_json_text(wetdbg_edge_name(hop->edge)));
    cli_json_set(row, "value", cli_json_text(value));
    const struct wetdbg_implicit *proof = proof_of(session, hop);
    if (proof)
        cli_json_set(row, "implicit", cli_implied_proof_to_json(session, proof));
    cli_place_to_json(row, &place);
    cli_thread_to_json_at(row, session, hop->time);
    free(value);
    return row;
}

/* ---- rows ---- */

static void print_row(struct cli_session *session, const struct wetdbg_slice_path *path,
                      const struct cli_hop_row *row)
{
    struct cli_out *out = session->out;
    size_t end = row->first + row->count * (row->repeats + 1);
    for (size_t i = 0; i < row->count; i++)
        print_hop(session, row->first + i, &path->hops[row->first + i]);
    if (!row->repeats)
        return;
    fputs(row->count == 1 ? "     the same" : "     these ", out->stream);
    if (row->count > 1)
        fprintf(out->stream, "%zu", row->count);
    fprintf(out->stream, " %zu times more, back to time %" PRIu64 "; --unfold shows each\n",
            row->repeats, path->hops[end - 1].time);
}

/* ---- showing the chain ---- */

struct showing {
    uint64_t limit;
    bool folds; /* runs of equal hops: in text only */
};

/* True for what is in the middle of more than the limit. */
static bool is_omitted(size_t count, uint64_t limit, size_t index)
{
    if (!limit || count <= limit)
        return false;
    return index >= (limit + 1) / 2 && index < count - limit / 2;
}

static size_t hops_between(const struct cli_hop_row *rows, size_t first, size_t count)
{
    size_t hops = 0;
    for (size_t i = first; i < first + count; i++)
        hops += rows[i].count * (rows[i].repeats + 1);
    return hops;
}

static int print_path(struct cli_session *session, const struct wetdbg_slice_path *path,
                      const struct showing *how)
{
    size_t count;
    struct cli_hop_row *rows = cli_hop_rows_make(path, how->folds, &count);
    bool was_omitted = false;
    int err = 0;
    for (size_t i = 0; i < count && !err && !cli_out_is_gone(session->out); i++) {
        bool omit = is_omitted(count, how->limit, i);
        if (cli_interrupt_is_pending())
            err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        if (omit && !was_omitted)
            fprintf(session->out->stream, "     ... %zu hops; --limit 0 shows all\n",
                    hops_between(rows, i, count - (size_t)how->limit));
        was_omitted = omit;
        if (!omit && !err)
            print_row(session, path, &rows[i]);
    }
    free(rows);
    if (!err)
        cli_uncertain_print(session, wetdbg_criterion_get_info(session->criterion)->time);
    return err;
}

static int print_path_json(struct cli_session *session, const struct wetdbg_slice_path *path,
                           const struct showing *how)
{
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(session->criterion);
    json_t *hops = json_array();
    for (size_t i = 0; i < path->count; i++) {
        if (cli_interrupt_is_pending()) {
            json_decref(hops);
            return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        }
        if (!is_omitted(path->count, how->limit, i))
            cli_json_append(hops, json_of_hop(session, &path->hops[i]));
    }
    json_t *object = cli_json_object("wetdbg.why/1");
    cli_json_set(object, "criterion", cli_json_text(info->text));
    cli_json_set(object, "kinds", cli_json_text(cli_kinds_name(session->kinds)));
    cli_uncertain_to_json(object, session, info->time);
    cli_json_set(object, "hop_count", cli_json_count(path->count));
    cli_json_set(object, "hops", hops);
    cli_out_json(session->out, object);
    return 0;
}

/* ---- which chain ---- */

static int path_to_line(struct cli_session *session, const char *text,
                        struct wetdbg_slice_path **path)
{
    uint32_t line;
    char *file;
    int err = cli_line_parse(text, &file, &line);
    if (err)
        return err;
    err = cli_slice_path_to(session->slice, file, line, path);
    if (err == -WETDBG_ERR_NOT_FOUND)
        err = fail_absent(session, text, file, line);
    free(file);
    return err;
}

/* The shortest of the chains to some times. */
static int path_to_times(struct cli_session *session, const char *text, const wetdbg_time *times,
                         size_t count, struct wetdbg_slice_path **path)
{
    struct wetdbg_slice_path *next;
    *path = NULL;
    for (size_t i = 0; i < count; i++) {
        if (wetdbg_slice_path_to_time(session->slice, times[i], &next) != 0)
            continue;
        bool is_shorter = !*path || next->count < (*path)->count;
        wetdbg_slice_path_free(is_shorter ? *path : next);
        if (is_shorter)
            *path = next;
    }
    return *path ? 0 : not_in_slice(session, text);
}

/* To one instance of a line. */
static int path_to_instance(struct cli_session *session, const char *text,
                            struct wetdbg_slice_path **path)
{
    wetdbg_time *times;
    size_t count;
    int err = cli_slice_times(session, text, &times, &count);
    if (err)
        return err;
    err = path_to_times(session, text, times, count, path);
    free(times);
    return err;
}

static int path_to_address(struct cli_session *session, const char *text,
                           struct wetdbg_slice_path **path)
{
    uint64_t *pcs;
    size_t count;
    int err = cli_breakpoint_pcs(session, text, &pcs, &count);
    if (err)
        return err;
    err = wetdbg_slice_path(session->slice, pcs, count, path);
    free(pcs);
    return err == -WETDBG_ERR_NOT_FOUND ? not_in_slice(session, text) : err;
}

static int find_path(struct cli_session *session, const char *text, struct wetdbg_slice_path **path)
{
    wetdbg_time time;
    uint64_t address;
    size_t index;
    if (strchr(text, '#'))
        return path_to_instance(session, text, path);
    if (find_function(session->slice, text, &index))
        return wetdbg_slice_path_to_line(session->slice, index, path);
    if (cli_address_parse(session->model, text, &address) || *text == '*')
        return path_to_address(session, text, path);
    if (strchr(text, ':'))
        return path_to_line(session, text, path);
    int err = cli_time_parse(session, text, &time);
    return err ? err : path_to_times(session, text, &time, 1, path);
}

static int explain(struct cli_session *session, const char *text, const struct showing *how)
{
    struct wetdbg_slice_path *path;
    int err = find_path(session, text, &path);
    if (err)
        return err;
    err = session->out->json ? print_path_json(session, path, how) : print_path(session, path, how);
    wetdbg_slice_path_free(path);
    return err;
}

int cli_cmd_why(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    enum wetdbg_slice_kinds kinds;
    struct showing how = {.folds = !cli_args_has(args, "unfold")};
    (void)format;
    int result = cli_kinds_from(args, &kinds);
    if (!result)
        result = cli_args_number(args, "limit", LIMIT_DEFAULT, &how.limit);
    if (!result && !session->criterion)
        result = wetdbg_fail(-WETDBG_ERR_USAGE, "why: there is no slice yet; use 'slice' first");
    if (result)
        return result;
    if (kinds == WETDBG_SLICE_FULL)
        kinds = session->kinds; /* none was asked for: as the slice was made */
    result = cli_slice_need(session, kinds);
    return result ? result : explain(session, args->operands[0], &how);
}
