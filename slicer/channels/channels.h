/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bytes that left the program's memory and came back: what a call put into a file, a pipe or a pair
 * of sockets, and which call delivered it again, byte by byte.
 *
 *   memory ── write ──▶ file, pipe, pair ── read, mmap ──▶ memory
 *                            │    ▲
 *                            └────┘ splice, sendfile, copy_file_range, tee
 *
 * A file that a shared mapping shows is that memory, for as long: who reads it gets what is there,
 * and who writes it writes there.
 *
 * Made from the run's events in one pass, without running an instruction; only for paths, for lists
 * of buffers and for the bytes that were sent intervals are run, when somebody asks. Files are the
 * same if the run's calls say so, by paths (slicer/channels/channel_names.h) or by device and
 * inode; where in a file a call was, slicer/descriptors.h tells. Pipes and pairs hand bytes on in
 * the order in which calls ended.
 *
 * A file may be written by others, a pipe used by a child of which there is no trace: what a call
 * delivered came from a sender only if the sender had the same byte in its buffer, which who
 * follows it has to see to. From the moment on that a pipe has gone to a child nothing is known of
 * it. Not followed: descriptors that come in messages, files of more than 4 GiB; symbolic links
 * that were there before the run, where no inode tells what they lead to; ahead, what another
 * thread reads of a splice that has not come back yet; by an origin, what a splice waited for.
 */
#ifndef SLICER_CHANNELS_CHANNELS_H
#define SLICER_CHANNELS_CHANNELS_H

#include "slicer/descriptors.h"

#define SLC_NO_CALL UINT32_MAX

struct slc_channels;

/* Passes over the run's events. *out is for slc_channels_free(), before the wet is closed. 0,
 * -ENOMEM or errors of the wet. */
int slc_channels_make(struct wetdbg *wet, struct slc_channels **out);
void slc_channels_free(struct slc_channels *channels);

/* The descriptors that they were made from. Lives as long as `channels`. */
struct slc_files *slc_channels_files(struct slc_channels *channels);

/* ---- calls ---- */

/* What a call did, by number: it sent or delivered bytes. */
const struct slc_transfer *slc_channels_call(const struct slc_channels *channels, uint32_t number);

/* The call that delivered what came with that event of the recording, if bytes of it may have been
 * sent by the run; else SLC_NO_CALL. 0 or an error: paths may have to be read. */
int slc_channels_receiver(struct slc_channels *channels, uint64_t event, uint32_t *number);
/* What else came with the same event, as messages of one recvmmsg do; SLC_NO_CALL: nothing. */
uint32_t slc_channels_next_receiver(const struct slc_channels *channels, uint32_t number);

/* The call that ended as the i-th, from 0; SLC_NO_CALL behind the last one. */
uint32_t slc_channels_ended(const struct slc_channels *channels, uint32_t i);

/* How many bytes a call's descriptor had put out before it: calls in the order in which they ended.
 */
uint64_t slc_channels_put_out(const struct slc_channels *channels, uint32_t number);

/*
 * The first sender of a time; SLC_NO_CALL if there is none. Those that follow in number are of the
 * same time as long as slc_channels_call() says so. One of kind SLC_TRANSFER_UNMAP sends what a
 * shared mapping held: no instruction's doing.
 */
uint32_t slc_channels_sender(const struct slc_channels *channels, wetdbg_time time);

/* Whether what a call sent may come back to the run: so that few have to be asked for their
 * receipts. */
bool slc_channels_may_return(const struct slc_channels *channels, uint32_t sender);

/* Whether calls may deliver what memory holds: the run had a shared mapping, or copied its own
 * memory by process_vm_readv. */
bool slc_channels_shares(const struct slc_channels *channels);

/* ---- where bytes came from ---- */

/*
 * The bytes that calls sent have places: all those of one call lie side by side, from
 * slc_channels_first() on, and no two calls share one.
 */
uint64_t slc_channels_first(const struct slc_channels *channels, uint32_t sender);
uint32_t slc_channels_sender_of(const struct slc_channels *channels, uint64_t place);

enum slc_source_kind {
    SLC_SOURCE_OUTSIDE, /* the run did not send them, or nobody knows */
    SLC_SOURCE_CALL,    /* at `at` is the place of the first one */
    /* they are what a shared mapping held at address `at` when the call was made */
    SLC_SOURCE_MEMORY,
};

struct slc_source {
    enum slc_source_kind kind;
    uint64_t at;
    uint64_t size; /* so many bytes, 1 or more, have it in common, and lie side by side */
};

/* To be called before slc_channels_source(), if slc_channels_receiver() has not found the call. 0
 * or an error. */
int slc_channels_need_links(struct slc_channels *channels);

/* Where the bytes that `receiver` delivered, or passed on, came from, from its byte `offset` on. */
void slc_channels_source(const struct slc_channels *channels, uint32_t receiver, uint64_t offset,
                         struct slc_source *source);

/* Who got a piece of what a call sent. */
struct slc_receipt {
    uint32_t receiver;
    uint64_t sent, received, size; /* offsets in what the calls sent and got */
};
/* Receipts of what `sender` sent, in no order; valid as long as `channels`. 0 or -ENOMEM. */
int slc_channels_receipts(struct slc_channels *channels, uint32_t sender,
                          const struct slc_receipt **list, size_t *count);

/* ---- where they were in memory ---- */

struct slc_span {
    uint64_t address, size;
};

/* Buffers of a call, and the list that named them (of size 0 if there was none). */
struct slc_buffers {
    const struct slc_span *spans;
    size_t count;
    struct slc_span list;
};

/* The buffers of a call, in the order of its bytes and of as many as it moved. Runs an interval the
 * first time, if there is a list that the wet's table of outputs has not. Valid until another
 * call's are asked for. */
int slc_channels_buffers(struct slc_channels *channels, uint32_t number,
                         struct slc_buffers *buffers);

/* The address of byte `offset` of a call; false if it is in no buffer. */
bool slc_buffers_address(const struct slc_buffers *buffers, uint64_t offset, uint64_t *address);
/* The byte of a call that is at an address; false if none is. */
bool slc_buffers_offset(const struct slc_buffers *buffers, uint64_t address, uint64_t *offset);

/* What a sender had in its buffers: as many bytes as it sent; NULL if they cannot be read. Runs an
 * interval the first time. Valid until another call's are asked for. */
int slc_channels_sent(struct slc_channels *channels, uint32_t sender, const uint8_t **bytes);

/* What a mapping held when it was made, of what calls of the run had sent: as many bytes as it has;
 * NULL if they cannot be read. Runs an interval the first time. Valid until another call's bytes
 * are asked for. */
int slc_channels_mapped(struct slc_channels *channels, uint32_t receiver, const uint8_t **bytes);

#endif
