/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From Cap'n Proto messages to the structs of rr_trace.h. Variable parts go to the arena, byte
 * strings (rrt_bytes, registers, siginfo) stay in the message: results last as long as both. */
#ifndef RECORDER_RR_TRACE_TRACE_DECODE_H
#define RECORDER_RR_TRACE_TRACE_DECODE_H

#include "recorder/rr_trace/capnp.h"
#include "recorder/rr_trace/frame_arena.h"
#include "recorder/rr_trace/rr_trace.h"

/* All give 0, -WETDBG_ERR_CORRUPT, -WETDBG_ERR_VERSION, -WETDBG_ERR_UNSUPPORTED or -ENOMEM. */

/* Fills all but the time, the mappings and the task events; `writes` without their bytes. */
int rrt_decode_frame(struct rrt_message *message, struct rrt_arena *arena, struct rrt_frame *frame);

int rrt_decode_mmap(struct rrt_message *message, struct rrt_arena *arena, struct rrt_mmap *map);
int rrt_decode_task_event(struct rrt_message *message, struct rrt_arena *arena,
                          struct rrt_task_event *event);

/* The frame time of an MMap or TaskEvent message, without decoding the rest. */
int rrt_decode_time(struct rrt_message *message, uint64_t *time);

/* header->cpuid points into the arena. */
int rrt_decode_header(struct rrt_message *message, struct rrt_arena *arena,
                      struct rrt_header *header);

#endif
