/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops rather than recursion: a recording may hold a chain of any number of processes. */
#include "dbgcli/verbs/process_tree.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"

#define INDENT 3

struct links {
    size_t first_child, next_sibling;
};

/* Links children to parents. A process comes after its parent in the list, so that building from
 * the end puts children in order. The first root is returned. */
static size_t make_links(struct cli_tree *tree, struct links *links)
{
    size_t first_root = WETDBG_NO_PROCESS;
    for (size_t i = 0; i < tree->count; i++)
        links[i] = (struct links){WETDBG_NO_PROCESS, WETDBG_NO_PROCESS};
    for (size_t i = tree->count; i--;) {
        size_t parent = tree->list[i].parent;
        size_t *first = parent == WETDBG_NO_PROCESS ? &first_root : &links[parent].first_child;
        tree->is_last[i] = *first == WETDBG_NO_PROCESS;
        links[i].next_sibling = *first;
        *first = i;
    }
    return first_root;
}

static void order_rows(struct cli_tree *tree, const struct links *links, size_t at)
{
    size_t depth = 0;
    for (size_t i = 0; i < tree->count; i++) {
        tree->rows[i] = (struct cli_tree_row){at, depth};
        if (links[at].first_child != WETDBG_NO_PROCESS) {
            at = links[at].first_child;
            depth++;
            continue;
        }
        while (tree->is_last[at] && tree->list[at].parent != WETDBG_NO_PROCESS) {
            at = tree->list[at].parent;
            depth--;
        }
        at = links[at].next_sibling;
    }
}

void cli_tree_init(struct cli_tree *tree, const struct wetdbg_process *list, size_t count)
{
    *tree = (struct cli_tree){.list = list, .count = count};
    if (!count)
        return;
    tree->rows = cli_realloc(NULL, count, sizeof(*tree->rows));
    tree->is_last = cli_realloc(NULL, count, sizeof(*tree->is_last));
    struct links *links = cli_realloc(NULL, count, sizeof(*links));
    order_rows(tree, links, make_links(tree, links));
    free(links);
}

void cli_tree_fini(struct cli_tree *tree)
{
    free(tree->rows);
    free(tree->is_last);
    *tree = (struct cli_tree){0};
}

char *cli_tree_indent(const struct cli_tree *tree, struct cli_tree_row row, bool is_first)
{
    size_t at = row.process;
    if (row.depth > CLI_TREE_DEPTH_SHOWN)
        return cli_asprintf("%*s(level %zu) ", INDENT * CLI_TREE_DEPTH_SHOWN, "", row.depth);
    char *text = cli_malloc(INDENT * row.depth + 1);
    text[INDENT * row.depth] = 0;
    for (size_t level = row.depth; level--; at = tree->list[at].parent) {
        bool is_own = level + 1 == row.depth && is_first;
        bool is_last = tree->is_last[at];
        memcpy(text + INDENT * level,
               is_own    ? (is_last ? "`- " : "|- ")
               : is_last ? "   "
                         : "|  ",
               INDENT);
    }
    return text;
}
