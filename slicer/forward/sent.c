/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/forward/sent.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "slicer/call_events.h"
#include "slicer/forward/reached.h"

#define HOPS_MAX                                                                                   \
    64 /* of a byte from descriptor to descriptor; its value is not known beyond them */

void slc_sent_fini(struct slc_sent *sent)
{
    if (sent->marks.table)
        slc_memory_fini(&sent->marks);
    *sent = (struct slc_sent){0};
}

bool slc_sent_waits(const struct slc_forward *fwd)
{
    return fwd->sent.marks.word_count && fwd->sent.last_event >= fwd->sent.event;
}

/* ... as the call at `time` sends them; 0: none does. */
static int mark_places(struct slc_forward *fwd, wetdbg_time time, uint64_t place, uint64_t size,
                       const struct slc_want *mark)
{
    struct slc_memory *marks = &fwd->sent.marks;
    const struct slc_call_run run = {time, SLC_BYTES_PLACE, place, size};
    int err = marks->table ? 0 : slc_memory_init(marks, fwd->memory.has_wants);

    if (!err && time)
        err = slc_call_bytes_add(&fwd->slice->calls, run);

    return err ? err : slc_memory_add(marks, place, size, mark);
}

/* ---- the call's own instance ---- */

/* What the call defined in registers is as near as it is now. */
static void bring_nearer(struct slc_fwd_task *task)
{
    struct slc_reg_wants *wants = task->regs.wants;
    uint32_t distance = task->call.distance + 1;

    for (unsigned l = 0; wants && l < INS_LOC_COUNT; l++) {
        if (ins_regset_has(&task->regs.value, l) && wants->value[l].user == task->call.time)
            wants->value[l].distance = distance;
        if (ins_regset_has(&task->regs.address, l) && wants->address[l].user == task->call.time)
            wants->address[l].distance = distance;
    }
    if (task->call.result.distance != SLC_NOT_WANTED)
        task->call.result.distance = distance;
}

/* The call sees more than its instruction did. */
static int see_more(struct slc_forward *fwd, struct slc_fwd_task *task,
                    const struct slc_sight *sight)
{
    struct slc_fwd_call *call = &task->call;

    if (sight->best.distance >= call->distance)
        return 0;
    call->distance = sight->best.distance;
    int err = slc_slice_add_late(fwd->slice, fwd->interval, call->time, call->pc_index,
                                 &sight->best, sight->address);
    fwd->bits = slc_slice_bits(fwd->slice, fwd->interval);
    bring_nearer(task);
    return err;
}

/* How what the call defines of what it saw is marked. */
static struct slc_want mark_of(const struct slc_fwd_call *call)
{
    return (struct slc_want){.user = call->time,
                             .distance = call->distance + 1,
                             .edge = WETDBG_EDGE_VALUE,
                             .location = INS_LOC_COUNT};
}

/* ---- sent ---- */

struct sending {
    struct slc_forward *fwd;
    struct slc_channels *channels;
    uint32_t sender;
    const struct slc_transfer *transfer;
    const struct slc_receipt *receipts;
    size_t count;
    struct slc_buffers buffers;
};

/* The bytes [*offset, end) of a call that lie together in one of its buffers, from *offset on. */
static bool next_span(const struct slc_buffers *buffers, uint64_t offset, uint64_t end,
                      struct slc_span *span)
{
    uint64_t before = 0;

    for (size_t i = 0; i < buffers->count && offset < end; i++) {
        uint64_t off = offset - before, size = buffers->spans[i].size;
        if (off < size) {
            *span = (struct slc_span){buffers->spans[i].address + off,
                                      size - off < end - offset ? size - off : end - offset};
            return true;
        }
        before += size;
    }
    return false;
}

static void see_sent(const struct sending *sending, struct slc_sight *sight)
{
    struct slc_span span;

    for (size_t i = 0; i < sending->count; i++) {
        uint64_t at = sending->receipts[i].sent, end = at + sending->receipts[i].size;
        for (; next_span(&sending->buffers, at, end, &span); at += span.size)
            slc_see_memory(&sending->fwd->memory, span.address, span.size, WETDBG_EDGE_VALUE,
                           sight);
    }
}

/* Marks places of what is marked in a buffer, whose first byte has place `place`; with `mark` or,
 * if that is NULL, as it is there. */
static int mark_span(struct slc_forward *fwd, struct slc_span span, uint64_t place,
                     const struct slc_want *mark)
{
    const struct slc_want *found;
    int err = 0;

    for (uint64_t at = span.address;
         !err && (found = slc_memory_next(&fwd->memory, &at, span.address + span.size)); at++)
        err = mark_places(fwd, mark ? mark->user : 0, place + (at - span.address), 1,
                          mark ? mark : found);
    return err;
}

