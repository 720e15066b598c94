/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * HDD (ICSE 2006, section 3): ddmin by halves over the nodes of one level after the other, from the
 * outermost on. Then single nodes of all levels, until none can go (HDD*, section 3.3), which makes
 * it 1-tree-minimal.
 */
#include <errno.h>
#include <stdlib.h>

#include "delta/delta_priv.h"
#include "delta/reduction.h"
#include <wetdbg/errors.h>

struct tree {
    struct dlt_asker *asker;
    const struct wetdbg_delta_node *nodes;
    size_t count, delta_count;
    uint32_t *levels; /* of each node */
    uint32_t deepest;
    bool *has_sibling;   /* of each parent, the last one for none: one that stands already */
    struct dlt_set left; /* nodes */
    struct dlt_set nodes_tried;
    uint32_t *members; /* of the level in question */
    size_t member_count;
};

/* ---- nodes that nest ---- */

static bool is_inside(const struct wetdbg_delta_node *node, uint32_t first, uint32_t end)
{
    return first <= node->first && node->first <= node->end && node->end <= end;
}

static bool is_sound(const struct wetdbg_delta_node *nodes, size_t i, size_t delta_count)
{
    const struct wetdbg_delta_node *node = &nodes[i];
    uint32_t first = 0, end = (uint32_t)delta_count;
    if (node->parent != WETDBG_DELTA_NO_NODE) {
        if (node->parent >= i)
            return false;
        first = nodes[node->parent].first;
        end = nodes[node->parent].end;
    }
    bool has_separator = node->separator_first < node->separator_end;
    return is_inside(node, first, end) && node->first < node->end &&
           (!has_separator ||
            (first <= node->separator_first && node->separator_end <= node->first));
}

static int tree_init(struct tree *tree)
{
    tree->levels = calloc(tree->count + 1, sizeof(*tree->levels));
    tree->members = calloc(tree->count + 1, sizeof(*tree->members));
    tree->has_sibling = calloc(tree->count + 1, sizeof(*tree->has_sibling));
    if (!tree->levels || !tree->members || !tree->has_sibling)
        return -ENOMEM;
    for (size_t i = 0; i < tree->count; i++) {
        uint32_t parent = tree->nodes[i].parent;
        if (!is_sound(tree->nodes, i, tree->delta_count))
            return wetdbg_fail(-EINVAL, "node %zu is not in its parent", i);
        tree->levels[i] = parent == WETDBG_DELTA_NO_NODE ? 0 : tree->levels[parent] + 1;
        if (tree->levels[i] > tree->deepest)
            tree->deepest = tree->levels[i];
    }
    int err = dlt_set_init(&tree->left, tree->count);
    if (!err)
        err = dlt_set_init(&tree->nodes_tried, tree->count);
    dlt_set_add(&tree->left, 0, err ? 0 : tree->count);
    return err;
}

static void tree_fini(struct tree *tree)
{
    free(tree->levels);
    free(tree->members);
    free(tree->has_sibling);
    dlt_set_fini(&tree->left);
    dlt_set_fini(&tree->nodes_tried);
}

/* ---- candidates ---- */

/* What is in a node that went away went with it. */
static void nodes_settle(void *arg, struct dlt_set *items)
{
    const struct tree *tree = arg;
    for (size_t i = 0; i < tree->count; i++) {
        uint32_t parent = tree->nodes[i].parent;
        if (parent != WETDBG_DELTA_NO_NODE && !dlt_set_has(items, parent))
            dlt_set_remove(items, i, i + 1);
    }
}

/* The deltas of these nodes, and of what no node covers. A separator stands if its node does and is
 * not the first. */
static void nodes_form(void *arg, const struct dlt_set *items, struct dlt_set *deltas)
{
    struct tree *tree = arg;
    dlt_set_add(deltas, 0, deltas->count);
    for (size_t i = 0; i <= tree->count; i++)
        tree->has_sibling[i] = false;
    for (size_t i = 0; i < tree->count; i++) {
        const struct wetdbg_delta_node *node = &tree->nodes[i];
        size_t parent = node->parent == WETDBG_DELTA_NO_NODE ? tree->count : node->parent;
        bool stands = dlt_set_has(items, i);
        if (!stands)
            dlt_set_remove(deltas, node->first, node->end);
        if (!stands || !tree->has_sibling[parent])
            dlt_set_remove(deltas, node->separator_first, node->separator_end);
        tree->has_sibling[parent] = tree->has_sibling[parent] || stands;
    }
}

