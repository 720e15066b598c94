/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Post-dominators and control dependence of a plain directed graph. */
#ifndef WET_MODEL_POSTDOM_H
#define WET_MODEL_POSTDOM_H

#include <stdint.h>

#define MDL_NODE_EXIT UINT32_MAX

/* Successors of node n: targets[first[n]] .. targets[first[n + 1] - 1], without repetition;
 * MDL_NODE_EXIT is the virtual exit. A node without successors stops the program (whoever wants
 * stopping to count as leaving gives such nodes the exit as successor). */
struct mdl_digraph {
    uint32_t node_count;
    const uint32_t *first; /* node_count + 1 */
    const uint32_t *targets;
};

struct mdl_postdom {
    uint32_t *ipdom;       /* node_count; MDL_NODE_EXIT: the virtual exit */
    uint32_t *cd_first;    /* node_count + 1 */
    uint32_t *controllers; /* of node n: cd_first[n] .. cd_first[n + 1] - 1, ascending */
};

/*
 * Computes both. Node 0 is where depth-first numbering starts (it only chooses loop headers).
 *
 * Nodes from which no path reaches the exit are treated so:
 *  - an endless loop (a strongly connected part without way out) may leave from the edges back to
 *    its header, the part's first node in depth-first order;
 *  - where a path ends in a node that stops, it does not count for nodes that can also reach the
 *    exit: `if (!p) abort();` does not control what follows. Among nodes that can only stop,
 *    stopping is the exit.
 *
 * O((nodes + edges) log nodes), plus the size of the result. 0; -ENOMEM; -WETDBG_ERR_UNSUPPORTED if
 * the control dependences are more than 2^28. All zero on failure.
 */
int mdl_postdom_compute(const struct mdl_digraph *graph, struct mdl_postdom *result);
void mdl_postdom_fini(struct mdl_postdom *postdom);

#endif
