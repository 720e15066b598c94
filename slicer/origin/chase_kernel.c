/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What came from outside the instructions, for one value; slicer/scan/kernel.c has the rules. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "recorder/event/ops.h"
#include "slicer/call_events.h"
#include "slicer/origin/chase.h"
#include "slicer/scan/halfway.h"
#include "slicer/syscalls.h"
#include <wetdbg/errors.h>

#define UNKNOWN_TASK UINT32_MAX

/* ---- hops ---- */

/* Adds a track to a hop of this event, made when the first one comes. */
struct gather {
    struct slc_chase *chase;
    const struct wet_event *event;
    enum wetdbg_hop_kind kind;
    size_t hop;
    bool has_hop;
};

static struct wetdbg_hop *gather_hop(struct gather *gather)
{
    if (!gather->has_hop) {
        if (!slc_chase_hop(gather->chase, gather->kind, gather->event->time, 0))
            return NULL;
        gather->hop = gather->chase->origin->hop_count - 1;
        gather->has_hop = true;
    }
    return &gather->chase->origin->hops[gather->hop];
}

static int gather_move(struct gather *gather, unsigned i, struct wetdbg_spot from)
{
    struct wetdbg_hop *hop = gather_hop(gather);
    struct slc_track *track = &gather->chase->tracks[i];

    if (!hop)
        return -ENOMEM;
    slc_hop_add(hop, i, track->spot, from);
    slc_track_move(track, from);
    return 0;
}

static int gather_end(struct gather *gather, unsigned i)
{
    struct wetdbg_hop *hop = gather_hop(gather);
    struct slc_track *track = &gather->chase->tracks[i];

    if (!hop)
        return -ENOMEM;
    slc_hop_add(hop, i, track->spot, (struct wetdbg_spot){0});
    track->state = SLC_TRACK_DONE;
    return 0;
}

void slc_hop_set_call(struct wetdbg_hop *hop, const struct slc_call *call)
{
    const struct slc_syscall *syscall = slc_syscall_find(call->number);

    hop->number = call->number;
    hop->result = call->result;
    memcpy(hop->args, call->args, sizeof(hop->args));
    hop->arg_count = SLC_SYSCALL_ARGS;
    while (syscall && hop->arg_count && syscall->args[hop->arg_count - 1].kind == SLC_ARG_NONE)
        hop->arg_count--;
}

/* Adds a track to the call of a task; its instruction will complete the hop. */
static int gather_call(struct gather *gather, unsigned i, uint32_t task)
{
    struct wetdbg_hop *hop = gather_hop(gather);
    struct slc_track *track = &gather->chase->tracks[i];
    const struct slc_call *call = &gather->chase->calls[task];

    if (!hop)
        return -ENOMEM;
    slc_hop_add(hop, i, track->spot, (struct wetdbg_spot){0});
    slc_hop_set_call(hop, call);
    track->state = SLC_TRACK_CALL;
    track->spot.task = task;
    track->hop = gather->hop;
    return 0;
}

/* Adds a track to the call that delivered what the run itself had sent. It goes on at once: who
 * sent it may have done so while the call waited. */
static int gather_back(struct gather *gather, unsigned i, uint32_t task,
                       const struct slc_sending *sending)
{
    const struct evq_regs *regs = evq_entry_loads(gather->event->entry);
    struct slc_track *track = &gather->chase->tracks[i];
    struct wetdbg_spot from = {0};
    struct wetdbg_hop *hop = gather_hop(gather);

    if (!hop)
        return -ENOMEM;
    if (!sending->time)
        from = (struct wetdbg_spot){.kind = WETDBG_SPOT_MEMORY, .address = sending->address};
    if (hop->bytes == 0) {
        hop->writer = sending->time;
        hop->writer_address = sending->time ? sending->address : 0;
        hop->time = sending->received;
        hop->pc = regs ? regs->r[EVQ_RIP] - SLC_SYSCALL_BYTES : 0;
    }
    slc_hop_add(hop, i, track->spot, from);
    slc_hop_set_call(hop, &gather->chase->calls[task]);
    track->sending = *sending;
    slc_chase_delivered(track);
    return 0;
}

