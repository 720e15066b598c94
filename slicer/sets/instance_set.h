/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a set is made of. */
#ifndef SLICER_SETS_INSTANCE_SET_H
#define SLICER_SETS_INSTANCE_SET_H

#include <roaring/roaring.h>

#include "slicer/call_bytes.h"
#include "slicer/slicer.h"
#include <wetdbg/set.h>

struct wetdbg_set {
    struct wetdbg *wet;
    uint64_t part_count;      /* as many as the wet has intervals */
    roaring_bitmap_t **parts; /* by interval, of time - first_time; NULL: none of it */
    uint64_t count;
    /* A crash's instruction that did not complete. */
    bool has_fault;
    wetdbg_time fault_time;
    uint64_t fault_pc;
    uint32_t fault_task;
    /* Of slices one way, and what was put together of such: as in struct wetdbg_slice, sorted. */
    struct slc_call_bytes calls;
    bool has_calls, is_forward;
};

/* An empty set, to be filled; NULL if memory is short. */
struct wetdbg_set *slc_set_new(struct wetdbg *wet);

/* Makes part k of bits: bit i is the interval's i-th instruction. 0 or -ENOMEM. */
int slc_set_fill(struct wetdbg_set *set, uint64_t k, const uint64_t *words, uint64_t instructions);

/* The other way: `words` has room for the interval's instructions, and is zero. */
void slc_set_bits(const struct wetdbg_set *set, uint64_t k, uint64_t *words);

/* Counts its instances, once it is filled. */
void slc_set_finish(struct wetdbg_set *set);

/* How many instructions interval k has. */
uint64_t slc_set_instructions(const struct wetdbg_set *set, uint64_t k);

#endif
