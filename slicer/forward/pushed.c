/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pops of registers whose push left no note, because neither it nor the register was marked, or the source came
 * later. That matters only where the pop itself is marked, which its register is not if the pair is passed by.
 * What the kernel wrote over a slot is not looked for.
 */
#include <errno.h>

#include "common/bisect.h"
#include "slicer/forward/forward.h"
#include "slicer/scan/memo.h"

struct search {
    uint64_t slot;
    uint32_t task;
    unsigned reg;
    wetdbg_time before;
};

enum { NOT_WRITTEN = -1, WRITTEN, PUSHED };

static int store_at(const struct search *search, const struct slc_node *node,
                    const struct wet_exec *exec, const uint64_t *slots,
                    const struct slc_store *store)
{
    struct ins_range ranges[INS_RANGES_MAX];
    unsigned count =
        slc_operand_ranges(&node->wet->statements[store->statement], store->operand, slots, ranges);
    bool is_push = node->pushed[store->statement] == (int)search->reg && exec->task == search->task;

    for (unsigned r = 0; r < count; r++)
        if (ranges[r].address < search->slot + 8 &&
            search->slot < ranges[r].address + ranges[r].size_bytes)
            return is_push && ranges[r].address == search->slot ? PUSHED : WRITTEN;
    return NOT_WRITTEN;
}

static int search_exec(struct slc_forward *fwd, const struct search *search,
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
        int found = first + store->statement < search->before
                        ? store_at(search, node, exec, slots, store)
                        : NOT_WRITTEN;
        if (found != NOT_WRITTEN)
            return found;
    }
    return NOT_WRITTEN;
}

static int search_interval(struct slc_forward *fwd, const struct search *search,
                           const struct wet_interval *interval, int *err)
{
    int found = NOT_WRITTEN;

    for (size_t e = wd_bisect(0, interval->exec_count, i,
                              interval->first_time + interval->execs[i].time_off < search->before);
         e-- > 0 && found == NOT_WRITTEN;)
        found = search_exec(fwd, search, interval, &interval->execs[e], err);
    return found;
}

bool slc_fwd_was_pushed(struct slc_forward *fwd, uint32_t task, unsigned reg, uint64_t slot,
                        wetdbg_time before, int *err)
{
    const struct search search = {slot, task, reg, before};
    int found = slot % 8 ? WRITTEN : search_interval(fwd, &search, fwd->interval, err);

    for (uint64_t k = fwd->interval->index; k-- > 0 && found == NOT_WRITTEN && !*err;) {
        const struct wet_interval *interval;
        if (!wetdbg_interval_may_write(fwd->wet, k, slot, 8))
            continue;
        *err = wet_interval_get(fwd->wet, k, &interval);
        if (*err)
            break;
        found = search_interval(fwd, &search, interval, err);
        wet_interval_put(fwd->wet, interval);
    }
    return found == PUSHED;
}
