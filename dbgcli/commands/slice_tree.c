/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/slice_tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>

#define ROWS_FIRST   40 /* shown before somebody unfolds more */
#define CHILDREN_MAX 12 /* of a row that are shown without asking */

struct row {
    size_t node;
    size_t children; /* index of the first of them in rows; 0: not unfolded */
    size_t child_count;
    const struct cli_graph_link *link; /* to its user; NULL: the criterion */
    unsigned depth;
};

struct cli_slice_tree {
    struct cli_slice_graph *graph;
    struct row *rows; /* row i has the number i + 1 */
    size_t row_count;
    size_t *unfolded; /* by node: 1 + the row under which its uses are, or 0 */
};

void cli_slice_tree_free(struct cli_session *session)
{
    struct cli_slice_tree *tree = session->tree;
    if (!tree)
        return;
    cli_slice_graph_free(tree->graph);
    free(tree->rows);
    free(tree->unfolded);
    free(tree);
    session->tree = NULL;
}

static void add_row(struct cli_slice_tree *tree, size_t node, const struct cli_graph_link *link,
                    unsigned depth)
{
    tree->rows = cli_realloc(tree->rows, tree->row_count + 1, sizeof(*tree->rows));
    tree->rows[tree->row_count++] = (struct row){.node = node, .link = link, .depth = depth};
}

/* Puts a row's uses behind all rows, unless they stand elsewhere; at most `most` of them, 0:
 * all. */
static void unfold(struct cli_slice_tree *tree, size_t at, size_t most)
{
    size_t first, node = tree->rows[at].node;
    size_t count = cli_slice_graph_uses(tree->graph, node, &first);
    if (tree->unfolded[node] && tree->unfolded[node] != at + 1)
        return;
    if (most && count > most)
        count = most;
    tree->unfolded[node] = at + 1;
    tree->rows[at].children = tree->row_count;
    tree->rows[at].child_count = count;
    for (size_t i = 0; i < count; i++)
        add_row(tree, tree->graph->links[first + i].node, &tree->graph->links[first + i],
                tree->rows[at].depth + 1);
}

/* ---- printing ---- */

/* How many uses of a row's node are in no row below it. */
static size_t hidden_uses(const struct cli_slice_tree *tree, const struct row *row)
{
    size_t first;
    return cli_slice_graph_uses(tree->graph, row->node, &first) - row->child_count;
}

static void print_row(struct cli_session *session, size_t at)
{
    const struct cli_slice_tree *tree = session->tree;
    const struct row *row = &tree->rows[at];
    const struct cli_graph_node *node = &tree->graph->nodes[row->node];
    struct cli_out *out = session->out;
    char *text = cli_graph_node_text(node);
    size_t elsewhere = tree->unfolded[row->node];
    fprintf(out->stream, "#%-4zu%*s%-9s ", at + 1, (int)(2 * row->depth), "",
            wetdbg_edge_name(row->link ? cli_graph_link_edge(row->link) : WETDBG_EDGE_NONE));
    cli_out_text(out, text);
    if (row->link || node->file) /* a library's function is in a row by its criterion only */
        fprintf(out->stream, "  x%" PRIu64, row->link ? row->link->total : node->instances);
    if (node->file) {
        fputs("  | ", out->stream);
        cli_out_text(out, cli_source_text(session, node->file, node->line, node->pc));
    }
    if (elsewhere && elsewhere != at + 1)
        fprintf(out->stream, "  (see #%zu)", elsewhere);
    else if (hidden_uses(tree, row))
        fprintf(out->stream, "  (+%zu)", hidden_uses(tree, row));
    putc('\n', out->stream);
    free(text);
}

static void print_below(struct cli_session *session, size_t at)
{
    const struct row *row = &session->tree->rows[at];
    for (size_t i = 0; i < row->child_count && !cli_out_is_gone(session->out); i++) {
        print_row(session, row->children + i);
        print_below(session, row->children + i);
    }
}

void cli_slice_tree_show(struct cli_session *session, struct cli_slice_graph *graph)
{
    struct cli_slice_tree *tree = cli_malloc(sizeof(*tree));
    size_t roots = 0;
    *tree = (struct cli_slice_tree){.graph = graph};
    tree->unfolded = cli_realloc(NULL, graph->node_count + 1, sizeof(*tree->unfolded));
    memset(tree->unfolded, 0, (graph->node_count + 1) * sizeof(*tree->unfolded));
    cli_slice_tree_free(session);
    session->tree = tree;
    while (roots < graph->node_count && graph->nodes[roots].distance == graph->nodes[0].distance)
        add_row(tree, roots++, NULL, 0);
    for (size_t at = 0; at < tree->row_count && tree->row_count < ROWS_FIRST; at++)
        unfold(tree, at, CHILDREN_MAX);
    for (size_t i = 0; i < roots; i++) {
        print_row(session, i);
        print_below(session, i);
    }
    fputs(
        "('expand N' unfolds row #N, of which (+K) are not shown; libraries are passed by but with "
        "--all)\n",
        session->out->stream);
}

int cli_slice_tree_expand(struct cli_session *session, uint64_t number)
{
    struct cli_slice_tree *tree = session->tree;
    if (!tree)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "expand: there is no tree yet; 'slice backward CRITERION --tree' shows "
                           "one");
    if (number == 0 || number > tree->row_count)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "expand: there is no row #%" PRIu64 "; the last one is #%zu", number,
                           tree->row_count);
    size_t at = (size_t)number - 1;
    if (tree->unfolded[tree->rows[at].node])
        at = tree->unfolded[tree->rows[at].node] - 1;
    if (hidden_uses(tree, &tree->rows[at]))
        unfold(tree, at, 0);
    print_row(session, at);
    if (tree->rows[at].child_count)
        print_below(session, at);
    else
        fputs("(nothing in the slice gave anything to it)\n", session->out->stream);
    return 0;
}

/* ---- JSON ---- */

static json_t *json_of(const struct cli_graph_node *node)
{
    json_t *object = json_object();
    cli_json_set(object, "file", cli_json_text(node->file));
    cli_json_set(object, "line", node->file ? json_integer(node->line) : json_null());
    cli_json_set(object, "function", cli_json_text(node->function));
    cli_json_set(object, "module", cli_json_text(node->module));
    return object;
}

json_t *cli_slice_graph_json(const struct cli_slice_graph *graph)
{
    json_t *array = json_array();
    for (size_t i = 0; i < graph->link_count; i++) {
        const struct cli_graph_link *link = &graph->links[i];
        json_t *row = json_object();
        cli_json_set(row, "user", json_of(&graph->nodes[link->user]));
        cli_json_set(row, "line", json_of(&graph->nodes[link->node]));
        for (unsigned e = 0; e < WETDBG_EDGE_NONE; e++)
            cli_json_set(row, wetdbg_edge_name((enum wetdbg_edge)e),
                         cli_json_count(link->instances[e]));
        cli_json_set(row, "distance", json_integer(link->distance));
        cli_json_append(array, row);
    }
    return array;
}
