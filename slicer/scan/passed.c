/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/scan/passed.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "slicer/channels/channels.h"
#include "slicer/scan/scan.h"

/* ---- values of what is held ---- */

#define PAGE_BITS  12
#define PAGE_BYTES (1u << PAGE_BITS)
#define HOPS_MAX   64 /* of a byte from descriptor to descriptor; beyond them calls do not wait */

/* The bytes as they were delivered. */
struct slc_held_page {
    uint64_t number;
    uint64_t known[PAGE_BYTES / 64];
    uint8_t values[PAGE_BYTES];
};

void slc_held_fini(struct slc_held *held)
{
    if (held->wants.table)
        slc_memory_fini(&held->wants);
    free(held->pages);
    wd_index_fini(&held->index);
    *held = (struct slc_held){0};
}

static uint32_t *page_place(const struct slc_held *held, uint64_t number)
{
    return wd_index_find(&held->index, wd_hash_u64(number) >> 32, i,
                         held->pages[i].number == number);
}

static struct slc_held_page *page_find(const struct slc_held *held, uint64_t place)
{
    uint32_t at = held->index.capacity ? *page_place(held, place >> PAGE_BITS) : 0;
    return at ? &held->pages[at - 1] : NULL;
}

static struct slc_held_page *page_make(struct slc_held *held, uint64_t place)
{
    struct slc_held_page *page = page_find(held, place);

    if (page)
        return page;
    if (wd_grow(held->pages, held->page_capacity, held->page_count + 1))
        return NULL;
    if (2 * (held->page_count + 1) > held->index.capacity) {
        if (wd_index_renew(&held->index, held->index.capacity ? 2 * held->index.capacity : 16))
            return NULL;
        for (size_t i = 0; i < held->page_count; i++)
            *page_place(held, held->pages[i].number) = (uint32_t)i + 1;
    }
    page = &held->pages[held->page_count];
    memset(page, 0, sizeof(*page));
    page->number = place >> PAGE_BITS;
    *page_place(held, page->number) = (uint32_t)++held->page_count;
    return page;
}

/* Whether byte `place` is held with another value. */
static bool has_other_value(const struct slc_held *held, uint64_t place, uint8_t value)
{
    const struct slc_held_page *page = page_find(held, place);
    unsigned off = place % PAGE_BYTES;

    return page && page->known[off / 64] >> off % 64 & 1 && page->values[off] != value;
}

static int set_value(struct slc_held *held, uint64_t place, uint8_t value)
{
    struct slc_held_page *page = page_make(held, place);
    unsigned off = place % PAGE_BYTES;

    if (!page)
        return -ENOMEM;
    page->known[off / 64] |= UINT64_C(1) << off % 64;
    page->values[off] = value;
    return 0;
}

/* The value of a held byte is used once. */
static bool take_value(struct slc_held *held, uint64_t place, uint8_t *value)
{
    struct slc_held_page *page = page_find(held, place);
    unsigned off = place % PAGE_BYTES;

    if (!page || !(page->known[off / 64] >> off % 64 & 1))
        return false;
    page->known[off / 64] &= ~(UINT64_C(1) << off % 64);
    *value = page->values[off];
    return true;
}

/* ---- delivered ---- */

static int carry(struct slc_task *task, struct slc_carried carried)
{
    if (wd_grow(task->carried, task->carried_capacity, task->carried_count + 1))
        return -ENOMEM;
    task->carried[task->carried_count++] = carried;
    return 0;
}

/* How a call delivered bytes, and where they can be looked at. */
struct delivery {
    struct slc_channels *channels;
    uint32_t receiver;
    const struct slc_transfer *transfer;
    struct slc_buffers buffers;
    const struct evq_op *op; /* that has the bytes; NULL: a mapping */
    const uint8_t *mapped;
    struct slc_source source; /* of bytes from `source_at` on */
    uint64_t source_at;
};

static int find_value(struct delivery *delivery, uint64_t address, uint64_t offset,
                      struct slc_carried *carried)
{
    const struct evq_op *op = delivery->op;
    int err = 0;

    if (op->op == EVQ_OP_WRITE) {
        uint64_t off = address - op->range.start;
        carried->has_value = off < evq_op_payload_bytes(op);
        if (carried->has_value)
            carried->value = evq_op_payload(op)[off];
        return 0;
    }
    if (!delivery->mapped)
        err = slc_channels_mapped(delivery->channels, delivery->receiver, &delivery->mapped);
    carried->has_value = delivery->mapped != NULL;
    if (carried->has_value)
        carried->value = delivery->mapped[offset];
    return err;
}

