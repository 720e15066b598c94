/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes that went through the kernel, for one value: slicer/scan/passed.h has the rules. */
#include <assert.h>
#include <errno.h>

#include "slicer/origin/chase.h"

int slc_chase_channels(struct slc_chase *chase, struct slc_channels **channels)
{
    struct slc_origin *origin = (struct slc_origin *)chase->origin;
    int err = origin->channels ? 0 : slc_channels_make(chase->wet, &origin->channels);

    *channels = origin->channels;
    return err;
}

/* Says of a byte that was put at `place` who did, and where it was in memory, if it had that
 * value. */
static int find_sender(struct slc_channels *channels, uint64_t place, uint8_t value,
                       struct slc_sending *sending)
{
    uint32_t sender = slc_channels_sender_of(channels, place);
    const struct slc_transfer *transfer = slc_channels_call(channels, sender);
    uint64_t offset = place - slc_channels_first(channels, sender);
    struct slc_buffers buffers;
    const uint8_t *sent;

    *sending = (struct slc_sending){
        .sender = sender, .time = transfer->time, .offset = offset, .value = value};
    if (transfer->kind == SLC_TRANSFER_PASS) {
        sending->is_known = true;
        return 0;
    }
    int err = slc_channels_sent(channels, sender, &sent);
    if (!err)
        err = slc_channels_buffers(channels, sender, &buffers);
    sending->is_known = !err && sent && sent[offset] == value &&
                        slc_buffers_address(&buffers, offset, &sending->address);
    return err;
}

/* Where a byte that a call got was before. */
static int find_source(struct slc_channels *channels, uint32_t receiver, uint64_t offset,
                       uint8_t value, struct slc_sending *sending)
{
    struct slc_source source;

    *sending = (struct slc_sending){.is_known = false};
    slc_channels_source(channels, receiver, offset, &source);
    if (source.kind == SLC_SOURCE_CALL)
        return find_sender(channels, source.at, value, sending);
    sending->is_known = source.kind == SLC_SOURCE_MEMORY;
    sending->address = source.at;
    return 0;
}

static int value_of(struct slc_channels *channels, uint32_t receiver, const struct evq_op *op,
                    uint64_t address, uint64_t offset, bool *is_known, uint8_t *value)
{
    const uint8_t *mapped;
    int err = 0;

    *is_known = false;
    if (op->op == EVQ_OP_WRITE) {
        *is_known = address - op->range.start < evq_op_payload_bytes(op);
        if (*is_known)
            *value = evq_op_payload(op)[address - op->range.start];
        return 0;
    }
    err = slc_channels_mapped(channels, receiver, &mapped);
    *is_known = !err && mapped;
    if (*is_known)
        *value = mapped[offset];
    return err;
}

static int find_received(struct slc_channels *channels, uint32_t receiver, const struct evq_op *op,
                         uint64_t address, struct slc_sending *sending)
{
    struct slc_buffers buffers;
    uint64_t offset;
    bool is_known = false;
    uint8_t value = 0;
    bool is_mapping = slc_channels_call(channels, receiver)->kind == SLC_TRANSFER_MAP;

    if (is_mapping != (op->op == EVQ_OP_MAP) || (!is_mapping && op->op != EVQ_OP_WRITE))
        return 0;
    int err = slc_channels_buffers(channels, receiver, &buffers);
    if (err || !slc_buffers_offset(&buffers, address, &offset))
        return err;
    err = value_of(channels, receiver, op, address, offset, &is_known, &value);
    if (!err && is_known)
        err = find_source(channels, receiver, offset, value, sending);
    sending->received = slc_channels_call(channels, receiver)->time;
    return err;
}

