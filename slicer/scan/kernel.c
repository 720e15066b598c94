/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What came from outside the instructions: system calls, signals, new threads.
 *
 * Everything here is seen backward. A system call's effects are collected as they are passed and
 * given to the task's next instruction, which is the call itself. A signal handler is a bracket: at
 * its end (rt_sigreturn) the registers of before the signal come back, general registers out of the
 * signal frame in memory, where the handler may have changed them, the rest as it was.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "slicer/call_events.h"
#include "slicer/scan/halfway.h"
#include "slicer/scan/loader.h"
#include "slicer/scan/recorder.h"
#include <wetdbg/errors.h>

/* ---- outside ---- */

int slc_memory_from_outside(struct slc_scan *scan, uint64_t address, uint64_t size)
{
    uint64_t end = address + size < address ? UINT64_MAX : address + size;
    struct slc_want *want;
    int err = slc_bypass_write(&scan->bypass, &scan->memory, NULL, SLC_UNKNOWN, -1, address, size);

    for (uint64_t at = address; !err && (want = slc_memory_next(&scan->memory, &at, end)); at++) {
        struct wetdbg_slice_initial initial = {.location = INS_LOC_COUNT,
                                               .address = at,
                                               .size_bytes = 1,
                                               .distance = want->distance,
                                               .user = want->user};
        err = slc_slice_add_initial(scan->slice, &initial);
    }
    if (!err)
        slc_memory_drop(&scan->memory, address, size);
    return err;
}

int slc_register_from_outside(struct slc_scan *scan, struct slc_task *task, uint32_t number,
                              unsigned loc)
{
    if (!slc_regs_has(&task->regs, loc))
        return 0;
    struct slc_want want = slc_regs_nearest(&task->regs, loc);
    slc_regs_drop(&task->regs, loc);
    struct wetdbg_slice_initial initial = {
        .location = (uint16_t)loc, .task = number, .distance = want.distance, .user = want.user};
    return slc_slice_add_initial(scan->slice, &initial);
}

/* ---- system calls ---- */

static const struct slc_call_run whole_call = {.kind = SLC_BYTES_ALL};

/* Takes wanted bytes that the kernel wrote for the task's system call: of what `op` of `entry`
 * says, NULL where they were not delivered by it. */
static int syscall_wrote(struct slc_scan *scan, struct slc_task *task,
                         const struct evq_entry *entry, const struct evq_op *op, uint64_t address,
                         uint64_t size)
{
    uint64_t end = address + size < address ? UINT64_MAX : address + size;
    struct slc_want *want;
    int err = slc_bypass_write(&scan->bypass, &scan->memory, NULL, SLC_UNKNOWN, -1, address, size);

    uint64_t first = address;
    if (!err && op && slc_memory_next(&scan->memory, &first, end))
        err = slc_passed_receive(scan, task, entry, op, first, end);
    for (uint64_t at = first; !err && (want = slc_memory_next(&scan->memory, &at, end)); at++) {
        err = slc_call_bytes_add(&task->wrote, (struct slc_call_run){0, SLC_BYTES_MEMORY, at, 1});
        task->call_wrote = true;
        if (slc_want_merge(&task->pending, want)) {
            task->pending.location = INS_LOC_COUNT;
            task->pending_address = at;
        }
    }
    if (!err)
        slc_memory_drop(&scan->memory, address, size);
    return err;
}

/* Moves wants of what mremap moved to where it was. */
static int syscall_moved(struct slc_scan *scan, struct slc_task *task, const struct evq_op *op)
{
    uint64_t size = op->remap.size < op->remap.to_size ? op->remap.size : op->remap.to_size,
             end = op->remap.to + size;
    struct slc_want *want;
    int err = 0;

    if (op->remap.to_size > size && task)
        err = syscall_wrote(scan, task, NULL, NULL, op->remap.to + size, op->remap.to_size - size);
    if (err || op->remap.start == op->remap.to)
        return err;
    err = slc_bypass_write(&scan->bypass, &scan->memory, NULL, SLC_UNKNOWN, -1, op->remap.to, size);
    for (uint64_t at = op->remap.to;
         !err && at < end && (want = slc_memory_next(&scan->memory, &at, end)); at++) {
        struct slc_want moved = *want;
        slc_memory_drop(&scan->memory, at, 1);
        err = slc_memory_add(&scan->memory, op->remap.start + (at - op->remap.to), 1, &moved);
    }
    return err;
}