/* ---- memory ---- */

struct written {
    uint64_t address, size;
    uint64_t offset; /* of its first byte in all that the call wrote there */
    uint64_t extent;
    bool is_mapping;
    const struct evq_op *op; /* by which bytes were delivered; NULL: by none */
};

/* Whether bytes of two senders can be in one hop. */
static bool is_like(const struct slc_sending *a, const struct slc_sending *b)
{
    return a->is_known == b->is_known && a->time == b->time && a->sender == b->sender;
}

static int pass_byte(struct gather *gather, unsigned i, uint32_t task,
                     const struct written *written, struct slc_sending *last)
{
    struct slc_track *track = &gather->chase->tracks[i];
    struct slc_sending sending = {.is_known = false};
    uint64_t off = track->spot.address - written->address;
    int err = 0;

    if (task != UNKNOWN_TASK && written->op)
        err = slc_chase_received(gather->chase, gather->event->entry, written->op,
                                 track->spot.address, &sending);
    if (err)
        return err;
    if (task != UNKNOWN_TASK) {
        gather->has_hop &= is_like(last, &sending);
        gather->kind = sending.is_known ? WETDBG_HOP_READ_BACK : WETDBG_HOP_SYSCALL;
        *last = sending;
    }
    bool is_first = !gather->has_hop;
    if (task == UNKNOWN_TASK)
        err = gather_end(gather, i);
    else
        err = sending.is_known ? gather_back(gather, i, task, &sending)
                               : gather_call(gather, i, task);
    if (err || !is_first)
        return err;
    struct wetdbg_hop *hop = gather_hop(gather);
    hop->offset = written->offset + off;
    hop->extent = written->extent;
    hop->is_mapping = written->is_mapping;
    return 0;
}

/* task UNKNOWN_TASK: no call did. */
static int pass_written(struct slc_chase *chase, const struct wet_event *event, uint32_t task,
                        const struct written *written)
{
    struct gather gather = {chase, event, WETDBG_HOP_SYSCALL, 0, false};
    struct slc_sending last = {.is_known = false};
    int err = 0;

    if (task == UNKNOWN_TASK)
        gather.kind = event->time ? WETDBG_HOP_DELIVERED : WETDBG_HOP_INITIAL;
    for (unsigned i = 0; i < chase->origin->size && !err; i++) {
        const struct slc_track *track = &chase->tracks[i];
        if (track->state == SLC_TRACK_LIVE && track->spot.kind == WETDBG_SPOT_MEMORY &&
            track->spot.address - written->address < written->size)
            err = pass_byte(&gather, i, task, written, &last);
    }
    return err;
}

static int pass_remap(struct slc_chase *chase, const struct wet_event *event, uint32_t task,
                      const struct evq_op *op)
{
    struct gather gather = {chase, event, WETDBG_HOP_REMAP, 0, false};
    uint64_t kept = op->remap.size < op->remap.to_size ? op->remap.size : op->remap.to_size;
    struct written rest = {.address = op->remap.to + kept,
                           .size = op->remap.to_size - kept,
                           .extent = op->remap.to_size,
                           .is_mapping = true};
    int err = op->remap.to_size > kept ? pass_written(chase, event, task, &rest) : 0;

    for (unsigned i = 0; i < chase->origin->size && !err && op->remap.start != op->remap.to; i++) {
        struct slc_track *track = &chase->tracks[i];
        uint64_t off = track->spot.address - op->remap.to;
        if (track->state != SLC_TRACK_LIVE || track->spot.kind != WETDBG_SPOT_MEMORY || off >= kept)
            continue;
        struct wetdbg_spot from = track->spot;
        from.address = op->remap.start + off;
        err = gather_move(&gather, i, from);
    }
    return err;
}

/* ---- threads ---- */

static bool is_given(const struct wetdbg_spot *spot, const struct evq_regs *born,
                     const struct evq_regs *parent)
{
    if (spot->kind == WETDBG_SPOT_GPR && spot->number == INS_RAX)
        return true;
    if (spot->kind == WETDBG_SPOT_GPR && spot->number == INS_RSP)
        return !parent || born->r[EVQ_RSP] != parent->r[EVQ_RSP];
    return spot->kind == WETDBG_SPOT_LOCATION && spot->number == INS_LOC_FS_BASE &&
           (!parent || born->r[EVQ_FS_BASE] != parent->r[EVQ_FS_BASE]);
}

