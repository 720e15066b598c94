/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/slice_graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/slice_groups.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/sorted.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>

/* A line on its way to a node. */
struct part {
    struct cli_graph_node node;
    size_t index; /* in wetdbg_slice_lines() */
};

static int by_name(const struct cli_graph_node *a, const struct cli_graph_node *b)
{
    int order = strcmp(a->module, b->module);
    return order ? order : strcmp(a->function, b->function);
}

/* Whether two are one node: functions of libraries are. */
static bool is_same(const struct cli_graph_node *a, const struct cli_graph_node *b)
{
    return !a->file && !b->file && by_name(a, b) == 0;
}

static int by_node(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (!a->node.file != !b->node.file)
        return a->node.file ? -1 : 1;
    if (!a->node.file) {
        int order = by_name(&a->node, &b->node);
        if (order)
            return order;
    }
    return a->index < b->index ? -1 : 1;
}

static struct part *list_parts(struct cli_session *session, const struct wetdbg_slice_line *lines,
                               size_t count)
{
    struct part *parts = cli_realloc(NULL, count + 1, sizeof(*parts));
    for (size_t i = 0; i < count; i++) {
        bool is_own = cli_slice_line_is_readable(session, &lines[i]);
        parts[i] = (struct part){
            .node =
                {
                    .file = is_own ? lines[i].file : NULL,
                    .line = is_own ? lines[i].line : 0,
                    .function = lines[i].function,
                    .module = lines[i].module,
                    .pc = lines[i].pc,
                    .instances = lines[i].instances,
                    .distance = lines[i].min_distance,
                },
            .index = i,
        };
    }
    qsort(parts, count, sizeof(*parts), by_node);
    return parts;
}

static int by_distance(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->node.distance != b->node.distance)
        return a->node.distance < b->node.distance ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Makes nodes of parts; node_of[i] is that of line i. */
static void make_nodes(struct cli_slice_graph *graph, struct part *parts, size_t count,
                       size_t *node_of)
{
    struct part *nodes = cli_realloc(NULL, count + 1, sizeof(*nodes));
    size_t *rank = cli_realloc(NULL, count + 1, sizeof(*rank));
    for (size_t i = 0; i < count; i++) {
        struct part *last = graph->node_count ? &nodes[graph->node_count - 1] : NULL;
        if (last && is_same(&last->node, &parts[i].node)) {
            last->node.instances += parts[i].node.instances;
            if (parts[i].node.distance < last->node.distance)
                last->node.distance = parts[i].node.distance;
        } else {
            nodes[graph->node_count] = parts[i];
            nodes[graph->node_count].index = graph->node_count;
            graph->node_count++;
        }
        node_of[parts[i].index] = graph->node_count - 1;
    }
    qsort(nodes, graph->node_count, sizeof(*nodes), by_distance);
    graph->nodes = cli_realloc(NULL, graph->node_count + 1, sizeof(*graph->nodes));
    for (size_t i = 0; i < graph->node_count; i++) {
        graph->nodes[i] = nodes[i].node;
        rank[nodes[i].index] = i;
    }
    for (size_t i = 0; i < count; i++)
        node_of[i] = rank[node_of[i]];
    free(rank);
    free(nodes);
}

