/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes queue entries into a buffer, and splits those that would become too large. */
#ifndef RECORDER_FEED_FEED_ENTRY_H
#define RECORDER_FEED_FEED_ENTRY_H

#include <stddef.h>

#include "common/buf.h"
#include "recorder/event/queue.h"

/* Zeroed by its holder, who sets `out`; NULL: nothing is written, everything succeeds. */
struct feed_builder {
    struct wd_buf *out;
    size_t at;             /* where the open entry begins in `out` */
    struct evq_entry head; /* of the entry that was begun; bytes and op_count are not kept here */
};

/* Begins an entry, which is whole at any time: there is no end to say.  kind, flags, task, frame,
 *                                                                       number, code, address and
 *                                                                       compare_mask are taken
 * from `head`. `regs` may be NULL. 0 or -ENOMEM. */
int feed_entry_begin(struct feed_builder *builder, const struct evq_entry *head,
                     const struct evq_regs *regs);

/*
 * Appends an op (its `bytes` is computed) with its payload. If the entry is full, the ops go on in
 * another one: an entry that runs keeps its place and EVQ_OPS follow it; an immediate one, which
 * ends something, becomes EVQ_OPS and is begun again. 0 or -ENOMEM.
 */
int feed_entry_op(struct feed_builder *builder, const struct evq_op *op, const void *payload,
                  size_t payload_bytes);

#endif
