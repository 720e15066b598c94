/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/call_events.h"

#include <asm/prctl.h>
#include <asm/sigcontext.h>
#include <assert.h>
#include <string.h>
#include <sys/syscall.h>

#include "slicer/pieces.h"
#include "slicer/syscalls.h"

const uint8_t slc_saved_order[SLC_SAVED_REG_COUNT] = {
    8,       9,       10,      11,      12,      13,      14,      15,
    INS_RDI, INS_RSI, INS_RBP, INS_RBX, INS_RDX, INS_RAX, INS_RCX, INS_RSP,
};

const struct evq_entry *slc_event_exit(const struct wet_interval *interval, size_t index)
{
    const struct wet_event *first = &interval->events[index];

    for (size_t i = index; i < interval->event_count; i++) {
        const struct wet_event *event = &interval->events[i];
        if (event->task != first->task || event->entry->frame != first->entry->frame)
            return NULL;
        if (event->entry->kind == EVQ_SYSCALL_EXIT)
            return event->entry;
        if (event->entry->kind != EVQ_OPS)
            return NULL;
    }
    return NULL;
}

bool slc_event_is_of_call(const struct wet_interval *interval, size_t index)
{
    const struct wet_event *events = interval->events;

    for (size_t i = index; i-- > 0 && events[i].task == events[index].task &&
                           events[i].entry->frame == events[index].entry->frame;)
        if (events[i].entry->kind == EVQ_SYSCALL_ENTER)
            return true;
    return slc_event_exit(interval, index) != NULL;
}

/* The kernel keeps arguments, so that the registers after the call have them. */
struct slc_clip slc_event_clip(const struct wet_interval *interval, size_t index)
{
    const struct evq_entry *exit = slc_event_exit(interval, index);
    const struct evq_regs *regs = exit ? evq_entry_loads(exit) : NULL;
    const struct slc_syscall *syscall = regs ? slc_syscall_find(exit->number) : NULL;
    struct slc_clip clip = {0};

    for (unsigned a = 0; syscall && a < SLC_SYSCALL_ARGS; a++) {
        if (syscall->args[a].kind != SLC_ARG_OUT_RESULT)
            continue;
        int64_t units = (int64_t)regs->r[EVQ_RAX];
        uint64_t bytes = units > 0 ? (uint64_t)units * syscall->args[a].bytes : 0;
        clip.is_clipped = true;
        clip.buffer = regs->r[slc_syscall_reg[a]];
        clip.buffer_end = clip.buffer + bytes;
        unsigned by = syscall->args[a].by == SLC_ARG_NEXT ? a + 1 : syscall->args[a].by;
        uint64_t room = by < SLC_SYSCALL_ARGS ? regs->r[slc_syscall_reg[by]] : 0;
        clip.limit = UINT64_MAX;
        if (room <= (UINT64_MAX - clip.buffer) / syscall->args[a].bytes)
            clip.limit = clip.buffer + room * syscall->args[a].bytes;
    }
    return clip;
}

uint64_t slc_clip_bytes(const struct slc_clip *clip, const struct evq_op *op)
{
    if (op->op != EVQ_OP_WRITE || !clip->is_clipped || op->range.start < clip->buffer ||
        op->range.start >= clip->limit)
        return op->range.size;
    uint64_t room = clip->buffer_end > op->range.start ? clip->buffer_end - op->range.start : 0;
    return op->range.size < room ? op->range.size : room;
}

bool slc_entry_calls_handler(const struct evq_entry *entry, const struct evq_regs *loads)
{
    return loads->r[EVQ_RDI] == (uint64_t)entry->number &&
           loads->r[EVQ_RDX] == loads->r[EVQ_RSP] + 8;
}

/* ---- signal frames ---- */

#define FPSTATE_AT_OFF     (8 + 224) /* of the vector state's address, from the frame's start */
#define FPSTATE_BYTES      512       /* unless its own words say that it is larger: */
#define FPSTATE_MAGIC_OFF  464
#define FPSTATE_EXTENT_OFF 468

static bool read_frame(const struct evq_op *op, uint64_t off, void *value, uint64_t size)
{
    if (off > op->range.size || op->range.size - off < size ||
        evq_op_payload_bytes(op) < op->range.size)
        return false;
    memcpy(value, evq_op_payload(op) + off, size);
    return true;
}

