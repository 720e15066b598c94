/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * System calls that rr's preload library made by itself.
 *
 * The library is part of the recorded program: it runs again as it ran. What the kernel did is in
 * the records of its buffer, one for each call that it made without rr looking on: the number, the
 * result, and what was written behind the record. So a call's entries (EVQ_SYSCALL_ENTER and
 * EVQ_SYSCALL_EXIT with EVQ_FLAG_BUFFERED) have results, but no registers: nobody has seen them.
 * Such entries are *open*, and whoever comes to the call *fills* them in, the agent its own copy
 * and the supervisor the one that is kept. So it is with an rdtsc that the library executes in the
 * place of one of the program's (EVQ_TRAP). A filled entry says as much as any other, and is
 * compared as any other when the interval is run again.
 *
 * Freestanding, as the agent is.
 */
#ifndef RECORDER_EVENT_BUFFERED_H
#define RECORDER_EVENT_BUFFERED_H

#include <stdbool.h>

#include "recorder/event/ops.h"

/* rr's page of system call instructions, by the kind of calls that are made with each. */
#define EVQ_STUBS      0x70000000u
#define EVQ_STUB_BYTES 3
#define EVQ_STUB_COUNT 9
enum evq_stub {
    EVQ_STUB_TRACED,
    EVQ_STUB_TRACED_PRIVILEGED,
    EVQ_STUB_UNTRACED,
    EVQ_STUB_UNTRACED_REPLAYING, /* not made while recording */
    EVQ_STUB_UNTRACED_RECORDING,
    EVQ_STUB_PRIVILEGED,
    EVQ_STUB_PRIVILEGED_REPLAYING, /* not made while recording */
    EVQ_STUB_PRIVILEGED_RECORDING, /* for the library's own purposes, mostly without a record */
    EVQ_STUB_ASSISTED,
};

/* rip behind a stub's syscall instruction. */
static inline uint64_t evq_stub_rip(enum evq_stub stub)
{
    return EVQ_STUBS + EVQ_STUB_BYTES * (uint64_t)stub + 2;
}

/* Whether a call with this rip is one of which rr knows nothing but the library's record. */
static inline bool evq_is_untraced(uint64_t rip)
{
    return rip > evq_stub_rip(EVQ_STUB_TRACED_PRIVILEGED) && rip <= evq_stub_rip(EVQ_STUB_ASSISTED);
}

/* Whether an entry of a system call is none of the program's, but rr's own or its library's. */
static inline bool evq_is_own_call(const struct evq_entry *entry)
{
    const struct evq_regs *regs =
        entry->kind == EVQ_SYSCALL_ENTER ? evq_entry_regs(entry) : evq_entry_loads(entry);
    uint64_t rip = regs ? regs->r[EVQ_RIP] : 0;
    return entry->number >= EVQ_CALL_OF_RR || rip == evq_stub_rip(EVQ_STUB_TRACED_PRIVILEGED) ||
           rip == evq_stub_rip(EVQ_STUB_PRIVILEGED) ||
           rip == evq_stub_rip(EVQ_STUB_PRIVILEGED_RECORDING);
}

#define EVQ_MASK_CALL (EVQ_MASK_GENERAL | EVQ_BIT(EVQ_EFLAGS) | EVQ_BIT(EVQ_ORIG_RAX))

/* rax and rdx are written by all instructions that trap. */
#define EVQ_MASK_TRAP                                                                              \
    ((EVQ_MASK_GENERAL | EVQ_BIT(EVQ_EFLAGS)) & ~(EVQ_BIT(EVQ_RAX) | EVQ_BIT(EVQ_RDX)))

/* What a task's registers are where rr stops it at the entry of a system call. `here`: at the
 * instruction, rip behind it. */
