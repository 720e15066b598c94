/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The graph is first made into one in which every node reaches the exit (see postdom.h), with one
 * more node per endless loop, which stands on the loop's back edges and alone may leave it:
 *
 *     latch ──▶ P ──▶ header          P is never reported: it is the immediate post-dominator of
 *               └───▶ exit            nothing but its loop's nodes, for which the exit is named
 *
 * Dominators of the reversed graph are then computed with Lengauer and Tarjan's algorithm (1979)
 * in the variant with path compression only. The iterative algorithm of Cooper, Harvey and Kennedy
 * is shorter, but its number of rounds and its walks have no good bound on the reversed graph of
 * machine code, where irreducible parts are common.
 *
 * Control dependence follows Ferrante, Ottenstein and Warren (1987): for each edge u -> v, the
 * nodes from v up the tree to, and without, ipdom(u).
 */
#include "wet/model/postdom.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <wetdbg/errors.h>

#define NONE            UINT32_MAX
#define CONTROLLERS_MAX (UINT32_C(1) << 28)
#define RESULT_TOO_LARGE()                                                                         \
    wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "too many control dependences in one function")

/* A graph as arrays of edges; `exit` is an ordinary node here. */
struct csr {
    uint32_t count;
    uint32_t *first;
    uint32_t *targets;
};

struct work {
    const struct mdl_digraph *in;
    uint32_t node_count;  /* of `in` */
    uint32_t total_count; /* with the P nodes and the exit */
    uint32_t exit;        /* total_count - 1 */
    uint32_t *preorder;   /* of depth-first search */
    uint32_t *scc;        /* strongly connected component of each node */
    uint32_t scc_count;
    uint32_t *loop_node;   /* per component: its P node, or NONE */
    uint32_t *loop_header; /* per component: its first node */
    uint8_t *reaches_exit; /* per node of the final graph, P nodes included */
    struct csr successors;
    struct csr predecessors;
    uint32_t *ipdom; /* of the final graph; exit's is NONE */
};

static uint32_t *new_words(size_t count, uint32_t value)
{
    uint32_t *words = reallocarray(NULL, count ? count : 1, sizeof(*words));

    for (size_t i = 0; words && i < count; i++)
        words[i] = value;
    return words;
}

static void csr_fini(struct csr *csr)
{
    free(csr->first);
    free(csr->targets);
}

static void work_fini(struct work *work)
{
    free(work->preorder);
    free(work->scc);
    free(work->loop_node);
    free(work->loop_header);
    free(work->reaches_exit);
    csr_fini(&work->successors);
    csr_fini(&work->predecessors);
    free(work->ipdom);
}

/* ---- Strongly connected components (Tarjan, without recursion) ---------------------------- */

struct scc_search {
    struct work *work;
    uint32_t *low;
    uint32_t *path;  /* nodes being visited */
    uint32_t *edge;  /* per node: next edge to follow */
    uint32_t *stack; /* nodes without component yet */
    uint32_t path_count;
    uint32_t stack_count;
    uint32_t next_number;
};

static void scc_enter(struct scc_search *search, uint32_t node)
{
    search->work->preorder[node] = search->low[node] = search->next_number++;
    search->edge[node] = search->work->in->first[node];
    search->path[search->path_count++] = node;
    search->stack[search->stack_count++] = node;
}

static void scc_leave(struct scc_search *search, uint32_t node)
{
    struct work *work = search->work;
    uint32_t member;

    search->path_count--;
    if (search->path_count) {
        uint32_t parent = search->path[search->path_count - 1];

        if (search->low[node] < search->low[parent])
            search->low[parent] = search->low[node];
    }
    if (search->low[node] != work->preorder[node])
        return;
    do {
        member = search->stack[--search->stack_count];
        work->scc[member] = work->scc_count;
    } while (member != node);
    work->loop_header[work->scc_count++] = node;
}