static int mark_sent(const struct sending *sending, const struct slc_want *whole,
                     const struct slc_want *mark)
{
    uint64_t first = slc_channels_first(sending->channels, sending->sender);
    struct slc_span span;
    int err = 0;

    for (size_t i = 0; i < sending->count && !err; i++) {
        const struct slc_receipt *receipt = &sending->receipts[i];
        uint64_t at = receipt->sent, end = at + receipt->size;
        uint64_t ended = slc_channels_call(sending->channels, receipt->receiver)->ended;
        if (ended > sending->fwd->sent.last_event)
            sending->fwd->sent.last_event = ended;
        if (whole)
            err = mark_places(sending->fwd, whole->user, first + at, receipt->size, whole);
        for (; !whole && !err && next_span(&sending->buffers, at, end, &span); at += span.size)
            err = mark_span(sending->fwd, span, first + at, mark);
    }
    return err;
}

static int send(struct sending *sending, struct slc_fwd_task *task)
{
    struct slc_sight sight = slc_no_sight();
    bool is_call = sending->transfer->kind != SLC_TRANSFER_UNMAP;
    bool is_whole = is_call && task->call.sent.distance != SLC_NOT_WANTED;
    int err = slc_channels_receipts(sending->channels, sending->sender, &sending->receipts,
                                    &sending->count);

    if (err || !sending->count)
        return err;
    err = slc_channels_buffers(sending->channels, sending->sender, &sending->buffers);
    if (err || !is_call)
        return err ? err : mark_sent(sending, NULL, NULL);
    see_sent(sending, &sight);
    err = see_more(sending->fwd, task, &sight);
    const struct slc_want mark = mark_of(&task->call);
    return err ? err : mark_sent(sending, is_whole ? &mark : NULL, &mark);
}

int slc_fwd_send(struct slc_forward *fwd, struct slc_fwd_task *task, wetdbg_time time)
{
    struct sending sending = {.fwd = fwd};
    bool is_marked = fwd->memory.word_count || task->call.sent.distance != SLC_NOT_WANTED;

    if (!fwd->follows_data || !is_marked || task->call.time != time)
        return 0;
    int err = slc_session_channels(fwd->slice->session, &sending.channels);
    sending.sender = err ? SLC_NO_CALL : slc_channels_sender(sending.channels, time);
    for (; !err && (sending.transfer = slc_channels_call(sending.channels, sending.sender)) &&
           sending.transfer->time == time;
         sending.sender++)
        if (slc_channels_may_return(sending.channels, sending.sender))
            err = send(&sending, task);
    return err;
}

int slc_fwd_send_start(struct slc_forward *fwd, const struct slc_passed_bytes *bytes,
                       const struct slc_want *mark)
{
    struct slc_channels *channels;
    int err = slc_session_channels(fwd->slice->session, &channels);

    fwd->sent.last_event = UINT64_MAX;
    return err ? err
               : mark_places(fwd, mark->user,
                             slc_channels_first(channels, bytes->call) + bytes->offset, bytes->size,
                             mark);
}

/* ---- delivered ---- */

struct delivery {
    struct slc_forward *fwd;
    struct slc_channels *channels;
    const struct evq_entry *entry;
    uint32_t receiver;
    const struct slc_transfer *transfer;
    struct slc_buffers buffers;
    struct slc_sight sight; /* of all that it delivered */
    /* How the call is marked that put something of its buffer into a file, because the buffer's
     * address is. */
    const struct slc_want *sent;
    struct slc_delivered *to;
    struct slc_delivered places; /* of what it put into another descriptor */
};

static int add_byte(struct slc_delivered *to, uint64_t address)
{
    struct slc_span *last = to->count ? &to->spans[to->count - 1] : NULL;

    if (last && last->address + last->size == address) {
        last->size++;
        return 0;
    }
    if (wd_grow(to->spans, to->capacity, to->count + 1))
        return -ENOMEM;
    to->spans[to->count++] = (struct slc_span){address, 1};
    return 0;
}

/* The op that delivered a byte; NULL: none of this entry did. */
static const struct evq_op *op_at(const struct delivery *delivery, uint64_t address)
{
    uint16_t kind = delivery->transfer->kind == SLC_TRANSFER_MAP ? EVQ_OP_MAP : EVQ_OP_WRITE;

    for (const struct evq_op *op = NULL; (op = evq_op_next(delivery->entry, op));)
        if (op->op == kind && address - op->range.start < op->range.size)
            return op;
    return NULL;
}