/* Items are the members of the level in question. */
static void level_form(void *arg, const struct dlt_set *items, struct dlt_set *deltas)
{
    struct tree *tree = arg;
    dlt_set_copy(&tree->nodes_tried, &tree->left);
    for (size_t i = 0; i < tree->member_count; i++)
        if (!dlt_set_has(items, i))
            dlt_set_remove(&tree->nodes_tried, tree->members[i], tree->members[i] + 1);
    nodes_settle(tree, &tree->nodes_tried);
    nodes_form(tree, &tree->nodes_tried, deltas);
}

/* ---- the search ---- */

static int level_run(struct tree *tree)
{
    struct dlt_reduction reduction = {.asker = tree->asker, .arg = tree, .form = level_form};
    struct dlt_span *spans = malloc(sizeof(*spans));
    size_t count = 1;
    int err = spans ? dlt_set_init(&reduction.items, tree->member_count) : -ENOMEM;
    if (!err)
        err = dlt_set_init(&reduction.tried, tree->member_count);
    if (!err) {
        *spans = (struct dlt_span){.end = (uint32_t)tree->member_count};
        dlt_set_add(&reduction.items, 0, tree->member_count);
        err = dlt_reduce_by_halves(&reduction, &spans, &count);
    }
    for (size_t i = 0; !err && i < tree->member_count; i++)
        if (!dlt_set_has(&reduction.items, i))
            dlt_set_remove(&tree->left, tree->members[i], tree->members[i] + 1);
    if (!err)
        nodes_settle(tree, &tree->left);
    free(spans);
    dlt_set_fini(&reduction.tried);
    dlt_set_fini(&reduction.items);
    return err;
}

static int nodes_run(struct tree *tree, size_t *gone)
{
    struct dlt_reduction reduction = {
        .asker = tree->asker, .arg = tree, .form = nodes_form, .settle = nodes_settle};
    int err = dlt_set_init(&reduction.items, tree->count);
    if (!err)
        err = dlt_set_init(&reduction.tried, tree->count);
    if (!err) {
        dlt_set_copy(&reduction.items, &tree->left);
        err = dlt_reduce_by_items(&reduction, gone);
    }
    if (!err)
        dlt_set_copy(&tree->left, &reduction.items);
    dlt_set_fini(&reduction.tried);
    dlt_set_fini(&reduction.items);
    return err;
}

static int levels_run(struct tree *tree)
{
    int err = 0;
    for (uint32_t level = 0; !err && level <= tree->deepest; level++) {
        tree->member_count = 0;
        for (size_t i = 0; i < tree->count; i++)
            if (tree->levels[i] == level && dlt_set_has(&tree->left, i))
                tree->members[tree->member_count++] = (uint32_t)i;
        if (tree->member_count)
            err = level_run(tree);
    }
    return err;
}

static int tree_run(struct tree *tree)
{
    size_t gone = 1;
    int err = dlt_ask_ends(tree->asker, tree->delta_count, false);
    while (!err && gone) {
        err = levels_run(tree);
        if (!err)
            err = nodes_run(tree, &gone);
    }
    return err;
}

int wetdbg_delta_minimize_tree(const struct wetdbg_delta_tests *tests, size_t count,
                               const struct wetdbg_delta_node *nodes, size_t node_count,
                               struct wetdbg_delta_result *result)
{
    struct tree tree = {.nodes = nodes, .count = node_count, .delta_count = count};
    struct dlt_set pass = {0}, fail = {0};
    int err = tree_init(&tree);
    if (!err)
        err = dlt_asker_open(tests, count, &tree.asker);
    if (!err)
        err = dlt_set_init(&fail, count);
    if (!err)
        err = tree_run(&tree);
    if (!err) {
        nodes_form(&tree, &tree.left, &fail);
        err = dlt_result_make(tree.asker, &pass, &fail, result);
    }
    dlt_set_fini(&fail);
    dlt_asker_close(tree.asker);
    tree_fini(&tree);
    return err;
}
