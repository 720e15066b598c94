/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What came from outside the instructions: system calls, signals, new threads.
 *
 * Everything here is seen backward. A system call's effects are collected as they are passed and
 * given to the task's next instruction, which is the call itself. A signal handler is a bracket: at
 * its end (rt_sigreturn) the registers of before the signal come back, general registers out of the
 * signal frame in memory, where the handler may have changed them, the rest as it was.
 *
 *   rsp at handler entry ─▶ return address │ struct ucontext ... │ siginfo, vector state
 *   rsp at rt_sigreturn  ───────────────────▶ +40: r8..r15 rdi rsi rbp rbx rdx rax rcx rsp rip flags
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "common/err.h"
#include "slicer/scan.h"

#define UCONTEXT_REGS_OFF 40
#define SAVED_REG_COUNT   16

/* General registers in the order of struct sigcontext. */
static const uint8_t saved_order[SAVED_REG_COUNT] = {
    8,       9,       10,      11,      12,      13,      14,      15,
    INS_RDI, INS_RSI, INS_RBP, INS_RBX, INS_RDX, INS_RAX, INS_RCX, INS_RSP,
};

static const struct evq_regs *entry_regs(const struct evq_entry *entry)
{
    return entry->flags & EVQ_FLAG_REGS ? (const struct evq_regs *)(entry + 1) : NULL;
}

static const struct evq_op *first_op(const struct evq_entry *entry)
{
    size_t regs = entry->flags & EVQ_FLAG_REGS ? sizeof(struct evq_regs) : 0;
    return (const struct evq_op *)((const char *)(entry + 1) + regs);
}

/* The op after this one, or NULL if the entry ends (or is damaged). */
static const struct evq_op *op_check(const struct evq_entry *entry, const struct evq_op *op)
{
    const char *end = (const char *)entry + entry->bytes;

    if ((const char *)op + sizeof(*op) > end || op->bytes < sizeof(*op) ||
        (size_t)(end - (const char *)op) < op->bytes)
        return NULL;
    return op;
}

static const struct evq_op *next_op(const struct evq_entry *entry, const struct evq_op *op)
{
    return op_check(entry, (const struct evq_op *)((const char *)op + op->bytes));
}

static const struct evq_regs *loaded_regs(const struct evq_entry *entry)
{
    const struct evq_op *op = op_check(entry, first_op(entry));

    for (; op; op = next_op(entry, op))
        if (op->op == EVQ_OP_REGS && op->bytes >= sizeof(*op) + sizeof(struct evq_regs))
            return (const struct evq_regs *)(op + 1);
    return NULL;
}

/* ---- outside ---- */

int slc_memory_from_outside(struct slc_scan *scan, uint64_t address, uint64_t size)
{
    uint64_t end = address + size < address ? UINT64_MAX : address + size;
    struct slc_want *want;
    int error =
        slc_bypass_write(&scan->bypass, &scan->memory, NULL, SLC_UNKNOWN, -1, address, size);

    for (uint64_t at = address; !error && (want = slc_memory_next(&scan->memory, &at, end)); at++) {
        struct slc_initial initial = {.location = INS_LOC_COUNT,
                                      .address = at,
                                      .size_bytes = 1,
                                      .distance = want->distance,
                                      .user = want->user};
        error = slc_slice_add_initial(scan->slice, &initial);
    }
    if (!error)
        slc_memory_drop(&scan->memory, address, size);
    return error;
}

int slc_register_from_outside(struct slc_scan *scan, struct slc_task *task, uint32_t number,
                              unsigned loc)
{
    if (!slc_regs_has(&task->regs, loc))
        return 0;
    struct slc_want want = slc_regs_nearest(&task->regs, loc);
    slc_regs_drop(&task->regs, loc);
    struct slc_initial initial = {
        .location = (uint16_t)loc, .task = number, .distance = want.distance, .user = want.user};
    return slc_slice_add_initial(scan->slice, &initial);
}

/* ---- system calls ---- */

/* Wanted bytes that the kernel wrote for the task's system call. */
static int syscall_wrote(struct slc_scan *scan, struct slc_task *task, uint64_t address,
                         uint64_t size)
{
    uint64_t end = address + size < address ? UINT64_MAX : address + size;
    struct slc_want *want;
    int error =
        slc_bypass_write(&scan->bypass, &scan->memory, NULL, SLC_UNKNOWN, -1, address, size);

    for (uint64_t at = address; !error && (want = slc_memory_next(&scan->memory, &at, end)); at++)
        if (slc_want_merge(&task->pending, want)) {
            task->pending.location = INS_LOC_COUNT;
            task->pending_address = at;
        }
    if (!error)
        slc_memory_drop(&scan->memory, address, size);
    return error;
}

/* Calls that return how much they wrote at an argument: recordings often hold the whole buffer. */
static bool result_buffer(int32_t number, enum evq_reg *argument)
{
    switch (number) {
    case SYS_read:
    case SYS_pread64:
    case SYS_recvfrom:
    case SYS_readlink:
    case SYS_getdents64:
        *argument = EVQ_RSI;
        return true;
    case SYS_readlinkat:
        *argument = EVQ_RDX;
        return true;
    case SYS_getrandom:
    case SYS_getcwd:
        *argument = EVQ_RDI;
        return true;
    default:
        return false;
    }
}

