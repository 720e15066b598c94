/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The dynamic linker, passed by as slicer/scan/loader.h says. Where it is entered, by a call or by
 * the jump of a stub to its resolver, the marks of registers are kept; where it is left again,
 * those that it preserves come back.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "slicer/forward/forward.h"
#include "slicer/scan/loader.h"

struct slc_bracket {
    struct slc_bracket *outer;
    uint64_t slot;     /* of the return address; 0 of a resolver */
    uint64_t function; /* resolver's start */
    struct slc_regs regs;
};

static int enter(struct slc_fwd_task *task, uint64_t slot, uint64_t function)
{
    const struct ins_regset set = slc_loader_preserved(function != 0);
    struct slc_bracket *bracket = calloc(1, sizeof(*bracket));

    if (!bracket || slc_regs_init(&bracket->regs, task->regs.wants != NULL)) {
        free(bracket);
        return -ENOMEM;
    }
    bracket->slot = slot;
    bracket->function = function;
    bracket->outer = task->bracket;
    task->bracket = bracket;
    slc_regs_copy(&bracket->regs, &task->regs, &set);
    return 0;
}

static void leave(struct slc_fwd_task *task)
{
    struct slc_bracket *bracket = task->bracket;

    task->bracket = bracket->outer;
    slc_regs_fini(&bracket->regs);
    free(bracket);
}

void slc_fwd_leave_linker(struct slc_fwd_task *task)
{
    while (task->bracket)
        leave(task);
}

/* Takes the marks back that were kept where it was entered so; not known, nothing is. */
static void come_back(struct slc_fwd_task *task, uint64_t slot, uint64_t function)
{
    const struct ins_regset set = slc_loader_preserved(function != 0);
    struct slc_bracket *bracket = task->bracket;

    while (bracket && (bracket->slot != slot || bracket->function != function))
        bracket = bracket->outer;
    if (!bracket)
        return;
    while (task->bracket != bracket)
        leave(task);
    slc_regs_copy(&task->regs, &bracket->regs, &set);
    leave(task);
}

int slc_fwd_border(struct slc_fwd_task *task, const struct slc_node *node)
{
    const struct slc_node *last = task->last;

    assert(last && (last->is_loader || node->is_loader));
    if (node->is_loader && !last->is_loader) {
        if (last->flags & SLC_NODE_CALL)
            return enter(task, task->last_slot, 0);
        if (last->flags & SLC_NODE_INDIRECT && node->is_entry)
            return enter(task, 0, node->function);
    }
    if (last->is_loader && !node->is_loader) {
        if (last->flags & SLC_NODE_RET)
            come_back(task, task->last_slot, 0);
        else if (last->is_resolver && last->flags & SLC_NODE_INDIRECT)
            come_back(task, 0, last->function);
    }
    return 0;
}

void slc_fwd_linker(struct slc_forward *fwd, struct slc_fwd_task *task, const struct wet_exec *exec,
                    const struct slc_node *node, uint32_t s)
{
    const struct wet_statement *statement = &node->wet->statements[s];
    const uint64_t *slots = fwd->interval->slots + exec->slot_off;
    struct ins_range ranges[INS_RANGES_MAX];
    unsigned stores = slc_loader_stores(statement->info);

    for (unsigned m = 0; stores >> m; m++) {
        unsigned count = stores >> m & 1 ? slc_operand_ranges(statement, m, slots, ranges) : 0;
        for (unsigned r = 0; r < count; r++)
            if (slc_memory_wants(&fwd->memory, ranges[r].address, ranges[r].size_bytes)) {
                slc_saves_end(&fwd->memory, ranges[r].address, ranges[r].size_bytes);
                slc_memory_drop(&fwd->memory, ranges[r].address, ranges[r].size_bytes);
            }
    }
    for (unsigned f = 0; f < statement->info->flow_count; f++)
        slc_regs_remove(&task->regs, &statement->info->flows[f].defs);
    if (statement->info->klass == INS_SYSCALL) {
        task->call = slc_no_call();
        task->call.is_passed_by = true;
    }
}
