/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/scan/lengths.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/page.h"
#include "slicer/call_events.h"
#include "slicer/syscalls.h"
#include <wetdbg/errors.h>

#define STRING_MAX 4096 /* bytes of a path, its zero included */
#define PIECE_MAX  128
#define BATCH_MAX  64 /* strings that one run reads: a stop takes some 0.1 ms */

/* ---- what is known ---- */

void slc_lengths_fini(struct slc_lengths *lengths)
{
    free(lengths->list);
    *lengths = (struct slc_lengths){0};
}

/* The length of a string, or the free place where it goes; there always is one. */
static struct slc_length *length_at(const struct slc_lengths *lengths, wetdbg_time time,
                                    uint64_t address)
{
    struct slc_length *list = lengths->list;

    assert(lengths->count < lengths->capacity);
    return &list[wd_hash_find((wd_hash_u64(time) ^ address) >> 20, lengths->capacity, i,
                              list[i].time == 0 ||
                                  (list[i].time == time && list[i].address == address))];
}

/* Room for a batch. */
static int lengths_grow(struct slc_lengths *lengths)
{
    struct slc_lengths old = *lengths;

    if ((old.count + BATCH_MAX) * 2 <= old.capacity)
        return 0;
    lengths->capacity = old.capacity ? old.capacity * 2 : 4 * BATCH_MAX;
    lengths->list = calloc(lengths->capacity, sizeof(*lengths->list));
    if (!lengths->list) {
        *lengths = old;
        return -ENOMEM;
    }
    for (size_t i = 0; i < old.capacity; i++)
        if (old.list[i].time)
            *length_at(lengths, old.list[i].time, old.list[i].address) = old.list[i];
    free(old.list);
    return 0;
}

/* ---- a batch ---- */

struct batch {
    struct slc_length list[BATCH_MAX]; /* latest first */
    size_t count;
};

static void batch_add(struct batch *batch, const struct slc_lengths *lengths, wetdbg_time time,
                      uint64_t address)
{
    if (batch->count < BATCH_MAX && address && !length_at(lengths, time, address)->time)
        batch->list[batch->count++] = (struct slc_length){.time = time, .address = address};
}

/* Fills a batch with strings of the calls before `time`. */
static void batch_fill(struct batch *batch, const struct slc_lengths *lengths,
                       const struct wet_interval *interval, wetdbg_time time)
{
    for (size_t i = interval->event_count; i-- > 0 && batch->count < BATCH_MAX;) {
        const struct wet_event *event = &interval->events[i];
        if (event->time < interval->first_time)
            return;
        if (event->time >= time || event->entry->kind != EVQ_SYSCALL_ENTER)
            continue;
        const struct evq_regs *regs = evq_entry_regs(event->entry);
        const struct slc_syscall *syscall = regs ? slc_syscall_find(event->entry->number) : NULL;
        for (unsigned a = 0; syscall && a < SLC_SYSCALL_ARGS; a++)
            if (syscall->args[a].kind == SLC_ARG_PATH)
                batch_add(batch, lengths, event->time, regs->r[slc_syscall_reg[a]]);
    }
}

/* The length of a string up to its zero; what cannot be read ends it. */
static uint64_t read_length(struct wetdbg_state *state, uint64_t address)
{
    uint64_t bytes = 0;

    while (bytes < STRING_MAX) {
        uint8_t piece[PIECE_MAX];
        size_t room = wd_page_left(address + bytes); /* of a page all or nothing can be read */
        size_t count = room < sizeof(piece) ? room : sizeof(piece);
        if (wetdbg_state_read(state, address + bytes, piece, count))
            break;
        const uint8_t *zero = memchr(piece, 0, count);
        if (zero)
            return bytes + (uint64_t)(zero - piece) + 1;
        bytes += count;
    }
    return bytes < STRING_MAX ? bytes : STRING_MAX;
}

static int batch_read(const struct batch *batch, struct wetdbg *wet, struct slc_lengths *lengths)
{
    wetdbg_time now = batch->list[batch->count - 1].time;
    struct wetdbg_state *state;
    int err = wetdbg_state_open(wet, now, &state);

    if (err)
        return err;
    for (size_t i = batch->count; i-- > 0 && !err;) {
        struct slc_length read = batch->list[i];
        if (read.time != now)
            err = wetdbg_state_advance(state, read.time);
        now = read.time;
        if (err)
            break;
        read.bytes = read_length(state, read.address);
        struct slc_length *own = length_at(lengths, read.time, read.address);
        lengths->count += own->time == 0;
        *own = read;
    }
    wetdbg_state_close(state);
    return err;
}

int slc_lengths_get(struct slc_lengths *lengths, struct wetdbg *wet,
                    const struct wet_interval *interval, wetdbg_time time, uint64_t address,
                    uint64_t *bytes)
{
    struct batch batch = {.count = 0};
    int err = lengths_grow(lengths);

    if (!err && !length_at(lengths, time, address)->time) {
        batch_add(&batch, lengths, time, address);
        batch_fill(&batch, lengths, interval, time);
        err = batch_read(&batch, wet, lengths);
    }
    if (!err)
        *bytes = length_at(lengths, time, address)->bytes;
    return err;
}
