/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The hash of fragments, which the agent and translated code read.
 *
 * Only fragments that the agent asked for are in the hash, and those that calls return to. A place
 * for each fragment would be most of the memory that translating touches; nearly all are only
 * jumped to.
 */
#ifndef RECORDER_DBI_FRAGMENT_HASH_H
#define RECORDER_DBI_FRAGMENT_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/dbi/fragment.h"

struct dbi_hash {
    uint32_t size; /* entries: a power of two; 0: none yet */
    uint32_t used; /* of those: not free, or were not */
    uint32_t live; /* not free */
};

/* Takes all entries out. */
void dbi_hash_empty(struct dbi *dbi);

/* Makes an entry for a fragment that has none. 0 or an error. */
int dbi_hash_enter(struct dbi *dbi, const struct fragment *fragment);
void dbi_hash_leave(struct dbi *dbi, uint64_t pc);

/* Lets returns to `pc` come to `landing` from now on. 0 or an error. */
int dbi_hash_land(struct dbi *dbi, uint64_t pc, uint64_t landing);

/* The agent has asked for a fragment that is in the tables, and will again: it gets an entry, and a
 * prefix if there is room. 0 or an error. */
int dbi_hash_offer(struct dbi *dbi, struct fragment *fragment);

#endif
