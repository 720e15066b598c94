/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/channels/channels.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "slicer/channels/channels_priv.h"
#include <wetdbg/errors.h>

/* ---- making ---- */

static int by_end(const void *a, const void *b, void *arg)
{
    const struct slc_transfer *list = arg, *x = &list[*(const uint32_t *)a],
                              *y = &list[*(const uint32_t *)b];
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

bool slc_transfer_sends(const struct slc_transfer *transfer)
{
    return transfer->kind == SLC_TRANSFER_WRITE || transfer->kind == SLC_TRANSFER_PASS ||
           transfer->kind == SLC_TRANSFER_UNMAP;
}

static bool receives(const struct slc_transfer *transfer)
{
    return transfer->kind == SLC_TRANSFER_READ || transfer->kind == SLC_TRANSFER_MAP ||
           transfer->kind == SLC_TRANSFER_PASS || transfer->kind == SLC_TRANSFER_SHOW ||
           transfer->kind == SLC_TRANSFER_BORROW;
}

/* Whether other descriptors may stand for the same file. */
static bool may_be_another(const struct slc_file *file)
{
    return file->kind == SLC_FILE_PATH || file->has_inode;
}

/* Notes when something was first put into a file of a path, and who writes descriptors. */
static void note_sender(struct slc_channels *channels, const struct slc_transfer *transfer)
{
    bool maps = transfer->kind == SLC_TRANSFER_MAP && transfer->is_shared;

    if (transfer->kind != SLC_TRANSFER_WRITE && transfer->kind != SLC_TRANSFER_PASS && !maps)
        return;
    const struct slc_file *file = slc_files_get(channels->files, transfer->file);
    channels->is_written[transfer->file] = true;
    if (may_be_another(file) && transfer->ended < channels->first_named)
        channels->first_named = transfer->ended;
    if (file->writes_fifo != SLC_NO_FIFO)
        channels->is_sent[file->writes_fifo] = true;
}

/* Notes of a call that reads what it read from, as note_sender() does of one that writes. */
static void note_receiver(struct slc_channels *channels, const struct slc_transfer *transfer)
{
    uint32_t index = transfer->kind == SLC_TRANSFER_PASS ? transfer->from_file : transfer->file;

    channels->is_shared |= transfer->kind == SLC_TRANSFER_BORROW;
    if (!receives(transfer) || transfer->kind == SLC_TRANSFER_SHOW ||
        transfer->kind == SLC_TRANSFER_BORROW)
        return;
    const struct slc_file *file = slc_files_get(channels->files, index);
    channels->is_read[index] = true;
    channels->is_shared |= transfer->kind == SLC_TRANSFER_MAP && transfer->is_shared;
    if (may_be_another(file) && transfer->ended > channels->last_named)
        channels->last_named = transfer->ended;
    if (file->reads_fifo != SLC_NO_FIFO)
        channels->is_taken[file->reads_fifo] = true;
}

/* How much was put out so far by a descriptor. */
struct put_out {
    int fd;
    uint64_t bytes;
};

static struct put_out *put_out_by(struct put_out **list, size_t *count, int fd)
{
    for (size_t i = 0; i < *count; i++)
        if ((*list)[i].fd == fd)
            return &(*list)[i];
    if (wd_grow_one(*list, *count))
        return NULL;
    (*list)[*count] = (struct put_out){.fd = fd};
    return &(*list)[(*count)++];
}

static int count_put_out(struct slc_channels *channels)
{
    struct put_out *sums = NULL;
    size_t sum_count = 0;
    int err = 0;

    for (size_t i = 0; i < channels->count && !err; i++) {
        const struct slc_transfer *transfer = &channels->list[channels->order[i]];
        if (!slc_transfer_is_output(transfer))
            continue;
        struct put_out *sum = put_out_by(&sums, &sum_count, transfer->fd);
        if (sum) {
            channels->put_out[channels->order[i]] = sum->bytes;
            sum->bytes += transfer->size;
        } else {
            err = -ENOMEM;
        }
    }
    free(sums);
    return err;
}

static int prepare(struct slc_channels *channels)
{
    uint64_t place = 0;
    size_t count = channels->count;

    channels->first_named = UINT64_MAX;
    channels->order = malloc((count + 1) * sizeof(*channels->order));
    channels->places = malloc((count + 1) * sizeof(*channels->places));
    channels->put_out = calloc(count + 1, sizeof(*channels->put_out));
    channels->is_written = calloc(slc_files_count(channels->files) + 1, 1);
    channels->is_read = calloc(slc_files_count(channels->files) + 1, 1);
    channels->is_sent = calloc(slc_files_fifo_count(channels->files) + 1, 1);
    channels->is_taken = calloc(slc_files_fifo_count(channels->files) + 1, 1);
    if (!channels->order || !channels->places || !channels->put_out || !channels->is_written ||
        !channels->is_read || !channels->is_sent || !channels->is_taken)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct slc_transfer *transfer = &channels->list[i];
        channels->order[i] = (uint32_t)i;
        channels->places[i] = place;
        if (slc_transfer_sends(transfer))
            place += transfer->size < SLC_SENT_MAX ? transfer->size : 0;
        note_sender(channels, transfer);
        note_receiver(channels, transfer);
    }
    channels->places[count] = place;
    qsort_r(channels->order, count, sizeof(*channels->order), by_end,
            (void *)(uintptr_t)channels->list);
    return count_put_out(channels);
}

