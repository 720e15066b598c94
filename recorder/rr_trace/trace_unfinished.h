/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How far a recording goes that did not end: rr was killed, the machine went down, the disk was
 * full. rr writes its four streams in blocks, each on its own, so they end at different frames; and
 * two thirds of what a short recording consists of may never have left rr's memory.
 *
 * A frame counts if all that belongs to it is there. Memory contents are missing where `data` ends.
 * Mappings cannot be made up, so the frames end where the first one might lack a mapping. Task
 * events can: what they say follows from the frames (lost_tasks.h).
 */
#ifndef RECORDER_RR_TRACE_TRACE_UNFINISHED_H
#define RECORDER_RR_TRACE_TRACE_UNFINISHED_H

#include "recorder/rr_trace/rr_trace.h"

struct rrt_unfinished;

/* Reads the trace, which is at its first frame and skips data. `was_closed`: rr gave up by itself,
 * and its streams are whole. On success *out is the caller's, to rrt_unfinished_free(). Errors as
 * of rrt_next(), of damage that no cut explains. */
int rrt_unfinished_find(struct wetdbg_recording *trace, bool was_closed,
                        struct rrt_unfinished **out);
void rrt_unfinished_free(struct rrt_unfinished *unfinished); /* NULL is fine */

/* The last frame that counts; 0: the first program's start is not among those that would. */
uint64_t rrt_unfinished_last(const struct rrt_unfinished *unfinished);

/* The task events of a frame whose records were lost, borrowed. Returns how many there are. */
size_t rrt_unfinished_tasks(const struct rrt_unfinished *unfinished, uint64_t time,
                            const struct rrt_task_event **events);

#endif
