/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the entries of the event queue define, and what they take away. */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "wet/depend/depend_priv.h"
#include "wet/trace/stored_entry.h"

struct dep_task *dep_task_get(struct dep_finder *finder, uint32_t slot)
{
    if (slot >= EVQ_TASKS_MAX)
        return NULL;
    if (!finder->tasks[slot])
        finder->tasks[slot] = calloc(1, sizeof(struct dep_task));
    return finder->tasks[slot];
}

static void registers_define(struct dep_task *task, unsigned first, unsigned end, uint32_t number)
{
    for (unsigned l = first; l < end; l++)
        task->last[dep_place(l)] = number;
}

/* A call's exit defines its result and what the instruction itself clobbers; else all is loaded. */
static void regs_pass(struct dep_task *task, const struct evq_entry *entry, uint32_t number)
{
    static const uint8_t of_call[] = {INS_RAX, INS_RCX, 11};

    if (entry->kind != EVQ_SYSCALL_EXIT || entry->number == SYS_rt_sigreturn) {
        registers_define(task, INS_LOC_GPR, INS_LOC_VEC, number);
        registers_define(task, INS_LOC_FS_BASE, INS_LOC_PKRU, number);
        return;
    }
    for (unsigned i = 0; i < sizeof(of_call); i++) {
        unsigned first = INS_LOC_GPR + INS_GPR_PIECES * of_call[i];
        registers_define(task, first, first + INS_GPR_PIECES, number);
    }
}

static int remap_pass(struct dep_finder *finder, const struct evq_op *op)
{
    struct dep_shadow *shadow = &finder->machine->shadow;
    uint64_t kept = op->remap.size < op->remap.to_size ? op->remap.size : op->remap.to_size;
    int err = 0;

    if (op->remap.start != op->remap.to)
        err = dep_shadow_copy(shadow, op->remap.to, op->remap.start, kept);
    if (!err && op->remap.to_size > kept)
        err = dep_shadow_fill(shadow, op->remap.to + kept, op->remap.to_size - kept, 0);
    if (!err && op->remap.start != op->remap.to)
        err = dep_shadow_fill(shadow, op->remap.start, op->remap.size, 0);
    else if (!err && op->remap.size > kept)
        err = dep_shadow_fill(shadow, op->remap.start + kept, op->remap.size - kept, 0);
    return err;
}

static int op_pass(struct dep_finder *finder, const struct evq_entry *entry,
                   const struct evq_op *op, uint32_t number)
{
    struct dep_task *task = dep_task_get(finder, entry->task), *made;

    if (!task)
        return -ENOMEM;
    switch (op->op) {
    case EVQ_OP_REGS:
        /* rdtsc and kin define what they define as instructions */
        if (entry->kind != EVQ_TRAP)
            regs_pass(task, entry, number);
        return 0;
    case EVQ_OP_XSTATE:
        registers_define(task, INS_LOC_VEC, INS_LOC_FS_BASE, number);
        return 0;
    case EVQ_OP_WRITE:
    case EVQ_OP_ZERO:
        return dep_shadow_fill(&finder->machine->shadow, op->range.start, op->range.size, number);
    case EVQ_OP_MAP:
    case EVQ_OP_UNMAP:
    case EVQ_OP_DISCARD:
        return dep_shadow_fill(&finder->machine->shadow, op->range.start, op->range.size, 0);
    case EVQ_OP_REMAP:
        return remap_pass(finder, op);
    case EVQ_OP_CLEAR_SPACE:
        return dep_shadow_fill(&finder->machine->shadow, 0, UINT64_MAX, 0);
    case EVQ_OP_TASK_NEW:
        made = op->task_new.task < EVQ_TASKS_MAX ? dep_task_get(finder, (uint32_t)op->task_new.task)
                                                 : NULL;
        if (!made)
            return -ENOMEM;
        *made = *task;
        registers_define(made, INS_LOC_GPR, INS_LOC_GPR + INS_GPR_PIECES, number);
        return 0;
    default:
        return 0;
    }
}

int dep_entry_pass(struct dep_finder *finder, const struct evq_entry *entry, uint32_t number)
{
    int err = 0;

    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(entry, op));)
        err = op_pass(finder, entry, op, number);
    return err;
}
