/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries of the event queue as a .wet file keeps them. */
#ifndef WET_TRACE_STORED_ENTRY_H
#define WET_TRACE_STORED_ENTRY_H

#include <stdbool.h>

#include "common/buf.h"
#include "recorder/event/ops.h"
#include "wet/trace/space.h"

/* Whether the task runs to the entry, perhaps no instruction at all: the other kinds are taken
 * where it stands. */
bool wet_entry_is_reached(const struct evq_entry *entry);

/* Bits of enum evq_place_flags: what is known of a place only once it has been found. */
#define WET_PLACE_FOUND (EVQ_PLACE_AMBIGUOUS | EVQ_PLACE_MID_REP)

/*
 * Appends the entry, taken after `time` instructions of the run, in the form that an interval can
 * be run again from:
 *  - EVQ_OP_DISCARD: run again, a mapping's source is the memory at the interval's start and no
 *    longer the file or the zeros that the op means, so these are named. `space` has the views of
 *    that moment.
 *  - EVQ_OP_PLACE has its time and nothing that it was found by.
 *  - ticks are left out: they count from where the task began.
 */
int wet_entry_for_store(const struct wet_space *space, const struct evq_entry *entry, uint64_t time,
                        struct wd_buf *out);

/*
 * Makes an EVQ_OPS entry of a task at the end of `out`, for a replayee that is to begin in the
 * midst of a run: begins it, and *at is where; appends an op, of which `bytes` bytes of payload
 * follow, padded; ends it, whose size and number of ops are known then. 0 or -ENOMEM.
 */
int wet_entry_open(struct wd_buf *out, uint32_t task, size_t *at);
int wet_entry_add_op(struct wd_buf *out, const struct evq_op *op, const void *payload,
                     size_t bytes);
struct evq_entry *wet_entry_close(struct wd_buf *out, size_t at, uint32_t op_count);

/* Size of this machine's standard XSAVE image. */
uint32_t wet_xsave_bytes(void);

#endif
