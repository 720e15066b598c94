/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pushes and pops of saved registers. A push may have left no note, because neither it nor the
 * register was marked, or the source came later. That matters only where the pop itself is marked,
 * which its register is not if the pair is passed by: then what wrote the slot last is looked for,
 * but for the kernel.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/bisect.h"
#include "slicer/forward/forward.h"
#include "slicer/scan/memo.h"

/* ---- what is known of pops ---- */

void slc_pops_fini(struct slc_pops *pops)
{
    free(pops->list);
    wd_index_fini(&pops->by_time);
    *pops = (struct slc_pops){0};
}

static uint32_t *place_of(const struct slc_pops *pops, wetdbg_time time)
{
    return wd_index_find(&pops->by_time, wd_hash_u64(time) >> 32, n, pops->list[n].time == time);
}

bool slc_pops_find(const struct slc_pops *pops, wetdbg_time time, bool *is_pushed)
{
    uint32_t place = pops->count ? *place_of(pops, time) : 0;

    if (place)
        *is_pushed = pops->list[place - 1].is_pushed;
    return place != 0;
}

int slc_pops_note(struct slc_pops *pops, wetdbg_time time, bool is_pushed)
{
    if (wd_grow(pops->list, pops->capacity, pops->count + 1))
        return -ENOMEM;
    if (2 * (pops->count + 1) > pops->by_time.capacity) {
        if (wd_index_renew(&pops->by_time,
                           pops->by_time.capacity ? 2 * pops->by_time.capacity : 64))
            return -ENOMEM;
        for (uint32_t i = 0; i < pops->count; i++)
            *place_of(pops, pops->list[i].time) = i + 1;
    }
    uint32_t *place = place_of(pops, time);
    pops->list[pops->count] = (struct slc_known_pop){time, is_pushed};
    *place = ++pops->count;
    return 0;
}

/* ---- one of them ---- */

struct slc_saving slc_fwd_saving(const struct slc_forward *fwd, const struct wet_exec *exec,
                                 const struct slc_node *node, uint32_t statement, int reg)
{
    uint32_t slot = slc_stack_slot(&node->wet->statements[statement]);

    return (struct slc_saving){
        .slot = slot == SLC_UNKNOWN ? 1 : fwd->interval->slots[exec->slot_off + slot],
        .time = fwd->interval->first_time + exec->time_off + statement,
        .node = node,
        .statement = statement,
        .task = exec->task,
        .reg = (unsigned)reg};
}

/* ---- what was pushed without a note ---- */

/* Pops stand together, and so do their slots: what a search meets of the others on its way is kept
 * for them. */

static struct slc_writer *writer_of(struct slc_pop_search *search, uint64_t slot)
{
    return &search->writers[(slot - search->first_slot) / 8];
}

static void note_store(struct slc_pop_search *search, const struct slc_node *node,
                       const struct wet_exec *exec, const struct slc_store *store,
                       struct ins_range range)
{
    int reg = node->pushed[store->statement];

    for (unsigned i = 0; i < SLC_POP_SLOTS; i++) {
        uint64_t slot = search->first_slot + 8 * (uint64_t)i;
        struct slc_writer *writer = &search->writers[i];
        bool is_met = range.address - slot < 8 || slot - range.address < range.size_bytes;
        if (writer->is_known || !is_met)
            continue;
        *writer = (struct slc_writer){.is_known = true,
                                      .reg = (int8_t)(range.address == slot ? reg : -1),
                                      .task = exec->task};
    }
}

static void pass_store(struct slc_pop_search *search, const struct slc_node *node,
                       const struct wet_exec *exec, const uint64_t *slots,
                       const struct slc_store *store)
{
    struct ins_range ranges[INS_RANGES_MAX];

    if (!store->is_range) {
        uint64_t address = slots[store->slot];
        if (address - search->first_slot >= 8 * SLC_POP_SLOTS &&
            search->first_slot - address >= store->size_bytes)
            return;
    }
    unsigned count =
        slc_operand_ranges(&node->wet->statements[store->statement], store->operand, slots, ranges);
    for (unsigned r = 0; r < count; r++)
        if (ranges[r].size_bytes)
            note_store(search, node, exec, store, ranges[r]);
}

/* Goes on backward in an interval until it is known who wrote the slot. */
static int search_interval(struct slc_forward *fwd, struct slc_pop_search *search, uint64_t slot,
                           const struct wet_interval *interval)
{
    while (search->end && !writer_of(search, slot)->is_known) {
        const struct wet_exec *exec = &interval->execs[--search->end];
        const struct slc_node *node = slc_code_node(fwd->code, exec->node);
        wetdbg_time first = interval->first_time + exec->time_off;
        if (!node)
            return -ENOMEM;
        for (uint32_t i = node->store_count; i-- > 0;)
            if (first + node->stores[i].statement < search->time)
                pass_store(search, node, exec, interval->slots + exec->slot_off, &node->stores[i]);
    }
    return 0;
}

