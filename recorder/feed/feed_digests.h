/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The digests of memory that a recording without hardware ticks has beside its frames
 * (recorder/ticks/digest_format.h), and which of them belongs to a frame.
 *
 * Of each record only its task and a hash of its registers are kept in memory; the record itself
 * is read when a frame asks for it. What is in the file is untrusted.
 */
#ifndef RECORDER_FEED_FEED_DIGESTS_H
#define RECORDER_FEED_FEED_DIGESTS_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/rr_trace/rr_trace.h"
#include "recorder/ticks/digest_format.h"

struct feed_digests;

/* Whether the recording says of itself that its ticks mean nothing. */
bool feed_digests_ticks_are_software(const struct wetdbg_recording *trace);

/*
 * Opens the digests in the directory `dir_fd`. *out is NULL if there are none, or nothing but a
 * header that was cut short, or of an earlier version. 0; -WETDBG_ERR_CORRUPT for a file of another
 * kind or version; -EIO; -ENOMEM. A record at the end that is not whole is passed over.
 */
int feed_digests_open(int dir_fd, struct feed_digests **out);
void feed_digests_close(struct feed_digests *digests); /* NULL is fine */

/* Whether the hashes of lines are there too. NULL: no. */
bool feed_digests_have_lines(const struct feed_digests *digests);

/* Reads `count` hashes of lines, from tck_stop.lines_at on. -WETDBG_ERR_CORRUPT if the file is
 * shorter; -EIO. */
int feed_digests_lines(const struct feed_digests *digests, uint64_t lines_at, uint32_t count,
                       uint64_t *out);

/* To be called when frames come from the start again. NULL is fine. */
void feed_digests_rewind(struct feed_digests *digests);

size_t feed_digests_count(const struct feed_digests *digests); /* NULL: 0 */

/*
 * The record of a SCHED or SIGNAL frame: 1 and *stop; 0 if there is none (always so for other
 * frames, and when `digests` is NULL); -WETDBG_ERR_CORRUPT for a record with impossible ranges;
 * -EIO. All frames have to be given, in their order: the records of a task are used up by them.
 */
int feed_digests_take(struct feed_digests *digests, const struct rrt_frame *frame,
                      struct tck_stop *stop);

#endif
