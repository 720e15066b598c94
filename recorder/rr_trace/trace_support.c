/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Says early, and with the way out, that a recording cannot be replayed by us. */

#include <sys/syscall.h>

#include "recorder/rr_trace/rr_trace.h"
#include "recorder/rr_trace/trace_internal.h"
#include <wetdbg/errors.h>

/* Results above, taken as unsigned, are errors. */
#define ERROR_RESULT_MIN ((uint64_t)-4096)

static int refuse(const struct wetdbg_recording *trace, const struct rrt_frame *frame,
                  const char *what)
{
    return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "%s: frame %lu: %s", rrt_trace_dir(trace),
                       (unsigned long)frame->time, what);
}

static int check_syscall(const struct wetdbg_recording *trace, const struct rrt_frame *frame)
{
    const struct rrt_syscall *call = &frame->syscall;
    bool has_failed = frame->has_regs && (int64_t)frame->regs.rax < 0;
    if (call->arch != RRT_ARCH_X86_64)
        return refuse(trace, frame,
                      "a system call of the 32-bit kind (int 0x80), which is not supported");
    bool has_traced =
        call->state == RRT_SYSCALL_EXITING && call->number == SYS_ptrace && !has_failed;
    if (call->state == RRT_SYSCALL_ENTERING_PTRACE || has_traced)
        return refuse(trace, frame,
                      "the recorded programs trace each other (ptrace), which is not supported; "
                      "record the program without its debugger or tracer");
    return 0;
}

static bool has_task_event(const struct rrt_frame *frame, enum rrt_task_kind kind)
{
    for (size_t i = 0; i < frame->task_count; i++)
        if (frame->tasks[i].kind == kind)
            return true;
    return false;
}

/* What a frame says happened has to be in the other streams too: a stream that was cut between
 * two of its blocks shows only here. */
static int check_streams_agree(const struct wetdbg_recording *trace, const struct rrt_frame *frame)
{
    const struct rrt_syscall *call = &frame->syscall;
    const char *missing = NULL;
    if (frame->event == RRT_EVENT_EXIT && !has_task_event(frame, RRT_TASK_EXIT))
        missing = "tasks: no record of a task's end";
    if (frame->event == RRT_EVENT_SYSCALL && call->state == RRT_SYSCALL_EXITING &&
        frame->regs.rax <= ERROR_RESULT_MIN) {
        bool is_exec = rrt_is_exec(frame);
        if (is_exec && !has_task_event(frame, RRT_TASK_EXEC))
            missing = "tasks: no record of a new program";
        else if ((is_exec || call->number == SYS_mmap) && frame->mmap_count == 0)
            missing = "mmaps: no record of a new mapping";
    }
    if (!missing)
        return 0;
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s/%s at frame %lu", rrt_trace_dir(trace), missing,
                       (unsigned long)frame->time);
}

static int check_frame(const struct wetdbg_recording *trace, const struct rrt_frame *frame)
{
    if (frame->arch != RRT_ARCH_X86_64)
        return refuse(trace, frame, "a 32-bit program, which is not supported");
    for (size_t i = 0; i < frame->task_count; i++)
        if (frame->tasks[i].kind == RRT_TASK_DETACH)
            return refuse(trace, frame,
                          "a process was detached from the recording, so what it did is unknown");
    switch (frame->event) {
    case RRT_EVENT_SYSCALL:
        return check_syscall(trace, frame);
    default:
        return 0;
    }
}

int rrt_check_supported(struct wetdbg_recording *trace)
{
    struct wetdbg_recording *scan;
    struct rrt_frame frame;
    int r = rrt_reopen(trace, &scan);
    if (r != 0)
        return r;
    rrt_set_skip_data(scan, true);
    bool is_empty = true;
    while ((r = rrt_next(scan, &frame)) > 0) {
        is_empty = false;
        r = check_frame(scan, &frame);
        if (r == 0)
            r = check_streams_agree(scan, &frame);
        if (r != 0)
            break;
    }
    if (r == 0 && is_empty)
        r = wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "%s: the recording holds no event",
                        rrt_trace_dir(trace));
    wetdbg_recording_close(scan);
    return r;
}
