/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What came from outside the instructions: system calls, signals, new threads. What a call wrote is
 * marked as the call is (slc_fwd_task.call); all else from outside is not.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "slicer/call_events.h"
#include "slicer/forward/sent.h"
#include "slicer/scan/halfway.h"
#include <wetdbg/errors.h>

static const struct ins_regset every_location = {
    {UINT64_MAX, UINT64_MAX, UINT64_MAX, (UINT64_C(1) << (INS_LOC_COUNT - 192)) - 1}};

int slc_fwd_written(struct slc_forward *fwd, uint64_t address, uint64_t size,
                    const struct slc_want *mark)
{
    slc_saves_end(&fwd->memory, address, size);
    slc_memory_drop(&fwd->memory, address, size);
    if (!mark || mark->distance == SLC_NOT_WANTED || !fwd->follows_data)
        return 0;
    return slc_memory_add(&fwd->memory, address, size, mark);
}

/* Moves the marks of what mremap moved; what it added is the call's. */
static int moved(struct slc_forward *fwd, const struct evq_op *op, const struct slc_want *mark)
{
    uint64_t size = op->remap.size < op->remap.to_size ? op->remap.size : op->remap.to_size;
    uint64_t end = op->remap.start + size;
    const struct slc_want *found;
    int err = 0;

    if (op->remap.start != op->remap.to) {
        slc_saves_end(&fwd->memory, op->remap.start, size);
        err = slc_fwd_written(fwd, op->remap.to, size, NULL);
        for (uint64_t at = op->remap.start;
             !err && at < end && (found = slc_memory_next(&fwd->memory, &at, end)); at++) {
            const struct slc_want kept = *found;
            slc_memory_drop(&fwd->memory, at, 1);
            err = slc_memory_add(&fwd->memory, op->remap.to + (at - op->remap.start), 1, &kept);
        }
    }
    if (!err && op->remap.to_size > size)
        err = slc_fwd_written(fwd, op->remap.to + size, op->remap.to_size - size, mark);
    return err;
}

/* ---- threads ---- */

/* Marks a register if something of memory is, or of another register, as values. */
static void mark_from(struct slc_regs *regs, unsigned loc, const struct slc_sight *sight)
{
    slc_regs_drop(regs, loc);
    if (sight->best.distance == SLC_NOT_WANTED)
        return;
    slc_regs_add(regs, loc, &sight->best, false);
    slc_regs_add(regs, loc, &sight->best, true);
}

static void copy_gpr(struct slc_regs *to, unsigned to_gpr, const struct slc_regs *from,
                     unsigned from_gpr)
{
    for (unsigned p = 0; p < INS_GPR_PIECES; p++) {
        unsigned own = INS_LOC_GPR + INS_GPR_PIECES * from_gpr + p;
        unsigned loc = INS_LOC_GPR + INS_GPR_PIECES * to_gpr + p;
        slc_regs_drop(to, loc);
        if (ins_regset_has(&from->value, own))
            slc_regs_add_mask(to, loc, slc_regs_value_mask(from, own), slc_regs_value(from, own));
        if (ins_regset_has(&from->address, own))
            slc_regs_add(to, loc, slc_regs_address(from, own), true);
    }
}

static void give_stack(struct slc_forward *fwd, const struct slc_fwd_task *parent,
                       struct slc_fwd_task *child, const struct evq_entry *entry,
                       const struct evq_regs *regs)
{
    struct slc_sight sight = slc_no_sight();

    if (entry->number == SYS_clone) {
        copy_gpr(&child->regs, INS_RSP, &parent->regs, INS_RSI);
    } else if (entry->number == SYS_clone3) {
        slc_see_memory(&fwd->memory, regs->r[EVQ_RDI] + SLC_CLONE_STACK_OFF, 16, WETDBG_EDGE_VALUE,
                       &sight);
        for (unsigned p = 0; p < INS_GPR_PIECES; p++)
            mark_from(&child->regs, INS_LOC_GPR + INS_GPR_PIECES * INS_RSP + p, &sight);
    }
}

