/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/slice_stats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"

struct share {
    const char *module, *function; /* function NULL: all of the module */
    uint64_t instances, lines, statements;
};

static int by_name(const void *left, const void *right)
{
    const struct share *a = left, *b = right;
    int order = strcmp(a->module, b->module);
    if (order || !a->function)
        return order;
    return strcmp(a->function, b->function);
}

static int by_instances(const void *left, const void *right)
{
    const struct share *a = left, *b = right;
    if (a->instances != b->instances)
        return a->instances > b->instances ? -1 : 1;
    return by_name(left, right);
}

/* The slice's lines by function, or by module; the one with most instances first. To be freed. */
static struct share *make_shares(const struct wetdbg_slice *slice, bool by_module, size_t *count)
{
    size_t line_count, kept = 0;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &line_count);
    struct share *shares = cli_realloc(NULL, line_count + 1, sizeof(*shares));
    for (size_t i = 0; i < line_count; i++)
        shares[i] = (struct share){
            .module = lines[i].module,
            .function = by_module ? NULL : lines[i].function,
            .instances = lines[i].instances,
            .lines = lines[i].file != NULL,
            .statements = lines[i].statements,
        };
    qsort(shares, line_count, sizeof(*shares), by_name);
    for (size_t i = 0; i < line_count; i++) {
        if (!kept || by_name(&shares[kept - 1], &shares[i]) != 0) {
            shares[kept++] = shares[i];
            continue;
        }
        shares[kept - 1].instances += shares[i].instances;
        shares[kept - 1].lines += shares[i].lines;
        shares[kept - 1].statements += shares[i].statements;
    }
    qsort(shares, kept, sizeof(*shares), by_instances);
    *count = kept;
    return shares;
}

/* Instances by the edge to their nearest user. */
static int count_kinds(const struct wetdbg_slice *slice, uint64_t kinds[WETDBG_EDGE_NONE])
{
    struct wetdbg_slice_link *links;
    size_t count;
    int err = wetdbg_slice_links(slice, NULL, &links, &count);
    if (err)
        return err;
    memset(kinds, 0, WETDBG_EDGE_NONE * sizeof(*kinds));
    for (size_t i = 0; i < count; i++)
        for (unsigned e = 0; e < WETDBG_EDGE_NONE; e++)
            kinds[e] += links[i].instances[e];
    free(links);
    return 0;
}

/* ---- text ---- */

static void print_shares(struct cli_session *session, const struct wetdbg_slice *slice,
                         bool by_module, uint64_t limit)
{
    struct cli_out *out = session->out;
    uint64_t all = wetdbg_slice_get_counts(slice)->instances;
    size_t count;
    struct share *shares = make_shares(slice, by_module, &count);
    fprintf(out->stream, "by %s:\n", by_module ? "module" : "function");
    for (size_t i = 0; i < count && (!limit || i < limit) && !cli_out_is_gone(out); i++) {
        fprintf(out->stream, "  %12" PRIu64 " %5.1f %%  ", shares[i].instances,
                all ? 100.0 * (double)shares[i].instances / (double)all : 0);
        if (shares[i].function) {
            cli_out_text(out, shares[i].function);
            fputs(" in ", out->stream);
        }
        cli_out_text(out, shares[i].module);
        fprintf(out->stream, ", %" PRIu64 " instruction%s, %" PRIu64 " line%s\n",
                shares[i].statements, shares[i].statements == 1 ? "" : "s", shares[i].lines,
                shares[i].lines == 1 ? "" : "s");
    }
    if (limit && count > limit)
        fprintf(out->stream, "  (%zu more; --limit 0 shows all)\n", count - (size_t)limit);
    free(shares);
}

int cli_slice_stats_print(struct cli_session *session, const struct wetdbg_slice *slice,
                          bool has_parents, uint64_t limit)
{
    uint64_t kinds[WETDBG_EDGE_NONE];
    int err = has_parents ? count_kinds(slice, kinds) : 0;
    if (err)
        return err;
    if (has_parents) {
        fputs("by kind of the dependence:\n", session->out->stream);
        for (unsigned e = 0; e < WETDBG_EDGE_NONE; e++)
            if (kinds[e] || e != WETDBG_EDGE_IMPLICIT)
                fprintf(session->out->stream, "  %12" PRIu64 "  %s\n", kinds[e],
                        wetdbg_edge_name((enum wetdbg_edge)e));
    }
    print_shares(session, slice, true, limit);
    print_shares(session, slice, false, limit);
    return 0;
}

/* ---- JSON ---- */

static json_t *json_of_shares(const struct wetdbg_slice *slice, bool by_module)
{
    size_t count;
    struct share *shares = make_shares(slice, by_module, &count);
    json_t *rows = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *row = json_object();
        if (!by_module)
            cli_json_set(row, "function", cli_json_text(shares[i].function));
        cli_json_set(row, "module", cli_json_text(shares[i].module));
        cli_json_set(row, "instances", cli_json_count(shares[i].instances));
        cli_json_set(row, "statements", cli_json_count(shares[i].statements));
        cli_json_set(row, "line_count", cli_json_count(shares[i].lines));
        cli_json_append(rows, row);
    }
    free(shares);
    return rows;
}

int cli_slice_stats_json(const struct wetdbg_slice *slice, bool has_parents, json_t **out)
{
    uint64_t counts[WETDBG_EDGE_NONE];
    int err = has_parents ? count_kinds(slice, counts) : 0;
    if (err)
        return err;
    json_t *kinds = has_parents ? json_object() : json_null();
    for (unsigned e = 0; has_parents && e < WETDBG_EDGE_NONE; e++)
        cli_json_set(kinds, wetdbg_edge_name((enum wetdbg_edge)e), cli_json_count(counts[e]));
    *out = json_object();
    cli_json_set(*out, "kinds", kinds);
    cli_json_set(*out, "modules", json_of_shares(slice, true));
    cli_json_set(*out, "functions", json_of_shares(slice, false));
    return 0;
}