int slc_chase_received(struct slc_chase *chase, const struct evq_entry *entry,
                       const struct evq_op *op, uint64_t address, struct slc_sending *sending)
{
    struct slc_channels *channels;
    uint32_t receiver;
    int err = slc_chase_channels(chase, &channels);

    *sending = (struct slc_sending){.is_known = false};
    if (!err)
        err = slc_channels_receiver(channels, entry->frame, &receiver);
    while (!err && receiver != SLC_NO_CALL && !sending->is_known) {
        err = find_received(channels, receiver, op, address, sending);
        receiver = slc_channels_next_receiver(channels, receiver);
    }
    return err;
}

void slc_chase_delivered(struct slc_track *track)
{
    const struct wetdbg_spot memory = {.kind = WETDBG_SPOT_MEMORY,
                                       .address = track->sending.address};

    assert(track->sending.is_known);
    if (track->sending.time)
        track->state = SLC_TRACK_HELD;
    else
        slc_track_move(track, memory);
}

/* One hop for the tracks of a call. */
struct sending_hop {
    struct slc_chase *chase;
    const struct wet_event *event;
    const struct slc_transfer *transfer;
    enum wetdbg_hop_kind kind;
    size_t hop;
    bool has_hop;
};

static int add_to_hop(struct sending_hop *is, unsigned i, struct wetdbg_spot from)
{
    const struct evq_regs *regs = evq_entry_regs(is->event->entry);
    uint64_t pc = regs ? regs->r[EVQ_RIP] - SLC_SYSCALL_BYTES : 0;
    struct slc_call call = is->chase->calls[is->event->task];
    struct wetdbg_hop *hop;

    if (!is->has_hop) {
        hop = slc_chase_hop(is->chase, is->kind, is->event->time, pc);
        if (!hop)
            return -ENOMEM;
        is->hop = is->chase->origin->hop_count - 1;
        is->has_hop = true;
        call.result = (int64_t)is->transfer->size;
        slc_hop_set_call(hop, &call);
        hop->offset = is->chase->tracks[i].sending.offset;
        hop->extent = is->transfer->size;
    }
    slc_hop_add(&is->chase->origin->hops[is->hop], i, (struct wetdbg_spot){0}, from);
    return 0;
}

/* A byte that a call had from another descriptor goes on there. */
static int pass_on(struct sending_hop *is, unsigned i)
{
    struct slc_track *track = &is->chase->tracks[i];
    struct slc_channels *channels;
    int err = slc_chase_channels(is->chase, &channels);

    is->kind = WETDBG_HOP_PASSED;
    if (!err)
        err = add_to_hop(is, i, (struct wetdbg_spot){0});
    if (!err)
        err = find_source(channels, track->sending.sender, track->sending.offset,
                          track->sending.value, &track->sending);
    if (!err && track->sending.is_known)
        slc_chase_delivered(track);
    else if (!err)
        track->state = SLC_TRACK_DONE;
    return err;
}

static int send_byte(struct sending_hop *is, unsigned i)
{
    struct slc_track *track = &is->chase->tracks[i];
    const struct wetdbg_spot from = {.kind = WETDBG_SPOT_MEMORY, .address = track->sending.address};
    int err = 0;

    if (is->transfer->kind == SLC_TRANSFER_PASS)
        return pass_on(is, i);
    if (is->transfer->kind == SLC_TRANSFER_WRITE)
        err = add_to_hop(is, i, from);
    if (!err)
        slc_track_move(track, from);
    return err;
}

int slc_chase_sent(struct slc_chase *chase, const struct wet_event *event)
{
    struct sending_hop is = {.chase = chase, .event = event, .kind = WETDBG_HOP_WRITTEN};
    struct slc_channels *channels = ((struct slc_origin *)chase->origin)->channels;
    int err = 0;

    for (unsigned i = 0; i < chase->origin->size && !err; i++) {
        const struct slc_track *track = &chase->tracks[i];
        if (track->state != SLC_TRACK_HELD || track->sending.time != event->time)
            continue;
        is.transfer = slc_channels_call(channels, track->sending.sender);
        assert(is.transfer);
        err = send_byte(&is, i);
    }
    return err;
}