static int by_ends(const void *left, const void *right)
{
    const struct cli_graph_link *a = left, *b = right;
    if (a->user != b->user)
        return a->user < b->user ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static int by_user(const void *left, const void *right)
{
    const struct cli_graph_link *a = left, *b = right;
    if (a->user != b->user)
        return a->user < b->user ? -1 : 1;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static void make_links(struct cli_slice_graph *graph, const struct wetdbg_slice_link *links,
                       size_t count, const size_t *node_of)
{
    struct cli_graph_link *list = cli_realloc(NULL, count + 1, sizeof(*list));
    size_t used = 0, kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct cli_graph_link link = {.user = node_of[links[i].user],
                                      .node = node_of[links[i].line],
                                      .distance = links[i].distance};
        for (unsigned e = 0; e < WETDBG_EDGE_NONE; e++)
            link.total += link.instances[e] = links[i].instances[e];
        if (link.user != link.node)
            list[used++] = link;
    }
    qsort(list, used, sizeof(*list), by_ends);
    for (size_t i = 0; i < used; i++) {
        if (!kept || by_ends(&list[kept - 1], &list[i]) != 0) {
            list[kept++] = list[i];
            continue;
        }
        for (unsigned e = 0; e < WETDBG_EDGE_NONE; e++)
            list[kept - 1].instances[e] += list[i].instances[e];
        list[kept - 1].total += list[i].total;
        if (list[i].distance < list[kept - 1].distance)
            list[kept - 1].distance = list[i].distance;
    }
    qsort(list, kept, sizeof(*list), by_user);
    graph->links = list;
    graph->link_count = kept;
}

/* Whether an address is of the program's own code, and no stub of a call to a library. */
static bool is_own_function(struct cli_session *session, uint64_t pc)
{
    struct wetdbg_function function;
    if (!wetdbg_is_own(session->wet, pc))
        return false;
    return wetdbg_function_at(session->model, pc, &function) != 0 ||
           !(function.flags & WETDBG_FUNCTION_PLT);
}

/* Which lines are passed by: what nobody can read or, where that is all, what is not the program's
 * own. */
static bool *list_passed(struct cli_session *session, const struct wetdbg_slice_line *lines,
                         size_t count)
{
    bool *passed = cli_realloc(NULL, count + 1, sizeof(*passed));
    bool is_any_readable = false;
    for (size_t i = 0; i < count; i++) {
        passed[i] = !cli_slice_line_is_readable(session, &lines[i]);
        is_any_readable |= !passed[i];
    }
    for (size_t i = 0; i < count && !is_any_readable; i++)
        passed[i] = !is_own_function(session, lines[i].pc);
    return passed;
}

/* Takes away nodes that hang on nothing, but for the criterion. */
static void drop_loose(struct cli_slice_graph *graph)
{
    size_t *new_index = cli_realloc(NULL, graph->node_count + 1, sizeof(*new_index));
    size_t kept = 0;
    memset(new_index, 0, (graph->node_count + 1) * sizeof(*new_index));
    for (size_t i = 0; i < graph->link_count; i++)
        new_index[graph->links[i].user] = new_index[graph->links[i].node] = 1;
    for (size_t i = 0; i < graph->node_count; i++) {
        bool stays = new_index[i] || graph->nodes[i].distance == graph->nodes[0].distance;
        new_index[i] = kept;
        if (stays)
            graph->nodes[kept++] = graph->nodes[i];
    }
    graph->node_count = kept;
    for (size_t i = 0; i < graph->link_count; i++) {
        graph->links[i].user = new_index[graph->links[i].user];
        graph->links[i].node = new_index[graph->links[i].node];
    }
    free(new_index);
}

int cli_slice_graph_make(struct cli_session *session, const struct wetdbg_slice *slice, bool all,
                         struct cli_slice_graph **out)
{
    size_t count, link_count;
    struct wetdbg_slice_link *links;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);
    bool *passed = all ? NULL : list_passed(session, lines, count);
    int err = wetdbg_slice_links(slice, passed, &links, &link_count);
    free(passed);
    if (err)
        return err;
    struct cli_slice_graph *graph = cli_malloc(sizeof(*graph));
    struct part *parts = list_parts(session, lines, count);
    size_t *node_of = cli_realloc(NULL, count + 1, sizeof(*node_of));
    *graph = (struct cli_slice_graph){0};
    make_nodes(graph, parts, count, node_of);
    make_links(graph, links, link_count, node_of);
    if (!all)
        drop_loose(graph);
    free(node_of);
    free(parts);
    free(links);
    *out = graph;
    return 0;
}

void cli_slice_graph_free(struct cli_slice_graph *graph)
{
    if (!graph)
        return;
    free(graph->nodes);
    free(graph->links);
    free(graph);
}

struct user_key {
    const struct cli_graph_link *links;
    size_t user;
};

static bool is_link_before(const void *arg, size_t i)
{
    const struct user_key *key = arg;
    return key->links[i].user < key->user;
}

size_t cli_slice_graph_uses(const struct cli_slice_graph *graph, size_t user, size_t *first)
{
    const struct user_key key = {graph->links, user};
    size_t count = 0;
    *first = cli_sorted_find(graph->link_count, is_link_before, &key);
    while (*first + count < graph->link_count && graph->links[*first + count].user == user)
        count++;
    return count;
}

enum wetdbg_edge cli_graph_link_edge(const struct cli_graph_link *link)
{
    unsigned best = 0;
    for (unsigned e = 1; e < WETDBG_EDGE_NONE; e++)
        if (link->instances[e] > link->instances[best])
            best = e;
    return (enum wetdbg_edge)best;
}

char *cli_graph_node_text(const struct cli_graph_node *node)
{
    if (node->file)
        return cli_asprintf("%s:%" PRIu32 "  %s", cli_base_name(node->file), node->line,
                            node->function);
    if (strcmp(node->module, "?") == 0)
        return cli_strdup("code in no file");
    return cli_asprintf("%s  %s", node->module, node->function);
}
