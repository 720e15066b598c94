/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the bytes of calls were in memory, and what they were. One run of an interval tells of all
 * the calls in it that somebody may ask for.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/bisect.h"
#include "common/page.h"
#include "slicer/channels/channels_priv.h"

#define SPANS_MAX  1024
#define BYTES_MAX  (UINT64_C(256) << 20) /* of one call */
#define KEPT_BYTES (UINT64_C(64) << 20)  /* of all */

struct slc_layout {
    struct slc_span *spans; /* of a list */
    size_t count;
    struct slc_span list;
    uint8_t *bytes;
    bool has_spans, has_bytes;
};

static void drop_bytes(struct slc_channels *channels)
{
    for (size_t i = 0; i < channels->count; i++) {
        struct slc_layout *layout = channels->layouts[i];
        if (!layout)
            continue;
        free(layout->bytes);
        layout->bytes = NULL;
        layout->has_bytes = false;
    }
    channels->kept_bytes = 0;
}

void slc_layouts_fini(struct slc_channels *channels)
{
    for (size_t i = 0; channels->layouts && i < channels->count; i++) {
        if (channels->layouts[i]) {
            free(channels->layouts[i]->spans);
            free(channels->layouts[i]->bytes);
        }
        free(channels->layouts[i]);
    }
    free(channels->layouts);
    channels->layouts = NULL;
}

/* ---- reading ---- */

/* Memory that may end before its last byte. */
static bool read_memory(struct wetdbg_state *state, uint64_t address, uint8_t *bytes, uint64_t size)
{
    while (size) {
        uint64_t room = wd_page_left(address), count = room < size ? room : size;
        if (wetdbg_state_read(state, address, bytes, (size_t)count))
            return false;
        address += count;
        bytes += count;
        size -= count;
    }
    return true;
}

static void find_list(struct wetdbg_state *state, const struct slc_transfer *transfer,
                      struct slc_layout *layout)
{
    struct msghdr message;

    layout->list = (struct slc_span){transfer->address, transfer->count * sizeof(struct iovec)};
    if (transfer->layout == SLC_LAYOUT_VECTOR)
        return;
    layout->list.size = 0;
    if (wetdbg_state_read(state, transfer->address, &message, sizeof(message)) ||
        message.msg_iovlen > SPANS_MAX)
        return;
    layout->list = (struct slc_span){(uint64_t)(uintptr_t)message.msg_iov,
                                     message.msg_iovlen * sizeof(struct iovec)};
}

static int read_spans(struct wetdbg_state *state, const struct slc_transfer *transfer,
                      struct slc_layout *layout)
{
    uint64_t left = transfer->size;
    struct iovec piece;

    layout->has_spans = true;
    if (transfer->layout != SLC_LAYOUT_MESSAGE && transfer->count > SPANS_MAX)
        return 0;
    find_list(state, transfer, layout);
    size_t count = (size_t)(layout->list.size / sizeof(piece));
    layout->spans = malloc((count + 1) * sizeof(*layout->spans));
    if (!layout->spans)
        return -ENOMEM;
    for (size_t i = 0; i < count && left; i++) {
        if (wetdbg_state_read(state, layout->list.address + i * sizeof(piece), &piece,
                              sizeof(piece)))
            break;
        uint64_t size = piece.iov_len < left ? piece.iov_len : left;
        layout->spans[layout->count++] =
            (struct slc_span){(uint64_t)(uintptr_t)piece.iov_base, size};
        left -= size;
    }
    return 0;
}

static struct slc_buffers buffers_of(const struct slc_transfer *transfer,
                                     const struct slc_layout *layout, struct slc_span *one)
{
    *one = (struct slc_span){transfer->address, transfer->size};
    if (transfer->kind == SLC_TRANSFER_PASS)
        return (struct slc_buffers){.count = 0};
    if (transfer->layout == SLC_LAYOUT_BUFFER)
        return (struct slc_buffers){.spans = one, .count = 1};
    return (struct slc_buffers){layout->spans, layout->count, layout->list};
}

