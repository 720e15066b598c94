/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/forward/saves.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "slicer/scan/footprint.h"

void slc_saves_fini(struct slc_saves *saves)
{
    free(saves->saves);
    wd_index_fini(&saves->by_slot);
    *saves = (struct slc_saves){0};
}

static uint32_t *place_of(const struct slc_saves *saves, uint64_t slot)
{
    return wd_index_find(&saves->by_slot, wd_hash_u64(slot) >> 32, n, saves->saves[n].slot == slot);
}

static int make_room(struct slc_saves *saves)
{
    if (wd_grow(saves->saves, saves->capacity, saves->count + 1))
        return -ENOMEM;
    if (saves->count * 2 < saves->by_slot.capacity)
        return 0;
    if (wd_index_renew(&saves->by_slot, saves->by_slot.capacity ? 2 * saves->by_slot.capacity : 64))
        return -ENOMEM;
    for (uint32_t i = 0; i < saves->count; i++)
        *place_of(saves, saves->saves[i].slot) = i + 1;
    return 0;
}

uint32_t slc_saves_word(const struct slc_regs *regs, unsigned reg)
{
    uint32_t word = 0;

    for (unsigned p = 0; p < INS_GPR_PIECES; p++) {
        unsigned loc = INS_LOC_GPR + INS_GPR_PIECES * reg + p;
        word |= slc_regs_value_mask(regs, loc) << slc_gpr_shape.start[p];
        word |= (uint32_t)ins_regset_has(&regs->address, loc) << (8 + p);
    }
    return word;
}

int slc_saves_put(struct slc_saves *saves, struct slc_memory *memory, uint32_t task, unsigned reg,
                  uint64_t slot, uint32_t word)
{
    assert(slot % 8 == 0 && reg < INS_GPR_COUNT);
    if (make_room(saves) || slc_memory_mark_slot(memory, slot))
        return -ENOMEM;
    uint32_t *place = place_of(saves, slot);
    if (!*place)
        *place = ++saves->count;
    struct slc_save *save = &saves->saves[*place - 1];
    save->slot = slot;
    save->task = task;
    save->reg = (uint8_t)reg;
    save->values = (uint8_t)word;
    save->addresses = (uint8_t)(word >> 8);
    return 0;
}

int slc_saves_push(struct slc_saves *saves, struct slc_memory *memory, const struct slc_regs *regs,
                   uint32_t task, unsigned reg, uint64_t slot)
{
    int err = slc_saves_put(saves, memory, task, reg, slot, slc_saves_word(regs, reg));

    if (err || !regs->wants)
        return err;
    struct slc_save *save = &saves->saves[*place_of(saves, slot) - 1];
    for (unsigned p = 0; p < INS_GPR_PIECES; p++) {
        unsigned loc = INS_LOC_GPR + INS_GPR_PIECES * reg + p;
        save->value[p] = *slc_regs_value(regs, loc);
        save->address[p] = *slc_regs_address(regs, loc);
    }
    return 0;
}

const struct slc_save *slc_saves_find(const struct slc_saves *saves, struct slc_memory *memory,
                                      uint32_t task, unsigned reg, uint64_t slot)
{
    uint64_t at = slot;

    if (slot % 8 || !saves->count || !slc_memory_next_slot(memory, &at, slot + 8))
        return NULL;
    uint32_t place = *place_of(saves, slot);
    const struct slc_save *save = place ? &saves->saves[place - 1] : NULL;
    return save && save->task == task && save->reg == reg ? save : NULL;
}

const struct slc_save *slc_saves_at(const struct slc_saves *saves, uint64_t slot)
{
    uint32_t place = saves->count ? *place_of(saves, slot) : 0;
    return place ? &saves->saves[place - 1] : NULL;
}

void slc_saves_pop(const struct slc_save *save, struct slc_regs *regs)
{
    for (unsigned p = 0; p < INS_GPR_PIECES; p++) {
        unsigned loc = INS_LOC_GPR + INS_GPR_PIECES * save->reg + p;
        uint32_t mask = save->values >> slc_gpr_shape.start[p] & slc_gpr_shape.mask[p];
        slc_regs_drop(regs, loc);
        if (mask)
            slc_regs_add_mask(regs, loc, mask, &save->value[p]);
        if (save->addresses >> p & 1)
            slc_regs_add(regs, loc, &save->address[p], true);
    }
}

void slc_saves_end(struct slc_memory *memory, uint64_t address, uint64_t size)
{
    uint64_t end = address + size < address ? UINT64_MAX : address + size;

    if (!memory->slot_count || !size)
        return;
    for (uint64_t at = address & ~UINT64_C(7); slc_memory_next_slot(memory, &at, end);)
        slc_memory_unmark_slot(memory, at);
}

void slc_saves_end_among(struct slc_memory *memory, struct slc_page *page, unsigned group,
                         uint64_t bytes)
{
    unsigned gone = slc_page_slots(page, group) & slc_mask_slots(bytes);

    page->slots[group / 8] &= ~((uint64_t)gone << (group % 8 * 8));
    memory->slot_count -= (uint64_t)__builtin_popcount(gone);
}
