/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of the program's output, and of its crash, a forward slice came to. */
#ifndef SLICER_FORWARD_REACHED_H
#define SLICER_FORWARD_REACHED_H

#include "slicer/forward/forward.h"

/* Finds the output, and the crash, if the run ended by one: *crash is for the caller to free. 0 or
 * an error. */
int slc_reached_init(struct slc_forward *fwd, struct wetdbg_criterion **crash);

/* Before each pass. */
void slc_reached_restart(struct slc_forward *fwd);

/* The next time, `from` or later, at which something is to be looked at; UINT64_MAX if there is
 * none. */
wetdbg_time slc_reached_next(struct slc_forward *fwd, wetdbg_time from);

/* To be called just before the instruction at `time`. 0 or an error. */
int slc_reached_pass(struct slc_forward *fwd, struct slc_fwd_task *task,
                     const struct slc_node *node, uint32_t statement, wetdbg_time time);

/* Of what a call took from one descriptor and put into another, these bytes are marked: if that was
 * output, it was reached. 0 or an error. */
int slc_reached_passed(struct slc_forward *fwd, uint32_t call, uint64_t first, uint64_t size);

/* At the end of a pass. 0 or an error. */
int slc_reached_end(struct slc_forward *fwd);

#endif
