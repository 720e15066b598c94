/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order and indentation of a recording's processes as a tree: children below who started
 * them, in order of start. However deep it is, the indentation stays within CLI_TREE_DEPTH_SHOWN
 * levels; what is deeper is marked with its level.
 */
#ifndef DBGCLI_VERBS_PROCESS_TREE_H
#define DBGCLI_VERBS_PROCESS_TREE_H

#include <stddef.h>

#include "recorder/rr_trace/rr_trace.h"

#define CLI_TREE_DEPTH_SHOWN 16

struct cli_tree_row {
    size_t process; /* index */
    size_t depth;   /* 0: started by the recorder */
};

/* `count` rows; to be freed. NULL for count 0. */
struct cli_tree_row *cli_tree_rows(const struct rrt_process *list, size_t count);

/* What stands before a process's text, in ASCII: "|  `- ". For the line of a program that was
 * replaced by exec, too: `is_first` is false for all but the first line of a process. To be freed. */
char *cli_tree_indent(const struct rrt_process *list, size_t count, struct cli_tree_row row,
                      int is_first);

#endif
