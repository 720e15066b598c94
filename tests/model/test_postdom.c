/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Post-dominators and control dependence against their definitions, on small random graphs. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "wet/model/postdom.h"

#define N    10
#define EXIT N
#define NONE UINT32_MAX

/* A graph as a matrix; column N is the exit. */
struct matrix {
    uint32_t n;
    uint8_t edge[N][N + 1];
};

static void to_digraph(const struct matrix *m, struct mdl_digraph *graph, uint32_t *first,
                       uint32_t *targets)
{
    uint32_t count = 0;

    for (uint32_t u = 0; u < m->n; u++) {
        first[u] = count;
        for (uint32_t v = 0; v <= N; v++)
            if (m->edge[u][v])
                targets[count++] = v == EXIT ? MDL_NODE_EXIT : v;
    }
    first[m->n] = count;
    *graph = (struct mdl_digraph){m->n, first, targets};
}

/* Can `from` reach the exit on a path that avoids `without`? */
static int reaches(const struct matrix *m, uint32_t from, uint32_t without)
{
    uint8_t seen[N] = {0};
    uint32_t stack[N], depth = 0;

    if (from == without)
        return 0;
    seen[from] = 1;
    stack[depth++] = from;
    while (depth) {
        uint32_t u = stack[--depth];

        if (m->edge[u][EXIT])
            return 1;
        for (uint32_t v = 0; v < m->n; v++)
            if (m->edge[u][v] && !seen[v] && v != without) {
                seen[v] = 1;
                stack[depth++] = v;
            }
    }
    return 0;
}

/* Definition: every path from u to the exit passes v. */
static int post_dominates(const struct matrix *m, uint32_t v, uint32_t u)
{
    return v == u || !reaches(m, u, v);
}

/* The strict post-dominator that all others post-dominate; EXIT if there is none. */
static uint32_t ipdom_by_definition(const struct matrix *m, uint32_t u)
{
    for (uint32_t v = 0; v < m->n; v++) {
        int is_immediate = v != u && post_dominates(m, v, u);

        for (uint32_t w = 0; is_immediate && w < m->n; w++)
            if (w != u && w != v && post_dominates(m, w, u) && !post_dominates(m, w, v))
                is_immediate = 0;
        if (is_immediate)
            return v;
    }
    return EXIT;
}

/* Definition: v post-dominates a successor of u, but not u strictly. Targets are taken from `all`,
 * post-dominance is that of `m` (they differ only in edges that do not count for the latter). */
static int depends_by_definition(const struct matrix *m, const struct matrix *all, uint32_t v,
                                 uint32_t u)
{
    int successors = 0, found = 0;

    for (uint32_t w = 0; w <= N; w++)
        successors += all->edge[u][w];
    if (successors < 2 || (v != u && post_dominates(m, v, u)))
        return 0;
    for (uint32_t w = 0; w < m->n; w++)
        found |= all->edge[u][w] && post_dominates(m, v, w);
    return found;
}

static void check(const struct matrix *all, const struct matrix *counting)
{
    uint32_t first[N + 1], targets[N * (N + 1)];
    struct mdl_digraph graph;
    struct mdl_postdom result;

    to_digraph(all, &graph, first, targets);
    assert_int_equal(mdl_postdom_compute(&graph, &result), 0);
    for (uint32_t u = 0; u < all->n; u++) {
        uint32_t expected = ipdom_by_definition(counting, u);
        uint32_t at = result.cd_first[u];

        assert_int_equal(result.ipdom[u], expected == EXIT ? MDL_NODE_EXIT : expected);
        for (uint32_t by = 0; by < all->n; by++)
            if (depends_by_definition(counting, all, u, by)) {
                assert_in_range(at, 0, result.cd_first[u + 1] - 1);
                assert_int_equal(result.controllers[at++], by);
            }
        assert_int_equal(at, result.cd_first[u + 1]);
    }
    mdl_postdom_fini(&result);
}

static void make_random(struct matrix *m, unsigned density, unsigned exits)
{
    memset(m, 0, sizeof(*m));
    m->n = 1 + (uint32_t)(random() % N);
    for (uint32_t u = 0; u < m->n; u++) {
        for (uint32_t v = 0; v < m->n; v++)
            m->edge[u][v] = (unsigned)(random() % 100) < density;
        m->edge[u][EXIT] = (unsigned)(random() % 100) < exits;
    }
}

static void postdom_random_graphs_equal_the_definition(void **state)
{
    unsigned checked = 0;

    (void)state;
    srandom(1);
    for (unsigned round = 0; round < 20000; round++) {
        struct matrix m;
        int all_reach = 1;

        make_random(&m, 5 + round % 40, 10 + round % 50);
        for (uint32_t u = 0; u < m.n; u++)
            all_reach &= reaches(&m, u, NONE);
        if (!all_reach)
            continue;
        check(&m, &m);
        checked++;
    }
    assert_in_range(checked, 5000, 20000);
}