/* The value of a delivered byte; false if nobody knows. */
static int value_of(const struct delivery *delivery, const struct evq_op *op, uint64_t address,
                    uint64_t offset, bool *is_known, uint8_t *value)
{
    uint64_t off = address - op->range.start;
    const uint8_t *mapped;

    *is_known = op->op == EVQ_OP_WRITE && off < evq_op_payload_bytes(op);
    if (*is_known)
        *value = evq_op_payload(op)[off];
    if (op->op == EVQ_OP_WRITE)
        return 0;
    int err = slc_channels_mapped(delivery->channels, delivery->receiver, &mapped);
    *is_known = !err && mapped;
    if (*is_known)
        *value = mapped[offset];
    return err;
}

/* Whether the byte with that place had this value in the buffer out of which it was sent first. */
static int was_sent(struct slc_channels *channels, uint64_t place, uint8_t value, bool *is_so)
{
    struct slc_source source = {.kind = SLC_SOURCE_CALL, .at = place};
    const uint8_t *sent = NULL;

    for (unsigned hop = 0; hop < HOPS_MAX && source.kind == SLC_SOURCE_CALL; hop++) {
        uint32_t sender = slc_channels_sender_of(channels, source.at);
        uint64_t offset = source.at - slc_channels_first(channels, sender);
        if (slc_channels_call(channels, sender)->kind != SLC_TRANSFER_PASS) {
            int err = slc_channels_sent(channels, sender, &sent);
            *is_so = !err && sent && sent[offset] == value;
            return err;
        }
        slc_channels_source(channels, sender, offset, &source);
    }
    *is_so = true; /* it came out of a mapping, or from outside by a call that is marked itself */
    return 0;
}

/* A marked byte: of a place, or of memory. */
static int receive_byte(struct delivery *delivery, uint64_t offset, const struct slc_source *from,
                        const struct slc_want *mark)
{
    uint64_t address = 0;
    bool is_so = true;
    uint8_t value = 0;
    int err = 0;

    if (delivery->transfer->kind == SLC_TRANSFER_PASS) {
        slc_see(&delivery->sight, mark, WETDBG_EDGE_VALUE, INS_LOC_COUNT, 0);
        return add_byte(&delivery->places,
                        slc_channels_first(delivery->channels, delivery->receiver) + offset);
    }
    if (!slc_buffers_address(&delivery->buffers, offset, &address))
        return 0;
    const struct evq_op *op = op_at(delivery, address);
    if (op && from->kind == SLC_SOURCE_CALL) {
        err = value_of(delivery, op, address, offset, &is_so, &value);
        if (!err && is_so)
            err = was_sent(delivery->channels, from->at, value, &is_so);
    }
    if (err || !op || !is_so)
        return err;
    slc_see(&delivery->sight, mark, WETDBG_EDGE_VALUE, INS_LOC_COUNT, address);
    return add_byte(delivery->to, address);
}

static int receive_from(struct delivery *delivery, uint64_t offset, const struct slc_source *source)
{
    struct slc_forward *fwd = delivery->fwd;
    struct slc_memory *marks = source->kind == SLC_SOURCE_CALL ? &fwd->sent.marks : &fwd->memory;
    struct slc_source byte = *source;
    const struct slc_want *mark;
    int err = 0;

    if (source->kind == SLC_SOURCE_OUTSIDE || !marks->table)
        return 0;
    for (; !err && (mark = slc_memory_next(marks, &byte.at, source->at + source->size)); byte.at++)
        err = receive_byte(delivery, offset + (byte.at - source->at), &byte, mark);
    return err;
}

/* What mappings show of a call's buffer, if something marked said where that is: all of it. */
static int receive_whole(struct delivery *delivery, uint64_t offset,
                         const struct slc_source *source)
{
    int err = 0;

    for (uint64_t i = 0; i < source->size && !err; i++) {
        const struct slc_source byte = {source->kind, source->at + i, 1};
        err = receive_byte(delivery, offset + i, &byte, delivery->sent);
    }
    return err;
}