struct call {
    bool is_clipped;
    uint64_t buffer, buffer_end;
};

/* Finds the result (in the exit) and the buffer (in either) of the call that an event belongs to. */
static struct call describe_call(const struct slc_scan *scan, size_t index)
{
    const struct wet_event *event = &scan->interval->events[index];
    const struct evq_regs *exit = NULL, *enter = NULL;
    enum evq_reg argument;
    struct call call = {0};

    for (size_t i = index + 1; i-- > 0 && scan->interval->events[i].time == event->time;)
        if (scan->interval->events[i].entry->kind == EVQ_SYSCALL_ENTER &&
            scan->interval->events[i].task == event->task) {
            enter = entry_regs(scan->interval->events[i].entry);
            break;
        }
    for (size_t i = index;
         !exit && i < scan->interval->event_count && scan->interval->events[i].time == event->time;
         i++)
        if (scan->interval->events[i].entry->kind == EVQ_SYSCALL_EXIT &&
            scan->interval->events[i].task == event->task)
            exit = loaded_regs(scan->interval->events[i].entry);
    if (!exit || !result_buffer(event->entry->number, &argument))
        return call;
    int64_t result = (int64_t)exit->r[EVQ_RAX];
    call.is_clipped = true;
    call.buffer = (enter ? enter : exit)->r[argument];
    call.buffer_end = call.buffer + (result > 0 ? (uint64_t)result : 0);
    return call;
}

/* Moves wants of what mremap moved to where it was. */
static int syscall_moved(struct slc_scan *scan, struct slc_task *task, const struct evq_op *op)
{
    uint64_t size = op->b < op->d ? op->b : op->d, end = op->c + size;
    struct slc_want *want;
    int error = 0;

    if (op->d > size && task)
        error = syscall_wrote(scan, task, op->c + size, op->d - size);
    if (error || op->a == op->c)
        return error;
    error = slc_bypass_write(&scan->bypass, &scan->memory, NULL, SLC_UNKNOWN, -1, op->c, size);
    for (uint64_t at = op->c;
         !error && at < end && (want = slc_memory_next(&scan->memory, &at, end)); at++) {
        struct slc_want moved = *want;
        slc_memory_drop(&scan->memory, at, 1);
        error = slc_memory_add(&scan->memory, op->a + (at - op->c), 1, &moved);
    }
    return error;
}

/* A new thread began with its parent's registers; its frames were made by the call. */
static int thread_began(struct slc_scan *scan, struct slc_task *parent, uint64_t number)
{
    const struct ins_regset all = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    int error = 0;
    struct slc_task *child = slc_scan_task(scan, (uint32_t)number, &error);

    if (!child)
        return error;
    for (unsigned p = 0; p < INS_GPR_PIECES; p++) {
        unsigned loc = INS_LOC_GPR + INS_GPR_PIECES * INS_RAX + p;
        if (!slc_regs_has(&child->regs, loc))
            continue;
        const struct slc_want want = slc_regs_nearest(&child->regs, loc);
        if (slc_want_merge(&parent->pending, &want))
            parent->pending.location = (uint16_t)loc;
        slc_regs_drop(&child->regs, loc);
    }
    slc_regs_move(&parent->regs, &child->regs, &all);
    for (;;) {
        slc_frames_take_all(&child->frames, &parent->pending);
        if (child->frames.count == 1)
            return 0;
        child->frames.count--;
        slc_stash_free(child->frames.frames[child->frames.count].stash);
    }
}

/* The ops of a call, or of data that came without one (task NULL). */
static int pass_ops(struct slc_scan *scan, struct slc_task *task, const struct evq_entry *entry,
                    const struct call *call)
{
    const struct evq_op *op = op_check(entry, first_op(entry));
    int error = 0;

    for (; op && !error; op = next_op(entry, op)) {
        uint64_t size = op->b;
        switch (op->op) {
        case EVQ_OP_WRITE:
            if (call->is_clipped && op->a >= call->buffer) {
                uint64_t room = call->buffer_end > op->a ? call->buffer_end - op->a : 0;
                size = size < room ? size : room;
            }
            /* fall through */
        case EVQ_OP_ZERO:
        case EVQ_OP_MAP:
        case EVQ_OP_DISCARD:
            error = task ? syscall_wrote(scan, task, op->a, size)
                         : slc_memory_from_outside(scan, op->a, size);
            break;
        case EVQ_OP_REMAP:
            error = syscall_moved(scan, task, op);
            break;
        case EVQ_OP_CLEAR_SPACE:
            error = slc_memory_from_outside(scan, 0, UINT64_MAX);
            break;
        case EVQ_OP_TASK_NEW:
            if (task)
                error = thread_began(scan, task, op->a);
            break;
        default:
            break;
        }
    }
    return error;
}

/* ---- signal handlers ---- */

