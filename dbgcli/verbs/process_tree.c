/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loops rather than recursion: a recording may hold a chain of any number of processes. */
#include "dbgcli/verbs/process_tree.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"

#define INDENT 3

/* links[2i] is the first child of process i, links[2i + 1] its next sibling. A process comes after
 * its parent in the list, so that building from the end puts children in order. */
static size_t *make_links(const struct rrt_process *list, size_t count, size_t *first_root)
{
    size_t *links = cli_malloc(2 * count * sizeof *links);
    for (size_t i = 0; i < 2 * count; i++)
        links[i] = RRT_NO_PROCESS;
    *first_root = RRT_NO_PROCESS;
    for (size_t i = count; i--;) {
        size_t parent = list[i].parent;
        size_t *first = parent == RRT_NO_PROCESS ? first_root : &links[2 * parent];
        links[2 * i + 1] = *first;
        *first = i;
    }
    return links;
}

struct cli_tree_row *cli_tree_rows(const struct rrt_process *list, size_t count)
{
    size_t at, depth = 0;
    if (!count)
        return NULL;
    struct cli_tree_row *rows = cli_malloc(count * sizeof *rows);
    size_t *links = make_links(list, count, &at);
    for (size_t i = 0; i < count; i++) {
        rows[i] = (struct cli_tree_row){at, depth};
        if (links[2 * at] != RRT_NO_PROCESS) {
            at = links[2 * at];
            depth++;
            continue;
        }
        while (links[2 * at + 1] == RRT_NO_PROCESS && list[at].parent != RRT_NO_PROCESS) {
            at = list[at].parent;
            depth--;
        }
        at = links[2 * at + 1];
    }
    free(links);
    return rows;
}

static bool has_later_sibling(const struct rrt_process *list, size_t count, size_t process)
{
    for (size_t i = process + 1; i < count; i++)
        if (list[i].parent == list[process].parent)
            return true;
    return false;
}

char *cli_tree_indent(const struct rrt_process *list, size_t count, struct cli_tree_row row,
                      int is_first)
{
    size_t shown = row.depth < CLI_TREE_DEPTH_SHOWN ? row.depth : CLI_TREE_DEPTH_SHOWN;
    size_t at = row.process;
    if (row.depth > CLI_TREE_DEPTH_SHOWN)
        return cli_asprintf("%*s(level %zu) ", INDENT * CLI_TREE_DEPTH_SHOWN, "", row.depth);
    char *text = cli_malloc(INDENT * shown + 1);
    text[INDENT * shown] = 0;
    for (size_t level = shown; level--; at = list[at].parent) {
        bool is_own = level + 1 == shown && is_first;
        bool goes_on = has_later_sibling(list, count, at);
        memcpy(text + INDENT * level,
               is_own    ? (goes_on ? "|- " : "`- ")
               : goes_on ? "|  "
                         : "   ",
               INDENT);
    }
    return text;
}