static int receive_byte(struct slc_task *task, struct delivery *delivery, uint64_t address)
{
    struct slc_source *source = &delivery->source;
    struct slc_carried carried = {.is_place = false};
    uint64_t offset;

    if (!slc_buffers_offset(&delivery->buffers, address, &offset))
        return 0;
    if (offset - delivery->source_at >= source->size) {
        slc_channels_source(delivery->channels, delivery->receiver, offset, source);
        delivery->source_at = offset;
    }
    if (source->kind == SLC_SOURCE_OUTSIDE)
        return 0;
    carried.at = source->at + (offset - delivery->source_at);
    carried.is_place = source->kind == SLC_SOURCE_CALL;
    int err = carried.is_place ? find_value(delivery, address, offset, &carried) : 0;
    if (err || (carried.is_place && !carried.has_value))
        return err; /* who knows */
    if (delivery->transfer->kind == SLC_TRANSFER_SHOW && !carried.is_place)
        task->call_sent = true; /* out of its buffer */
    return carry(task, carried);
}

static int receive(struct slc_scan *scan, struct slc_task *task, struct delivery *delivery,
                   uint64_t first, uint64_t end)
{
    delivery->transfer = slc_channels_call(delivery->channels, delivery->receiver);
    delivery->source = (struct slc_source){.size = 0};
    task->carried_for = delivery->transfer->time;
    bool is_mapping = delivery->transfer->kind == SLC_TRANSFER_MAP;
    if (is_mapping != (delivery->op->op == EVQ_OP_MAP) ||
        (!is_mapping && delivery->op->op != EVQ_OP_WRITE))
        return 0;
    int err = slc_channels_buffers(delivery->channels, delivery->receiver, &delivery->buffers);
    for (uint64_t at = first; !err && slc_memory_next(&scan->memory, &at, end); at++)
        err = receive_byte(task, delivery, at);
    return err;
}

int slc_passed_receive(struct slc_scan *scan, struct slc_task *task, const struct evq_entry *entry,
                       const struct evq_op *op, uint64_t first, uint64_t end)
{
    struct delivery delivery = {.op = op};
    int err = slc_session_channels(scan->slice->session, &delivery.channels);

    if (!err)
        err = slc_channels_receiver(delivery.channels, entry->frame, &delivery.receiver);
    while (!err && delivery.receiver != SLC_NO_CALL) {
        err = receive(scan, task, &delivery, first, end);
        delivery.receiver = slc_channels_next_receiver(delivery.channels, delivery.receiver);
    }
    return err;
}

/* ---- wanted ---- */

static int hold_one(struct slc_scan *scan, const struct slc_carried *carried,
                    const struct slc_want *want)
{
    struct slc_held *held = &scan->held;
    int err = held->wants.table ? 0 : slc_memory_init(&held->wants, scan->memory.has_wants);

    /* The byte was delivered twice, and not as the same: at most one came from the buffer. */
    if (!err && carried->has_value && has_other_value(held, carried->at, carried->value)) {
        struct slc_channels *channels = scan->slice->session->channels;
        uint32_t sender = slc_channels_sender_of(channels, carried->at);
        const uint8_t *sent;
        err = slc_channels_sent(channels, sender, &sent);
        if (err || !sent ||
            sent[carried->at - slc_channels_first(channels, sender)] != carried->value)
            return err;
        slc_memory_drop(&held->wants, carried->at, 1);
    }
    if (!err && carried->has_value)
        err = set_value(held, carried->at, carried->value);
    return err ? err : slc_memory_add(&held->wants, carried->at, 1, want);
}

/*
 * Holds a byte and, if its call had it from another descriptor, also where it came from: such a
 * call may have waited for who sent it, and began before that. What it had from memory is wanted
 * at its begin.
 */
static int hold(struct slc_scan *scan, const struct slc_carried *carried,
                const struct slc_want *want)
{
    const struct slc_channels *channels = scan->slice->session->channels;
    struct slc_carried at = *carried;
    struct slc_want from = *want;
    int err = hold_one(scan, &at, &from);

    for (unsigned hop = 0; hop < HOPS_MAX && !err; hop++) {
        uint32_t sender = slc_channels_sender_of(channels, at.at);
        const struct slc_transfer *transfer = slc_channels_call(channels, sender);
        struct slc_source source;
        if (transfer->kind != SLC_TRANSFER_PASS)
            break;
        slc_channels_source(channels, sender, at.at - slc_channels_first(channels, sender),
                            &source);
        if (source.kind != SLC_SOURCE_CALL)
            break;
        at.at = source.at;
        from.user = transfer->time;
        from.distance++;
        from.edge = WETDBG_EDGE_VALUE;
        err = hold_one(scan, &at, &from);
    }
    return err;
}

