/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries of the event queue as a .wet file keeps them. */
#ifndef WET_TRACE_ENTRY_H
#define WET_TRACE_ENTRY_H

#include "common/buf.h"
#include "recorder/event/queue.h"
#include "wet/trace/space.h"

/* The op after `op`, the first one if `op` is NULL; NULL at the end. The entry has been checked. */
const struct evq_op *wet_entry_op(const struct evq_entry *entry, const struct evq_op *op);

/* The registers that the entry compares, or NULL; those that it loads (EVQ_OP_REGS), or NULL. */
const struct evq_regs *wet_entry_regs(const struct evq_entry *entry);
const struct evq_regs *wet_entry_loads(const struct evq_entry *entry);

/*
 * Appends the entry in the form that an interval can be run again from. Only EVQ_OP_DISCARD
 * differs: run again, a mapping's source is the memory at the interval's start and no longer the
 * file or the zeros that the op means, so these are named. `space` has the views of that moment.
 */
int wet_entry_for_store(const struct wet_space *space, const struct evq_entry *entry,
                        struct wd_buf *out);

/* Size of this machine's standard XSAVE image. */
uint32_t wet_xsave_bytes(void);

#endif