/* ---- threads ---- */

static void move_gpr(struct slc_regs *to, unsigned to_gpr, struct slc_regs *from, unsigned from_gpr)
{
    assert(to_gpr < INS_GPR_COUNT && from_gpr < INS_GPR_COUNT);
    for (unsigned p = 0; p < INS_GPR_PIECES; p++) {
        unsigned own = INS_LOC_GPR + INS_GPR_PIECES * from_gpr + p;
        unsigned loc = INS_LOC_GPR + INS_GPR_PIECES * to_gpr + p;
        slc_regs_add_mask(to, loc, slc_regs_value_mask(from, own), slc_regs_value(from, own));
        if (ins_regset_has(&from->address, own))
            slc_regs_add(to, loc, slc_regs_address(from, own), true);
        slc_regs_drop(from, own);
    }
}

/* Moves wants of a location to all bytes of a general register. */
static void move_to_gpr(struct slc_regs *to, unsigned gpr, struct slc_regs *from, unsigned loc)
{
    for (unsigned p = 0; p < INS_GPR_PIECES; p++) {
        unsigned piece = INS_LOC_GPR + INS_GPR_PIECES * gpr + p;
        if (ins_regset_has(&from->value, loc))
            slc_regs_add(to, piece, slc_regs_value(from, loc), false);
        if (ins_regset_has(&from->address, loc))
            slc_regs_add(to, piece, slc_regs_address(from, loc), true);
    }
    slc_regs_drop(from, loc);
}

/* Moves wants of a location to memory. */
static int move_to_memory(struct slc_scan *scan, uint64_t address, uint64_t size,
                          struct slc_regs *from, unsigned loc)
{
    if (!slc_regs_has(from, loc))
        return 0;
    struct slc_want want = slc_regs_nearest(from, loc);
    slc_regs_drop(from, loc);
    return slc_memory_add(&scan->memory, address, size, &want);
}

/* Takes the arguments of a clone: the stack pointer and the thread pointer are arguments of the
 * call, where they differ from the parent's: clone(flags, stack, parent_tid, child_tid, tls),
 * clone3(args, size). */
static int take_clone_arguments(struct slc_scan *scan, struct slc_task *parent,
                                struct slc_regs *child, const struct evq_entry *entry,
                                const struct evq_regs *born)
{
    const struct evq_regs *regs = slc_clone_regs(entry);
    int err = 0;

    if (!regs)
        return 0;
    bool has_stack = born->r[EVQ_RSP] != regs->r[EVQ_RSP];
    bool has_tls = born->r[EVQ_FS_BASE] != regs->r[EVQ_FS_BASE];
    if (has_stack && entry->number == SYS_clone)
        move_gpr(&parent->regs, INS_RSI, child, INS_RSP);
    for (unsigned p = 0; has_stack && entry->number == SYS_clone3 && p < INS_GPR_PIECES && !err;
         p++)
        err = move_to_memory(scan, regs->r[EVQ_RDI] + SLC_CLONE_STACK_OFF, 16, child,
                             INS_LOC_GPR + INS_GPR_PIECES * INS_RSP + p);
    if (has_tls && entry->number == SYS_clone)
        move_to_gpr(&parent->regs, 8, child, INS_LOC_FS_BASE);
    if (has_tls && entry->number == SYS_clone3 && !err)
        err = move_to_memory(scan, regs->r[EVQ_RDI] + SLC_CLONE_TLS_OFF, 8, child, INS_LOC_FS_BASE);
    return err;
}

/*
 * Passes the beginning of a new thread: rax is the call's, stack and thread pointer its arguments,
 * all else the parent's. Its frames were made by the call. Whoever had the slot before it starts
 * from nothing.
 */
