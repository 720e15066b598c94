/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A slice as a picture, drawn by Graphviz. */
#ifndef DBGCLI_COMMANDS_SLICE_DRAWING_H
#define DBGCLI_COMMANDS_SLICE_DRAWING_H

#include "dbgcli/commands/slice_graph.h"

#define CLI_DRAWING_NODES 60 /* drawn unless more are asked for */

/* Writes Graphviz's text to `dot_path`, and what its `dot` draws of it to `svg_path`; either may be
 * NULL. Of more than `limit` nodes (0: all) the nearest are drawn. -errno or -WETDBG_ERR_USAGE for
 * files that cannot be written; -WETDBG_ERR_MACHINE without Graphviz. Files appear whole or not at
 * all. */
int cli_slice_draw(struct cli_session *session, const struct cli_slice_graph *graph, size_t limit,
                   const char *dot_path, const char *svg_path);

#endif
