/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Control-flow graphs: how one is built, and the cache of those of a module. */
#ifndef WET_MODEL_GRAPH_H
#define WET_MODEL_GRAPH_H

#include "wet/model/addrmap.h"
#include "wet/model/functions.h"
#include "wet/model/lsda.h"
#include "wet/model/postdom.h"

/* A growable list of addresses. */
struct mdl_addresses {
    uint64_t *items;
    size_t count;
    size_t capacity;
};

/* 1 if added, 0 if it was there, -ENOMEM. */
int mdl_addresses_add(struct mdl_addresses *list, uint64_t address);

/* One contiguous piece of code of a graph. */
struct mdl_graph_part {
    uint64_t start;
    uint64_t size_bytes;
    uint32_t *block_of; /* per byte: 1 + index of the block whose instruction starts here, or 0 */
};

/* Whether calls that never return leave the function, or are as if they were not there. */
enum mdl_control_form {
    MDL_CONTROL_EXITS,
    MDL_CONTROL_NO_EXITS,
    MDL_CONTROL_FORMS,
};

/* Who controls what, in one form. */
struct mdl_control {
    bool is_made;
    struct mdl_postdom postdom;
    /* Controllers of block n: controller_pcs[controller_first[n]] to [controller_first[n + 1] -
     * 1]. */
    uint32_t *controller_first;
    uint64_t *controller_pcs;
};

struct wetdbg_graph {
    uint64_t entry;
    struct mdl_graph_part *parts; /* [0] is the function itself */
    size_t part_count;
    struct wetdbg_block *blocks;
    uint32_t block_count;
    uint32_t *successors;
    uint32_t *successor_first;                     /* block_count + 1 */
    struct mdl_control control[MDL_CONTROL_FORMS]; /* the first is made with the graph */
    struct mdl_landing *landings;                  /* of exceptions, in all parts */
    size_t landing_count;
};

void mdl_graph_free(struct wetdbg_graph *graph);

struct mdl_graphs {
    struct mdl_addrmap by_entry;     /* struct wetdbg_graph */
    struct mdl_addrmap targets;      /* by indirect jump: struct mdl_addresses */
    struct mdl_addrmap more_entries; /* by function entry: struct mdl_addresses */
};

/* Those of a module, made on first use. 0 or -ENOMEM. */
int mdl_graphs_get(struct mdl_mod *mod, struct mdl_graphs **graphs);

/*
 * Builds blocks and successors of the function at table index `function`, which must be an owner.
 * `graphs` gives observed targets and further entries. 0 or -ENOMEM.
 */
int mdl_cfg_build(struct mdl_mod *mod, struct mdl_graphs *graphs, uint32_t function,
                  struct wetdbg_graph **graph);

/*
 * Whether a function may return: a return can be reached from its entry, or a way out of which
 * nobody knows where it leads. What is known to never return so far counts. 1, 0 or -ENOMEM.
 */
int mdl_cfg_may_return(struct mdl_mod *mod, struct mdl_graphs *graphs, uint32_t function);

/* Whether a jump to `target` from elsewhere is one to a part that belongs to the jumping
 * function. */
int mdl_cfg_is_part(const struct mdl_function_entry *entry, uint64_t target);

/* NULL is fine. */
void mdl_graphs_free(struct mdl_graphs *graphs);

#endif
