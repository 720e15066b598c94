/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Saved registers, passed by: `push r` ... `pop r` with nothing written to the slot in between is
 * no computation, and r after the pop is r before the push.
 *
 * A backward scan meets the pop first and cannot know yet. It takes the pair for granted, keeps the
 * wants of r aside and marks the slot. If what wrote the slot turns out not to be a push of r, the
 * pop's time goes onto a list and the scan has to be done again; pops on the list count as loads.
 */
#ifndef SLICER_SCAN_BYPASS_H
#define SLICER_SCAN_BYPASS_H

#include "slicer/scan/want.h"

struct slc_saved {
    uint64_t slot;
    wetdbg_time pop_time;
    uint32_t task;
    uint8_t reg;
    uint8_t values;    /* bit i: byte i is wanted */
    uint8_t addresses; /* bit p: piece p is */
    struct slc_want value[INS_GPR_PIECES];
    struct slc_want address[INS_GPR_PIECES];
};

/* Embedded by its holder. */
struct slc_bypass {
    struct slc_saved *saved; /* pairs are nested: the last one is the likely one */
    size_t count, capacity;
    wetdbg_time *refused; /* pops that are loads; descending in each pass, sorted between passes */
    size_t refused_count, refused_capacity;
    size_t refused_sorted; /* as many as earlier passes found */
};

void slc_bypass_fini(struct slc_bypass *bypass);

/* Pops that are known to be loads, sorted; before the first pass. 0 or -ENOMEM. */
int slc_bypass_know(struct slc_bypass *bypass, const wetdbg_time *refused, size_t count);

/* The waiting register whose slot that is; NULL if there is none. Pairs are nested, so it is mostly
 * the last. */
static inline struct slc_saved *slc_bypass_find(const struct slc_bypass *bypass, uint64_t slot)
{
    for (size_t i = bypass->count; i-- > 0;)
        if (bypass->saved[i].slot == slot)
            return &bypass->saved[i];
    return NULL;
}

/* What of a register waits, as one word. */
static inline uint32_t slc_saved_word(const struct slc_saved *saved)
{
    return saved->values | (uint32_t)saved->addresses << 8 | (uint32_t)saved->reg << 16;
}

bool slc_bypass_is_refused(const struct slc_bypass *bypass, wetdbg_time pop_time);

/* What slc_bypass_pop() does where it returns 1 (or -ENOMEM), of wants that slc_saved_word() tells
 * and nobody keeps; but for the register. */
int slc_bypass_wait(struct slc_bypass *bypass, struct slc_memory *memory, uint32_t task,
                    uint32_t word, uint64_t slot, wetdbg_time time);
/* Ends a waiting register, of which the push has been found. */
void slc_bypass_end(struct slc_bypass *bypass, struct slc_memory *memory, struct slc_saved *saved);

/* One more waiting register, to be filled; NULL if memory is short. */
struct slc_saved *slc_bypass_saved_new(struct slc_bypass *bypass);

/* To be called before another pass. */
void slc_bypass_restart(struct slc_bypass *bypass);

/*
 * At a pop of `reg` from `slot`: takes the register's wants over. 1 if it did, 0 if the pop is to
 * be treated as a load, or -ENOMEM.
 */
int slc_bypass_pop(struct slc_bypass *bypass, struct slc_memory *memory, struct slc_regs *regs,
                   uint32_t task, unsigned reg, uint64_t slot, wetdbg_time time);

/*
 * At a write of [address, address + size). `reg` is the register that it pushes, or -1. Pairs that
 * end here give their wants back to `regs` if it is a push of their register, and are refused if
 * not. Then the slot's bytes are wanted as the pop's.
 */
int slc_bypass_write(struct slc_bypass *bypass, struct slc_memory *memory, struct slc_regs *regs,
                     uint32_t task, int reg, uint64_t address, uint64_t size);

/* At the start of the run: refuses all that are left. */
int slc_bypass_refuse_rest(struct slc_bypass *bypass);

/* Whether this pass refused any. */
bool slc_bypass_has_failed(const struct slc_bypass *bypass);

/* Each register that waits has its slot marked, and none is marked besides; refused pops of earlier
 * passes are sorted. 0, or what is wrong. */
int slc_bypass_validate(const struct slc_bypass *bypass, const struct slc_memory *memory);

#endif