/* Acyclic graphs in which some nodes stop the program: for nodes that can go on, edges to nodes
 * that cannot do not count; among those that cannot, stopping is the exit. */
static void postdom_stopping_nodes_do_not_control_what_follows(void **state)
{
    unsigned checked = 0;

    (void)state;
    srandom(2);
    for (unsigned round = 0; round < 20000; round++) {
        struct matrix m, counting;
        uint8_t alive[N], stops[N];

        make_random(&m, 10 + round % 40, 10);
        for (uint32_t u = 0; u < m.n; u++)
            for (uint32_t v = 0; v <= u; v++)
                m.edge[u][v] = 0;
        counting = m;
        for (uint32_t u = 0; u < m.n; u++) {
            alive[u] = (uint8_t)reaches(&m, u, NONE);
            stops[u] = 1;
            for (uint32_t v = 0; v <= N; v++)
                stops[u] &= !m.edge[u][v];
        }
        for (uint32_t u = 0; u < m.n; u++) {
            for (uint32_t v = 0; v < m.n; v++)
                if (alive[u] && !alive[v])
                    counting.edge[u][v] = 0;
            if (stops[u])
                counting.edge[u][EXIT] = 1;
            checked += !alive[u];
        }
        check(&m, &counting);
    }
    assert_in_range(checked, 1000, 200000);
}

/* entry -> head -> test -> {then, rest}; then -> rest -> head: no way out. */
static void postdom_endless_loop_leaves_from_its_back_edge(void **state)
{
    static const uint32_t first[] = {0, 1, 2, 4, 5, 6};
    static const uint32_t targets[] = {1, 2, 3, 4, 4, 1};
    struct mdl_digraph graph = {5, first, targets};
    struct mdl_postdom result;

    (void)state;
    assert_int_equal(mdl_postdom_compute(&graph, &result), 0);
    assert_int_equal(result.ipdom[0], 1);
    assert_int_equal(result.ipdom[1], 2);
    assert_int_equal(result.ipdom[2], 4);
    assert_int_equal(result.ipdom[3], 4);
    assert_int_equal(result.ipdom[4], MDL_NODE_EXIT);
    assert_int_equal(result.cd_first[5], 1); /* only `then` depends on anything */
    assert_int_equal(result.cd_first[4] - result.cd_first[3], 1);
    assert_int_equal(result.controllers[0], 2);
    mdl_postdom_fini(&result);
}

/* Every node reaches the exit or is accounted for, whatever the graph: no crash, valid indexes. */
static void postdom_any_graph_gives_a_tree(void **state)
{
    (void)state;
    srandom(3);
    for (unsigned round = 0; round < 20000; round++) {
        uint32_t first[N + 1], targets[N * (N + 1)];
        struct mdl_digraph graph;
        struct mdl_postdom result;
        struct matrix m;

        make_random(&m, 5 + round % 40, round % 8);
        to_digraph(&m, &graph, first, targets);
        assert_int_equal(mdl_postdom_compute(&graph, &result), 0);
        for (uint32_t u = 0; u < m.n; u++) {
            uint32_t at = u, steps = 0;

            while (at != MDL_NODE_EXIT && steps++ <= m.n) {
                assert_in_range(at, 0, m.n - 1);
                at = result.ipdom[at];
            }
            assert_int_equal(at, MDL_NODE_EXIT); /* no circles */
        }
        mdl_postdom_fini(&result);
    }
}

/* A ladder of 300,000 nodes, each of which may leave or skip one, and a deep loop nest: quadratic
 * work would run into the test's time limit. */
static void postdom_large_graphs_take_linear_time(void **state)
{
    enum { LARGE = 300000 };
    uint32_t *first = calloc(LARGE + 1, sizeof(*first));
    uint32_t *targets = calloc(3 * LARGE, sizeof(*targets));
    struct mdl_digraph graph = {LARGE, first, targets};
    struct mdl_postdom result;
    uint32_t count = 0;

    (void)state;
    assert_non_null(first);
    assert_non_null(targets);
    for (uint32_t u = 0; u < LARGE; u++) {
        first[u] = count;
        targets[count++] = u + 1 < LARGE ? u + 1 : MDL_NODE_EXIT;
        if (u + 2 < LARGE)
            targets[count++] = u % 3 ? u + 2 : MDL_NODE_EXIT;
        if (u > 0 && u % 7 == 0)
            targets[count++] = u - 7;
    }
    first[LARGE] = count;
    assert_int_equal(mdl_postdom_compute(&graph, &result), 0);
    assert_int_equal(result.ipdom[LARGE - 1], MDL_NODE_EXIT);
    mdl_postdom_fini(&result);
    free(first);
    free(targets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(postdom_random_graphs_equal_the_definition),
        cmocka_unit_test(postdom_stopping_nodes_do_not_control_what_follows),
        cmocka_unit_test(postdom_endless_loop_leaves_from_its_back_edge),
        cmocka_unit_test(postdom_any_graph_gives_a_tree),
        cmocka_unit_test(postdom_large_graphs_take_linear_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
