/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list of chunks, the newest first, which is the one that serves. A reset keeps one chunk of
 * ordinary size, so that reading frame after frame allocates nothing. */
#include "recorder/rr_trace/frame_arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 << 10)
#define ALIGN       alignof(max_align_t)

struct rrt_arena_chunk {
    struct rrt_arena_chunk *older;
    size_t size_bytes;
    size_t used_bytes;
    alignas(max_align_t) uint8_t bytes[];
};

static struct rrt_arena_chunk *add_chunk(struct rrt_arena *arena, size_t size_bytes)
{
    if (size_bytes < CHUNK_BYTES)
        size_bytes = CHUNK_BYTES;
    if (size_bytes > SIZE_MAX - sizeof(struct rrt_arena_chunk))
        return NULL;
    struct rrt_arena_chunk *chunk = malloc(sizeof(*chunk) + size_bytes);
    if (!chunk)
        return NULL;
    chunk->older = arena->chunks;
    chunk->size_bytes = size_bytes;
    chunk->used_bytes = 0;
    arena->chunks = chunk;
    return chunk;
}

void *rrt_arena_alloc(struct rrt_arena *arena, size_t count, size_t size)
{
    size_t wanted;
    if (__builtin_mul_overflow(count, size, &wanted) || wanted > SIZE_MAX - ALIGN)
        return NULL;
    wanted = (wanted + ALIGN - 1) & ~(ALIGN - 1);
    struct rrt_arena_chunk *chunk = arena->chunks;
    if (!chunk || chunk->size_bytes - chunk->used_bytes < wanted)
        chunk = add_chunk(arena, wanted);
    if (!chunk)
        return NULL;
    void *piece = chunk->bytes + chunk->used_bytes;
    chunk->used_bytes += wanted;
    memset(piece, 0, wanted);
    return piece;
}

char *rrt_arena_string(struct rrt_arena *arena, const void *bytes, size_t count)
{
    char *copy = count < SIZE_MAX ? rrt_arena_alloc(arena, count + 1, 1) : NULL;
    if (copy && count > 0)
        memcpy(copy, bytes, count);
    return copy;
}

static void free_chunks(struct rrt_arena_chunk *chunk)
{
    while (chunk) {
        struct rrt_arena_chunk *older = chunk->older;
        free(chunk);
        chunk = older;
    }
}

void rrt_arena_reset(struct rrt_arena *arena)
{
    struct rrt_arena_chunk *newest = arena->chunks;
    if (!newest)
        return;
    free_chunks(newest->older);
    newest->older = NULL;
    newest->used_bytes = 0;
    if (newest->size_bytes > CHUNK_BYTES)
        rrt_arena_fini(arena);
}

void rrt_arena_fini(struct rrt_arena *arena)
{
    free_chunks(arena->chunks);
    arena->chunks = NULL;
}
