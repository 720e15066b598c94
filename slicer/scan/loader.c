/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Brackets are matched by the return address's slot or the resolver's start, not by counting: code
 * that leaves the linker some other way costs a bracket, whose wants then come back with the next
 * outer one.
 */
#include "slicer/scan/loader.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct slc_aside {
    struct slc_aside *outer;
    uint64_t slot;     /* of the return address; 0 for a resolver */
    uint64_t function; /* resolver's start */
    struct slc_regs regs;
};

static void remove_gpr(struct ins_regset *set, unsigned gpr)
{
    assert(gpr < INS_GPR_COUNT);
    struct ins_regset pieces = {0};
    ins_regset_add_gpr(&pieces, gpr, 0, 8);
    ins_regset_remove(set, &pieces);
}

struct ins_regset slc_loader_preserved(bool is_resolver)
{
    struct ins_regset set = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    struct ins_regset results = {0};

    for (unsigned loc = INS_LOC_CF; loc < INS_LOC_DF; loc++)
        ins_regset_add(&results, loc);
    if (!is_resolver) {
        ins_regset_add_vector(&results, 0, 0, 64);
        ins_regset_add_vector(&results, 1, 0, 64);
        remove_gpr(&set, INS_RAX);
        remove_gpr(&set, INS_RDX);
    } else {
        remove_gpr(&set, 11);
    }
    ins_regset_remove(&set, &results);
    return set;
}

static int put_aside(struct slc_task *task, uint64_t slot, uint64_t function)
{
    struct ins_regset set = slc_loader_preserved(function != 0);
    struct slc_aside *aside = calloc(1, sizeof(*aside));

    if (!aside || slc_regs_init(&aside->regs, task->regs.wants != NULL)) {
        free(aside);
        return -ENOMEM;
    }
    aside->slot = slot;
    aside->function = function;
    aside->outer = task->aside;
    task->aside = aside;
    slc_regs_move(&aside->regs, &task->regs, &set);
    return 0;
}

static void take_back(struct slc_task *task)
{
    const struct ins_regset all = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    struct slc_aside *aside = task->aside;

    assert(aside);
    slc_regs_move(&task->regs, &aside->regs, &all);
    task->aside = aside->outer;
    slc_regs_fini(&aside->regs);
    free(aside);
}

void slc_loader_flush(struct slc_task *task)
{
    while (task->aside)
        take_back(task);
}

static void take_back_to(struct slc_task *task, uint64_t slot, uint64_t function)
{
    struct slc_aside *aside = task->aside;

    while (aside && (aside->slot != slot || aside->function != function))
        aside = aside->outer;
    if (!aside)
        return;
    while (task->aside != aside)
        take_back(task);
    take_back(task);
}

int slc_loader_pass_border(struct slc_scan *scan, struct slc_task *task,
                           const struct wet_exec *exec, const struct slc_node *node)
{
    const uint64_t *slots = scan->interval->slots + exec->slot_off;
    const struct slc_node *next = task->next;

    if (node->is_loader && next && !next->is_loader) {
        if (node->flags & SLC_NODE_RET)
            return put_aside(task, slots[node->exit_slot], 0);
        if (node->is_resolver && node->flags & SLC_NODE_INDIRECT)
            return put_aside(task, 0, node->function);
        return 0;
    }
    if (!task->aside || node->is_loader)
        return 0;
    if (node->flags & SLC_NODE_CALL)
        take_back_to(task, slots[node->exit_slot], 0);
    else if (node->flags & SLC_NODE_INDIRECT && next && next->is_loader && next->is_entry)
        take_back_to(task, 0, next->function);
    return 0;
}

/* ---- instances ---- */

unsigned slc_loader_stores(const struct ins_info *info)
{
    unsigned sure = 0, perhaps = 0;

    for (unsigned f = 0; f < info->flow_count; f++) {
        sure |= info->flows[f].mem_defs;
        perhaps |= info->flows[f].mem_may_defs;
    }
    for (unsigned m = 0; m < info->mem_count; m++)
        if (perhaps & 1u << m && ins_ranges_are_exact(info, m))
            sure |= 1u << m;
    return sure;
}

