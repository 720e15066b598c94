/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a file holds of what the process itself put there: for each byte the call that did, and
 * which of the call's bytes it is. In blocks, so that a write costs the blocks that it touches,
 * however large the file is.
 */
#ifndef SLICER_CHANNELS_CONTENTS_H
#define SLICER_CHANNELS_CONTENTS_H

#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"

#define SLC_CONTENT_BLOCK  4096u
#define SLC_CONTENT_BLOCKS (1u << 20) /* more of them are not followed: their bytes are nobody's */

/* Bytes [start, end) of a block are bytes [from, ...) of what a call sent. */
struct slc_extent {
    uint32_t start, end;
    uint32_t sender;
    uint64_t from;
};

struct slc_block {
    uint32_t object;
    uint32_t next; /* of the same object, + 1 */
    uint64_t number;
    struct slc_extent *extents; /* in order; none overlap */
    uint32_t count, capacity;
};

/* All objects. Embedded by its holder; all zero is empty. */
struct slc_contents {
    struct slc_block *blocks;
    size_t count, capacity;
    struct wd_index index;
    struct slc_object {
        uint32_t head; /* its first block, + 1 */
        uint64_t end;  /* no byte at or behind it was ever put */
    } * objects;
    size_t object_count, object_capacity;
};

void slc_contents_fini(struct slc_contents *contents);

/* A new object without bytes: its number, or UINT32_MAX if memory is short. */
uint32_t slc_contents_object(struct slc_contents *contents);

/* Bytes [offset, offset + size) of the object are those that `sender` sent, from its byte `from`
 * on. 0 or -ENOMEM. Too many of them are left out. */
int slc_contents_put(struct slc_contents *contents, uint32_t object, uint64_t offset, uint64_t size,
                     uint32_t sender, uint64_t from);

/* Nothing is known of bytes [offset, end). 0 or -ENOMEM. */
int slc_contents_clear(struct slc_contents *contents, uint32_t object, uint64_t offset,
                       uint64_t end);

/* ... from `offset` on. */
void slc_contents_cut(struct slc_contents *contents, uint32_t object, uint64_t offset);

/* The first extent that has bytes in [offset, end), cut to them, with its start there in *at; NULL
 * if there is none. The result is written to *extent: start 0, end its size. */
const struct slc_extent *slc_contents_next(const struct slc_contents *contents, uint32_t object,
                                           uint64_t offset, uint64_t end, uint64_t *at,
                                           struct slc_extent *extent);

#endif
