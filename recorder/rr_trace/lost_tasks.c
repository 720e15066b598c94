/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/rr_trace/lost_tasks.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "common/array.h"
#include "common/bisect.h"
#include "recorder/rr_trace/exec_stack.h"
#include "recorder/rr_trace/frame_arena.h"
#include "recorder/rr_trace/trace_internal.h"

#define NO_STATUS (-1)

struct task {
    int tid, tgid;
    int wait_status; /* NO_STATUS: nothing has ended it */
    bool is_in_exec;
    bool is_cloning; /* a child is awaited, which nothing has named yet */
    struct rrt_task_event clone;
};

struct rrt_lost_tasks {
    struct rrt_arena arena; /* strings of execs */
    struct rrt_task_event *events;
    size_t count;
    struct task *live;
    size_t live_count;
};

int rrt_lost_tasks_new(struct rrt_lost_tasks **out)
{
    *out = calloc(1, sizeof(**out));
    return *out ? 0 : -ENOMEM;
}

void rrt_lost_tasks_free(struct rrt_lost_tasks *lost)
{
    if (!lost)
        return;
    free(lost->events);
    free(lost->live);
    rrt_arena_fini(&lost->arena);
    free(lost);
}

static struct rrt_task_event event_of(const struct rrt_frame *frame, enum rrt_task_kind kind)
{
    static const char *const no_argv[] = {NULL};
    return (struct rrt_task_event){.time = frame->time,
                                   .tid = frame->tid,
                                   .kind = kind,
                                   .exec_file = "",
                                   .interp = "",
                                   .argv = no_argv};
}

/* ---- live tasks ---- */

static struct task *find_live(struct rrt_lost_tasks *lost, int tid)
{
    for (size_t i = lost->live_count; i-- > 0;)
        if (lost->live[i].tid == tid)
            return &lost->live[i];
    return NULL;
}

static int add_live(struct rrt_lost_tasks *lost, int tid, int tgid)
{
    if (wd_grow_one(lost->live, lost->live_count))
        return -ENOMEM;
    lost->live[lost->live_count++] =
        (struct task){.tid = tid, .tgid = tgid, .wait_status = NO_STATUS};
    return 0;
}

static void remove_live(struct rrt_lost_tasks *lost, int tid)
{
    struct task *task = find_live(lost, tid);
    if (task)
        *task = lost->live[--lost->live_count];
}

static int add_child(struct rrt_lost_tasks *lost, const struct rrt_task_event *event)
{
    const struct task *parent = find_live(lost, event->parent_tid);
    bool is_thread = event->clone_flags & CLONE_THREAD;
    return add_live(lost, event->tid, is_thread && parent ? parent->tgid : event->tid);
}

static int push(struct rrt_lost_tasks *lost, const struct rrt_task_event *event)
{
    if (wd_grow_one(lost->events, lost->count))
        return -ENOMEM;
    lost->events[lost->count++] = *event;
    return 0;
}

/* Follows the events that are left of a frame. */
static int follow(struct rrt_lost_tasks *lost, const struct rrt_frame *frame)
{
    int err = 0;
    for (size_t i = 0; i < frame->task_count && !err; i++) {
        const struct rrt_task_event *event = &frame->tasks[i];
        if (event->kind == RRT_TASK_CLONE)
            err = add_child(lost, event);
        else if (event->kind != RRT_TASK_EXEC)
            remove_live(lost, event->tid);
    }
    return err;
}

/* ---- clones ---- */

static int flags_of(const struct rrt_frame *frame)
{
    switch (frame->syscall.number) {
    case SYS_clone:
        return (int)frame->regs.rdi;
    case SYS_vfork:
        return CLONE_VM | CLONE_VFORK | SIGCHLD;
    default:
        return SIGCHLD;
    }
}

static int name_child(struct rrt_lost_tasks *lost, struct task *parent, int tid)
{
    struct rrt_task_event event = parent->clone;
    event.tid = event.own_ns_tid = tid;
    parent->is_cloning = false;
    int err = push(lost, &event);
    return err ? err : add_child(lost, &event);
}

static int begin_clone(struct rrt_lost_tasks *lost, struct task *task,
                       const struct rrt_frame *frame)
{
    task->clone = event_of(frame, RRT_TASK_CLONE);
    task->clone.parent_tid = frame->tid;
    task->clone.clone_flags = flags_of(frame);
    for (size_t i = 0; i < frame->write_count; i++)
        if (frame->writes[i].tid > 0 && frame->writes[i].tid != frame->tid)
            return name_child(lost, task, frame->writes[i].tid);
    task->is_cloning = true;
    return 0;
}

static int end_clone(struct rrt_lost_tasks *lost, struct task *task, const struct rrt_frame *frame)
{
    int64_t result = (int64_t)frame->regs.rax;
    task->is_cloning = false;
    return result > 0 && result <= INT32_MAX && !find_live(lost, (int)result)
               ? name_child(lost, task, (int)result)
               : 0;
}

/* A task that nobody has named is the child that somebody awaits: 1; 0 if nobody does, or two. */
static int welcome(struct rrt_lost_tasks *lost, int tid)
{
    struct task *parent = NULL;
    for (size_t i = 0; i < lost->live_count; i++) {
        if (lost->live[i].is_cloning && parent)
            return 0;
        if (lost->live[i].is_cloning)
            parent = &lost->live[i];
    }
    int err = parent ? name_child(lost, parent, tid) : 0;
    return err ? err : parent != NULL;
}

/* ---- ends ---- */

static void end_group(struct rrt_lost_tasks *lost, int tgid, int wait_status)
{
    for (size_t i = 0; i < lost->live_count; i++)
        if (lost->live[i].tgid == tgid && lost->live[i].wait_status == NO_STATUS)
            lost->live[i].wait_status = wait_status;
}