int slc_passed_want(struct slc_scan *scan, struct slc_task *task, struct slc_want *want)
{
    int err = 0;

    want->edge = WETDBG_EDGE_VALUE;
    for (size_t i = 0; i < task->carried_count && !err; i++) {
        const struct slc_carried *carried = &task->carried[i];
        err = carried->is_place ? hold(scan, carried, want)
                                : slc_memory_add(&scan->memory, carried->at, 1, want);
    }
    return err;
}

int slc_passed_end(struct slc_scan *scan, struct slc_task *task, wetdbg_time ended)
{
    struct slc_want best = task->pending;

    if (!task->carried_count || task->carried_for >= ended)
        return 0;
    for (unsigned p = 0; p < INS_GPR_PIECES; p++) {
        unsigned loc = INS_LOC_GPR + INS_GPR_PIECES * INS_RAX + p;
        if (!slc_regs_has(&task->regs, loc))
            continue;
        const struct slc_want result = slc_regs_nearest(&task->regs, loc);
        slc_want_merge(&best, &result);
    }
    struct slc_want want = {.user = task->carried_for, .distance = best.distance + 1};
    int err = slc_passed_want(scan, task, &want);
    task->carried_count = 0;
    return err;
}

int slc_passed_seed(struct slc_scan *scan, const struct slc_passed_bytes *bytes,
                    struct slc_want *want)
{
    struct slc_channels *channels;
    struct slc_source source;
    int err = slc_session_channels(scan->slice->session, &channels);

    if (!err)
        err = slc_channels_need_links(channels);
    want->edge = WETDBG_EDGE_VALUE;
    for (uint64_t done = 0; done < bytes->size && !err; done++) {
        slc_channels_source(channels, bytes->call, bytes->offset + done, &source);
        const struct slc_carried carried = {.at = source.at, .is_place = true};
        if (source.kind == SLC_SOURCE_CALL)
            err = hold(scan, &carried, want);
        else if (source.kind == SLC_SOURCE_MEMORY)
            err = slc_memory_add(&scan->memory, source.at, 1, want);
    }
    return err;
}

/* Bytes of a call from `offset` on, which it brought back from their places; `state` is that after
 * it. */
static int want_places(struct slc_scan *scan, struct wetdbg_state *state,
                       const struct slc_buffers *buffers, uint64_t offset,
                       const struct slc_source *source, const struct slc_want *want)
{
    struct slc_carried carried = {.at = source->at, .is_place = true, .has_value = true};
    uint64_t address;
    int err = 0;

    for (uint64_t i = 0; i < source->size && !err; i++, carried.at++)
        if (slc_buffers_address(buffers, offset + i, &address) &&
            !wetdbg_state_read(state, address, &carried.value, 1))
            err = hold(scan, &carried, want);
    return err;
}

static int want_brought(struct slc_scan *scan, struct slc_channels *channels, uint32_t receiver,
                        struct slc_want *want)
{
    const struct slc_transfer *transfer = slc_channels_call(channels, receiver);
    struct wetdbg_state *state = NULL;
    struct slc_buffers buffers;
    struct slc_source source;
    uint64_t size;
    int err = slc_channels_buffers(channels, receiver, &buffers);

    for (uint64_t at = 0; at < transfer->size && !err; at += size) {
        slc_channels_source(channels, receiver, at, &source);
        size = source.size < transfer->size - at ? source.size : transfer->size - at;
        source.size = size;
        if (source.kind == SLC_SOURCE_MEMORY)
            err = slc_memory_add(&scan->memory, source.at, size, want);
        if (source.kind != SLC_SOURCE_CALL)
            continue;
        if (!state)
            err = wetdbg_state_open(scan->wet, transfer->time + 1, &state);
        if (!err)
            err = want_places(scan, state, &buffers, at, &source, want);
    }
    if (state)
        wetdbg_state_close(state);
    return err;
}

int slc_passed_brought(struct slc_scan *scan, wetdbg_time time, struct slc_want *want)
{
    const struct slc_transfer *transfer;
    struct slc_channels *channels;
    int err = slc_session_channels(scan->slice->session, &channels);
    uint32_t number = err ? SLC_NO_CALL : slc_channels_sender(channels, time);

    want->edge = WETDBG_EDGE_VALUE;
    for (; !err && (transfer = slc_channels_call(channels, number)) && transfer->time == time;
         number++) {
        const struct slc_passed_bytes all = {number, 0, transfer->size};
        if (transfer->kind != SLC_TRANSFER_READ && transfer->kind != SLC_TRANSFER_MAP &&
            transfer->kind != SLC_TRANSFER_PASS && transfer->kind != SLC_TRANSFER_BORROW)
            continue;
        err = slc_channels_need_links(channels);
        if (!err && transfer->kind == SLC_TRANSFER_PASS)
            err = slc_passed_seed(scan, &all, want);
        else if (!err)
            err = want_brought(scan, channels, number, want);
    }
    return err;
}