static int pass_birth(struct slc_chase *chase, const struct wet_event *event,
                      const struct evq_op *op)
{
    const struct evq_regs *born = evq_op_regs(op), *parent;
    struct gather gather = {chase, event, WETDBG_HOP_SYSCALL, 0, false};
    int err = 0;

    if (!born || op->task_new.task == event->task)
        return 0;
    parent = evq_entry_regs(event->entry);
    if (!parent)
        parent = evq_entry_loads(event->entry);
    for (unsigned i = 0; i < chase->origin->size && !err; i++) {
        struct slc_track *track = &chase->tracks[i];
        if (track->state == SLC_TRACK_CALL && track->spot.task == op->task_new.task)
            track->state = SLC_TRACK_DONE;
        if (track->state != SLC_TRACK_LIVE || track->spot.kind == WETDBG_SPOT_MEMORY ||
            track->spot.task != op->task_new.task)
            continue;
        if (is_given(&track->spot, born, parent))
            err = gather_call(&gather, i, event->task);
        else
            track->spot.task = event->task;
    }
    return err;
}

/* ---- ops ---- */

static int pass_ops(struct slc_chase *chase, const struct wet_event *event, uint32_t task,
                    const struct slc_clip *clip)
{
    struct written written = {0};
    uint64_t passed = 0;
    int err = 0;

    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(event->entry, op));) {
        written = (struct written){.address = op->range.start,
                                   .size = slc_clip_bytes(clip, op),
                                   .extent = op->range.size,
                                   .is_mapping = op->op != EVQ_OP_WRITE,
                                   .op = op};
        switch (op->op) {
        case EVQ_OP_WRITE:
            written.offset = clip->is_clipped ? op->range.start - clip->buffer : passed;
            if (clip->is_clipped)
                written.extent = clip->buffer_end - clip->buffer;
            passed += op->range.size;
            err = pass_written(chase, event, task, &written);
            break;
        case EVQ_OP_ZERO:
        case EVQ_OP_MAP:
        case EVQ_OP_DISCARD:
            written.offset =
                op->op == EVQ_OP_MAP && op->map.file != EVQ_FILE_NONE ? op->map.file_off : 0;
            err = pass_written(chase, event, task, &written);
            break;
        case EVQ_OP_REMAP:
            err = pass_remap(chase, event, task, op);
            break;
        case EVQ_OP_CLEAR_SPACE:
            written.size = UINT64_MAX;
            written.address = 0;
            err = pass_written(chase, event, UNKNOWN_TASK, &written);
            break;
        case EVQ_OP_TASK_NEW:
            if (task != UNKNOWN_TASK)
                err = pass_birth(chase, event, op);
            break;
        default:
            break;
        }
    }
    return err;
}

/* ---- signal handlers ---- */

static struct wetdbg_spot saved_spot(uint64_t ucontext, unsigned index, unsigned byte)
{
    return (struct wetdbg_spot){.kind = WETDBG_SPOT_MEMORY,
                                .address = ucontext + SLC_SAVED_REGS_OFF + 8 * index + byte};
}

/* Passes a handler's end: general registers come out of its frame, the rest is as it was before the
 * handler. */
static int handler_ended(struct slc_chase *chase, const struct wet_event *event)
{
    const struct evq_regs *regs = evq_entry_regs(event->entry);
    struct gather gather = {chase, event, WETDBG_HOP_SIGNAL, 0, false};
    int err = 0;

    for (unsigned i = 0; regs && i < chase->origin->size && !err; i++) {
        struct slc_track *track = &chase->tracks[i];
        if (track->state != SLC_TRACK_LIVE || track->spot.kind == WETDBG_SPOT_MEMORY ||
            track->spot.task != event->task)
            continue;
        if (track->spot.kind == WETDBG_SPOT_GPR) {
            unsigned index = 0;
            while (slc_saved_order[index] != track->spot.number)
                index++;
            err = gather_move(&gather, i, saved_spot(regs->r[EVQ_RSP], index, track->spot.byte));
        } else {
            track->state = SLC_TRACK_ASIDE;
            track->ucontext = regs->r[EVQ_RSP];
        }
    }
    return err;
}