static void give_tls(struct slc_forward *fwd, const struct slc_fwd_task *parent,
                     struct slc_fwd_task *child, const struct evq_entry *entry,
                     const struct evq_regs *regs)
{
    struct slc_sight sight = slc_no_sight();
    struct ins_regset r8 = {0};

    ins_regset_add_gpr(&r8, INS_R8, 0, 8);
    if (entry->number == SYS_clone)
        slc_see_registers(&parent->regs, &r8, 0, WETDBG_EDGE_VALUE, &sight);
    else if (entry->number == SYS_clone3)
        slc_see_memory(&fwd->memory, regs->r[EVQ_RDI] + SLC_CLONE_TLS_OFF, 8, WETDBG_EDGE_VALUE,
                       &sight);
    else
        return;
    mark_from(&child->regs, INS_LOC_FS_BASE, &sight);
}

/* A new thread: rax is the call's, stack and thread pointer its arguments, all else the
 * parent's. */
static int thread_began(struct slc_forward *fwd, struct slc_fwd_task *parent,
                        const struct evq_entry *entry, const struct evq_op *op)
{
    const struct evq_regs *regs = slc_clone_regs(entry);
    const struct evq_regs *born = evq_op_regs(op);
    int err = 0;
    struct slc_fwd_task *child = slc_fwd_task(fwd, (uint32_t)op->task_new.task, &err);

    if (!child || child == parent || !born)
        return err;
    slc_fwd_leave_linker(child);
    slc_regs_copy(&child->regs, &parent->regs, &every_location);
    if (regs && born->r[EVQ_RSP] != regs->r[EVQ_RSP])
        give_stack(fwd, parent, child, entry, regs);
    if (regs && born->r[EVQ_FS_BASE] != regs->r[EVQ_FS_BASE])
        give_tls(fwd, parent, child, entry, regs);
    child->last = NULL;
    child->call = slc_no_call();
    return slc_branches_restart(&child->branches, &parent->call.maker);
}

/* ---- calls ---- */

static int pass_ops(struct slc_forward *fwd, struct slc_fwd_task *task,
                    const struct evq_entry *entry, const struct slc_clip *clip)
{
    const struct slc_want *mark = task ? &task->call.result : NULL;
    int err = 0;

    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(entry, op));) {
        switch (op->op) {
        case EVQ_OP_WRITE:
        case EVQ_OP_ZERO:
        case EVQ_OP_MAP:
        case EVQ_OP_DISCARD:
            err = slc_fwd_written(fwd, op->range.start, slc_clip_bytes(clip, op), mark);
            break;
        case EVQ_OP_REMAP:
            err = moved(fwd, op, mark);
            break;
        case EVQ_OP_CLEAR_SPACE:
            err = slc_fwd_written(fwd, 0, UINT64_MAX, NULL);
            break;
        case EVQ_OP_TASK_NEW:
            if (task)
                err = thread_began(fwd, task, entry, op);
            break;
        default:
            break;
        }
    }
    return err;
}

/* What a call did to memory, with bytes in it that another call had sent. */
static int pass_call(struct slc_forward *fwd, struct slc_fwd_task *task, size_t index,
                     const struct slc_clip *clip)
{
    struct slc_delivered delivered = {.count = 0};
    int err = slc_fwd_receive(fwd, task, index, &delivered);

    if (!err)
        err = pass_ops(fwd, task, fwd->interval->events[index].entry, clip);
    return slc_fwd_deliver(fwd, task, &delivered, err);
}

/* arch_prctl(ARCH_SET_FS) and ARCH_SET_GS: the base is the call's. */
static void pass_segment_base(struct slc_forward *fwd, struct slc_fwd_task *task,
                              const struct evq_entry *exit)
{
    unsigned base = slc_entry_base_set(exit);

    if (base == INS_LOC_COUNT || !fwd->follows_data)
        return;
    slc_regs_drop(&task->regs, base);
    if (task->call.result.distance == SLC_NOT_WANTED)
        return;
    slc_regs_add(&task->regs, base, &task->call.result, false);
    slc_regs_add(&task->regs, base, &task->call.result, true);
}

/* ---- signal handlers ---- */

