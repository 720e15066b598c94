/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/channels/contents.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

void slc_contents_fini(struct slc_contents *contents)
{
    for (size_t i = 0; i < contents->count; i++)
        free(contents->blocks[i].extents);
    free(contents->blocks);
    free(contents->objects);
    wd_index_fini(&contents->index);
    *contents = (struct slc_contents){0};
}

uint32_t slc_contents_object(struct slc_contents *contents)
{
    if (wd_grow_zeroed(contents->objects, contents->object_capacity, contents->object_count + 1))
        return UINT32_MAX;
    return (uint32_t)contents->object_count++;
}

static uint64_t hash_of(uint32_t object, uint64_t number)
{
    return wd_hash_u64(wd_hash_u64(object + 1) ^ number) >> 24;
}

static uint32_t *place_of(const struct slc_contents *contents, uint32_t object, uint64_t number)
{
    const struct slc_block *blocks = contents->blocks;
    return wd_index_find(&contents->index, hash_of(object, number), i,
                         blocks[i].object == object && blocks[i].number == number);
}

static struct slc_block *block_find(const struct slc_contents *contents, uint32_t object,
                                    uint64_t number)
{
    uint32_t at = contents->index.capacity ? *place_of(contents, object, number) : 0;
    return at ? &contents->blocks[at - 1] : NULL;
}

static int index_grow(struct slc_contents *contents)
{
    if ((contents->count + 1) * 2 <= contents->index.capacity)
        return 0;
    size_t capacity = contents->index.capacity ? 2 * contents->index.capacity : 256;
    if (wd_index_renew(&contents->index, capacity))
        return -ENOMEM;
    for (size_t i = 0; i < contents->count; i++)
        *place_of(contents, contents->blocks[i].object, contents->blocks[i].number) =
            (uint32_t)i + 1;
    return 0;
}

static struct slc_block *block_make(struct slc_contents *contents, uint32_t object, uint64_t number)
{
    struct slc_block *known = block_find(contents, object, number);

    if (known)
        return known;
    if (index_grow(contents) || wd_grow(contents->blocks, contents->capacity, contents->count + 1))
        return NULL;
    *place_of(contents, object, number) = (uint32_t)contents->count + 1;
    struct slc_block *block = &contents->blocks[contents->count];
    *block = (struct slc_block){
        .object = object, .number = number, .next = contents->objects[object].head};
    contents->objects[object].head = (uint32_t)++contents->count;
    return block;
}

static int extent_insert(struct slc_block *block, uint32_t at, struct slc_extent extent)
{
    if (wd_grow(block->extents, block->capacity, block->count + 1u))
        return -ENOMEM;
    memmove(&block->extents[at + 1], &block->extents[at],
            (block->count - at) * sizeof(*block->extents));
    block->extents[at] = extent;
    block->count++;
    return 0;
}

/* Takes [start, end) out. Returns where an extent with these bytes would stand, or -ENOMEM. */
static int block_clear(struct slc_block *block, uint32_t start, uint32_t end)
{
    uint32_t at = 0;

    while (at < block->count && block->extents[at].end <= start)
        at++;
    if (at < block->count && block->extents[at].start < start) {
        struct slc_extent rest = block->extents[at];
        block->extents[at].end = start;
        at++;
        if (rest.end > end) {
            rest.from += end - rest.start;
            rest.start = end;
            return extent_insert(block, at, rest) ? -ENOMEM : (int)at;
        }
    }
    uint32_t behind = at;
    while (behind < block->count && block->extents[behind].end <= end)
        behind++;
    if (behind < block->count && block->extents[behind].start < end) {
        block->extents[behind].from += end - block->extents[behind].start;
        block->extents[behind].start = end;
    }
    if (behind > at)
        memmove(&block->extents[at], &block->extents[behind],
                (block->count - behind) * sizeof(*block->extents));
    block->count -= behind - at;
    return (int)at;
}

int slc_contents_clear(struct slc_contents *contents, uint32_t object, uint64_t offset,
                       uint64_t end)
{
    for (uint32_t at = contents->objects[object].head; at; at = contents->blocks[at - 1].next) {
        struct slc_block *block = &contents->blocks[at - 1];
        uint64_t first = block->number * SLC_CONTENT_BLOCK, behind = first + SLC_CONTENT_BLOCK;
        if (offset >= behind || end <= first)
            continue;
        if (block_clear(block, offset > first ? (uint32_t)(offset - first) : 0,
                        end < behind ? (uint32_t)(end - first) : SLC_CONTENT_BLOCK) < 0)
            return -ENOMEM;
    }
    return 0;
}

void slc_contents_cut(struct slc_contents *contents, uint32_t object, uint64_t offset)
{
    (void)slc_contents_clear(contents, object, offset, UINT64_MAX); /* at ends it needs no room */
}

int slc_contents_put(struct slc_contents *contents, uint32_t object, uint64_t offset, uint64_t size,
                     uint32_t sender, uint64_t from)
{
    assert(object < contents->object_count && offset + size >= offset);
    if (size / SLC_CONTENT_BLOCK + 2 > SLC_CONTENT_BLOCKS - contents->count) {
        slc_contents_cut(contents, object, offset);
        return 0;
    }
    if (contents->objects[object].end < offset + size)
        contents->objects[object].end = offset + size;
    while (size) {
        uint32_t start = (uint32_t)(offset % SLC_CONTENT_BLOCK);
        uint32_t room = SLC_CONTENT_BLOCK - start, count = size < room ? (uint32_t)size : room;
        struct slc_block *block = block_make(contents, object, offset / SLC_CONTENT_BLOCK);
        int at = block ? block_clear(block, start, start + count) : -ENOMEM;
        if (at < 0 || extent_insert(block, (uint32_t)at,
                                    (struct slc_extent){start, start + count, sender, from}))
            return -ENOMEM;
        offset += count;
        from += count;
        size -= count;
    }
    return 0;
}

const struct slc_extent *slc_contents_next(const struct slc_contents *contents, uint32_t object,
                                           uint64_t offset, uint64_t end, uint64_t *at,
                                           struct slc_extent *extent)
{
    if (object >= contents->object_count || contents->objects[object].head == 0)
        return NULL;
    if (end > contents->objects[object].end)
        end = contents->objects[object].end;
    for (uint64_t number = offset / SLC_CONTENT_BLOCK; offset < end; number++) {
        const struct slc_block *block = block_find(contents, object, number);
        uint64_t first = number * SLC_CONTENT_BLOCK;
        for (uint32_t i = 0; block && i < block->count; i++) {
            const struct slc_extent *is = &block->extents[i];
            if (first + is->end <= offset || first + is->start >= end)
                continue;
            *at = first + is->start < offset ? offset : first + is->start;
            uint64_t behind = first + is->end < end ? first + is->end : end;
            *extent = (struct slc_extent){0, (uint32_t)(behind - *at), is->sender,
                                          is->from + (*at - first - is->start)};
            return extent;
        }
        offset = first + SLC_CONTENT_BLOCK;
    }
    return NULL;
}
