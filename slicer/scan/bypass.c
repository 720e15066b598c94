/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Refusals of one pass make the next pass exact: what a refused pop wants is a superset of what it
 * wanted as half of a pair, so that no later pass loses an instance that an earlier one had.
 */
#include "slicer/scan/bypass.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/checked.h"

void slc_bypass_fini(struct slc_bypass *bypass)
{
    free(bypass->saved);
    free(bypass->refused);
    *bypass = (struct slc_bypass){0};
}

static int compare_times(const void *a, const void *b)
{
    wetdbg_time x = *(const wetdbg_time *)a, y = *(const wetdbg_time *)b;
    return x < y ? -1 : x > y;
}

void slc_bypass_restart(struct slc_bypass *bypass)
{
    bypass->count = 0;
    if (bypass->refused_count)
        qsort(bypass->refused, bypass->refused_count, sizeof(wetdbg_time), compare_times);
    bypass->refused_sorted = bypass->refused_count;
}

bool slc_bypass_is_refused(const struct slc_bypass *bypass, wetdbg_time pop_time)
{
    return bypass->refused_sorted && bsearch(&pop_time, bypass->refused, bypass->refused_sorted,
                                             sizeof(pop_time), compare_times);
}

static int refuse(struct slc_bypass *bypass, wetdbg_time time)
{
    if (wd_grow(bypass->refused, bypass->refused_capacity, bypass->refused_count + 1))
        return -ENOMEM;
    bypass->refused[bypass->refused_count++] = time;
    return 0;
}

int slc_bypass_know(struct slc_bypass *bypass, const wetdbg_time *refused, size_t count)
{
    int err = 0;

    assert(!bypass->refused_count);
    for (size_t i = 0; i < count && !err; i++)
        err = refuse(bypass, refused[i]);
    bypass->refused_sorted = bypass->refused_count;
    return err;
}

bool slc_bypass_has_failed(const struct slc_bypass *bypass)
{
    return bypass->refused_count > bypass->refused_sorted;
}

static bool is_marked(struct slc_memory *memory, uint64_t slot)
{
    uint64_t at = slot;
    return slc_memory_next_slot(memory, &at, slot + 8);
}

struct slc_saved *slc_bypass_saved_new(struct slc_bypass *bypass)
{
    if (wd_grow(bypass->saved, bypass->capacity, bypass->count + 1))
        return NULL;
    return &bypass->saved[bypass->count++];
}

int slc_bypass_pop(struct slc_bypass *bypass, struct slc_memory *memory, struct slc_regs *regs,
                   uint32_t task, unsigned reg, uint64_t slot, wetdbg_time time)
{
    assert(reg < INS_GPR_COUNT);
    if (slot % 8 || slc_bypass_is_refused(bypass, time) || is_marked(memory, slot))
        return 0;
    struct slc_saved *saved = slc_bypass_saved_new(bypass);
    if (!saved || slc_memory_mark_slot(memory, slot))
        return -ENOMEM;
    saved->slot = slot;
    saved->pop_time = time;
    saved->task = task;
    saved->reg = (uint8_t)reg;
    saved->values = saved->addresses = 0;
    for (unsigned p = 0; p < INS_GPR_PIECES; p++) {
        unsigned loc = INS_LOC_GPR + INS_GPR_PIECES * reg + p;
        saved->values |= (uint8_t)(slc_regs_value_mask(regs, loc) << slc_gpr_shape.start[p]);
        saved->addresses |= (uint8_t)(ins_regset_has(&regs->address, loc) << p);
        saved->value[p] = *slc_regs_value(regs, loc);
        saved->address[p] = *slc_regs_address(regs, loc);
        slc_regs_drop(regs, loc);
    }
    return 1;
}

int slc_bypass_wait(struct slc_bypass *bypass, struct slc_memory *memory, uint32_t task,
                    uint32_t word, uint64_t slot, wetdbg_time time)
{
    struct slc_saved *saved = slc_bypass_saved_new(bypass);

    assert(slot % 8 == 0 && word >> 16 < INS_GPR_COUNT);
    if (!saved || slc_memory_mark_slot(memory, slot))
        return -ENOMEM;
    *saved = (struct slc_saved){.slot = slot,
                                .pop_time = time,
                                .task = task,
                                .reg = (uint8_t)(word >> 16),
                                .values = (uint8_t)word,
                                .addresses = (uint8_t)(word >> 8)};
    for (unsigned p = 0; p < INS_GPR_PIECES; p++)
        saved->value[p] = saved->address[p] = slc_some_want;
    return 0;
}