static bool is_given_to_handler(const struct wetdbg_spot *spot)
{
    if (spot->kind == WETDBG_SPOT_VECTOR)
        return true;
    if (spot->kind == WETDBG_SPOT_LOCATION)
        return spot->number == INS_LOC_DF ||
               (spot->number >= INS_LOC_K && spot->number < INS_LOC_FS_BASE);
    return spot->number == INS_RAX || spot->number == INS_RDI || spot->number == INS_RSI ||
           spot->number == INS_RDX || spot->number == INS_RSP;
}

static int handler_began(struct slc_chase *chase, const struct wet_event *event, uint64_t ucontext)
{
    struct gather kept = {chase, event, WETDBG_HOP_SIGNAL, 0, false};
    struct gather given = {chase, event, WETDBG_HOP_DELIVERED, 0, false};
    const struct slc_clip frame = slc_signal_frame_clip(event->entry, ucontext - 8);
    int err = 0;

    for (unsigned i = 0; i < chase->origin->size && !err; i++) {
        struct slc_track *track = &chase->tracks[i];
        uint64_t off = track->spot.address - ucontext - SLC_SAVED_REGS_OFF;
        if (track->state == SLC_TRACK_ASIDE && track->ucontext == ucontext &&
            track->spot.task == event->task) {
            track->state = SLC_TRACK_LIVE;
        } else if (track->state != SLC_TRACK_LIVE) {
            continue;
        } else if (track->spot.kind != WETDBG_SPOT_MEMORY) {
            if (track->spot.task == event->task && is_given_to_handler(&track->spot))
                err = gather_end(&given, i);
        } else if (off < 8 * SLC_SAVED_REG_COUNT) {
            struct wetdbg_spot from = {.kind = WETDBG_SPOT_GPR,
                                       .task = event->task,
                                       .number = slc_saved_order[off / 8],
                                       .byte = (uint16_t)(off % 8)};
            err = gather_move(&kept, i, from);
        }
    }
    return err ? err : pass_ops(chase, event, UNKNOWN_TASK, &frame);
}

/* Refuses to follow bytes of a gather's register that were loaded before it faulted, or never: the
 * trace does not tell which. */
static int refuse_halfway(const struct slc_chase *chase, size_t index)
{
    const struct wet_event *cause = slc_event_cause(chase->interval, index);
    struct slc_halfway halfway;
    bool has_vectors = false;
    int err = 0;

    for (unsigned i = 0; i < chase->origin->size; i++)
        has_vectors |= chase->tracks[i].state == SLC_TRACK_LIVE &&
                       chase->tracks[i].spot.kind == WETDBG_SPOT_VECTOR;
    if (!has_vectors || !cause || cause->entry->kind != EVQ_FAULT)
        return 0;
    err = slc_halfway_find(chase->wet, chase->interval, cause, &halfway);
    for (unsigned i = 0; i < chase->origin->size && !err; i++) {
        const struct slc_track *track = &chase->tracks[i];
        if (track->state == SLC_TRACK_LIVE && track->spot.kind == WETDBG_SPOT_VECTOR &&
            track->spot.task == cause->task && ins_regset_has(&halfway.loaded, track->location))
            err = wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                              "the gather at %#llx faulted after time %llu, perhaps halfway, and a "
                              "handler had it go on: what it had loaded by then is not known (a "
                              "slice has all that it may be)",
                              (unsigned long long)evq_entry_regs(cause->entry)->r[EVQ_RIP],
                              (unsigned long long)cause->time);
    }
    return err;
}

/* ---- all of it ---- */