/* Goes on to the latest interval before that may have written the slot; false if there is none. */
static bool go_back(struct slc_forward *fwd, struct slc_pop_search *search, uint64_t slot)
{
    while (search->k) {
        search->k--;
        if (wetdbg_interval_may_write(fwd->wet, search->k, slot, 8))
            return true;
        for (unsigned i = 0; i < SLC_POP_SLOTS; i++)
            search->writers[i].is_lost |=
                !search->writers[i].is_known &&
                wetdbg_interval_may_write(fwd->wet, search->k, search->first_slot + 8 * (uint64_t)i,
                                          8);
    }
    return false;
}

static int search_run(struct slc_forward *fwd, struct slc_pop_search *search, uint64_t slot)
{
    int err = 0;

    if (search->k == fwd->interval->index)
        err = search_interval(fwd, search, slot, fwd->interval);
    while (!err && !writer_of(search, slot)->is_known) {
        const struct wet_interval *interval;
        if (search->end == 0 && !go_back(fwd, search, slot))
            break;
        err = wet_interval_get(fwd->wet, search->k, &interval);
        if (err)
            break;
        search->end = search->end ? search->end : interval->exec_count;
        err = search_interval(fwd, search, slot, interval);
        wet_interval_put(fwd->wet, interval);
    }
    return err;
}

/* Whether an earlier search of the same execution can be gone on with. */
static bool goes_on(const struct slc_pop_search *search, const struct slc_saving *pop,
                    wetdbg_time exec)
{
    return search->exec == exec && pop->slot - search->first_slot < 8 * SLC_POP_SLOTS &&
           !search->writers[(pop->slot - search->first_slot) / 8].is_lost;
}

static void begin(struct slc_forward *fwd, struct slc_pop_search *search,
                  const struct slc_saving *pop, const struct slc_node *node, wetdbg_time exec)
{
    const struct wet_interval *interval = fwd->interval;
    bool is_last =
        node->store_count == 0 || exec + node->stores[node->store_count - 1].statement < pop->time;

    *search = (struct slc_pop_search){.exec = is_last ? exec : 0,
                                      .time = pop->time,
                                      .first_slot = pop->slot,
                                      .k = interval->index};
    search->end = wd_bisect(0, interval->exec_count, i,
                            interval->first_time + interval->execs[i].time_off < pop->time);
}

/* Whether what the pop's slot held was pushed there from its register by the same task. */
static bool was_pushed(struct slc_forward *fwd, const struct slc_saving *pop, int *err)
{
    struct slc_pop_search *search = &fwd->pop_search;
    struct slc_pops *pops = &fwd->slice->session->pops;
    wetdbg_time exec = pop->time - pop->statement;
    bool is_pushed;

    if (pop->slot % 8)
        return false;
    if (slc_pops_find(pops, pop->time, &is_pushed))
        return is_pushed;
    if (!goes_on(search, pop, exec))
        begin(fwd, search, pop, pop->node, exec);
    *err = search_run(fwd, search, pop->slot);
    const struct slc_writer *writer = writer_of(search, pop->slot);
    is_pushed = writer->is_known && writer->reg == (int)pop->reg && writer->task == pop->task;
    if (!*err)
        *err = slc_pops_note(pops, pop->time, is_pushed);
    return is_pushed;
}

/* ---- pops and pushes ---- */

int slc_fwd_pop(struct slc_forward *fwd, struct slc_fwd_task *task, const struct slc_saving *pop,
                const struct slc_save *save, bool is_marked)
{
    struct ins_regset set = {0};
    int err = 0;

    if (fwd->slice->options.no_bypass)
        return 0;
    if (save) {
        slc_saves_pop(save, &task->regs);
    } else if (is_marked && was_pushed(fwd, pop, &err)) {
        ins_regset_add_gpr(&set, pop->reg, 0, 8);
        slc_regs_remove(&task->regs, &set);
    }
    return err;
}

int slc_fwd_push(struct slc_forward *fwd, struct slc_fwd_task *task, const struct slc_saving *push,
                 bool is_marked)
{
    if (!is_marked || push->slot % 8)
        return 0;
    return slc_saves_push(&fwd->saves, &fwd->memory, &task->regs, push->task, push->reg,
                          push->slot);
}