void slc_bypass_end(struct slc_bypass *bypass, struct slc_memory *memory, struct slc_saved *saved)
{
    const struct slc_saved *last = &bypass->saved[bypass->count - 1];

    assert(bypass->count && saved >= bypass->saved && saved <= last);
    slc_memory_unmark_slot(memory, saved->slot);
    for (; saved < last; saved++)
        saved[0] = saved[1];
    bypass->count--;
}

/* Bytes of piece p. */
static uint32_t values_of(const struct slc_saved *saved, unsigned p)
{
    assert(p < INS_GPR_PIECES);
    return saved->values >> slc_gpr_shape.start[p] & slc_gpr_shape.mask[p];
}

static void give_back(const struct slc_saved *saved, struct slc_regs *regs)
{
    assert(saved->reg < INS_GPR_COUNT);
    for (unsigned p = 0; p < INS_GPR_PIECES; p++) {
        unsigned loc = INS_LOC_GPR + INS_GPR_PIECES * saved->reg + p;
        slc_regs_add_mask(regs, loc, values_of(saved, p), &saved->value[p]);
        if (saved->addresses >> p & 1)
            slc_regs_add(regs, loc, &saved->address[p], true);
    }
}

/* The scan goes on to find other refusals, as if the pop had been a load (all of it; its control
 * dependence is left to the next pass). */
static int turn_into_load(struct slc_bypass *bypass, struct slc_memory *memory,
                          const struct slc_saved *saved)
{
    struct slc_want want = slc_no_want();

    for (unsigned p = 0; p < INS_GPR_PIECES; p++) {
        if (values_of(saved, p))
            slc_want_merge(&want, &saved->value[p]);
        if (saved->addresses >> p & 1)
            slc_want_merge(&want, &saved->address[p]);
    }
    want.user = saved->pop_time;
    want.edge = WETDBG_EDGE_VALUE;
    want.distance += want.distance != SLC_NOT_WANTED;
    int err = refuse(bypass, saved->pop_time);
    return err ? err : slc_memory_add(memory, saved->slot, 8, &want);
}

int slc_bypass_write(struct slc_bypass *bypass, struct slc_memory *memory, struct slc_regs *regs,
                     uint32_t task, int reg, uint64_t address, uint64_t size)
{
    uint64_t end = address + size < address ? UINT64_MAX : address + size;

    for (uint64_t slot = address & ~UINT64_C(7); slc_memory_next_slot(memory, &slot, end);
         slot += 8) {
        struct slc_saved *found = slc_bypass_find(bypass, slot), saved = *found;
        slc_bypass_end(bypass, memory, found);
        if ((int)saved.reg == reg && slot == address && size == 8 && saved.task == task) {
            give_back(&saved, regs);
            continue;
        }
        int err = turn_into_load(bypass, memory, &saved);
        if (err)
            return err;
    }
    return 0;
}

int slc_bypass_refuse_rest(struct slc_bypass *bypass)
{
    int err = 0;

    while (!err && bypass->count)
        err = refuse(bypass, bypass->saved[--bypass->count].pop_time);
    return err;
}

int slc_bypass_validate(const struct slc_bypass *bypass, const struct slc_memory *memory)
{
    if (bypass->count != memory->slot_count)
        return wd_fail_defect("%zu registers wait, and %llu slots are marked", bypass->count,
                              (unsigned long long)memory->slot_count);
    for (size_t i = 0; i < bypass->count; i++) {
        uint64_t slot = bypass->saved[i].slot;
        const struct slc_page *page = slc_page_find(memory, slot >> SLC_PAGE_BITS);
        if (slot % 8 || slc_bypass_find(bypass, slot) != &bypass->saved[i] || !page ||
            !slc_page_slots_among(page, slot % SLC_PAGE_BYTES / 64, slot % 64, 8))
            return wd_fail_defect(
                "register %u waits at %#llx, which is not its alone or not marked",
                bypass->saved[i].reg, (unsigned long long)slot);
    }
    for (size_t i = 1; i < bypass->refused_sorted; i++)
        if (bypass->refused[i - 1] > bypass->refused[i])
            return wd_fail_defect("refused pop %zu is not sorted", i);
    return 0;
}