static void note_call(struct slc_chase *chase, const struct wet_event *event)
{
    const struct evq_entry *entry = event->entry;
    bool is_exit = entry->kind == EVQ_SYSCALL_EXIT;
    const struct evq_regs *regs = is_exit ? evq_entry_loads(entry) : evq_entry_regs(entry);
    struct slc_call *call = &chase->calls[event->task];

    if (!regs)
        return;
    call->number = entry->number;
    if (is_exit)
        call->result = (int64_t)regs->r[EVQ_RAX];
    for (unsigned a = 0; a < SLC_SYSCALL_ARGS; a++)
        call->args[a] = regs->r[slc_syscall_reg[a]];
}

static int pass_segment_base(struct slc_chase *chase, const struct wet_event *event,
                             const struct evq_regs *loads)
{
    struct gather gather = {chase, event, WETDBG_HOP_SYSCALL, 0, false};
    int err = 0;

    if (event->entry->kind != EVQ_SYSCALL_EXIT || !loads)
        return 0;
    unsigned base = slc_entry_base_set(event->entry);
    for (unsigned i = 0; i < chase->origin->size && !err; i++) {
        const struct slc_track *track = &chase->tracks[i];
        if (track->state == SLC_TRACK_LIVE && track->spot.kind == WETDBG_SPOT_LOCATION &&
            track->spot.number == base && track->spot.task == event->task)
            err = gather_call(&gather, i, event->task);
    }
    return err;
}

int slc_chase_event(struct slc_chase *chase, size_t index)
{
    const struct wet_event *event = &chase->interval->events[index];
    const struct evq_entry *entry = event->entry;
    const struct slc_clip clip = slc_event_clip(chase->interval, index);
    const struct evq_regs *loads = evq_entry_loads(entry);
    uint32_t task = UNKNOWN_TASK;
    int err = 0;

    assert(index < chase->interval->event_count);
    if (event->task >= EVQ_TASKS_MAX)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "an event names task %u", event->task);
    if (entry->kind == EVQ_SYSCALL_ENTER || entry->kind == EVQ_SYSCALL_EXIT) {
        note_call(chase, event);
        task = event->task;
    } else if (entry->kind == EVQ_TASK_EXIT ||
               (entry->kind == EVQ_OPS && slc_event_is_of_call(chase->interval, index))) {
        task = event->task;
    }
    if (entry->number == SYS_rt_sigreturn && entry->kind == EVQ_SYSCALL_EXIT)
        return 0;
    if (chase->has_held && entry->kind == EVQ_SYSCALL_ENTER) {
        int err_sent = slc_chase_sent(chase, event);
        if (err_sent)
            return err_sent;
    }
    if (entry->number == SYS_rt_sigreturn && entry->kind == EVQ_SYSCALL_ENTER)
        err = handler_ended(chase, event);
    else if (entry->kind == EVQ_OPS && loads && slc_entry_calls_handler(entry, loads))
        err = handler_began(chase, event, loads->r[EVQ_RSP] + 8);
    else
        err = pass_ops(chase, event, task, &clip);
    if (!err && entry->kind == EVQ_OPS && loads && slc_entry_calls_handler(entry, loads))
        err = refuse_halfway(chase, index);
    if (!err)
        err = pass_segment_base(chase, event, loads);
    slc_chase_sum(chase);
    return err;
}

static bool is_next(const struct wetdbg_spot *last, const struct wetdbg_spot *spot)
{
    return last->kind == spot->kind && last->number == spot->number &&
           (spot->kind == WETDBG_SPOT_MEMORY ? spot->address == last->address + 1
                                             : spot->byte == last->byte + 1);
}

/* One hop for bytes side by side. */
int slc_chase_end(struct slc_chase *chase)
{
    const struct wet_event start = {0};
    struct gather gather = {chase, &start, WETDBG_HOP_INITIAL, 0, false};
    struct wetdbg_spot last = {0};
    int err = 0;

    for (unsigned i = 0; i < chase->origin->size && !err; i++) {
        const struct slc_track *track = &chase->tracks[i];
        if (track->state != SLC_TRACK_LIVE && track->state != SLC_TRACK_ASIDE)
            continue;
        gather.has_hop &= is_next(&last, &track->spot);
        last = track->spot;
        err = gather_end(&gather, i);
    }
    return err;
}
