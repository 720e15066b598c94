/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Intervals on their way from the process that built them to the one that writes the file.
 *
 * A part is a file of intervals in order of time, as wet_writer gets them, packed but for their
 * counts: those name nodes by the numbers of the process' own table, which begins empty. Whoever
 * merges parts in order of time gives nodes the numbers that they have in one pass.
 */
#ifndef WET_BUILD_PART_H
#define WET_BUILD_PART_H

#include "wet/build/journal.h"
#include "wet/build/node_table.h"
#include "wet/build/writer.h"
#include "wet/trace/records.h"

struct wet_part;

/* Writes to `fd`, which stays the caller's. */
int wet_part_new(int fd, int level, struct wet_part **out);
void wet_part_free(struct wet_part *part); /* NULL is fine */

/* Appends an interval; its buffers become empty. Its note is that for a journal. */
int wet_part_put(struct wet_part *part, struct wet_interval_parts *parts);

/* Where parts go. All of it is the caller's. */
struct wet_merge {
    struct wet_store_writer *store;
    struct wet_journal *journal; /* or NULL */
    struct wet_node_table *nodes;
    uint32_t *noted; /* how many of these the journal has */
    int level;
};

/* Writes the part in `fd`, of which the intervals have to be these `count`. -WETDBG_ERR_MACHINE if
 * they are not. */
int wet_part_merge(const struct wet_merge *merge, int fd, const struct wet_index_record *index,
                   uint64_t first, uint64_t count);

#endif
