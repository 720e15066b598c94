/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory, in huge pages where there is much of it.
 *
 * What is kept as long as the code cache is taken from chunks that grow up to a huge page. An
 * allocation each cost a twentieth of translating, and touching page by page more.
 */
#include "recorder/dbi/code_room.h"

#include <assert.h>
#include <sys/mman.h>

#include "recorder/dbi/dbi_priv.h"

#define HUGE_BYTES        (2u << 20)
#define CHUNK_BYTES       HUGE_BYTES /* had at once */
#define CHUNK_BYTES_FIRST (64u << 10)

struct chunk {
    struct chunk *next;
    size_t used, bytes;
};

/* A chunk of zeros; a large one lies where a huge page can be. */
static struct chunk *chunk_new(size_t bytes)
{
    size_t slack = bytes == CHUNK_BYTES ? CHUNK_BYTES : 0;
    uint8_t *room =
        mmap(NULL, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    size_t before = slack ? -(uintptr_t)room & (CHUNK_BYTES - 1) : 0;
    if (before)
        munmap(room, before);
    if (slack - before)
        munmap(room + before + bytes, slack - before);
    if (slack)
        madvise(room + before, bytes, MADV_HUGEPAGE);
    struct chunk *chunk = (struct chunk *)(room + before);
    *chunk = (struct chunk){.used = sizeof(*chunk), .bytes = bytes};
    return chunk;
}

void *dbi_room_get(struct dbi *dbi, size_t bytes)
{
    struct chunk *chunk = dbi->chunks;
    bytes = (bytes + 7) & ~(size_t)7;
    assert(bytes <= CHUNK_BYTES_FIRST - sizeof(*chunk));
    if (!chunk || chunk->bytes - chunk->used < bytes) {
        chunk = chunk_new(!chunk                           ? CHUNK_BYTES_FIRST
                          : chunk->bytes < CHUNK_BYTES / 4 ? chunk->bytes * 4
                                                           : CHUNK_BYTES);
        if (!chunk)
            return NULL;
        chunk->next = dbi->chunks;
        dbi->chunks = chunk;
    }
    void *room = (uint8_t *)chunk + chunk->used;
    chunk->used += bytes;
    return room;
}

void dbi_room_free(struct dbi *dbi)
{
    while (dbi->chunks) {
        struct chunk *next = dbi->chunks->next;
        munmap(dbi->chunks, dbi->chunks->bytes);
        dbi->chunks = next;
    }
}

/* ---- translated code ---- */

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* Makes a huge page: memory files get none by themselves. Only pages that are there can be made
 * one. */
static void page_collapse(uint8_t *at)
{
    *(volatile uint8_t *)at = *at;
    madvise(at, HUGE_BYTES, MADV_COLLAPSE);
}

void dbi_room_settle(uint8_t *part, size_t used, size_t *upto)
{
    while (used > *upto) {
        if (*upto == HUGE_BYTES) /* programs that come so far are large */
            page_collapse(part);
        if (*upto >= HUGE_BYTES)
            page_collapse(part + *upto);
        *upto += HUGE_BYTES;
    }
}
