/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Applies a frame's mappings and memory contents to the child. */
#ifndef TESTS_ORACLE_ORACLE_SPACE_H
#define TESTS_ORACLE_ORACLE_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include "recorder/rr_trace/rr_trace.h"
#include "tests/oracle/oracle_child.h"

/* A shared object that the recording maps: one memfd, so that all its mappings alias. */
struct orc_object {
    uint64_t device, inode;
    int fd;
    uint64_t size_bytes;
};

struct orc_shared {
    uint64_t start, end;
    uint64_t offset_bytes;
    size_t object;
};

/* All zero and child set is an empty space. */
struct orc_space {
    struct orc_child *child;
    struct orc_object *objects;
    size_t object_count;
    struct orc_shared *shared; /* newest last; stale ones are harmless (see oracle_space.c) */
    size_t shared_count;
};

void orc_space_fini(struct orc_space *space);

int orc_space_map(struct orc_space *space, struct wetdbg_recording *trace,
                  const struct rrt_mmap *map);
int orc_space_unmap(struct orc_space *space, uint64_t start, uint64_t size_bytes);
int orc_space_write(struct orc_space *space, const struct rrt_write *write);

/* rr's stub page at 0x70000000, whose content the trace leaves to `librrpage`, the file of the
 * mapping before it. Does nothing when `maps` holds no such mapping. */
int orc_space_fill_rr_page(struct orc_space *space, struct wetdbg_recording *trace,
                           const struct rrt_mmap *maps, size_t count);

/* The end of the shared segment that was mapped at `start`; 0 if none was. */
uint64_t orc_space_segment_end(const struct orc_space *space, uint64_t start);

#endif