/* The frame in memory holds copies of the general registers. */
static int fill_frame(struct slc_forward *fwd, const struct slc_regs *regs, uint64_t ucontext)
{
    uint64_t off;
    int err = 0;

    for (unsigned i = 0; i < SLC_SAVED_REG_COUNT * INS_GPR_PIECES && !err; i++) {
        unsigned loc = slc_saved_piece(i / INS_GPR_PIECES, i % INS_GPR_PIECES, &off);
        for (uint32_t mask = slc_regs_value_mask(regs, loc); mask && !err; mask &= mask - 1)
            err = slc_memory_add(&fwd->memory, ucontext + off + (unsigned)__builtin_ctz(mask), 1,
                                 slc_regs_value(regs, loc));
    }
    return err;
}

/* ... which come back from there: as they were, unless the handler wrote there. */
static void take_frame(struct slc_forward *fwd, struct slc_regs *regs, uint64_t ucontext)
{
    const struct slc_want *mark;
    uint64_t off;

    for (unsigned i = 0; i < SLC_SAVED_REG_COUNT * INS_GPR_PIECES; i++) {
        unsigned loc = slc_saved_piece(i / INS_GPR_PIECES, i % INS_GPR_PIECES, &off);
        uint64_t first = ucontext + off,
                 end = first + (unsigned)__builtin_popcount(slc_piece_mask(loc));
        bool was_address = ins_regset_has(&regs->address, loc);
        uint32_t was = slc_regs_value_mask(regs, loc), is = 0;
        for (uint64_t at = first; slc_memory_next(&fwd->memory, &at, end); at++)
            is |= 1u << (at - first);
        if (was == is)
            continue;
        slc_regs_drop(regs, loc);
        for (uint64_t at = first; (mark = slc_memory_next(&fwd->memory, &at, end)); at++) {
            slc_regs_add_mask(regs, loc, 1u << (at - first), mark);
            if (was_address || !was)
                slc_regs_add(regs, loc, mark, true);
        }
    }
}

static int handler_ended(struct slc_forward *fwd, struct slc_fwd_task *task,
                         const struct evq_entry *enter)
{
    const struct evq_regs *regs = evq_entry_regs(enter);
    struct slc_branches *branches = &task->branches;
    size_t at = branches->count;

    task->last = NULL;
    if (!regs)
        return 0;
    while (at > 1 && !(branches->frames[at - 1].is_signal &&
                       branches->frames[at - 1].slot == regs->r[EVQ_RSP]))
        at--;
    slc_regs_remove(&task->regs, &every_location);
    if (at == 1) { /* it began before the source, when nothing was marked */
        slc_branches_leave(branches);
    } else {
        while (branches->count > at)
            slc_branches_pop(branches);
        slc_regs_copy(&task->regs, slc_branches_top(branches)->regs, &every_location);
        slc_branches_pop(branches);
    }
    take_frame(fwd, &task->regs, regs->r[EVQ_RSP]);
    return 0;
}

/* How what the handler's frames let run is marked: as what depends on the instruction that faulted,
 * or on the call that sent the signal. */
static int cause_of(struct slc_forward *fwd, struct slc_fwd_task *task, size_t index,
                    struct slc_want *mark)
{
    const struct wet_event *cause = slc_event_cause(fwd->interval, index);
    const struct evq_regs *regs = cause ? evq_entry_regs(cause->entry) : NULL;

    *mark = slc_no_want();
    if (!cause)
        return 0;
    if (cause->entry->kind == EVQ_SYSCALL_EXIT) {
        *mark = task->call.maker;
        return 0;
    }
    uint32_t pc_index = regs ? slc_code_pc(fwd->code, regs->r[EVQ_RIP]) : SLC_UNKNOWN;
    if (pc_index == SLC_UNKNOWN)
        return regs ? -ENOMEM : 0;
    return slc_fwd_control(fwd, task, pc_index, mark);
}

