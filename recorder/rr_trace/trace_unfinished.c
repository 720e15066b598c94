/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/rr_trace/trace_unfinished.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "recorder/rr_trace/lost_tasks.h"
#include "recorder/rr_trace/trace_internal.h"
#include <wetdbg/errors.h>

/* Results above, taken as unsigned, are errors. */
#define ERROR_RESULT_MIN ((uint64_t)-4096)

struct rrt_unfinished {
    uint64_t last;
    uint64_t first_exec;          /* 0: none was met */
    struct rrt_lost_tasks *tasks; /* NULL: rr itself closed the streams, nothing is lost */
};

bool rrt_is_exec(const struct rrt_frame *frame)
{
    const struct rrt_syscall *call = &frame->syscall;
    return frame->event == RRT_EVENT_SYSCALL && call->state == RRT_SYSCALL_EXITING &&
           (call->number == SYS_execve || call->number == SYS_execveat) && frame->has_regs &&
           frame->regs.rax <= ERROR_RESULT_MIN;
}

bool rrt_is_clone(const struct rrt_frame *frame)
{
    int number = frame->syscall.number;
    return frame->event == RRT_EVENT_SYSCALL &&
           (number == SYS_clone || number == SYS_fork || number == SYS_vfork);
}

/* ---- mappings ---- */

/* Whether a call that succeeded can have made a mapping of which rr keeps a record. */
static bool call_maps(const struct rrt_header *header, const struct rrt_frame *frame)
{
    int own = frame->syscall.number - header->rrcall_base;
    switch (frame->syscall.number) {
    case SYS_mmap:
    case SYS_mremap:
    case SYS_shmat:
    case SYS_execve:
    case SYS_execveat:
        return true;
    case SYS_brk: /* brk(0) only asks */
        return frame->regs.rdi != 0;
    default: /* rr's library asks rr for its buffer */
        return own == 0 || own == 1;
    }
}

/* Whether records of mappings may belong to a frame of this kind. */
static bool may_map(const struct rrt_header *header, const struct rrt_frame *frame)
{
    switch (frame->event) {
    case RRT_EVENT_GROW_MAP:
    case RRT_EVENT_PATCH_SYSCALL: /* places for rr's own code */
    case RRT_EVENT_PATCH_AFTER_SYSCALL:
    case RRT_EVENT_PATCH_VSYSCALL:
    case RRT_EVENT_PATCH_TRAPPING_INSTRUCTION:
        return true;
    case RRT_EVENT_SYSCALL:
        if (frame->syscall.state == RRT_SYSCALL_EXITING)
            return frame->regs.rax <= ERROR_RESULT_MIN && call_maps(header, frame);
        return rrt_is_clone(frame) && !frame->syscall.failed_during_preparation;
    default:
        return false;
    }
}

/* ---- the scan ---- */

/*
 * Whether the frame may lack records of mappings. Of the last ones that are left, others of the
 * same frame may have been lost.
 */
static bool may_lack_mmaps(const struct wetdbg_recording *trace, const struct rrt_frame *frame)
{
    return !rrt_has_more_mmaps(trace) &&
           (frame->mmap_count > 0 || may_map(rrt_trace_header(trace), frame));
}

static int scan(struct wetdbg_recording *trace, struct rrt_unfinished *found)
{
    struct rrt_frame frame;
    int r;
    while ((r = rrt_next(trace, &frame)) > 0) {
        if (found->tasks && may_lack_mmaps(trace, &frame))
            return 0;
        r = found->tasks ? rrt_lost_tasks_note(found->tasks, &frame, rrt_has_more_tasks(trace)) : 1;
        if (r <= 0)
            return r;
        found->last = frame.time;
        if (!found->first_exec && rrt_is_exec(&frame))
            found->first_exec = frame.time;
    }
    return r;
}

int rrt_unfinished_find(struct wetdbg_recording *trace, bool was_closed,
                        struct rrt_unfinished **out)
{
    struct rrt_unfinished *found = calloc(1, sizeof(*found));
    int r = found ? 0 : -ENOMEM;
    if (r == 0 && !was_closed)
        r = rrt_lost_tasks_new(&found->tasks);
    if (r == 0)
        r = scan(trace, found);
    if (r == 0 && found->tasks)
        found->last = rrt_lost_tasks_finish(found->tasks, found->last);
    if (r == 0 && (!found->first_exec || found->first_exec > found->last))
        found->last = 0;
    if (r < 0) {
        rrt_unfinished_free(found);
        return r;
    }
    *out = found;
    return 0;
}

void rrt_unfinished_free(struct rrt_unfinished *unfinished)
{
    if (!unfinished)
        return;
    rrt_lost_tasks_free(unfinished->tasks);
    free(unfinished);
}

uint64_t rrt_unfinished_last(const struct rrt_unfinished *unfinished)
{
    return unfinished->last;
}

size_t rrt_unfinished_tasks(const struct rrt_unfinished *unfinished, uint64_t time,
                            const struct rrt_task_event **events)
{
    return unfinished->tasks ? rrt_lost_tasks_at(unfinished->tasks, time, events) : 0;
}
