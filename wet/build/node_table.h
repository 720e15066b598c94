/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nodes of a run, numbered by when they first ran.
 *
 * The engine numbers its fragments as it translates them, which differs between two engines that
 * run the same code, and it may have several of the same code. A node is an address and bytes. It
 * gets its number at the end of the interval in which it first ran; those of one interval in
 * order of address, length and bytes. So the numbers follow from the run and its intervals alone,
 * and a build that goes on after it was killed gives the same ones.
 */
#ifndef WET_BUILD_NODE_TABLE_H
#define WET_BUILD_NODE_TABLE_H

#include "common/buf.h"
#include "recorder/replay/engine.h"

struct wet_table_node {
    uint64_t pc;
    uint64_t executions;
    uint64_t now; /* of these, in the interval that is being counted; else 0 */
    uint8_t *code;
    uint16_t statements, code_bytes;
    uint32_t next; /* chain by hash, 1 + index */
};

/* All zero is an empty table. */
struct wet_node_table {
    struct wet_table_node *nodes; /* by number */
    uint32_t count, capacity;
    uint32_t *by_hash;     /* 1 + number */
    uint32_t *by_fragment; /* 1 + number; 0: not known yet */
    uint64_t *seen;        /* executions of each fragment until the last interval */
    uint32_t fragment_room;
};

void wet_node_table_fini(struct wet_node_table *table);

/* An interval has ended: numbers what ran first in it, appends its WET_SEC_COUNTS to `counts`.
 * -ENOMEM, -WETDBG_ERR_UNSUPPORTED (too many nodes). */
int wet_node_table_count(struct wet_node_table *table, const struct rep_engine *engine,
                         struct wd_buf *counts);

/*
 * wet_node_table_count() for an interval that was counted in another table: `counts` names nodes of
 * `from`, which a build of its own met. `map` has as many places as `from` nodes, all 0 at first,
 * and is for later intervals of the same table.
 */
int wet_node_table_merge(struct wet_node_table *table, const struct wet_node_table *from,
                         uint32_t *map, const struct wd_buf *counts, struct wd_buf *out);

/* To be called when the engine is another one, which has executed nothing. */
void wet_node_table_detach(struct wet_node_table *table);

/* Nodes from number `first` on as bytes, and back at the end of a table; what is no such list is
 * -WETDBG_ERR_CORRUPT. */
int wet_node_table_save(const struct wet_node_table *table, uint32_t first, struct wd_buf *out);
int wet_node_table_load(struct wet_node_table *table, struct wd_view *view);

/* Adds up an interval's WET_SEC_COUNTS. -WETDBG_ERR_CORRUPT. */
int wet_node_table_add_counts(struct wet_node_table *table, const struct wd_buf *counts);

#endif