/* Where the frame ends that `op` wrote; 0 if that cannot be told. */
static uint64_t frame_end(const struct evq_op *op)
{
    uint64_t fpstate;
    uint32_t magic, extent = FPSTATE_BYTES;

    if (!read_frame(op, FPSTATE_AT_OFF, &fpstate, sizeof(fpstate)) ||
        !read_frame(op, fpstate - op->range.start + FPSTATE_MAGIC_OFF, &magic, sizeof(magic)))
        return 0;
    if (magic == FP_XSTATE_MAGIC1 &&
        !read_frame(op, fpstate - op->range.start + FPSTATE_EXTENT_OFF, &extent, sizeof(extent)))
        return 0;
    return extent <= op->range.size - (fpstate - op->range.start) ? fpstate + extent : 0;
}

struct slc_clip slc_signal_frame_clip(const struct evq_entry *entry, uint64_t start)
{
    struct slc_clip clip = {.is_clipped = false, .buffer = start, .limit = UINT64_MAX};

    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));) {
        if (op->op != EVQ_OP_WRITE || op->range.start != start)
            continue;
        clip.buffer_end = frame_end(op);
        clip.is_clipped = clip.buffer_end != 0;
    }
    return clip;
}

unsigned slc_saved_piece(unsigned i, unsigned piece, uint64_t *off)
{
    assert(i < SLC_SAVED_REG_COUNT && piece < INS_GPR_PIECES);
    *off = SLC_SAVED_REGS_OFF + 8 * i + slc_gpr_shape.start[piece];
    return INS_LOC_GPR + INS_GPR_PIECES * slc_saved_order[i] + piece;
}

struct ins_regset slc_handler_given(void)
{
    static const uint8_t given[] = {INS_RAX, INS_RDI, INS_RSI, INS_RDX, INS_RSP};
    struct ins_regset set = {0};

    for (unsigned i = 0; i < sizeof(given); i++)
        ins_regset_add_gpr(&set, given[i], 0, 8);
    for (unsigned l = INS_LOC_VEC; l < INS_LOC_FS_BASE; l++)
        ins_regset_add(&set, l);
    ins_regset_add(&set, INS_LOC_DF);
    return set;
}

const struct evq_regs *slc_clone_regs(const struct evq_entry *entry)
{
    const struct evq_regs *regs = evq_entry_regs(entry);
    return regs ? regs : evq_entry_loads(entry);
}

unsigned slc_entry_base_set(const struct evq_entry *exit)
{
    const struct evq_regs *loads = evq_entry_loads(exit);

    if (!loads || exit->number != SYS_arch_prctl || loads->r[EVQ_RAX] != 0)
        return INS_LOC_COUNT;
    switch (loads->r[EVQ_RDI]) {
    case ARCH_SET_FS:
        return INS_LOC_FS_BASE;
    case ARCH_SET_GS:
        return INS_LOC_GS_BASE;
    default:
        return INS_LOC_COUNT;
    }
}

/* The signal that a call sent to the thread that makes it (or to its process); 0: none. */
static uint64_t sent_signal(const struct evq_entry *exit)
{
    const struct evq_regs *regs = evq_entry_loads(exit);

    if (!regs)
        return 0;
    switch (exit->number) {
    case SYS_kill:
    case SYS_tkill:
    case SYS_rt_sigqueueinfo:
        return regs->r[EVQ_RSI];
    case SYS_tgkill:
    case SYS_rt_tgsigqueueinfo:
        return regs->r[EVQ_RDX];
    default:
        return 0;
    }
}

const struct wet_event *slc_event_cause(const struct wet_interval *interval, size_t index)
{
    const struct wet_event *handler = &interval->events[index];

    for (size_t i = index; i-- > 0;) {
        const struct wet_event *event = &interval->events[i];
        if (event->task != handler->task || event->time != handler->time)
            return NULL;
        if (event->entry->kind == EVQ_FAULT)
            return event;
        if (event->entry->kind == EVQ_SYSCALL_EXIT)
            return sent_signal(event->entry) == (uint64_t)handler->entry->number ? event : NULL;
        if (event->entry->kind != EVQ_PLACE && event->entry->kind != EVQ_OPS)
            return NULL;
    }
    return NULL;
}
