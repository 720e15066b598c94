/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bytes that went through the kernel, seen forward: slicer/channels/channels.h for a pass.
 *
 * A call that sends marked bytes marks them at their places among all that calls sent. A call that
 * delivers them, with the values that they had, marks what it delivered; and is in the slice, since
 * it uses what it brought back. slicer/scan/passed.h has the same rules backward.
 */
#ifndef SLICER_FORWARD_SENT_H
#define SLICER_FORWARD_SENT_H

#include "slicer/channels/channels.h"
#include "slicer/forward/forward.h"

void slc_sent_fini(struct slc_sent *sent);

/* Passes the begin of a task's call at `time`: marks what it sends. 0 or an error. */
int slc_fwd_send(struct slc_forward *fwd, struct slc_fwd_task *task, wetdbg_time time);

/* Marks bytes of the source that a call took from one descriptor and put into another. */
int slc_fwd_send_start(struct slc_forward *fwd, const struct slc_passed_bytes *bytes,
                       const struct slc_want *mark);

/* What a call delivered that is marked. All zero is nothing. */
struct slc_delivered {
    struct slc_span *spans;
    size_t count, capacity;
};

/* Finds what the call delivered of what is marked, by `events[index]` of the interval: before that
 * is written to memory. What it put into another descriptor is marked there. 0 or an error. */
int slc_fwd_receive(struct slc_forward *fwd, struct slc_fwd_task *task, size_t index,
                    struct slc_delivered *delivered);
/* Marks that in memory, after; and frees it. `err`: an error that there was already, or 0. */
int slc_fwd_deliver(struct slc_forward *fwd, const struct slc_fwd_task *task,
                    struct slc_delivered *delivered, int err);

/* Whether a call that is still to come may deliver something marked. */
bool slc_sent_waits(const struct slc_forward *fwd);

#endif