static int thread_began(struct slc_scan *scan, struct slc_task *parent,
                        const struct evq_entry *entry, const struct evq_op *op)
{
    const struct ins_regset all = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    int err = 0;
    struct slc_task *child = slc_scan_task(scan, (uint32_t)op->task_new.task, &err);

    if (!child || child == parent || !evq_op_regs(op))
        return err;
    slc_loader_flush(child);
    if (slc_want_merge(&parent->pending, &child->pending))
        parent->pending_address = child->pending_address;
    parent->call_wrote |= child->call_wrote;
    child->call_wrote = false;
    child->wrote.count = 0;
    err = slc_call_bytes_add(&parent->wrote, whole_call);
    for (unsigned p = 0; p < INS_GPR_PIECES; p++) {
        unsigned loc = INS_LOC_GPR + INS_GPR_PIECES * INS_RAX + p;
        if (!slc_regs_has(&child->regs, loc))
            continue;
        const struct slc_want want = slc_regs_nearest(&child->regs, loc);
        if (slc_want_merge(&parent->pending, &want))
            parent->pending.location = (uint16_t)loc;
        parent->call_wrote = true;
        slc_regs_drop(&child->regs, loc);
    }
    if (!err)
        err = take_clone_arguments(scan, parent, &child->regs, entry, evq_op_regs(op));
    slc_regs_move(&parent->regs, &child->regs, &all);
    slc_frames_pass_thread_start(&child->frames, &parent->pending);
    child->pending = slc_no_want();
    child->hooked.want = slc_no_want();
    child->pending_address = 0;
    child->next = NULL;
    return err;
}

/* Passes the ops of a call, or of data that came without one (task NULL). */
static int pass_ops(struct slc_scan *scan, struct slc_task *task, const struct evq_entry *entry,
                    const struct slc_clip *clip)
{
    int err = 0;

    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(entry, op));) {
        uint64_t size = slc_clip_bytes(clip, op);
        switch (op->op) {
        case EVQ_OP_WRITE:
        case EVQ_OP_ZERO:
        case EVQ_OP_MAP:
        case EVQ_OP_DISCARD:
            err = task ? syscall_wrote(scan, task, entry, op, op->range.start, size)
                       : slc_memory_from_outside(scan, op->range.start, size);
            break;
        case EVQ_OP_REMAP:
            err = syscall_moved(scan, task, op);
            break;
        case EVQ_OP_CLEAR_SPACE:
            err = slc_memory_from_outside(scan, 0, UINT64_MAX);
            break;
        case EVQ_OP_TASK_NEW:
            if (task)
                err = thread_began(scan, task, entry, op);
            break;
        default:
            break;
        }
    }
    return err;
}

/* ---- signal handlers ---- */

/* Wants bytes whose bits are in `mask`. */
static int want_mask(struct slc_memory *memory, uint64_t address, uint32_t mask,
                     const struct slc_want *want)
{
    int err = 0;

    for (; mask && !err; mask &= mask - 1)
        err = slc_memory_add(memory, address + (unsigned)__builtin_ctz(mask), 1, want);
    return err;
}

/* Passes a handler's end: all wants wait for the handler's start; those of general registers also
 * as wants of the signal frame's memory, since what the handler writes there is what comes back. */
static int handler_ended(struct slc_scan *scan, struct slc_task *task,
                         const struct evq_entry *enter)
{
    const struct evq_regs *regs = evq_entry_regs(enter);
    const struct ins_regset all = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    struct slc_regs *stash = calloc(1, sizeof(*stash));
    uint64_t off;

    task->next = NULL;
    if (!stash || slc_regs_init(stash, task->regs.wants != NULL)) {
        free(stash);
        return -ENOMEM;
    }
    slc_regs_move(stash, &task->regs, &all);
    for (unsigned i = 0; regs && i < SLC_SAVED_REG_COUNT * INS_GPR_PIECES; i++) {
        unsigned loc = slc_saved_piece(i / INS_GPR_PIECES, i % INS_GPR_PIECES, &off);
        const struct slc_want want = slc_regs_nearest(stash, loc);
        if (want_mask(&scan->memory, regs->r[EVQ_RSP] + off, slc_regs_mask(stash, loc), &want)) {
            slc_stash_free(stash);
            return -ENOMEM;
        }
    }
    return slc_frames_pass_handler_end(&task->frames, regs ? regs->r[EVQ_RSP] : 0, stash);
}

static bool is_same_want(const struct slc_want *a, const struct slc_want *b)
{
    return a->user == b->user && a->distance == b->distance && a->edge == b->edge;
}

/* What is still wanted of a saved register is wanted of the register before the signal: by those
 * who waited in the stash, and by whoever read it in the frame. */