static int handler_ended(struct slc_scan *scan, struct slc_task *task,
                         const struct evq_entry *enter)
{
    const struct evq_regs *regs = entry_regs(enter);
    struct slc_regs *stash = malloc(sizeof(*stash));
    struct ins_regset rest = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};

    task->next = NULL;
    if (!stash || slc_regs_init(stash, task->regs.wants != NULL)) {
        free(stash);
        return -ENOMEM;
    }
    for (unsigned i = 0; regs && i < SAVED_REG_COUNT; i++)
        for (unsigned p = 0; p < INS_GPR_PIECES; p++) {
            static const uint8_t first[] = {0, 1, 2}, size[] = {1, 1, 6};
            unsigned loc = INS_LOC_GPR + INS_GPR_PIECES * saved_order[i] + p;
            uint64_t at = regs->r[EVQ_RSP] + UCONTEXT_REGS_OFF + 8 * i + first[p];
            if (!slc_regs_has(&task->regs, loc))
                continue;
            const struct slc_want want = slc_regs_nearest(&task->regs, loc);
            slc_regs_drop(&task->regs, loc);
            if (slc_memory_add(&scan->memory, at, size[p], &want)) {
                slc_stash_free(stash);
                return -ENOMEM;
            }
        }
    slc_regs_move(stash, &task->regs, &rest);
    return slc_frames_pass_handler_end(&task->frames, stash);
}

/* Wanted bytes of saved registers in a signal frame are wanted registers before the signal. */
static int leave_signal_frame(struct slc_scan *scan, struct slc_task *task, uint64_t ucontext)
{
    uint64_t from = ucontext + UCONTEXT_REGS_OFF, end = from + 8 * SAVED_REG_COUNT;
    struct slc_want *want;
    int error =
        slc_bypass_write(&scan->bypass, &scan->memory, NULL, SLC_UNKNOWN, -1, from, end - from);

    for (uint64_t at = from; !error && (want = slc_memory_next(&scan->memory, &at, end)); at++) {
        unsigned byte = (unsigned)(at - from) % 8;
        unsigned piece = byte < 2 ? byte : 2;
        unsigned gpr = saved_order[(at - from) / 8];
        slc_regs_add(&task->regs, INS_LOC_GPR + INS_GPR_PIECES * gpr + piece, want,
                     want->edge == SLC_EDGE_ADDRESS);
    }
    slc_memory_drop(&scan->memory, from, end - from);
    return error;
}

static int handler_began(struct slc_scan *scan, struct slc_task *task,
                         const struct wet_event *event, const struct evq_regs *regs)
{
    static const uint8_t given[] = {INS_RAX, INS_RDI, INS_RSI, INS_RDX};
    const struct ins_regset all = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    const struct call none = {0};
    int error = 0;

    task->next = NULL;
    for (unsigned i = 0; i < sizeof(given) && !error; i++)
        for (unsigned p = 0; p < INS_GPR_PIECES && !error; p++)
            error = slc_register_from_outside(scan, task, event->task,
                                              INS_LOC_GPR + INS_GPR_PIECES * given[i] + p);
    struct slc_regs *stash = slc_frames_pass_handler_start(&task->frames);
    if (stash)
        slc_regs_move(&task->regs, stash, &all);
    slc_stash_free(stash);
    if (!error)
        error = leave_signal_frame(scan, task, regs->r[EVQ_RSP] + 8);
    return error ? error : pass_ops(scan, NULL, event->entry, &none);
}

/* ---- all of it ---- */

/* Data too large for one entry comes in further ones beside the call's. */
static bool belongs_to_call(const struct slc_scan *scan, size_t index)
{
    const struct wet_event *events = scan->interval->events;

    for (size_t i = index; i-- > 0 && events[i].time == events[index].time;)
        if (events[i].task == events[index].task && (events[i].entry->kind == EVQ_SYSCALL_ENTER ||
                                                     events[i].entry->kind == EVQ_SYSCALL_EXIT))
            return true;
    return false;
}

int slc_pass_event(struct slc_scan *scan, const struct wet_event *event, size_t index)
{
    const struct evq_entry *entry = event->entry;
    int error = 0;
    struct slc_task *task = slc_scan_task(scan, event->task, &error);
    const struct evq_regs *regs;

    if (!task)
        return error;
    switch (entry->kind) {
    case EVQ_SYSCALL_ENTER:
    case EVQ_SYSCALL_EXIT: {
        if (entry->number == SYS_rt_sigreturn)
            return entry->kind == EVQ_SYSCALL_ENTER ? handler_ended(scan, task, entry) : 0;
        struct call call = describe_call(scan, index);
        return pass_ops(scan, task, entry, &call);
    }
    case EVQ_OPS:
        regs = loaded_regs(entry);
        if (regs)
            return handler_began(scan, task, event, regs);
        /* fall through */
    default: {
        struct call call = describe_call(scan, index);
        bool is_call = entry->kind == EVQ_OPS && belongs_to_call(scan, index);
        return pass_ops(scan, is_call ? task : NULL, entry, &call);
    }
    }
}
