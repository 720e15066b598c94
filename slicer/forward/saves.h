/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Saved registers, seen forward: `push r` notes how r was marked, and a `pop r` from a slot that
 * nothing wrote since gives r these marks back. Slots with a note are marked in the scan's memory.
 */
#ifndef SLICER_FORWARD_SAVES_H
#define SLICER_FORWARD_SAVES_H

#include "common/hash.h"
#include "slicer/scan/want.h"

struct slc_save {
    uint64_t slot;
    uint32_t task;
    uint8_t reg;       /* enum ins_gpr */
    uint8_t values;    /* bit i: byte i was marked */
    uint8_t addresses; /* bit p: piece p was */
    struct slc_want value[INS_GPR_PIECES];
    struct slc_want address[INS_GPR_PIECES];
};

/* Embedded by its holder; all zero is none. */
struct slc_saves {
    struct slc_save *saves;
    uint32_t count, capacity;
    struct wd_index by_slot;
};

void slc_saves_fini(struct slc_saves *saves);

/* Notes a push to `slot`, a multiple of 8. 0 or -ENOMEM. */
int slc_saves_push(struct slc_saves *saves, struct slc_memory *memory, const struct slc_regs *regs,
                   uint32_t task, unsigned reg, uint64_t slot);

/* What of a register is marked, as one word: of its bytes and, from bit 8, of its pieces as
 * addresses. */
uint32_t slc_saves_word(const struct slc_regs *regs, unsigned reg);
static inline uint32_t slc_save_word(const struct slc_save *save)
{
    return save->values | (uint32_t)save->addresses << 8;
}

/* The same as slc_saves_push() of such a word, where nobody asks who marked it. */
int slc_saves_put(struct slc_saves *saves, struct slc_memory *memory, uint32_t task, unsigned reg,
                  uint64_t slot, uint32_t word);

/* The note of a slot whose mark stands, if it is of that register and task; or NULL. */
const struct slc_save *slc_saves_find(const struct slc_saves *saves, struct slc_memory *memory,
                                      uint32_t task, unsigned reg, uint64_t slot);

/* The note of a slot whose mark stands, whoever's it is; NULL if there is none. */
const struct slc_save *slc_saves_at(const struct slc_saves *saves, uint64_t slot);

/* Marks a register as it was. */
void slc_saves_pop(const struct slc_save *save, struct slc_regs *regs);

/* Something wrote there: notes are void. */
void slc_saves_end(struct slc_memory *memory, uint64_t address, uint64_t size);
/* ... of a word of a page, to these bytes. */
void slc_saves_end_among(struct slc_memory *memory, struct slc_page *page, unsigned group,
                         uint64_t bytes);

#endif