int slc_channels_make(struct wetdbg *wet, struct slc_channels **out)
{
    struct slc_channels *channels = calloc(1, sizeof(*channels));

    if (!channels)
        return -ENOMEM;
    channels->wet = wet;
    int err = slc_files_make(wet, &channels->files);
    if (!err) {
        channels->list = slc_files_transfers(channels->files, &channels->count);
        err = prepare(channels);
    }
    if (err) {
        slc_channels_free(channels);
        return err;
    }
    *out = channels;
    return 0;
}

void slc_channels_free(struct slc_channels *channels)
{
    if (!channels)
        return;
    slc_layouts_fini(channels);
    slc_files_free(channels->files);
    free(channels->order);
    free(channels->places);
    free(channels->put_out);
    free(channels->is_written);
    free(channels->is_read);
    free(channels->is_sent);
    free(channels->is_taken);
    free(channels->links);
    free(channels->first_links);
    free(channels->receipts);
    free(channels->first_receipts);
    free(channels);
}

struct slc_files *slc_channels_files(struct slc_channels *channels)
{
    return channels->files;
}

/* ---- calls ---- */

const struct slc_transfer *slc_channels_call(const struct slc_channels *channels, uint32_t number)
{
    return number < channels->count ? &channels->list[number] : NULL;
}

/* Whether a call may have got what the run sent: so that few runs need their links at all. */
static bool may_receive(const struct slc_channels *channels, const struct slc_transfer *transfer)
{
    uint32_t index = transfer->kind == SLC_TRANSFER_PASS ? transfer->from_file : transfer->file;

    if (transfer->kind == SLC_TRANSFER_SHOW || transfer->kind == SLC_TRANSFER_BORROW)
        return channels->is_shared;
    const struct slc_file *file = slc_files_get(channels->files, index);
    if (file->reads_fifo != SLC_NO_FIFO)
        return channels->is_sent[file->reads_fifo];
    return channels->is_written[index] ||
           (may_be_another(file) && channels->first_named < transfer->ended);
}

/* The first call from `at` in the sequence on that belongs to the event and has links. */
static uint32_t next_receiver(const struct slc_channels *channels, size_t at, uint64_t event)
{
    for (; at < channels->count && channels->list[channels->order[at]].ended == event; at++) {
        uint32_t number = channels->order[at];
        if (channels->first_links[number] != channels->first_links[number + 1])
            return number;
    }
    return SLC_NO_CALL;
}

int slc_channels_receiver(struct slc_channels *channels, uint64_t event, uint32_t *number)
{
    const struct slc_transfer *list = channels->list;
    size_t at = wd_bisect(0, channels->count, i, list[channels->order[i]].ended < event);
    bool may = false;

    *number = SLC_NO_CALL;
    for (size_t i = at; i < channels->count && list[channels->order[i]].ended == event; i++) {
        const struct slc_transfer *transfer = &list[channels->order[i]];
        may |= receives(transfer) && may_receive(channels, transfer);
    }
    int err = may && !channels->first_links ? slc_channels_link(channels) : 0;
    if (may && !err)
        *number = next_receiver(channels, at, event);
    return err;
}

uint32_t slc_channels_next_receiver(const struct slc_channels *channels, uint32_t number)
{
    const struct slc_transfer *list = channels->list;
    uint32_t sequence = list[number].sequence;
    size_t at = wd_bisect(0, channels->count, i, list[channels->order[i]].sequence <= sequence);

    return next_receiver(channels, at, list[number].ended);
}

uint32_t slc_channels_ended(const struct slc_channels *channels, uint32_t i)
{
    return i < channels->count ? channels->order[i] : SLC_NO_CALL;
}

