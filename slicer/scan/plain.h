/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the two ways to follow compiled instructions have in common: slicer/scan/fast.c, which keeps
 * sets, and slicer/scan/users.c, which keeps users. */
#ifndef SLICER_SCAN_PLAIN_H
#define SLICER_SCAN_PLAIN_H

#include "slicer/scan/scan.h"

#define SLC_OP_WORDS(op) ((op)->flags & SLC_OP_NARROW ? 1u : 4u)

/* What is wanted of an instance. */
struct slc_plain_hit {
    unsigned ways;         /* bit f: flow f is followed */
    uint64_t store;        /* wanted bytes of the store */
    struct slc_page *page; /* that holds them */
};

/* Notes in the draft that what waits in a slot ends here: only a push of its register can be told
 * by a key. */
void slc_draft_ending(struct slc_scan *scan, const struct wet_exec *exec, const struct slc_op *op,
                      uint64_t address, uint32_t s);

/* Passes by a pop of a saved register, if it can be. 0 or -ENOMEM. */
int slc_plain_pop(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                  const struct slc_node *node, uint32_t s);

/* Wanted bytes of a store; saved registers that end here are given back. */
static inline int slc_plain_store(struct slc_scan *scan, struct slc_task *task,
                                  const struct wet_exec *exec, uint32_t s, const struct slc_op *op,
                                  uint64_t address, struct slc_plain_hit *hit)
{
    struct slc_memory *memory = &scan->memory;
    unsigned off = address % 64, size = op->store_bytes;

    hit->page = slc_page_find(memory, address >> SLC_PAGE_BITS);
    if (!hit->page)
        return 0;
    unsigned group = address % SLC_PAGE_BYTES / 64;
    if (slc_page_slots_among(hit->page, group, off, size)) {
        if (scan->draft)
            slc_draft_ending(scan, exec, op, address, s);
        int err = slc_bypass_write(&scan->bypass, memory, &task->regs, exec->task, op->pushed,
                                   address, size);
        if (err)
            return err;
    }
    hit->store = hit->page->bytes[group] >> off & (UINT64_MAX >> (64 - size));
    return 0;
}

/* Whether an instruction may define a wanted register. */
static inline bool slc_plain_touches(const struct slc_op *op, const struct slc_regs *regs)
{
    uint64_t found = (regs->value.bits[0] | regs->address.bits[0]) & op->word[0].touches;

    if (!(op->flags & SLC_OP_NARROW))
        for (unsigned i = 1; i < 4; i++)
            found |= (regs->value.bits[i] | regs->address.bits[i]) & op->word[i].touches;
    return found != 0;
}

/* Bytes of a move's destination that are wanted from it. */
static inline uint64_t slc_plain_wanted(const struct slc_way *way, const struct slc_regs *regs,
                                        const struct slc_plain_hit *hit)
{
    const struct slc_shape *shape = slc_shape_of(way->move.to);
    uint64_t bytes = 0;

    if (way->move.to_memory)
        return hit->store;
    for (unsigned p = 0; p < shape->count; p++) {
        unsigned loc = way->move.to + p;
        uint64_t values = way->word[loc / 64].value_hits,
                 addresses = way->word[loc / 64].address_hits;
        if (regs->address.bits[loc / 64] & addresses & UINT64_C(1) << (loc % 64))
            bytes |= (uint64_t)shape->mask[p] << shape->start[p];
        else if (values >> (loc % 64) & 1)
            bytes |= (uint64_t)slc_regs_value_mask(regs, loc) << shape->start[p];
    }
    return bytes >> way->move.to_start;
}

#endif
