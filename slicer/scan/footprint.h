/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of memory of which it matters to a scan of some executions whether they are wanted:
 * those that they store to, or perhaps do, and those that a saved register is popped from. All
 * others only ever become wanted there.
 */
#ifndef SLICER_SCAN_FOOTPRINT_H
#define SLICER_SCAN_FOOTPRINT_H

#include "common/hash.h"
#include "slicer/scan/code_summary.h"
#include "slicer/scan/want.h"

struct slc_footprint_page {
    uint64_t number;
    uint64_t groups; /* bit g: some of bytes 64 g..64 g + 63 */
    size_t first;    /* their masks are from here on */
};

struct slc_footprint {
    size_t page_count, word_count;
    struct slc_footprint_page *pages; /* by number */
    uint64_t *masks;                  /* of words of 64 bytes, none of them 0 */
};

/* What makes footprints, with memory that is used again. Embedded by its holder, zeroed at
 * first. */
struct slc_footprint_maker {
    struct slc_footprint_page *pages;
    uint64_t (*masks)[SLC_PAGE_BYTES / 64]; /* of each page */
    size_t count, capacity;
    struct wd_index by_number; /* of pages */
};
void slc_footprint_maker_fini(struct slc_footprint_maker *maker);

/*
 * The footprint of executions [first, end) of an interval: 1 and *out for slc_footprint_free(); 0
 * if it is too large to be kept, or -ENOMEM.
 */
int slc_footprint_make(struct slc_footprint_maker *maker, struct slc_code *code,
                       const struct wet_interval *interval, size_t first, size_t end,
                       struct slc_footprint **out);
void slc_footprint_free(struct slc_footprint *footprint);
uint64_t slc_footprint_bytes(const struct slc_footprint *footprint);

/* The groups of a page that are in it. */
uint64_t slc_footprint_groups(const struct slc_footprint *footprint, uint64_t number);

/* Whether any of the 8 bytes at a multiple of 8 is in it. */
bool slc_footprint_has_slot(const struct slc_footprint *footprint, uint64_t slot);

/* The slots of a word that a mask's bytes are in: 8 bits. */
static inline unsigned slc_mask_slots(uint64_t mask)
{
    mask |= mask >> 4;
    mask |= mask >> 2;
    mask |= mask >> 1;
    return (unsigned)((mask & UINT64_C(0x0101010101010101)) * UINT64_C(0x0102040810204080) >> 56);
}

/* Pages are sorted, and each one's masks follow those of the one before, none of them 0. 0, or what
 * is wrong. */
int slc_footprint_validate(const struct slc_footprint *footprint);

#endif