uint64_t slc_channels_put_out(const struct slc_channels *channels, uint32_t number)
{
    assert(number < channels->count);
    return channels->put_out[number];
}

uint32_t slc_channels_sender(const struct slc_channels *channels, wetdbg_time time)
{
    const struct slc_transfer *list = channels->list;
    size_t at = wd_bisect(0, channels->count, i, list[i].time < time);

    return at < channels->count && list[at].time == time ? (uint32_t)at : SLC_NO_CALL;
}

bool slc_channels_may_return(const struct slc_channels *channels, uint32_t sender)
{
    const struct slc_transfer *transfer = &channels->list[sender];

    assert(sender < channels->count);
    if (transfer->kind == SLC_TRANSFER_UNMAP)
        return channels->is_shared;
    if (transfer->kind != SLC_TRANSFER_WRITE && transfer->kind != SLC_TRANSFER_PASS)
        return false;
    const struct slc_file *file = slc_files_get(channels->files, transfer->file);
    if (file->writes_fifo != SLC_NO_FIFO)
        return channels->is_taken[file->writes_fifo];
    return channels->is_read[transfer->file] ||
           (may_be_another(file) && channels->last_named > transfer->ended);
}

bool slc_channels_shares(const struct slc_channels *channels)
{
    return channels->is_shared;
}

/* ---- where bytes came from ---- */

uint64_t slc_channels_first(const struct slc_channels *channels, uint32_t sender)
{
    assert(sender <= channels->count);
    return channels->places[sender];
}

uint32_t slc_channels_sender_of(const struct slc_channels *channels, uint64_t place)
{
    size_t behind = wd_bisect(0, channels->count, i, channels->places[i] <= place);

    assert(behind);
    return (uint32_t)behind - 1;
}

int slc_channels_need_links(struct slc_channels *channels)
{
    return channels->first_links ? 0 : slc_channels_link(channels);
}

void slc_channels_source(const struct slc_channels *channels, uint32_t receiver, uint64_t offset,
                         struct slc_source *source)
{
    const struct slc_link *links = channels->links;
    size_t first = 0, end = 0;

    if (channels->first_links && receiver < channels->count) {
        first = channels->first_links[receiver];
        end = channels->first_links[receiver + 1];
    }
    size_t at = wd_bisect(first, end, i, links[i].offset + links[i].size <= offset);
    *source = (struct slc_source){.kind = SLC_SOURCE_OUTSIDE, .size = UINT64_MAX - offset};
    if (at == end)
        return;
    if (links[at].offset > offset) {
        source->size = links[at].offset - offset;
        return;
    }
    source->kind = links[at].sender == SLC_NO_CALL ? SLC_SOURCE_MEMORY : SLC_SOURCE_CALL;
    source->size = links[at].offset + links[at].size - offset;
    source->at = links[at].from + (offset - links[at].offset);
    if (source->kind == SLC_SOURCE_CALL)
        source->at += channels->places[links[at].sender];
}

/* ---- where they went ---- */

static void count_receipts(struct slc_channels *channels)
{
    for (size_t i = 0; i < channels->link_count; i++)
        if (channels->links[i].sender != SLC_NO_CALL)
            channels->first_receipts[channels->links[i].sender + 2]++;
    for (size_t i = 2; i < channels->count + 2; i++)
        channels->first_receipts[i] += channels->first_receipts[i - 1];
}

static int make_receipts(struct slc_channels *channels)
{
    channels->first_receipts = calloc(channels->count + 3, sizeof(*channels->first_receipts));
    channels->receipts = malloc((channels->link_count + 1) * sizeof(*channels->receipts));
    if (!channels->first_receipts || !channels->receipts)
        return -ENOMEM;
    count_receipts(channels);
    for (uint32_t r = 0; r < channels->count; r++)
        for (size_t i = channels->first_links[r]; i < channels->first_links[r + 1]; i++) {
            const struct slc_link *link = &channels->links[i];
            if (link->sender != SLC_NO_CALL)
                channels->receipts[channels->first_receipts[link->sender + 1]++] =
                    (struct slc_receipt){r, link->from, link->offset, link->size};
        }
    return 0;
}

int slc_channels_receipts(struct slc_channels *channels, uint32_t sender,
                          const struct slc_receipt **list, size_t *count)
{
    int err = 0;

    assert(sender < channels->count);
    if (!channels->first_links)
        err = slc_channels_link(channels);
    if (!err && !channels->receipts)
        err = make_receipts(channels);
    if (err)
        return err;
    *list = channels->receipts + channels->first_receipts[sender];
    *count = channels->first_receipts[sender + 1] - channels->first_receipts[sender];
    return 0;
}
