/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The feed's model of an address space: which ranges are mapped, how, and which object they show.
 *
 * Entries are made without any memory at hand, so what a call did to mappings that are not in its
 * frame (a whole stack, a whole SysV segment, what two processes share) is looked up here.
 */
#ifndef RECORDER_FEED_FEED_SPACE_H
#define RECORDER_FEED_FEED_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/page.h"

#define FEED_ADDRESS_END 0x7ffffffff000u /* above the last page of user memory */

enum feed_vma_flag {
    FEED_VMA_SHARED = 1,     /* MAP_SHARED */
    FEED_VMA_GROWSDOWN = 2,  /* a stack */
    FEED_VMA_FILE = 4,       /* untouched pages show a file in the replay too */
    FEED_VMA_FILE_COPY = 8,  /* a private file mapping whose contents are recorded data */
    FEED_VMA_DONTFORK = 16,  /* MADV_DONTFORK */
    FEED_VMA_INHERITED = 32, /* the space got it by fork */
    FEED_VMA_RECORDER = 64,  /* rr's own: stub pages, thread-locals page */
};

/* `offset` is that of `start` in the object (device, inode); inode 0: no object. */
struct feed_vma {
    uint64_t start, end;
    uint64_t device, inode, offset;
    uint32_t prot;
    uint32_t flags;
    uint32_t name; /* number in the feed's names, for shared mappings; else FEED_VMA_NAMELESS */
};
#define FEED_VMA_NAMELESS UINT32_MAX

/* Zeroed by its holder. Ranges are sorted and disjoint. */
struct feed_vmas {
    struct feed_vma *list;
    size_t count, capacity;
};

void feed_vmas_fini(struct feed_vmas *vmas);

/* All of these take page-aligned ranges, treat start >= end as nothing to do, and return 0 or
 * -ENOMEM (then the model may be half-changed: give up the space). */
int feed_vmas_map(struct feed_vmas *vmas, const struct feed_vma *vma); /* replaces what was there */
int feed_vmas_unmap(struct feed_vmas *vmas, uint64_t start, uint64_t end);
int feed_vmas_protect(struct feed_vmas *vmas, uint64_t start, uint64_t end, uint32_t prot);
int feed_vmas_flag(struct feed_vmas *vmas, uint64_t start, uint64_t end, uint32_t set,
                   uint32_t clear);
/* As mremap: [from, from+from_bytes) to [to, to+to_bytes); `keep`: the old range stays. */
int feed_vmas_move(struct feed_vmas *vmas, uint64_t from, uint64_t from_bytes, uint64_t to,
                   uint64_t to_bytes, bool keep);
/* As fork: without MADV_DONTFORK ranges, all marked as inherited. `to` is zeroed. */
int feed_vmas_fork(const struct feed_vmas *from, struct feed_vmas *to);

/* The first range that ends above `address`, or NULL. Borrowed until the next change. */
const struct feed_vma *feed_vmas_above(const struct feed_vmas *vmas, uint64_t address);
/* The first address of [start, end) that is not mapped; `end` if all of it is. */
uint64_t feed_vmas_mapped_until(const struct feed_vmas *vmas, uint64_t start, uint64_t end);

/* Whether the ranges are sorted, disjoint, of whole pages and not empty (common/checked.h). */
int feed_vmas_validate(const struct feed_vmas *vmas);

#endif
