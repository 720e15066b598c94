/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's mappings as the agent keeps them: sorted, disjoint struct agt_view. */
#ifndef RECORDER_AGENT_VIEWS_H
#define RECORDER_AGENT_VIEWS_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/agent/agent.h"

struct agt_views {
    struct agt_view *list; /* in the agent's heap area */
    size_t count;
};

#define AGT_VIEWS_MAX (AGT_HEAP_BYTES / sizeof(struct agt_view))

/* Index of the first view that ends above `address`; count if none. */
size_t agt_views_find(const struct agt_views *views, uint64_t address);

/* The view that holds `address`, or NULL. */
struct agt_view *agt_views_at(const struct agt_views *views, uint64_t address);

/* True if every byte of [start, end) lies in some view. */
bool agt_views_cover(const struct agt_views *views, uint64_t start, uint64_t end);

/* Splits views so that none crosses `address`. False if the table is full. */
bool agt_views_split(struct agt_views *views, uint64_t address);

/* Removes [start, end); false if the table is full (nothing is lost then). */
bool agt_views_remove(struct agt_views *views, uint64_t start, uint64_t end);

/* Adds a view where there is none; false if the table is full. */
bool agt_views_add(struct agt_views *views, const struct agt_view *view);

#endif
