/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/slice_manner.h"

#include "dbgcli/commands/slice_drawing.h"
#include "dbgcli/commands/slice_stats.h"
#include "dbgcli/commands/slice_tree.h"
#include <wetdbg/errors.h>

bool cli_slice_manner_parse(const struct cli_args *args, uint64_t limit,
                            struct cli_slice_manner *manner)
{
    *manner = (struct cli_slice_manner){
        .has_stats = cli_args_has(args, "stats"),
        .is_tree = cli_args_has(args, "tree"),
        .dot_path = cli_args_value(args, "dot"),
        .svg_path = cli_args_value(args, "svg"),
        .drawn = cli_args_has(args, "limit") ? (size_t)limit : CLI_DRAWING_NODES,
    };
    return manner->is_tree || manner->dot_path || manner->svg_path;
}

int cli_slice_manner_refuse(const struct cli_args *args, const char *why)
{
    static const char *const graphs[] = {"tree", "dot", "svg"};
    for (size_t i = 0; i < sizeof(graphs) / sizeof(*graphs); i++)
        if (cli_args_has(args, graphs[i]))
            return wetdbg_fail(-WETDBG_ERR_USAGE, "%s: --%s: %s", args->name, graphs[i], why);
    return 0;
}

/* The graph, as a tree and in files. Text has the tree, JSON all links. */
static int show_graph(const struct cli_slice_view *view, const struct cli_slice_manner *manner,
                      json_t *object)
{
    struct cli_session *session = view->session;
    struct cli_slice_graph *graph;
    if (!manner->is_tree && !manner->dot_path && !manner->svg_path)
        return 0;
    int err = cli_slice_graph_make(session, view->slice, view->shows_all || object, &graph);
    if (err)
        return err;
    if (manner->dot_path || manner->svg_path)
        err = cli_slice_draw(session, graph, manner->drawn, manner->dot_path, manner->svg_path);
    if (!err && manner->is_tree && object)
        cli_json_set(object, "links", cli_slice_graph_json(graph));
    if (!err && manner->is_tree && !object)
        cli_slice_tree_show(session, graph);
    else
        cli_slice_graph_free(graph);
    return err;
}

int cli_slice_manner_print(const struct cli_slice_view *view, const struct cli_slice_manner *manner,
                           bool has_parents, bool *is_all)
{
    int err = show_graph(view, manner, NULL);
    if (!err && manner->has_stats)
        err = cli_slice_stats_print(view->session, view->slice, has_parents, view->limit);
    *is_all = manner->has_stats || manner->is_tree;
    return err;
}

int cli_slice_manner_to_json(const struct cli_slice_view *view,
                             const struct cli_slice_manner *manner, bool has_parents,
                             json_t *object)
{
    json_t *stats;
    int err = show_graph(view, manner, object);
    if (err || !manner->has_stats)
        return err;
    err = cli_slice_stats_json(view->slice, has_parents, &stats);
    if (!err)
        cli_json_set(object, "stats", stats);
    return err;
}
