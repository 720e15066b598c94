/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a program was run as, read from its first stack: arguments and auxiliary vector. */
#ifndef RECORDER_RR_TRACE_EXEC_STACK_H
#define RECORDER_RR_TRACE_EXEC_STACK_H

#include "recorder/rr_trace/frame_arena.h"
#include "recorder/rr_trace/rr_trace.h"

/* Fills in an EXEC event from the frame in which the exec ends, with its data; what the stack does
 * not hold stays empty. Strings go to the arena. 0 or -ENOMEM. */
int rrt_exec_stack_read(const struct rrt_frame *frame, struct rrt_arena *arena,
                        struct rrt_task_event *event);

#endif