/* ---- sent ---- */

struct sending {
    struct slc_channels *channels;
    uint32_t sender;
    const struct slc_transfer *transfer;
    struct slc_buffers buffers;
    const uint8_t *sent; /* NULL: not known */
};

static int find_sent(struct sending *sending)
{
    int err = 0;

    if (sending->transfer->kind == SLC_TRANSFER_PASS)
        return 0;
    err = slc_channels_sent(sending->channels, sending->sender, &sending->sent);
    if (!err)
        err = slc_channels_buffers(sending->channels, sending->sender, &sending->buffers);
    return err;
}

/* A byte that the call had in its buffer. */
static int send_byte(struct slc_scan *scan, struct slc_task *task, const struct sending *sending,
                     uint64_t offset, const struct slc_want *want, const struct slc_carried *is)
{
    struct slc_carried carried = {.is_place = false};

    if (!sending->sent || (is->has_value && sending->sent[offset] != is->value) ||
        !slc_buffers_address(&sending->buffers, offset, &carried.at))
        return 0;
    if (sending->transfer->kind == SLC_TRANSFER_UNMAP)
        return slc_memory_add(&scan->memory, carried.at, 1, want);
    task->call_wrote = task->call_sent = true;
    if (slc_want_merge(&task->pending, want)) {
        task->pending.location = INS_LOC_COUNT;
        task->pending_address = carried.at;
    }
    return carry(task, carried);
}

/* A byte that the call got from another descriptor. */
static int pass_byte(struct slc_task *task, const struct sending *sending, uint64_t offset,
                     const struct slc_want *want, struct slc_carried carried)
{
    struct slc_source source;

    task->call_wrote = true;
    if (slc_want_merge(&task->pending, want)) {
        task->pending.location = INS_LOC_COUNT;
        task->pending_address = 0;
    }
    slc_channels_source(sending->channels, sending->sender, offset, &source);
    carried.at = source.at;
    carried.is_place = source.kind == SLC_SOURCE_CALL;
    return source.kind == SLC_SOURCE_OUTSIDE ? 0 : carry(task, carried);
}

static int send(struct slc_scan *scan, struct slc_task *task, struct sending *sending)
{
    uint64_t first = slc_channels_first(sending->channels, sending->sender);
    uint64_t end = slc_channels_first(sending->channels, sending->sender + 1), at = first;
    const struct slc_want *want;

    if (!slc_memory_next(&scan->held.wants, &at, end))
        return 0;
    int err = find_sent(sending);
    for (; !err && (want = slc_memory_next(&scan->held.wants, &at, end)); at++) {
        struct slc_carried carried = {.is_place = true};
        carried.has_value = take_value(&scan->held, at, &carried.value);
        if (sending->transfer->kind != SLC_TRANSFER_UNMAP)
            err =
                slc_call_bytes_add(&task->wrote, (struct slc_call_run){0, SLC_BYTES_PLACE, at, 1});
        if (err)
            break;
        if (sending->transfer->kind == SLC_TRANSFER_PASS)
            err = pass_byte(task, sending, at - first, want, carried);
        else
            err = send_byte(scan, task, sending, at - first, want, &carried);
    }
    slc_memory_drop(&scan->held.wants, first, end - first);
    return err;
}

int slc_passed_send(struct slc_scan *scan, struct slc_task *task, wetdbg_time time)
{
    struct slc_channels *channels = scan->slice->session->channels;
    int err = 0;

    if (slc_held_is_empty(&scan->held))
        return 0;
    assert(channels);
    struct sending sending = {.channels = channels, .sender = slc_channels_sender(channels, time)};
    while (!err && (sending.transfer = slc_channels_call(channels, sending.sender)) &&
           sending.transfer->time == time) {
        err = send(scan, task, &sending);
        sending.sender++;
    }
    return err;
}

bool slc_passed_concerns(const struct slc_scan *scan, uint64_t k)
{
    const struct slc_channels *channels = scan->slice->session->channels;
    struct slc_memory *wants = (struct slc_memory *)(uintptr_t)&scan->held.wants;
    uint64_t at = 0;

    if (slc_held_is_empty(&scan->held))
        return false;
    while (slc_memory_next(wants, &at, UINT64_MAX)) {
        uint32_t sender = slc_channels_sender_of(channels, at);
        if (wetdbg_interval_at(scan->wet, slc_channels_call(channels, sender)->time) == k)
            return true;
        at = slc_channels_first(channels, sender + 1);
    }
    return false;
}
