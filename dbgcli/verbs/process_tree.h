/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order and indentation of a recording's processes as a tree: children below who started
 * them, in order of start. However deep it is, the indentation stays within CLI_TREE_DEPTH_SHOWN
 * levels; what is deeper is marked with its level.
 */
#ifndef DBGCLI_VERBS_PROCESS_TREE_H
#define DBGCLI_VERBS_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include <wetdbg/recording.h>

#define CLI_TREE_DEPTH_SHOWN 16

struct cli_tree_row {
    size_t process; /* index */
    size_t depth;   /* 0: started by the recorder */
};

struct cli_tree {
    const struct wetdbg_process *list; /* borrowed */
    size_t count;
    struct cli_tree_row *rows; /* in the order in which they are shown */
    bool *is_last;             /* by process: no child of its parent comes after it */
};

/* A list as wetdbg_recording_processes() gives it. To be ended with cli_tree_fini(). */
void cli_tree_init(struct cli_tree *tree, const struct wetdbg_process *list, size_t count);
void cli_tree_fini(struct cli_tree *tree);

/* What stands before a process's text, in ASCII: "|  `- "; for all lines of a process but the first
 * one, "|     ". To be freed. */
char *cli_tree_indent(const struct cli_tree *tree, struct cli_tree_row row, bool is_first);

#endif
