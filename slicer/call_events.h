/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries of the event queue as slices read them. They come from a file: sizes are checked
 * again. */
#ifndef SLICER_CALL_EVENTS_H
#define SLICER_CALL_EVENTS_H

#include "recorder/event/ops.h"
#include "wet/intervals.h"

/*
 * The exit of the call that events[index] is a part of; NULL if it is part of none. Data too large
 * for one entry comes in further ones before it, with the same frame. (While a call waits, other
 * threads run: its enter may be far away.)
 */
const struct evq_entry *slc_event_exit(const struct wet_interval *interval, size_t index);

#define SLC_SYSCALL_BYTES 2 /* of the instruction: entries have the address behind it */

/* Whether an EVQ_OPS goes with a call: before its exit, or behind what its enter could hold. */
bool slc_event_is_of_call(const struct wet_interval *interval, size_t index);

/* Which of the bytes that a recording says a call wrote it did write. */
struct slc_clip {
    bool is_clipped;
    uint64_t buffer, buffer_end; /* what lies at `buffer` or above, but below `limit`, ends here */
    uint64_t limit;
};
struct slc_clip slc_event_clip(const struct wet_interval *interval, size_t index);

/* How many of an op's bytes are left. */
uint64_t slc_clip_bytes(const struct slc_clip *clip, const struct evq_op *op);

/* ---- signal frames ----
 *
 * rsp at handler entry ─▶ return address │ struct ucontext ... │ siginfo, vector state
 * rsp at rt_sigreturn  ───────────────────▶ +40: r8..r15 rdi rsi rbp rbx rdx rax rcx rsp rip flags
 */
#define SLC_SAVED_REG_COUNT 16
#define SLC_SAVED_REGS_OFF  40 /* in a ucontext */

/* General registers (enum ins_gpr) in the order of struct sigcontext. */
extern const uint8_t slc_saved_order[SLC_SAVED_REG_COUNT];

/* The location that is piece `piece` of the i-th saved register; *off: where that lies in a
 * ucontext. */
unsigned slc_saved_piece(unsigned i, unsigned piece, uint64_t *off);

/* What a handler is given: arguments, a stack, an empty vector state. */
struct ins_regset slc_handler_given(void);

/* Whether an entry calls a signal handler. A signal that is ignored, or restarts a call, loads
 * registers too; but a handler is called with the signal's number and, behind the return address,
 * its ucontext. */
bool slc_entry_calls_handler(const struct evq_entry *entry, const struct evq_regs *loads);

/*
 * How much of what an event wrote at a handler's rsp, `start`, is the signal's frame. The recording
 * guesses its size and has bytes above it, too, that the kernel did not write. A frame ends with
 * the vector state, which tells its size.
 */
struct slc_clip slc_signal_frame_clip(const struct evq_entry *entry, uint64_t start);

/* Which segment's base (INS_LOC_FS_BASE, the thread pointer, or INS_LOC_GS_BASE) the call set that
 * came back with this entry; INS_LOC_COUNT: none. */
unsigned slc_entry_base_set(const struct evq_entry *exit);

/* Where a struct clone_args has a new thread's stack and, behind it, that one's size; and its
 * thread pointer. */
#define SLC_CLONE_STACK_OFF 40
#define SLC_CLONE_TLS_OFF   56

/* The registers with which a call that made a thread was made; NULL if the entry has none. */
const struct evq_regs *slc_clone_regs(const struct evq_entry *entry);

/* What made the thread enter the handler at events[index]: the fault of an instruction (EVQ_FAULT;
 * its registers have its address), a call by which the thread sent itself the signal
 * (EVQ_SYSCALL_EXIT), or NULL: the signal came from elsewhere. */
const struct wet_event *slc_event_cause(const struct wet_interval *interval, size_t index);

#endif
