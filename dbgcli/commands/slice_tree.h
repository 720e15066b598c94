/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A slice as a tree that unfolds: below a line the lines that gave something to it. Each line is
 * unfolded once; where it comes again, it says where it is. Rows have numbers, by which `expand`
 * unfolds them.
 */
#ifndef DBGCLI_COMMANDS_SLICE_TREE_H
#define DBGCLI_COMMANDS_SLICE_TREE_H

#include "dbgcli/commands/slice_graph.h"

struct cli_slice_tree;

/* Prints the first levels, and keeps the tree in the session, in place of an older one. Takes the
 * graph over. */
void cli_slice_tree_show(struct cli_session *session, struct cli_slice_graph *graph);

/* Prints what is below row `number`. -WETDBG_ERR_NOT_FOUND, explained, if there is no tree or no
 * such row. */
int cli_slice_tree_expand(struct cli_session *session, uint64_t number);
void cli_slice_tree_free(struct cli_session *session);

/* An array of objects: "user" and "line" (file, line, function, module), and the instances by
 * edge. */
json_t *cli_slice_graph_json(const struct cli_slice_graph *graph);

#endif