static inline void evq_regs_enter(struct evq_regs *regs, const struct evq_regs *here)
{
    *regs = *here;
    regs->r[EVQ_ORIG_RAX] = here->r[EVQ_RAX];
    regs->r[EVQ_RAX] = (uint64_t)-38;
    regs->r[EVQ_RCX] = UINT64_MAX;
    regs->r[EVQ_R11] = 0x246;
    regs->r[EVQ_EFLAGS] = 0x246;
}

/* Whether the entry is one of a buffered call that nobody has come to yet. */
static inline bool evq_is_open(const struct evq_entry *entry)
{
    const struct evq_regs *loads = evq_entry_loads(entry);
    if (!(entry->flags & EVQ_FLAG_BUFFERED))
        return false;
    if (entry->kind == EVQ_SYSCALL_ENTER || entry->kind == EVQ_TRAP)
        return !(entry->compare_mask & EVQ_BIT(EVQ_RIP));
    return entry->kind == EVQ_SYSCALL_EXIT && loads && !loads->r[EVQ_RIP];
}

/* Fills an open EVQ_SYSCALL_ENTER. */
static inline void evq_fill_enter(struct evq_entry *entry, const struct evq_regs *here)
{
    evq_regs_enter((struct evq_regs *)evq_entry_regs(entry), here);
    entry->compare_mask = EVQ_MASK_CALL;
}

/* Fills an open EVQ_TRAP: what rdtsc gave is there already. */
static inline void evq_fill_trap(struct evq_entry *entry, const struct evq_regs *here)
{
    struct evq_regs *loads = (struct evq_regs *)evq_entry_loads(entry);
    uint64_t low = loads->r[EVQ_RAX], high = loads->r[EVQ_RDX];
    *(struct evq_regs *)evq_entry_regs(entry) = *here;
    *loads = *here;
    loads->r[EVQ_RAX] = low;
    loads->r[EVQ_RDX] = high;
    entry->compare_mask = EVQ_MASK_TRAP;
}

/* madvise that loses contents: which, the registers say. */
static inline void evq_fill_discard(struct evq_op *op, const struct evq_regs *here)
{
    const uint64_t page = 4096, dontneed = 4;
    uint64_t start = here->r[EVQ_RDI], bytes = (here->r[EVQ_RSI] + page - 1) & -page;
    bool is_one = here->r[EVQ_RDX] == dontneed && start % page == 0 && start + bytes >= start;
    op->range.start = is_one ? start : 0;
    op->range.size = is_one ? bytes : 0;
}

/* What says where a call's bytes are: elements of `size` bytes at rsi, as many as the register
 * `start` says, or one. */
static inline void evq_fill_capture(struct evq_op *op, const struct evq_regs *here)
{
    const uint64_t most = 65536 / (op->capture.size ? op->capture.size : 1);
    uint64_t count = op->capture.start < EVQ_REG_COUNT ? here->r[op->capture.start] : 1;
    op->capture.start = here->r[EVQ_RSI];
    op->capture.size *= count < most ? count : most;
}

/* Fills an open EVQ_SYSCALL_EXIT: the result is there already. As the processor has it, rcx is rip
 * and r11 the flags. */
static inline void evq_fill_exit(struct evq_entry *entry, const struct evq_regs *here)
{
    struct evq_op *op = NULL;
    while ((op = (struct evq_op *)evq_op_next(entry, op))) {
        struct evq_regs *regs = (struct evq_regs *)evq_op_regs(op);
        if (op->op == EVQ_OP_REGS && regs) {
            uint64_t result = regs->r[EVQ_RAX];
            *regs = *here;
            regs->r[EVQ_RAX] = result;
            regs->r[EVQ_ORIG_RAX] = here->r[EVQ_RAX];
            regs->r[EVQ_RCX] = here->r[EVQ_RIP];
            regs->r[EVQ_R11] = here->r[EVQ_EFLAGS];
        } else if (op->op == EVQ_OP_DISCARD) {
            evq_fill_discard(op, here);
        } else if (op->op == EVQ_OP_CAPTURE) {
            evq_fill_capture(op, here);
        }
    }
}

#endif