static void leave_saved_piece(struct slc_scan *scan, struct slc_task *task, struct slc_regs *stash,
                              unsigned loc, uint64_t address)
{
    unsigned size = (unsigned)__builtin_popcount(slc_piece_mask(loc));
    const struct slc_want waited = stash ? slc_regs_nearest(stash, loc) : slc_no_want();
    uint32_t values = stash ? slc_regs_value_mask(stash, loc) : 0, mask = 0;
    bool is_address = stash && ins_regset_has(&stash->address, loc);
    const struct slc_want *found;
    uint64_t at = address;

    for (; (found = slc_memory_next(&scan->memory, &at, address + size)); at++) {
        uint32_t byte = 1u << (at - address);
        mask |= byte;
        bool is_waiting = is_address || values & byte;
        if (is_waiting && (!task->regs.wants || is_same_want(found, &waited)))
            continue;
        if (found->edge == WETDBG_EDGE_ADDRESS)
            slc_regs_add(&task->regs, loc, found, true);
        else
            slc_regs_add_mask(&task->regs, loc, byte, found);
    }
    if (values & mask)
        slc_regs_add_mask(&task->regs, loc, values & mask, slc_regs_value(stash, loc));
    if (mask && is_address)
        slc_regs_add(&task->regs, loc, slc_regs_address(stash, loc), true);
}

static int leave_signal_frame(struct slc_scan *scan, struct slc_task *task, struct slc_regs *stash,
                              uint64_t ucontext)
{
    const struct ins_regset all = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    uint64_t from = ucontext + SLC_SAVED_REGS_OFF, bytes = 8 * SLC_SAVED_REG_COUNT, off;
    int err = slc_bypass_write(&scan->bypass, &scan->memory, NULL, SLC_UNKNOWN, -1, from, bytes);

    for (unsigned i = 0; i < SLC_SAVED_REG_COUNT * INS_GPR_PIECES && !err; i++) {
        unsigned loc = slc_saved_piece(i / INS_GPR_PIECES, i % INS_GPR_PIECES, &off);
        leave_saved_piece(scan, task, stash, loc, ucontext + off);
        if (stash)
            slc_regs_drop(stash, loc);
    }
    slc_memory_drop(&scan->memory, from, bytes);
    if (stash)
        slc_regs_move(&task->regs, stash, &all);
    return err;
}

/* Takes what a handler is given. */
static int given_to_handler(struct slc_scan *scan, struct slc_task *task, uint32_t number)
{
    const struct ins_regset set = slc_handler_given();
    int err = 0;

    for (unsigned l = ins_regset_next(&set, 0); l < INS_LOC_COUNT && !err;
         l = ins_regset_next(&set, l + 1))
        err = slc_register_from_outside(scan, task, number, l);
    return err;
}

/* Passes on why the handler ran: because the instruction that faulted did, or the call that sent
 * the signal. */
static int pass_cause(struct slc_scan *scan, struct slc_task *task, size_t index,
                      const struct slc_want *hit)
{
    const struct wet_event *cause = slc_event_cause(scan->interval, index);
    const struct evq_regs *regs = cause ? evq_entry_regs(cause->entry) : NULL;

    if (hit->distance == SLC_NOT_WANTED || !cause)
        return 0;
    if (cause->entry->kind == EVQ_SYSCALL_EXIT) {
        slc_want_merge(&task->pending, hit);
        return slc_call_bytes_add(&task->wrote, whole_call);
    }
    uint32_t pc_index = regs ? slc_code_pc(scan->code, regs->r[EVQ_RIP]) : SLC_UNKNOWN;
    uint32_t klass = pc_index == SLC_UNKNOWN ? SLC_UNKNOWN : slc_code_class(scan->code, pc_index);
    if (!regs)
        return 0;
    if (klass == SLC_UNKNOWN)
        return -ENOMEM;
    return slc_frames_demand(&task->frames, scan->code->classes, klass, hit);
}

static bool wants_vectors(const struct slc_task *task)
{
    struct ins_regset vectors = {0};

    for (unsigned l = INS_LOC_VEC; l < INS_LOC_K; l++)
        ins_regset_add(&vectors, l);
    return slc_regs_intersect(&task->regs, &vectors);
}

/* Passes a fault that left a gather halfway: lanes that had perhaps been loaded when it faulted are
 * wanted where they lie, as its register is. */