static int lose_stores(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                       const struct slc_node *node, uint32_t s)
{
    const struct wet_statement *statement = &node->wet->statements[s];
    const uint64_t *slots = scan->interval->slots + exec->slot_off;
    struct ins_range ranges[INS_RANGES_MAX];
    unsigned stores = slc_loader_stores(statement->info);
    int err = 0;

    for (unsigned m = 0; stores >> m && !err; m++) {
        unsigned count = 0;
        if (stores >> m & 1)
            count = slc_operand_ranges(statement, m, slots, ranges);
        for (unsigned r = 0; r < count && !err; r++) {
            if (!slc_memory_wants(&scan->memory, ranges[r].address, ranges[r].size_bytes))
                continue;
            err = slc_bypass_write(&scan->bypass, &scan->memory, &task->regs, exec->task,
                                   node->pushed[s], ranges[r].address, ranges[r].size_bytes);
            if (!err)
                err = slc_memory_from_outside(scan, ranges[r].address, ranges[r].size_bytes);
        }
    }
    return err;
}

/*
 * Passes a pop of a saved register outside a bracket (the scan began below the linker).
 * options.no_bypass shows instances, and here there are none to be shown: what the linker preserves
 * keeps its definition with it, too. Where the scan has to come to an end without refusing more,
 * nothing is passed by.
 */
static int pop_saved(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                     const struct slc_node *node, uint32_t s)
{
    struct ins_regset pieces = {0};
    uint64_t slot;
    int reg = slc_restored_register(node, s, scan->interval->slots + exec->slot_off, &slot);

    if (reg < 0 || scan->bypasses_nothing)
        return 0;
    ins_regset_add_gpr(&pieces, (unsigned)reg, 0, 8);
    if (!slc_regs_intersect(&task->regs, &pieces))
        return 0;
    int taken = slc_bypass_pop(&scan->bypass, &scan->memory, &task->regs, exec->task, (unsigned)reg,
                               slot, scan->interval->first_time + exec->time_off + s);
    return taken < 0 ? taken : 0;
}

static int lose_registers(struct slc_scan *scan, struct slc_task *task, uint32_t number,
                          const struct ins_info *info)
{
    int err = 0;

    for (unsigned f = 0; f < info->flow_count; f++) {
        const struct ins_regset *defs = &info->flows[f].defs;
        if (!slc_regs_intersect(&task->regs, defs))
            continue;
        for (unsigned l = ins_regset_next(defs, 0); l < INS_LOC_COUNT && !err;
             l = ins_regset_next(defs, l + 1))
            err = slc_register_from_outside(scan, task, number, l);
    }
    return err;
}

/* Passes a control dependence on to the frame's maker, which is looked for farther out. */
static int pass_control_on(struct slc_scan *scan, struct slc_task *task)
{
    struct slc_want want = scan->hits.best;
    int err = 0;

    if (want.distance != SLC_NOT_WANTED && want.edge == WETDBG_EDGE_CONTROL && scan->tracks_frames)
        err = slc_frames_demand(&task->frames, scan->code->classes, 0, &want);
    scan->hits.best = slc_no_want();
    scan->hits.best_address = 0;
    scan->hits.is_guard = false;
    return err;
}

int slc_loader_pass(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                    const struct slc_node *node, uint32_t count)
{
    int err = pass_control_on(scan, task);

    for (uint32_t s = count; s-- > 0 && !err;) {
        const struct ins_info *info = node->wet->statements[s].info;
        err = slc_pass_events(scan, scan->interval->first_time + exec->time_off + s);
        task->pending = slc_no_want();
        task->call_wrote = task->call_sent = false;
        task->carried_count = 0;
        task->wrote.count = 0;
        if (!err)
            err = pop_saved(scan, task, exec, node, s);
        if (!err)
            err = lose_stores(scan, task, exec, node, s);
        if (!err)
            err = lose_registers(scan, task, exec->task, info);
    }
    return err;
}