static int receive(struct delivery *delivery)
{
    struct slc_source source;
    uint64_t size;
    int err = 0;

    delivery->transfer = slc_channels_call(delivery->channels, delivery->receiver);
    bool is_whole =
        delivery->transfer->kind == SLC_TRANSFER_SHOW && delivery->sent->distance != SLC_NOT_WANTED;
    if (delivery->transfer->kind != SLC_TRANSFER_PASS)
        err = slc_channels_buffers(delivery->channels, delivery->receiver, &delivery->buffers);
    for (uint64_t at = 0; at < delivery->transfer->size && !err; at += size) {
        uint64_t left = delivery->transfer->size - at;
        slc_channels_source(delivery->channels, delivery->receiver, at, &source);
        size = source.size = source.size < left ? source.size : left;
        err = is_whole && source.kind == SLC_SOURCE_MEMORY ? receive_whole(delivery, at, &source)
                                                           : receive_from(delivery, at, &source);
    }
    return err;
}

/* A call that was made before the source, and waited: its instruction has not been passed. */
static int note_earlier(struct slc_forward *fwd, struct slc_fwd_task *task, size_t index,
                        wetdbg_time time)
{
    const struct evq_entry *exit = slc_event_exit(fwd->interval, index);
    const struct evq_regs *regs = exit ? evq_entry_loads(exit) : NULL;

    if (task->call.time == time || !regs)
        return 0;
    task->call = slc_no_call();
    task->call.pc_index = slc_code_pc(fwd->code, regs->r[EVQ_RIP] - SLC_SYSCALL_BYTES);
    task->call.time = time;
    return task->call.pc_index == SLC_UNKNOWN ? -ENOMEM : 0;
}

/* Marks what a call put into another descriptor, where it is in all that calls sent. */
static int pass_on(struct delivery *delivery, const struct slc_want *mark)
{
    int err = 0;

    for (size_t i = 0; i < delivery->places.count && !err; i++) {
        const struct slc_span *span = &delivery->places.spans[i];
        uint32_t call = slc_channels_sender_of(delivery->channels, span->address);
        err = mark_places(delivery->fwd, mark->user, span->address, span->size, mark);
        if (!err)
            err = slc_reached_passed(delivery->fwd, call,
                                     span->address - slc_channels_first(delivery->channels, call),
                                     span->size);
    }
    return err;
}

static int receive_all(struct delivery *delivery, struct slc_fwd_task *task, size_t index)
{
    struct slc_forward *fwd = delivery->fwd;
    int err = 0;

    for (; !err && delivery->receiver != SLC_NO_CALL;
         delivery->receiver = slc_channels_next_receiver(delivery->channels, delivery->receiver))
        err = receive(delivery);
    if (err || delivery->sight.best.distance == SLC_NOT_WANTED)
        return err;
    err = note_earlier(fwd, task, index, delivery->transfer->time);
    if (!err && task->call.time != delivery->transfer->time) {
        delivery->to->count = 0; /* whose call it is is not known */
        return 0;
    }
    if (!err)
        err = see_more(fwd, task, &delivery->sight);
    const struct slc_want mark = mark_of(&task->call);
    return err ? err : pass_on(delivery, &mark);
}

int slc_fwd_receive(struct slc_forward *fwd, struct slc_fwd_task *task, size_t index,
                    struct slc_delivered *delivered)
{
    struct delivery delivery = {.fwd = fwd,
                                .entry = fwd->interval->events[index].entry,
                                .sight = slc_no_sight(),
                                .sent = &task->call.sent,
                                .to = delivered};
    bool is_marked = fwd->memory.word_count || fwd->sent.marks.word_count ||
                     task->call.sent.distance != SLC_NOT_WANTED;

    fwd->sent.event = delivery.entry->frame + 1;
    if (!fwd->follows_data || !is_marked || task->call.is_passed_by)
        return 0;
    int err = slc_session_channels(fwd->slice->session, &delivery.channels);
    if (err || (!fwd->sent.marks.word_count && !slc_channels_shares(delivery.channels)))
        return err;
    err = slc_channels_receiver(delivery.channels, delivery.entry->frame, &delivery.receiver);
    if (!err)
        err = receive_all(&delivery, task, index);
    free(delivery.places.spans);
    return err;
}

int slc_fwd_deliver(struct slc_forward *fwd, const struct slc_fwd_task *task,
                    struct slc_delivered *delivered, int err)
{
    const struct slc_want mark = mark_of(&task->call);

    for (size_t i = 0; i < delivered->count && !err; i++) {
        const struct slc_span *span = &delivered->spans[i];
        const struct slc_call_run run = {mark.user, SLC_BYTES_MEMORY, span->address, span->size};
        err = slc_call_bytes_add(&fwd->slice->calls, run);
        if (err)
            break;
        err = slc_memory_add(&fwd->memory, delivered->spans[i].address, delivered->spans[i].size,
                             &mark);
    }
    free(delivered->spans);
    return err;
}