static void scc_run(struct scc_search *search, uint32_t root)
{
    struct work *work = search->work;

    scc_enter(search, root);
    while (search->path_count) {
        uint32_t node = search->path[search->path_count - 1], target;

        if (search->edge[node] == work->in->first[node + 1]) {
            scc_leave(search, node);
            continue;
        }
        target = work->in->targets[search->edge[node]++];
        if (target == MDL_NODE_EXIT)
            continue;
        if (work->preorder[target] == NONE)
            scc_enter(search, target);
        else if (work->scc[target] == NONE && work->preorder[target] < search->low[node])
            search->low[node] = work->preorder[target];
    }
}

static int find_components(struct work *work)
{
    uint32_t count = work->node_count;
    struct scc_search search = {.work = work};
    int err = -ENOMEM;

    work->preorder = new_words(count, NONE);
    work->scc = new_words(count, NONE);
    work->loop_header = new_words(count, NONE);
    search.low = new_words(count, NONE);
    search.path = new_words(count, 0);
    search.edge = new_words(count, 0);
    search.stack = new_words(count, 0);
    if (work->preorder && work->scc && work->loop_header && search.low && search.path &&
        search.edge && search.stack) {
        for (uint32_t node = 0; node < count; node++)
            if (work->preorder[node] == NONE)
                scc_run(&search, node);
        err = 0;
    }
    free(search.low);
    free(search.path);
    free(search.edge);
    free(search.stack);
    return err;
}

/* ---- Making every node reach the exit ------------------------------------------------------ */

/* Gives a P node to each component that has a cycle and no edge out of it. */
static int find_endless_loops(struct work *work)
{
    const struct mdl_digraph *in = work->in;
    uint8_t *has_cycle = calloc(work->scc_count + 1, 1), *has_way_out = NULL;
    int err = -ENOMEM;

    work->loop_node = new_words(work->scc_count, NONE);
    has_way_out = calloc(work->scc_count + 1, 1);
    if (!has_cycle || !has_way_out || !work->loop_node)
        goto out;
    for (uint32_t node = 0; node < work->node_count; node++)
        for (uint32_t e = in->first[node]; e < in->first[node + 1]; e++) {
            if (in->targets[e] == MDL_NODE_EXIT || work->scc[in->targets[e]] != work->scc[node])
                has_way_out[work->scc[node]] = 1;
            else
                has_cycle[work->scc[node]] = 1;
        }
    work->total_count = work->node_count;
    for (uint32_t scc = 0; scc < work->scc_count; scc++)
        if (has_cycle[scc] && !has_way_out[scc])
            work->loop_node[scc] = work->total_count++;
    work->exit = work->total_count++;
    err = 0;
out:
    free(has_cycle);
    free(has_way_out);
    return err;
}

/* Where an edge of the input goes once P nodes stand on back edges. */
static uint32_t redirect(const struct work *work, uint32_t node, uint32_t target)
{
    uint32_t scc;

    if (target == MDL_NODE_EXIT)
        return work->exit;
    scc = work->scc[node];
    if (work->loop_node[scc] != NONE && work->loop_header[scc] == target &&
        work->scc[target] == scc)
        return work->loop_node[scc];
    return target;
}

/* Marks nodes from which the exit can be reached. Components were numbered in reverse topological
 * order, so one pass over nodes by component suffices: mark per component. */
