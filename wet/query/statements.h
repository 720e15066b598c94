/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the statements of nodes define and use, and the memory for that. */
#ifndef WET_QUERY_STATEMENTS_H
#define WET_QUERY_STATEMENTS_H

#include "wet/intervals.h"

struct wet_statements;

/* NULL if there is no memory. */
struct wet_statements *wet_statements_new(void);

/* Frees it with everything that was made. */
void wet_statements_free(struct wet_statements *all);

/*
 * Decodes a node's code: node->statement_count statements, kept until wet_statements_free(), and
 * how many slots they have. Of the flows of an instruction only those that it has are there. NULL
 * if there is no memory. By one thread at a time.
 */
const struct wet_statement *wet_statements_make(struct wet_statements *all,
                                                const struct wet_node *node, uint32_t *slot_count);

#endif
