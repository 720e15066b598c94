/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that is given out piece by piece and taken back all at once, between frames. Pieces
 * never move. */
#ifndef RECORDER_RR_TRACE_FRAME_ARENA_H
#define RECORDER_RR_TRACE_FRAME_ARENA_H

#include <stddef.h>

struct rrt_arena_chunk;

/* Embedded by its holder; all zero is empty. */
struct rrt_arena {
    struct rrt_arena_chunk *chunks;
};

/* `count` elements of `size` bytes, zeroed, aligned for anything. NULL when out of memory; never
 * NULL for a count of 0. */
void *rrt_arena_alloc(struct rrt_arena *arena, size_t count, size_t size);

/* A NUL-terminated copy; NULL when out of memory. */
char *rrt_arena_string(struct rrt_arena *arena, const void *bytes, size_t count);

void rrt_arena_reset(struct rrt_arena *arena); /* everything given out becomes invalid */
void rrt_arena_fini(struct rrt_arena *arena);

#endif
