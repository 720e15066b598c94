/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Task events whose records were lost with the end of the stream `tasks`, made again from the
 * frames: rr writes them 64 KiB at a time, so that of most recordings that did not end there are
 * none at all.
 *
 * A clone's child is named by what the call wrote, else by the call's result or by the first frame
 * of an unknown task, whichever comes first; a program and its arguments are on its first stack; a
 * wait status is that of exit or exit_group, or the fatal signal, else SIGKILL, which no frame
 * tells. Not known are whether a core was dumped, and a task's number in a namespace of its own.
 */
#ifndef RECORDER_RR_TRACE_LOST_TASKS_H
#define RECORDER_RR_TRACE_LOST_TASKS_H

#include <stdbool.h>

#include "recorder/rr_trace/rr_trace.h"

struct rrt_lost_tasks;

int rrt_lost_tasks_new(struct rrt_lost_tasks **out);   /* 0 or -ENOMEM */
void rrt_lost_tasks_free(struct rrt_lost_tasks *lost); /* NULL is fine */

/*
 * Takes the next frame, with the task events that are left, and execs with their data. `has_more`:
 * later records are left, so that none of this frame's is lost. 1; 0: what happened to tasks here
 * cannot be told, so the frames end before this one; or -ENOMEM.
 */
int rrt_lost_tasks_note(struct rrt_lost_tasks *lost, const struct rrt_frame *frame, bool has_more);

/* After the last frame: the last one that counts, at most `last`. */
uint64_t rrt_lost_tasks_finish(struct rrt_lost_tasks *lost, uint64_t last);

/* After that: the events of a frame, borrowed. Returns how many there are. */
size_t rrt_lost_tasks_at(const struct rrt_lost_tasks *lost, uint64_t time,
                         const struct rrt_task_event **events);

#endif