static void note_ending(struct rrt_lost_tasks *lost, struct task *task,
                        const struct rrt_frame *frame)
{
    bool is_entering =
        frame->event == RRT_EVENT_SYSCALL && frame->syscall.state == RRT_SYSCALL_ENTERING;
    int status = (int)(frame->regs.rdi & 0xff) << 8;
    if (is_entering && frame->syscall.number == SYS_exit)
        task->wait_status = status;
    else if (is_entering && frame->syscall.number == SYS_exit_group)
        end_group(lost, task->tgid, status);
    else if (frame->event == RRT_EVENT_SIGNAL_DELIVERY &&
             frame->signal.disposition == RRT_DISPOSITION_FATAL)
        end_group(lost, task->tgid, frame->signal.number);
}

/* Whether another thread of the process runs a program, which ends all others; that is told with
 * status 0. */
static bool gives_way(const struct rrt_lost_tasks *lost, const struct task *task)
{
    for (size_t i = 0; i < lost->live_count; i++)
        if (lost->live[i].tgid == task->tgid && lost->live[i].is_in_exec)
            return &lost->live[i] != task;
    return false;
}

static int end_task(struct rrt_lost_tasks *lost, const struct task *task,
                    const struct rrt_frame *frame)
{
    struct rrt_task_event event = event_of(frame, RRT_TASK_EXIT);
    event.wait_status = task->wait_status != NO_STATUS ? task->wait_status
                        : gives_way(lost, task)        ? 0
                                                       : SIGKILL;
    int err = push(lost, &event);
    remove_live(lost, frame->tid);
    return err;
}

/* ---- frame by frame ---- */

static int add_exec(struct rrt_lost_tasks *lost, const struct rrt_frame *frame)
{
    struct rrt_task_event event = event_of(frame, RRT_TASK_EXEC);
    int err = rrt_exec_stack_read(frame, &lost->arena, &event);
    return err ? err : push(lost, &event);
}

/* Makes the events of a frame whose records are lost. As rrt_lost_tasks_note(). */
static int make_up(struct rrt_lost_tasks *lost, struct task *task, const struct rrt_frame *frame)
{
    int err = 0;
    bool is_exec = rrt_is_exec(frame);
    if (is_exec && !task->is_in_exec)
        return 0; /* by a thread that was not its process's first: two events more are lost */
    if (is_exec)
        err = add_exec(lost, frame);
    else if (frame->event == RRT_EVENT_EXIT)
        err = end_task(lost, task, frame);
    else if (rrt_is_clone(frame) && frame->syscall.state == RRT_SYSCALL_ENTERING &&
             !frame->syscall.failed_during_preparation)
        err = begin_clone(lost, task, frame);
    else if (rrt_is_clone(frame) && frame->syscall.state == RRT_SYSCALL_EXITING && task->is_cloning)
        err = end_clone(lost, task, frame);
    return err ? err : 1;
}

static void note_exec(struct task *task, const struct rrt_frame *frame)
{
    int number = frame->syscall.number;
    if (frame->event == RRT_EVENT_SYSCALL)
        task->is_in_exec = frame->syscall.state == RRT_SYSCALL_ENTERING &&
                           (number == SYS_execve || number == SYS_execveat);
}

/* 1 if the frame's task is known by now; 0 if nothing tells where it comes from. */
static int know(struct rrt_lost_tasks *lost, const struct rrt_frame *frame)
{
    bool is_first = lost->live_count == 0 && frame->time == 1;
    int err = is_first ? add_live(lost, frame->tid, frame->tid) : follow(lost, frame);
    if (err || find_live(lost, frame->tid) || frame->task_count > 0)
        return err ? err : 1;
    return welcome(lost, frame->tid);
}

/* Whether of the events of an exec only the first are left. */
static bool is_half(const struct rrt_frame *frame)
{
    return rrt_is_exec(frame) && frame->task_count > 0 &&
           frame->tasks[frame->task_count - 1].kind != RRT_TASK_EXEC;
}

int rrt_lost_tasks_note(struct rrt_lost_tasks *lost, const struct rrt_frame *frame, bool has_more)
{
    if (!has_more && is_half(frame))
        return 0;
    int r = know(lost, frame);
    struct task *task = find_live(lost, frame->tid);
    if (r <= 0 || !task)
        return r;
    if (!has_more && frame->task_count == 0)
        r = make_up(lost, task, frame);
    task = find_live(lost, frame->tid); /* a child may have moved it */
    if (r > 0 && task) {
        note_ending(lost, task, frame);
        note_exec(task, frame);
    }
    return r;
}

static int compare_times(const void *a, const void *b)
{
    const struct rrt_task_event *left = a, *right = b;
    return left->time < right->time ? -1 : left->time > right->time;
}

uint64_t rrt_lost_tasks_finish(struct rrt_lost_tasks *lost, uint64_t last)
{
    for (size_t i = 0; i < lost->live_count; i++)
        if (lost->live[i].is_cloning && lost->live[i].clone.time <= last)
            last = lost->live[i].clone.time - 1;
    if (lost->count)
        qsort(lost->events, lost->count, sizeof(*lost->events), compare_times);
    return last;
}

size_t rrt_lost_tasks_at(const struct rrt_lost_tasks *lost, uint64_t time,
                         const struct rrt_task_event **events)
{
    size_t first = wd_bisect(0, lost->count, i, lost->events[i].time < time), end = first;
    while (end < lost->count && lost->events[end].time == time)
        end++;
    *events = lost->events + first;
    return end - first;
}