static int mark_reaching(struct work *work)
{
    const struct mdl_digraph *in = work->in;
    uint32_t *first = new_words(work->scc_count + 1, 0);
    uint32_t *by_scc = new_words(work->node_count, 0);
    uint8_t *reaches = calloc(work->scc_count + 1, 1);
    int err = -ENOMEM;

    work->reaches_exit = calloc(work->total_count, 1);
    if (!first || !by_scc || !reaches || !work->reaches_exit)
        goto out;
    for (uint32_t node = 0; node < work->node_count; node++)
        first[work->scc[node]]++;
    for (uint32_t scc = 0, sum = 0; scc <= work->scc_count; scc++) {
        uint32_t size = first[scc];

        first[scc] = sum;
        sum += size;
    }
    for (uint32_t node = 0; node < work->node_count; node++)
        by_scc[first[work->scc[node]]++] = node;
    for (uint32_t i = 0; i < work->node_count; i++) {
        uint32_t node = by_scc[i], scc = work->scc[node];

        if (work->loop_node[scc] != NONE)
            reaches[scc] = 1;
        for (uint32_t e = in->first[node]; e < in->first[node + 1]; e++)
            if (in->targets[e] == MDL_NODE_EXIT || reaches[work->scc[in->targets[e]]])
                reaches[scc] = 1;
    }
    for (uint32_t node = 0; node < work->node_count; node++)
        work->reaches_exit[node] = reaches[work->scc[node]];
    for (uint32_t node = work->node_count; node < work->total_count; node++)
        work->reaches_exit[node] = 1;
    err = 0;
out:
    free(first);
    free(by_scc);
    free(reaches);
    return err;
}

/* Successors as they count for post-dominance. */
static int build_successors(struct work *work)
{
    const struct mdl_digraph *in = work->in;
    struct csr *out = &work->successors;
    uint32_t edges = 0;

    out->count = work->total_count;
    out->first = new_words((size_t)work->total_count + 1, 0);
    out->targets =
        new_words((size_t)in->first[work->node_count] + 3 * (size_t)work->total_count, 0);
    if (!out->first || !out->targets)
        return -ENOMEM;
    for (uint32_t node = 0; node < work->node_count; node++) {
        out->first[node] = edges;
        for (uint32_t e = in->first[node]; e < in->first[node + 1]; e++) {
            uint32_t target = redirect(work, node, in->targets[e]);

            if (!work->reaches_exit[node] || work->reaches_exit[target])
                out->targets[edges++] = target;
        }
        if (in->first[node] == in->first[node + 1])
            out->targets[edges++] = work->exit;
    }
    /* P nodes were numbered in order of their components, so `first` stays ascending */
    for (uint32_t scc = 0; scc < work->scc_count; scc++)
        if (work->loop_node[scc] != NONE) {
            out->first[work->loop_node[scc]] = edges;
            out->targets[edges++] = work->loop_header[scc];
            out->targets[edges++] = work->exit;
        }
    out->first[work->exit] = edges;
    out->first[work->total_count] = edges;
    return 0;
}

static int build_predecessors(struct work *work)
{
    const struct csr *from = &work->successors;
    struct csr *to = &work->predecessors;
    uint32_t *fill = new_words(work->total_count, 0);

    to->count = work->total_count;
    to->first = new_words((size_t)work->total_count + 1, 0);
    to->targets = new_words(from->first[from->count], 0);
    if (!fill || !to->first || !to->targets) {
        free(fill);
        return -ENOMEM;
    }
    for (uint32_t e = 0; e < from->first[from->count]; e++)
        to->first[from->targets[e] + 1]++;
    for (uint32_t node = 0; node < to->count; node++) {
        to->first[node + 1] += to->first[node];
        fill[node] = to->first[node];
    }
    for (uint32_t node = 0; node < from->count; node++)
        for (uint32_t e = from->first[node]; e < from->first[node + 1]; e++)
            to->targets[fill[from->targets[e]]++] = node;
    free(fill);
    return 0;
}

/* ---- Dominators of the reversed graph ------------------------------------------------------ */

struct dominance {
    const struct work *work;
    uint32_t *number; /* node -> depth-first number from the exit; NONE = not reached */
    uint32_t *vertex; /* number -> node */
    uint32_t *parent; /* all below by number */
    uint32_t *semi;
    uint32_t *ancestor;
    uint32_t *label;
    uint32_t *bucket;      /* first of the numbers whose semidominator this is */
    uint32_t *bucket_next; /* next in such a list */
    uint32_t *idom;
    uint32_t *path; /* scratch of compress and search */
    uint32_t count;
};

