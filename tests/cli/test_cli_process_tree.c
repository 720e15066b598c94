/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes as a tree: order and indentation. */
#include <stdlib.h>
#include <string.h>

#include "dbgcli/verbs/process_tree.h"
#include "tests/cli/cli_unit.h"

#define NONE WETDBG_NO_PROCESS

static struct wetdbg_process *make_list(const size_t *parents, size_t count)
{
    struct wetdbg_process *list = calloc(count, sizeof(*list));
    for (size_t i = 0; i < count; i++)
        list[i].parent = parents[i];
    return list;
}

static void tree_puts_children_below_who_started_them(void **state)
{
    (void)state;
    static const size_t parents[] = {NONE, 0, 0, 1, 0, 2, 3, NONE, 7};
    static const struct {
        size_t process, depth;
        const char *first, *next;
    } rows[] = {
        {0, 0, "", ""},
        {1, 1, "|- ", "|  "},
        {3, 2, "|  `- ", "|     "},
        {6, 3, "|     `- ", "|        "},
        {2, 1, "|- ", "|  "},
        {5, 2, "|  `- ", "|     "},
        {4, 1, "`- ", "   "},
        {7, 0, "", ""},
        {8, 1, "`- ", "   "},
    };
    size_t count = sizeof(rows) / sizeof(*rows);
    struct wetdbg_process *list = make_list(parents, count);
    struct cli_tree tree;
    cli_tree_init(&tree, list, count);
    for (size_t i = 0; i < count; i++) {
        char *first = cli_tree_indent(&tree, tree.rows[i], true);
        char *next = cli_tree_indent(&tree, tree.rows[i], false);
        assert_int_equal(tree.rows[i].process, rows[i].process);
        assert_int_equal(tree.rows[i].depth, rows[i].depth);
        assert_string_equal(first, rows[i].first);
        assert_string_equal(next, rows[i].next);
        free(first);
        free(next);
    }
    cli_tree_fini(&tree);
    free(list);
}

static void tree_of_nothing_is_empty(void **state)
{
    (void)state;
    struct cli_tree tree;
    cli_tree_init(&tree, NULL, 0);
    assert_null(tree.rows);
    cli_tree_fini(&tree);
}

/* A chain, where each process starts the next; then one that starts all others. */
static void tree_of_many_is_as_quick_as_a_list(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    size_t *parents = calloc(COUNT, sizeof(*parents));
    for (int is_chain = 0; is_chain < 2; is_chain++) {
        struct cli_tree tree;
        for (size_t i = 0; i < COUNT; i++)
            parents[i] = i == 0 ? NONE : is_chain ? i - 1 : 0;
        struct wetdbg_process *list = make_list(parents, COUNT);
        cli_tree_init(&tree, list, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            char *indent = cli_tree_indent(&tree, tree.rows[i], true);
            assert_int_equal(tree.rows[i].process, i);
            assert_int_equal(tree.rows[i].depth, is_chain ? i : i > 0);
            assert_true(strlen(indent) <= 3 * CLI_TREE_DEPTH_SHOWN + 20);
            if (is_chain && i == CLI_TREE_DEPTH_SHOWN + 1)
                assert_non_null(strstr(indent, "(level 17) "));
            free(indent);
        }
        cli_tree_fini(&tree);
        free(list);
    }
    free(parents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree_puts_children_below_who_started_them),
        cmocka_unit_test(tree_of_nothing_is_empty),
        cmocka_unit_test(tree_of_many_is_as_quick_as_a_list),
    };
    return cmocka_run_group_tests_name("process_tree", tests, NULL, NULL);
}
