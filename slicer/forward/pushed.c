/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pushes and pops of saved registers. A push may have left no note, because neither it nor the register was
 * marked, or the source came later. That matters only where the pop itself is marked, which its register is
 * not if the pair is passed by: then what wrote the slot last is looked for, but for the kernel.
 */
#include <errno.h>

#include "common/bisect.h"
#include "slicer/forward/forward.h"
#include "slicer/scan/memo.h"

struct slc_saving slc_fwd_saving(const struct slc_forward *fwd, const struct wet_exec *exec,
                                 const struct slc_node *node, uint32_t statement, int reg)
{
    uint32_t slot = slc_stack_slot(&node->wet->statements[statement]);

    return (struct slc_saving){
        .slot = slot == SLC_UNKNOWN ? 1 : fwd->interval->slots[exec->slot_off + slot],
        .time = fwd->interval->first_time + exec->time_off + statement,
        .task = exec->task,
        .reg = (unsigned)reg};
}

/* ---- what was pushed without a note ---- */

enum { NOT_WRITTEN = -1, WRITTEN, PUSHED };

static int store_at(const struct slc_saving *pop, const struct slc_node *node,
                    const struct wet_exec *exec, const uint64_t *slots,
                    const struct slc_store *store)
{
    struct ins_range ranges[INS_RANGES_MAX];
    unsigned count =
        slc_operand_ranges(&node->wet->statements[store->statement], store->operand, slots, ranges);
    bool is_push = node->pushed[store->statement] == (int)pop->reg && exec->task == pop->task;

    for (unsigned r = 0; r < count; r++)
        if (ranges[r].address < pop->slot + 8 &&
            pop->slot < ranges[r].address + ranges[r].size_bytes)
            return is_push && ranges[r].address == pop->slot ? PUSHED : WRITTEN;
    return NOT_WRITTEN;
}

static int search_exec(struct slc_forward *fwd, const struct slc_saving *pop,
                       const struct wet_interval *interval, const struct wet_exec *exec, int *err)
{
    const struct slc_node *node = slc_code_node(fwd->code, exec->node);
    const uint64_t *slots = interval->slots + exec->slot_off;
    wetdbg_time first = interval->first_time + exec->time_off;

    if (!node) {
        *err = -ENOMEM;
        return WRITTEN;
    }
    for (uint32_t i = node->store_count; i-- > 0;) {
        const struct slc_store *store = &node->stores[i];
        int found = first + store->statement < pop->time ? store_at(pop, node, exec, slots, store)
                                                         : NOT_WRITTEN;
        if (found != NOT_WRITTEN)
            return found;
    }
    return NOT_WRITTEN;
}

static int search_interval(struct slc_forward *fwd, const struct slc_saving *pop,
                           const struct wet_interval *interval, int *err)
{
    int found = NOT_WRITTEN;

    for (size_t e = wd_bisect(0, interval->exec_count, i,
                              interval->first_time + interval->execs[i].time_off < pop->time);
         e-- > 0 && found == NOT_WRITTEN;)
        found = search_exec(fwd, pop, interval, &interval->execs[e], err);
    return found;
}

/* Whether what the pop's slot held was pushed there from its register by the same task. */
static bool was_pushed(struct slc_forward *fwd, const struct slc_saving *pop, int *err)
{
    int found = pop->slot % 8 ? WRITTEN : search_interval(fwd, pop, fwd->interval, err);

    for (uint64_t k = fwd->interval->index; k-- > 0 && found == NOT_WRITTEN && !*err;) {
        const struct wet_interval *interval;
        if (!wetdbg_interval_may_write(fwd->wet, k, pop->slot, 8))
            continue;
        *err = wet_interval_get(fwd->wet, k, &interval);
        if (*err)
            break;
        found = search_interval(fwd, pop, interval, err);
        wet_interval_put(fwd->wet, interval);
    }
    return found == PUSHED;
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