static int read_bytes(struct slc_channels *channels, struct wetdbg_state *state,
                      const struct slc_transfer *transfer, struct slc_layout *layout)
{
    struct slc_span one;
    const struct slc_buffers buffers = buffers_of(transfer, layout, &one);
    uint64_t done = 0;

    layout->has_bytes = true;
    if (transfer->size > BYTES_MAX)
        return 0;
    layout->bytes = malloc((size_t)transfer->size + 1);
    if (!layout->bytes)
        return -ENOMEM;
    for (size_t i = 0; i < buffers.count; i++) {
        if (!read_memory(state, buffers.spans[i].address, layout->bytes + done,
                         buffers.spans[i].size))
            break;
        done += buffers.spans[i].size;
    }
    channels->kept_bytes += transfer->size;
    if (done == transfer->size)
        return 0;
    free(layout->bytes);
    layout->bytes = NULL;
    return 0;
}

/* ---- a run of an interval ---- */

static struct slc_layout *layout_make(struct slc_channels *channels, uint32_t number)
{
    if (!channels->layouts)
        channels->layouts = calloc(channels->count + 1, sizeof(*channels->layouts));
    if (!channels->layouts)
        return NULL;
    if (!channels->layouts[number])
        channels->layouts[number] = calloc(1, sizeof(**channels->layouts));
    return channels->layouts[number];
}

static bool is_sent_on(struct slc_channels *channels, uint32_t number)
{
    const struct slc_receipt *list;
    size_t count = 0;

    return channels->first_links && slc_transfer_sends(&channels->list[number]) &&
           slc_channels_receipts(channels, number, &list, &count) == 0 && count > 0;
}

/* Reads what is not known yet of a call that is `asked` for, or may be. */
static int read_call(struct slc_channels *channels, struct wetdbg_state **state, uint32_t number,
                     bool asked)
{
    const struct slc_transfer *transfer = &channels->list[number];
    bool has_receivers = is_sent_on(channels, number);
    bool has_list = transfer->layout != SLC_LAYOUT_BUFFER, wants_bytes;
    int err = 0;

    if (transfer->kind > SLC_TRANSFER_WRITE && transfer->kind != SLC_TRANSFER_UNMAP &&
        transfer->kind != SLC_TRANSFER_LEND && transfer->kind != SLC_TRANSFER_BORROW)
        return 0;
    wants_bytes = has_receivers && (asked || channels->kept_bytes < KEPT_BYTES);
    if (!asked && !has_list && !wants_bytes)
        return 0;
    struct slc_layout *layout = layout_make(channels, number);
    if (!layout)
        return -ENOMEM;
    if ((layout->has_spans || !has_list) && (layout->has_bytes || !wants_bytes))
        return 0;
    if (!*state)
        err = wetdbg_state_open(channels->wet, transfer->time, state);
    else
        err = wetdbg_state_advance(*state, transfer->time);
    if (!err && has_list && !layout->has_spans)
        err = read_spans(*state, transfer, layout);
    if (!err && wants_bytes && !layout->has_bytes)
        err = read_bytes(channels, *state, transfer, layout);
    return err;
}

static int read_interval(struct slc_channels *channels, uint32_t number)
{
    uint64_t interval = wetdbg_interval_at(channels->wet, channels->list[number].time);
    struct wetdbg_state *state = NULL;
    uint32_t first = number, i;
    int err = 0;

    if (channels->kept_bytes >= KEPT_BYTES)
        drop_bytes(channels);
    while (first && wetdbg_interval_at(channels->wet, channels->list[first - 1].time) == interval)
        first--;
    for (i = first; i < channels->count && !err &&
                    wetdbg_interval_at(channels->wet, channels->list[i].time) == interval;
         i++)
        err = read_call(channels, &state, i, i == number);
    if (state)
        wetdbg_state_close(state);
    return err;
}

/* Takes the buffers of a call that wrote a list of them from the wet, which has them in its table
 * of outputs: without it an interval has to run. Whether it has all of them. */
static int take_outputs(struct slc_channels *channels, uint32_t number, bool *is_taken)
{
    const struct slc_transfer *transfer = &channels->list[number];
    struct slc_layout *layout = layout_make(channels, number);
    uint64_t size = 0;
    size_t count, end;
    const struct wetdbg_output *outputs = wetdbg_outputs(channels->wet, &count);
    size_t first = wd_bisect(0, count, i, outputs[i].time < transfer->time);

    *is_taken = false;
    if (!layout)
        return -ENOMEM;
    if (transfer->kind != SLC_TRANSFER_WRITE || transfer->layout != SLC_LAYOUT_VECTOR)
        return 0;
    for (end = first; end < count && outputs[end].time == transfer->time; end++)
        size += outputs[end].size;
    if (size != transfer->size)
        return 0;
    layout->spans = malloc((end - first + 1) * sizeof(*layout->spans));
    if (!layout->spans)
        return -ENOMEM;
    for (size_t i = first; i < end; i++)
        layout->spans[layout->count++] = (struct slc_span){outputs[i].address, outputs[i].size};
    layout->list = (struct slc_span){transfer->address, transfer->count * sizeof(struct iovec)};
    layout->has_spans = *is_taken = true;
    return 0;
}

