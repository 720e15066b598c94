/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/confidence/passed_pins.h"

#include "recorder/event/ops.h"
#include "slicer/channels/channels.h"

/* Places are kept with the addresses of memory, where no program has any. */
#define PLACES (UINT64_C(1) << 63)

/* ---- delivered ---- */

struct delivery {
    struct slc_pins *pins;
    struct slc_channels *channels;
    uint32_t receiver;
    struct slc_buffers buffers;
    const struct evq_op *op;
    struct slc_source source; /* of bytes from `source_at` on */
    uint64_t source_at;
};

/* Whether a byte was sent with the value that was delivered. */
static int was_sent(struct delivery *delivery, uint64_t place, uint8_t value, bool *was)
{
    uint32_t sender = slc_channels_sender_of(delivery->channels, place);
    const uint8_t *sent = NULL;
    int err = 0;

    *was = false;
    if (slc_channels_call(delivery->channels, sender)->kind == SLC_TRANSFER_WRITE)
        err = slc_channels_sent(delivery->channels, sender, &sent);
    if (!err && sent)
        *was = sent[place - slc_channels_first(delivery->channels, sender)] == value;
    return err;
}

static int take_byte(struct delivery *delivery, uint64_t address)
{
    struct slc_source *source = &delivery->source;
    uint64_t offset, off = address - delivery->op->range.start;
    bool was = false;

    if (off >= evq_op_payload_bytes(delivery->op) ||
        !slc_buffers_offset(&delivery->buffers, address, &offset))
        return 0;
    if (offset - delivery->source_at >= source->size) {
        slc_channels_source(delivery->channels, delivery->receiver, offset, source);
        delivery->source_at = offset;
    }
    uint64_t place = source->at + (offset - delivery->source_at);
    if (source->kind != SLC_SOURCE_CALL || place >= PLACES)
        return 0;
    int err = was_sent(delivery, place, evq_op_payload(delivery->op)[off], &was);
    return err || !was ? err
                       : slc_pins_add(delivery->pins, PLACES + place,
                                      slc_pins_take(delivery->pins, address));
}

static int take_range(struct delivery *delivery)
{
    const struct evq_op *op = delivery->op;
    uint64_t end = op->range.start + evq_op_payload_bytes(op);
    int err = slc_channels_buffers(delivery->channels, delivery->receiver, &delivery->buffers);

    delivery->source = (struct slc_source){.size = 0};
    for (uint64_t at = op->range.start; at < end && !err; at++)
        if (slc_pins_touch(delivery->pins, at, 1))
            err = take_byte(delivery, at);
    return err;
}

int slc_passed_pins_take(struct slc_pins *pins, struct wetdbg_slice_session *session,
                         const struct evq_entry *entry, const struct evq_op *op)
{
    struct delivery delivery = {.pins = pins, .op = op};

    if (op->op != EVQ_OP_WRITE || !slc_pins_touch(pins, op->range.start, op->range.size))
        return 0;
    int err = slc_session_channels(session, &delivery.channels);
    if (!err)
        err = slc_channels_receiver(delivery.channels, entry->frame, &delivery.receiver);
    while (!err && delivery.receiver != SLC_NO_CALL) {
        if (slc_channels_call(delivery.channels, delivery.receiver)->kind == SLC_TRANSFER_READ)
            err = take_range(&delivery);
        delivery.receiver = slc_channels_next_receiver(delivery.channels, delivery.receiver);
    }
    return err;
}

/* ---- sent ---- */

static int give_call(struct slc_pins *pins, struct slc_channels *channels, uint32_t sender)
{
    uint64_t first = slc_channels_first(channels, sender);
    uint64_t end = slc_channels_first(channels, sender + 1);
    struct slc_buffers buffers;

    if (!slc_pins_touch(pins, PLACES + first, end - first))
        return 0;
    int err = slc_channels_buffers(channels, sender, &buffers);
    for (uint64_t place = first; place < end && !err; place++) {
        uint64_t address;
        slc_pin pin = slc_pins_take(pins, PLACES + place);
        if (pin == SLC_PIN_NONE)
            continue;
        if (slc_buffers_address(&buffers, place - first, &address))
            err = slc_pins_add(pins, address, pin);
        else
            slc_pin_drop(pins, pin);
    }
    return err;
}

int slc_passed_pins_give(struct slc_pins *pins, struct wetdbg_slice_session *session,
                         wetdbg_time time)
{
    struct slc_channels *channels = session->channels;
    const struct slc_transfer *transfer;
    int err = 0;

    if (!channels) /* nothing was kept, since nobody asked for them */
        return 0;
    for (uint32_t sender = slc_channels_sender(channels, time);
         !err && (transfer = slc_channels_call(channels, sender)) && transfer->time == time;
         sender++)
        err = give_call(pins, channels, sender);
    return err;
}
