/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How the lines of a slice hang together, as people look at it: own lines each for itself, what a
 * library did as one node for each of its functions.
 */
#ifndef DBGCLI_COMMANDS_SLICE_GRAPH_H
#define DBGCLI_COMMANDS_SLICE_GRAPH_H

#include "dbgcli/commands/session.h"

struct cli_graph_node {
    /* of a line; NULL: a function of a library, or without lines. All strings are the model's */
    const char *file;
    uint32_t line;
    const char *function, *module;
    uint64_t pc;
    uint64_t instances;
    uint32_t distance; /* the least */
};

/* What `user` took from `node`. */
struct cli_graph_link {
    size_t user, node;
    uint64_t instances[WETDBG_EDGE_NONE], total;
    uint32_t distance; /* the least of these instances */
};

struct cli_slice_graph {
    struct cli_graph_node *nodes; /* the nearest to the criterion first */
    size_t node_count;
    struct cli_graph_link *links; /* by user, then the nearest first; none of a node with itself */
    size_t link_count;
};

/* The graph of a slice with parents, which may go then; unless `all`, libraries are passed by
 * (wetdbg_slice_links()), and only the criterion may be in one. Of a program without line
 * information functions stand for lines. Errors of wetdbg_slice_links();
 * *out is for cli_slice_graph_free(). */
int cli_slice_graph_make(struct cli_session *session, const struct wetdbg_slice *slice, bool all,
                         struct cli_slice_graph **out);
void cli_slice_graph_free(struct cli_slice_graph *graph); /* NULL is fine */

/* The links of a user are links[*first, *first + the result). */
size_t cli_slice_graph_uses(const struct cli_slice_graph *graph, size_t user, size_t *first);

/* The edge that most instances of a link have. */
enum wetdbg_edge cli_graph_link_edge(const struct cli_graph_link *link);

/* "fault.c:12 in main", "memcpy in libc.so.6"; to be freed, never NULL; untrusted. */
char *cli_graph_node_text(const struct cli_graph_node *node);

#endif