static int find_spans(struct slc_channels *channels, uint32_t number)
{
    bool is_taken;
    int err = take_outputs(channels, number, &is_taken);

    return err || is_taken ? err : read_interval(channels, number);
}

/* ---- queries ---- */

int slc_channels_buffers(struct slc_channels *channels, uint32_t number,
                         struct slc_buffers *buffers)
{
    const struct slc_transfer *transfer = &channels->list[number];
    int err = 0;

    assert(number < channels->count);
    if (transfer->layout != SLC_LAYOUT_BUFFER &&
        !(channels->layouts && channels->layouts[number] && channels->layouts[number]->has_spans))
        err = find_spans(channels, number);
    if (!err)
        *buffers = buffers_of(transfer, channels->layouts ? channels->layouts[number] : NULL,
                              &channels->one);
    return err;
}

bool slc_buffers_address(const struct slc_buffers *buffers, uint64_t offset, uint64_t *address)
{
    for (size_t i = 0; i < buffers->count; i++) {
        *address = buffers->spans[i].address + offset;
        if (offset < buffers->spans[i].size)
            return true;
        offset -= buffers->spans[i].size;
    }
    return false;
}

bool slc_buffers_offset(const struct slc_buffers *buffers, uint64_t address, uint64_t *offset)
{
    uint64_t before = 0;

    for (size_t i = 0; i < buffers->count; i++) {
        uint64_t off = address - buffers->spans[i].address;
        *offset = before + off;
        if (off < buffers->spans[i].size)
            return true;
        before += buffers->spans[i].size;
    }
    return false;
}

int slc_channels_sent(struct slc_channels *channels, uint32_t sender, const uint8_t **bytes)
{
    int err = 0;

    assert(sender < channels->count);
    if (!(channels->layouts && channels->layouts[sender] && channels->layouts[sender]->has_bytes))
        err = read_interval(channels, sender);
    const struct slc_layout *layout = channels->layouts ? channels->layouts[sender] : NULL;
    *bytes = layout ? layout->bytes : NULL;
    return err;
}

/* Reads what the links of a mapping are about. */
static bool read_linked(const struct slc_channels *channels, struct wetdbg_state *state,
                        uint32_t receiver, uint8_t *bytes)
{
    const struct slc_transfer *transfer = &channels->list[receiver];

    for (size_t i = channels->first_links[receiver]; i < channels->first_links[receiver + 1]; i++) {
        const struct slc_link *link = &channels->links[i];
        if (!read_memory(state, transfer->address + link->offset, bytes + link->offset, link->size))
            return false;
    }
    return true;
}

int slc_channels_mapped(struct slc_channels *channels, uint32_t receiver, const uint8_t **bytes)
{
    const struct slc_transfer *transfer = &channels->list[receiver];
    struct slc_layout *layout = layout_make(channels, receiver);
    struct wetdbg_state *state;

    assert(receiver < channels->count && transfer->kind == SLC_TRANSFER_MAP);
    *bytes = layout ? layout->bytes : NULL;
    if (!layout || layout->has_bytes || transfer->size > BYTES_MAX)
        return layout ? 0 : -ENOMEM;
    if (channels->kept_bytes >= KEPT_BYTES)
        drop_bytes(channels);
    layout->bytes = calloc(1, (size_t)transfer->size + 1);
    if (!layout->bytes)
        return -ENOMEM;
    int err = wetdbg_state_open(channels->wet, transfer->time + 1, &state);
    if (err)
        return err;
    layout->has_bytes = true;
    channels->kept_bytes += transfer->size;
    bool is_read = read_linked(channels, state, receiver, layout->bytes);
    wetdbg_state_close(state);
    if (!is_read) {
        free(layout->bytes);
        layout->bytes = NULL;
    }
    *bytes = layout->bytes;
    return 0;
}