/* A fault that left a gather halfway: what it had perhaps loaded is where it goes on. */
static int pass_halfway(struct slc_forward *fwd, struct slc_fwd_task *task, size_t index)
{
    const struct wet_event *cause = slc_event_cause(fwd->interval, index);
    struct slc_sight sight = slc_no_sight();
    struct slc_halfway halfway;

    if (!cause || cause->entry->kind != EVQ_FAULT || fwd->memory.word_count == 0)
        return 0;
    int err = slc_halfway_find(fwd->wet, fwd->interval, cause, &halfway);
    for (unsigned i = 0; i < halfway.count && !err; i++)
        slc_see_memory(&fwd->memory, halfway.lanes[i].address, halfway.lanes[i].size_bytes,
                       WETDBG_EDGE_VALUE, &sight);
    if (err || sight.best.distance == SLC_NOT_WANTED)
        return err;
    for (unsigned l = ins_regset_next(&halfway.loaded, 0); l < INS_LOC_COUNT;
         l = ins_regset_next(&halfway.loaded, l + 1)) {
        slc_regs_add(&task->regs, l, &sight.best, false);
        slc_regs_add(&task->regs, l, &sight.best, true);
    }
    return 0;
}

static int keep_registers(struct slc_fwd_task *task)
{
    struct slc_regs *kept = calloc(1, sizeof(*kept));

    if (!kept || slc_regs_init(kept, task->regs.wants != NULL)) {
        free(kept);
        return -ENOMEM;
    }
    slc_regs_copy(kept, &task->regs, &every_location);
    slc_branches_top(&task->branches)->regs = kept;
    slc_branches_top(&task->branches)->is_signal = true;
    return 0;
}

static int handler_began(struct slc_forward *fwd, struct slc_fwd_task *task,
                         const struct wet_event *event, size_t index, const struct evq_regs *regs)
{
    uint64_t ucontext = regs->r[EVQ_RSP] + 8;
    const struct slc_clip clip = slc_signal_frame_clip(event->entry, regs->r[EVQ_RSP]);
    const struct ins_regset given = slc_handler_given();
    struct slc_want cause;
    int err = cause_of(fwd, task, index, &cause);

    if (!err)
        err = pass_halfway(fwd, task, index);
    if (!err)
        err = pass_ops(fwd, NULL, event->entry, &clip);
    if (!err)
        err = slc_fwd_written(fwd, ucontext + SLC_SAVED_REGS_OFF, 8 * SLC_SAVED_REG_COUNT, NULL);
    if (!err)
        err = fill_frame(fwd, &task->regs, ucontext);
    if (!err)
        err = slc_branches_push(&task->branches, ucontext, &cause);
    if (!err)
        err = keep_registers(task);
    if (!err)
        err = slc_branches_push(&task->branches, regs->r[EVQ_RSP], &cause);
    slc_regs_remove(&task->regs, &given);
    task->last = NULL;
    return err;
}

/* ---- all of it ---- */

int slc_fwd_event(struct slc_forward *fwd, const struct wet_event *event, size_t index)
{
    const struct evq_entry *entry = event->entry;
    int err = 0;
    struct slc_fwd_task *task = slc_fwd_task(fwd, event->task, &err);
    const struct evq_regs *regs = evq_entry_loads(entry);

    if (!task)
        return err;
    const struct slc_clip clip = slc_event_clip(fwd->interval, index);
    switch (entry->kind) {
    case EVQ_SYSCALL_ENTER:
        if (entry->number == SYS_rt_sigreturn)
            return handler_ended(fwd, task, entry);
        err = slc_fwd_send(fwd, task, event->time);
        return err ? err : pass_ops(fwd, task, entry, &clip);
    case EVQ_SYSCALL_EXIT:
        if (entry->number == SYS_rt_sigreturn)
            return 0;
        pass_segment_base(fwd, task, entry);
        return pass_call(fwd, task, index, &clip);
    case EVQ_TASK_EXIT: /* the kernel tells who waits for the thread, or for its locks */
        return pass_ops(fwd, task, entry, &clip);
    case EVQ_OPS:
        if (regs && slc_entry_calls_handler(entry, regs))
            return handler_began(fwd, task, event, index, regs);
        if (slc_event_is_of_call(fwd->interval, index))
            return pass_call(fwd, task, index, &clip);
        return pass_ops(fwd, NULL, entry, &clip);
    default:
        return pass_ops(fwd, NULL, entry, &clip);
    }
}
