/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pages from which code was fetched although the program may write to them.
 *
 * A *guarded* page is read-only on the host, so that a store into it comes to the agent before the
 * code that was made from it is out of date. A page that is written over and over is *unwatched*:
 * code made from it compares itself with the page whenever it is entered.
 */
#ifndef RECORDER_AGENT_GUARDS_H
#define RECORDER_AGENT_GUARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum agt_guard_state {
    AGT_GUARD_OPEN, /* written since; nothing is made from it now */
    AGT_GUARD_SET,
    AGT_GUARD_UNWATCHED,
};

struct agt_guard {
    uint64_t page;
    uint32_t state;  /* enum agt_guard_state */
    uint32_t faults; /* stores caught since `since` */
    uint64_t since;  /* instructions executed */
};

/* Sorted by page. */
struct agt_guards {
    struct agt_guard *list;
    size_t count, most;
};

/* Index of the first guard at or above `page`; count if none. */
size_t agt_guards_find(const struct agt_guards *guards, uint64_t page);

/* The guard of `page`, or NULL. */
struct agt_guard *agt_guards_at(const struct agt_guards *guards, uint64_t page);

/* The guard of `page`, added (open) if there is none; NULL if the table is full. */
struct agt_guard *agt_guards_add(struct agt_guards *guards, uint64_t page);

/* Forgets the guards of pages in [start, end). */
void agt_guards_remove(struct agt_guards *guards, uint64_t start, uint64_t end);

#endif