static int dominance_init(struct dominance *d, const struct work *work)
{
    uint32_t **arrays[] = {&d->number, &d->vertex,      &d->parent, &d->semi, &d->ancestor,
                           &d->bucket, &d->bucket_next, &d->idom,   &d->path, &d->label};

    memset(d, 0, sizeof(*d));
    d->work = work;
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        *arrays[i] = new_words(work->total_count, NONE);
        if (!*arrays[i])
            return -ENOMEM;
    }
    return 0;
}

static void dominance_fini(struct dominance *d)
{
    free(d->number);
    free(d->vertex);
    free(d->parent);
    free(d->semi);
    free(d->ancestor);
    free(d->label);
    free(d->bucket);
    free(d->bucket_next);
    free(d->idom);
    free(d->path);
}

static void dominance_enter(struct dominance *d, uint32_t node, uint32_t parent)
{
    uint32_t number = d->count++;

    d->number[node] = number;
    d->vertex[number] = node;
    d->parent[number] = parent;
    d->semi[number] = number;
    d->label[number] = number;
}

/* Numbers nodes depth first against the edges. `idom` holds each node's next edge meanwhile. */
static void dominance_search(struct dominance *d)
{
    const struct csr *edges = &d->work->predecessors;
    uint32_t *next_edge = d->idom;
    uint32_t depth = 0;

    dominance_enter(d, d->work->exit, NONE);
    next_edge[0] = edges->first[d->work->exit];
    d->path[depth++] = 0;
    while (depth) {
        uint32_t number = d->path[depth - 1], node = d->vertex[number], target;

        if (next_edge[number] == edges->first[node + 1]) {
            depth--;
            continue;
        }
        target = edges->targets[next_edge[number]++];
        if (d->number[target] != NONE)
            continue;
        dominance_enter(d, target, number);
        next_edge[d->count - 1] = edges->first[target];
        d->path[depth++] = d->count - 1;
    }
}

/* The number with least semidominator on the way up from v in the forest built so far. */
static uint32_t dominance_eval(struct dominance *d, uint32_t v)
{
    uint32_t depth = 0, at = v;

    if (d->ancestor[v] == NONE)
        return v;
    while (d->ancestor[d->ancestor[at]] != NONE) {
        d->path[depth++] = at;
        at = d->ancestor[at];
    }
    while (depth) {
        uint32_t upper;

        at = d->path[--depth];
        upper = d->ancestor[at];
        if (d->semi[d->label[upper]] < d->semi[d->label[at]])
            d->label[at] = d->label[upper];
        d->ancestor[at] = d->ancestor[upper];
    }
    return d->label[v];
}

static void dominance_run(struct dominance *d)
{
    const struct csr *edges = &d->work->successors; /* predecessors in the reversed graph */

    for (uint32_t w = d->count - 1; w > 0 && w != NONE; w--) {
        uint32_t node = d->vertex[w], parent = d->parent[w];

        for (uint32_t e = edges->first[node]; e < edges->first[node + 1]; e++) {
            uint32_t u = d->number[edges->targets[e]];

            if (u != NONE && d->semi[dominance_eval(d, u)] < d->semi[w])
                d->semi[w] = d->semi[dominance_eval(d, u)];
        }
        d->bucket_next[w] = d->bucket[d->semi[w]];
        d->bucket[d->semi[w]] = w;
        d->ancestor[w] = parent;
        for (uint32_t v = d->bucket[parent]; v != NONE; v = d->bucket_next[v]) {
            uint32_t u = dominance_eval(d, v);

            d->idom[v] = d->semi[u] < d->semi[v] ? u : parent;
        }
        d->bucket[parent] = NONE;
    }
    for (uint32_t w = 1; w < d->count; w++)
        if (d->idom[w] != d->semi[w])
            d->idom[w] = d->idom[d->idom[w]];
}

