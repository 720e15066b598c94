/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/scan/halfway.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "slicer/call_events.h"
#include "slicer/scan/code_summary.h"

#define MASK_SLOT  9 /* of a list of addresses: see struct wet_exec */
#define MASK_SLOTS 8

/* The next execution from `from` on that begins with the instruction at pc, which a handler's
 * return leads to; or NULL. */
static const struct wet_exec *exec_find(struct wetdbg *wet, const struct wet_interval *interval,
                                        size_t from, uint32_t task, uint64_t pc)
{
    for (size_t i = from; i < interval->exec_count; i++) {
        const struct wet_exec *exec = &interval->execs[i];
        const struct wet_node *node = exec->task == task ? wet_get_node(wet, exec->node) : NULL;
        if (node && node->pc == pc)
            return exec;
    }
    return NULL;
}

/* The instruction's operand m, but with the lanes that its mask does not choose. */
static int lanes_off(const struct wet_statement *statement, unsigned m, const uint64_t *slots,
                     struct slc_halfway *halfway)
{
    uint64_t *copy = malloc((statement->slot_count + 1u) * sizeof(*copy));
    unsigned first = 0; /* of the operand */

    if (!copy)
        return -ENOMEM;
    memcpy(copy, slots + statement->slot, statement->slot_count * sizeof(*copy));
    for (unsigned i = 0; i < m; i++)
        first += statement->info->mems[i].lanes ? MASK_SLOT + MASK_SLOTS : 1;
    for (unsigned i = 0; i < MASK_SLOTS; i++)
        copy[first + MASK_SLOT + i] = ~copy[first + MASK_SLOT + i];
    const struct wet_statement alone = {
        .info = statement->info, .pc = statement->pc, .slot_count = statement->slot_count};
    halfway->count = slc_operand_ranges(&alone, m, copy, halfway->lanes);
    free(copy);
    return 0;
}

static int lanes_find(const struct wet_statement *statement, const uint64_t *slots,
                      struct slc_halfway *halfway)
{
    const struct ins_info *info = statement->info;

    for (unsigned m = 0; m < info->mem_count; m++) {
        if (!info->mems[m].lanes || info->mems[m].flags & INS_MEM_WRITE)
            continue;
        for (unsigned f = 0; f < info->flow_count; f++)
            if (info->flows[f].mem_uses & 1u << m)
                ins_regset_join(&halfway->loaded, &info->flows[f].may_defs);
        return lanes_off(statement, m, slots, halfway);
    }
    return 0;
}

int slc_halfway_find(struct wetdbg *wet, const struct wet_interval *interval,
                     const struct wet_event *event, struct slc_halfway *halfway)
{
    const struct evq_regs *regs = evq_entry_regs(event->entry);
    const struct wet_interval *later = NULL;
    const struct wet_exec *exec = NULL;
    uint64_t pc = regs ? regs->r[EVQ_RIP] : 0;
    uint32_t task = event->task;
    int err = 0;

    memset(halfway, 0, sizeof(*halfway));
    if (!regs)
        return 0;
    exec = exec_find(wet, interval, event->exec, task, pc);
    if (!exec && interval->index + 1 < wetdbg_get_info(wet)->intervals) {
        err = wet_interval_get(wet, interval->index + 1, &later);
        if (!err)
            exec = exec_find(wet, later, 0, task, pc);
    }
    if (!err && exec) {
        const struct wet_interval *where = later ? later : interval;
        const struct wet_node *node = wet_get_node(wet, exec->node);
        err = lanes_find(&node->statements[0], where->slots + exec->slot_off, halfway);
    }
    if (later)
        wet_interval_put(wet, later);
    return err;
}