static int pass_halfway(struct slc_scan *scan, struct slc_task *task, size_t index)
{
    const struct wet_event *cause = slc_event_cause(scan->interval, index);
    struct slc_want want = slc_no_want();
    struct slc_halfway halfway;

    if (!cause || cause->entry->kind != EVQ_FAULT || !wants_vectors(task))
        return 0;
    int err = slc_halfway_find(scan->wet, scan->interval, cause, &halfway);
    if (err || !slc_regs_intersect(&task->regs, &halfway.loaded))
        return err;
    for (unsigned l = ins_regset_next(&halfway.loaded, 0); l < INS_LOC_COUNT;
         l = ins_regset_next(&halfway.loaded, l + 1)) {
        if (slc_regs_has(&task->regs, l)) {
            const struct slc_want nearest = slc_regs_nearest(&task->regs, l);
            slc_want_merge(&want, &nearest);
        }
    }
    for (unsigned i = 0; i < halfway.count && !err; i++)
        err = slc_memory_add(&scan->memory, halfway.lanes[i].address, halfway.lanes[i].size_bytes,
                             &want);
    return err;
}

static int handler_began(struct slc_scan *scan, struct slc_task *task,
                         const struct wet_event *event, size_t index, const struct evq_regs *regs)
{
    uint64_t ucontext = regs->r[EVQ_RSP] + 8;
    const struct slc_clip frame = slc_signal_frame_clip(event->entry, regs->r[EVQ_RSP]);
    int err = given_to_handler(scan, task, event->task);

    task->next = NULL;
    struct slc_want hit = slc_no_want();
    struct slc_regs *stash = slc_frames_pass_handler_start(&task->frames, ucontext, &hit);
    if (!err)
        err = pass_cause(scan, task, index, &hit);
    if (!err)
        err = leave_signal_frame(scan, task, stash, ucontext);
    slc_stash_free(stash);
    if (!err)
        err = pass_halfway(scan, task, index);
    return err ? err : pass_ops(scan, NULL, event->entry, &frame);
}

/* ---- all of it ---- */

/* arch_prctl(ARCH_SET_FS) and ARCH_SET_GS: the base is the call's. */
static int pass_segment_base(struct slc_task *task, const struct evq_entry *exit)
{
    unsigned base = slc_entry_base_set(exit);

    if (base == INS_LOC_COUNT || !slc_regs_has(&task->regs, base))
        return 0;
    const struct slc_want want = slc_regs_nearest(&task->regs, base);
    if (slc_want_merge(&task->pending, &want)) {
        task->pending.location = (uint16_t)base;
        task->pending_address = 0;
    }
    task->call_wrote = true;
    slc_regs_drop(&task->regs, base);
    return slc_call_bytes_add(&task->wrote, whole_call);
}

int slc_pass_event(struct slc_scan *scan, const struct wet_event *event, size_t index)
{
    const struct evq_entry *entry = event->entry;
    int err = 0;
    struct slc_task *task = slc_scan_task(scan, event->task, &err);
    const struct evq_regs *regs = evq_entry_loads(entry);

    if (!task)
        return err;
    const struct slc_clip clip = slc_event_clip(scan->interval, index);
    switch (entry->kind) {
    case EVQ_SYSCALL_ENTER:
        slc_call_note(&task->call, entry);
        err = slc_passed_send(scan, task, event->time);
        if (err)
            return err;
        /* fall through */
    case EVQ_SYSCALL_EXIT:
        if (entry->number == SYS_rt_sigreturn)
            return entry->kind == EVQ_SYSCALL_ENTER ? handler_ended(scan, task, entry) : 0;
        if (entry->kind == EVQ_SYSCALL_EXIT && entry->number == SLC_RECORDER_IS_LEFT && regs)
            task->left_call = (int32_t)regs->r[EVQ_ORIG_RAX];
        if (entry->kind == EVQ_SYSCALL_EXIT)
            err = pass_segment_base(task, entry);
        if (!err)
            err = pass_ops(scan, task, entry, &clip);
        if (!err && entry->kind == EVQ_SYSCALL_EXIT)
            err = slc_passed_end(scan, task, event->time);
        return err;
    case EVQ_TASK_EXIT: /* the kernel tells who waits for the thread, or for its locks */
        return pass_ops(scan, task, entry, &clip);
    case EVQ_OPS:
        if (regs && slc_entry_calls_handler(entry, regs))
            return handler_began(scan, task, event, index, regs);
        err =
            pass_ops(scan, slc_event_is_of_call(scan->interval, index) ? task : NULL, entry, &clip);
        return err ? err : slc_passed_end(scan, task, event->time);
    default:
        return pass_ops(scan, NULL, entry, &clip);
    }
}
