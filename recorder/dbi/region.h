/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Regions: memory for translated code near the program's modules.
 *
 * Each has two parts, so that code that runs lies close together: bodies in the first, stubs and
 * prefixes in the second, the cold one.
 */
#ifndef RECORDER_DBI_REGION_H
#define RECORDER_DBI_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/dbi/emit.h"
#include "recorder/dbi/translate.h"

struct dbi;
struct fragment;

struct region {
    uint64_t address;
    uint8_t *writable;
    size_t hot_bytes;  /* used of the first part */
    size_t cold_bytes; /* end of what is used of the second */
    size_t hot_huge;   /* up to here the first part has been given huge pages, if it could be */
    size_t cold_huge;  /* the second */
    size_t stubless;   /* fragments in it that may need a stub (DBI_LEAVE_BYTES) yet */
    uint32_t *ids;     /* of the fragments in it, by address */
    size_t id_count, id_capacity;
    struct dbi_shared shared;
};

#define REGION_HOT_BYTES (DBI_REGION_BYTES / 2)

/* A region with room, near `pc` if one can be had. 0 or an error. */
int dbi_region_get(struct dbi *dbi, uint64_t pc, struct region **out);

/* What writes to the region's second part, and what says how far it came. */
struct emit dbi_region_cold(const struct region *region);
void dbi_region_cold_end(struct region *region, const struct emit *e);

/* Where the replayee has what we write at `at`. */
uint64_t dbi_region_host(const struct region *region, const uint8_t *at);

/* The region that a fragment's body is in; NULL: none any more. */
struct region *dbi_region_of(struct dbi *dbi, const struct fragment *fragment);

/* The region that has a host address; NULL: none. */
const struct region *dbi_region_at(const struct dbi *dbi, uint64_t host);

/* Notes the fragment that was emitted into the region last. 0 or -ENOMEM. */
int dbi_region_note(struct region *region, uint32_t id);

/* Takes all fragments out of the regions; what fragments share stays. */
void dbi_regions_empty(struct dbi *dbi);
void dbi_regions_fini(struct dbi *dbi);

#endif