static int find_ipdoms(struct work *work)
{
    struct dominance d;
    int result = dominance_init(&d, work);

    work->ipdom = new_words(work->total_count, NONE);
    if (!work->ipdom)
        result = -ENOMEM;
    if (result == 0) {
        dominance_search(&d);
        dominance_run(&d);
        for (uint32_t w = 1; w < d.count; w++)
            work->ipdom[d.vertex[w]] = d.vertex[d.idom[w]];
    }
    dominance_fini(&d);
    return result;
}

/* ---- Results ------------------------------------------------------------------------------- */

/* Calls for each pair (controller u, dependent node): counts them, or stores them if `fill`. */
static uint64_t walk_dependences(const struct work *work, uint32_t *mark, uint32_t *counts,
                                 uint32_t *fill, uint32_t *controllers)
{
    const struct mdl_digraph *in = work->in;
    uint64_t total = 0;

    for (uint32_t u = 0; u < work->node_count; u++) {
        if (in->first[u + 1] - in->first[u] < 2)
            continue;
        for (uint32_t e = in->first[u]; e < in->first[u + 1]; e++) {
            uint32_t runner = redirect(work, u, in->targets[e]);

            while (runner != NONE && runner != work->ipdom[u] && runner != work->exit &&
                   mark[runner] != u) {
                mark[runner] = u;
                if (runner < work->node_count) {
                    total++;
                    if (fill)
                        controllers[fill[runner]++] = u;
                    else
                        counts[runner]++;
                }
                runner = work->ipdom[runner];
            }
            if (total > CONTROLLERS_MAX)
                return total;
        }
    }
    return total;
}

static int find_dependences(struct work *work, struct mdl_postdom *result)
{
    uint32_t *mark = new_words(work->total_count, NONE);
    uint32_t *fill = NULL;
    uint64_t total;
    int status = -ENOMEM;

    result->cd_first = new_words((size_t)work->node_count + 1, 0);
    if (!mark || !result->cd_first)
        goto out;
    total = walk_dependences(work, mark, result->cd_first + 1, NULL, NULL);
    if (total > CONTROLLERS_MAX) {
        status = RESULT_TOO_LARGE();
        goto out;
    }
    for (uint32_t node = 0; node < work->node_count; node++)
        result->cd_first[node + 1] += result->cd_first[node];
    fill = new_words(work->node_count, 0);
    result->controllers = new_words(total, 0);
    if (!fill || !result->controllers)
        goto out;
    memcpy(fill, result->cd_first, work->node_count * sizeof(*fill));
    memset(mark, 0xff, work->total_count * sizeof(*mark));
    walk_dependences(work, mark, NULL, fill, result->controllers);
    status = 0;
out:
    free(mark);
    free(fill);
    return status;
}

static int export_ipdoms(const struct work *work, struct mdl_postdom *result)
{
    result->ipdom = new_words(work->node_count, MDL_NODE_EXIT);
    if (!result->ipdom)
        return -ENOMEM;
    for (uint32_t node = 0; node < work->node_count; node++)
        if (work->ipdom[node] < work->node_count)
            result->ipdom[node] = work->ipdom[node];
    return 0;
}

void mdl_postdom_fini(struct mdl_postdom *postdom)
{
    free(postdom->ipdom);
    free(postdom->cd_first);
    free(postdom->controllers);
    memset(postdom, 0, sizeof(*postdom));
}

int mdl_postdom_compute(const struct mdl_digraph *graph, struct mdl_postdom *result)
{
    struct work work = {.in = graph, .node_count = graph->node_count};
    int status;

    memset(result, 0, sizeof(*result));
    status = find_components(&work);
    if (status == 0)
        status = find_endless_loops(&work);
    if (status == 0)
        status = mark_reaching(&work);
    if (status == 0)
        status = build_successors(&work);
    if (status == 0)
        status = build_predecessors(&work);
    if (status == 0)
        status = find_ipdoms(&work);
    if (status == 0)
        status = find_dependences(&work, result);
    if (status == 0)
        status = export_ipdoms(&work, result);
    work_fini(&work);
    if (status < 0)
        mdl_postdom_fini(result);
    return status;
}
