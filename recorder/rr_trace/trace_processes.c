/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which processes a recording holds. One scan over all frames follows the task events; a live
 * task belongs to one process, and numbers may be used again after a task's end.
 *
 * A process ends with its last task. Its wait status is that of its first task, as waitpid()
 * would give it; when that one never reported, that of the last task.
 *
 * When another task than the first one runs a new program, the kernel gives it the first one's
 * number. The recording tells this in one frame of the new number: the first task, which ended
 * before, is cloned from the other one, the other one exits, and then runs the program.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/array.h"
#include "recorder/rr_trace/frame_arena.h"
#include "recorder/rr_trace/rr_trace.h"
#include "recorder/rr_trace/trace_internal.h"
#include <wetdbg/errors.h>

/* What the public struct does not show. */
struct process_state {
    size_t live_count;
    bool leader_spoke; /* the wait status is the first task's, and final */
};

struct rrt_process_table {
    struct rrt_arena arena;      /* strings */
    struct wetdbg_process *list; /* tids and execs are arrays of their own */
    size_t count;
};

struct live_task {
    int tid;
    size_t process; /* index */
    int signal;     /* that has arrived and may prove fatal */
    uint64_t signal_time;
};

struct process_scan {
    const char *dir; /* for messages */
    struct rrt_process_table *table;
    struct live_task *live;
    size_t live_count;
    struct process_state *states; /* one per process */
    size_t state_count;
};

void rrt_process_table_free(struct rrt_process_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->count; i++) {
        free((void *)table->list[i].tids);
        free((void *)table->list[i].execs);
    }
    free(table->list);
    rrt_arena_fini(&table->arena);
    free(table);
}

static struct live_task *find_live(struct process_scan *scan, int tid)
{
    for (size_t i = scan->live_count; i-- > 0;)
        if (scan->live[i].tid == tid)
            return &scan->live[i];
    return NULL;
}

static struct wetdbg_process *process_of(struct process_scan *scan, const struct live_task *task)
{
    return &scan->table->list[task->process];
}

/* Lists the task with its process, once: a number can come back, see above. */
static int list_tid(struct wetdbg_process *process, int tid)
{
    for (size_t i = 0; i < process->tid_count; i++)
        if (process->tids[i] == tid)
            return 0;
    int *tids = (int *)process->tids;
    if (wd_grow_one(tids, process->tid_count))
        return -ENOMEM;
    tids[process->tid_count++] = tid;
    process->tids = tids;
    return 0;
}

static int add_live(struct process_scan *scan, int tid, size_t process)
{
    int r = list_tid(&scan->table->list[process], tid);
    if (r != 0)
        return r;
    if (wd_grow_one(scan->live, scan->live_count))
        return -ENOMEM;
    scan->live[scan->live_count++] = (struct live_task){.tid = tid, .process = process};
    scan->states[process].live_count++;
    return 0;
}

static int add_process(struct process_scan *scan, int pid, size_t parent, uint64_t time)
{
    struct rrt_process_table *table = scan->table;
    if (wd_grow_one(scan->states, scan->state_count) || wd_grow_one(table->list, table->count))
        return -ENOMEM;
    scan->states[scan->state_count++] = (struct process_state){0};
    table->list[table->count++] = (struct wetdbg_process){
        .pid = pid,
        .parent = parent,
        .parent_pid = parent == WETDBG_NO_PROCESS ? 0 : table->list[parent].pid,
        .start_time = time,
        .end_time = time,
    };
    return add_live(scan, pid, table->count - 1);
}

static int corrupt(const struct process_scan *scan, const struct rrt_task_event *event,
                   const char *what)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s/tasks: frame %lu: task %d %s", scan->dir,
                       (unsigned long)event->time, event->tid, what);
}

/* A child that only forked shows what its ancestor ran. */
static int inherit_exec(struct process_scan *scan, size_t parent, struct wetdbg_process *child)
{
    const struct wetdbg_process *from = &scan->table->list[parent];
    const struct wetdbg_exec *exec =
        from->exec_count > 0 ? &from->execs[from->exec_count - 1] : from->inherited;
    if (!exec)
        return 0;
    struct wetdbg_exec *copy = rrt_arena_alloc(&scan->table->arena, 1, sizeof(*copy));
    if (!copy)
        return -ENOMEM;
    *copy = *exec;
    child->inherited = copy;
    return 0;
}

static int on_clone(struct process_scan *scan, const struct rrt_task_event *event)
{
    struct live_task *parent = find_live(scan, event->parent_tid);
    if (!parent)
        return corrupt(scan, event, "was started by an unknown task");
    if (find_live(scan, event->tid))
        return corrupt(scan, event, "was started twice");
    size_t index = parent->process;
    if (event->clone_flags & CLONE_THREAD)
        return add_live(scan, event->tid, index);
    bool is_sibling = event->clone_flags & CLONE_PARENT;
    size_t owner = is_sibling ? scan->table->list[index].parent : index;
    int r = add_process(scan, event->tid, owner, event->time);
    if (r != 0)
        return r;
    struct wetdbg_process *child = &scan->table->list[scan->table->count - 1];
    child->clone_flags = event->clone_flags;
    return inherit_exec(scan, index, child);
}

static int copy_exec(struct rrt_arena *arena, const struct rrt_task_event *event,
                     struct wetdbg_exec *exec)
{
    const char **argv = rrt_arena_alloc(arena, event->argc + 1, sizeof(*argv));
    exec->file = rrt_arena_string(arena, event->exec_file, strlen(event->exec_file));
    if (!argv || !exec->file)
        return -ENOMEM;
    for (size_t i = 0; i < event->argc; i++) {
        argv[i] = rrt_arena_string(arena, event->argv[i], strlen(event->argv[i]));
        if (!argv[i])
            return -ENOMEM;
    }
    exec->argv = argv;
    exec->argc = event->argc;
    exec->time = event->time;
    return 0;
}

/* `frame_tid` is the task's number afterwards. */
static int on_exec(struct process_scan *scan, const struct rrt_task_event *event, int frame_tid)
{
    struct live_task *task = find_live(scan, event->tid);
    if (!task)
        task = find_live(scan, frame_tid);
    if (!task)
        return corrupt(scan, event, "runs a program but was never started");
    struct wetdbg_process *process = process_of(scan, task);
    struct wetdbg_exec *execs = (struct wetdbg_exec *)process->execs;
    if (wd_grow_one(execs, process->exec_count))
        return -ENOMEM;
    struct wetdbg_exec *exec = &execs[process->exec_count++];
    *exec = (struct wetdbg_exec){0};
    process->execs = execs;
    process->inherited = NULL;
    scan->states[task->process].leader_spoke = false;
    return copy_exec(&scan->table->arena, event, exec);
}

static int on_end(struct process_scan *scan, const struct rrt_task_event *event)
{
    struct live_task *task = find_live(scan, event->tid);
    if (!task)
        return corrupt(scan, event, "ends but was never started");
    struct process_state *state = &scan->states[task->process];
    struct wetdbg_process *process = process_of(scan, task);
    *task = scan->live[--scan->live_count];
    state->live_count--;
    process->end_time = event->time;
    bool is_detach = event->kind == RRT_TASK_DETACH;
    if (!is_detach && !state->leader_spoke) {
        process->wait_status = event->wait_status;
        state->leader_spoke = event->tid == process->pid;
    }
    if (state->live_count == 0)
        process->end = is_detach                           ? WETDBG_PROCESS_DETACHED
                       : WIFSIGNALED(process->wait_status) ? WETDBG_PROCESS_SIGNALED
                                                           : WETDBG_PROCESS_EXITED;
    return 0;
}

static int on_task_event(struct process_scan *scan, const struct rrt_task_event *event,
                         int frame_tid)
{
    switch (event->kind) {
    case RRT_TASK_CLONE:
        return on_clone(scan, event);
    case RRT_TASK_EXEC:
        return on_exec(scan, event, frame_tid);
    case RRT_TASK_EXIT:
    case RRT_TASK_DETACH:
        return on_end(scan, event);
    }
    return 0;
}

static void on_signal(struct process_scan *scan, struct live_task *task,
                      const struct rrt_frame *frame)
{
    if (frame->event == RRT_EVENT_SIGNAL) {
        task->signal = frame->signal.number;
        task->signal_time = frame->time;
    } else if (frame->event == RRT_EVENT_SIGNAL_DELIVERY &&
               frame->signal.disposition == RRT_DISPOSITION_FATAL) {
        struct wetdbg_process *process = process_of(scan, task);
        process->fatal_signal = frame->signal.number;
        process->fatal_signal_time =
            task->signal == frame->signal.number ? task->signal_time : frame->time;
    }
}

static void count_frame(struct process_scan *scan, struct live_task *task,
                        const struct rrt_frame *frame)
{
    struct wetdbg_process *process = process_of(scan, task);
    process->frame_count++;
    process->end_time = frame->time;
    on_signal(scan, task, frame);
}

static int on_frame(struct process_scan *scan, const struct rrt_frame *frame)
{
    int r = 0;
    /* The recorder's first child is never announced. */
    if (scan->table->count == 0)
        r = add_process(scan, frame->tid, WETDBG_NO_PROCESS, frame->time);
    struct live_task *task = find_live(scan, frame->tid);
    if (r == 0 && task)
        count_frame(scan, task, frame);
    for (size_t i = 0; r == 0 && i < frame->task_count; i++)
        r = on_task_event(scan, &frame->tasks[i], frame->tid);
    if (r != 0 || task)
        return r;
    task = find_live(scan, frame->tid); /* a number that this very frame brought in */
    if (!task)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s/tasks: frame %lu: task %d was never started",
                           scan->dir, (unsigned long)frame->time, frame->tid);
    count_frame(scan, task, frame);
    return 0;
}

static int scan_frames(struct wetdbg_recording *trace, struct process_scan *scan)
{
    struct wetdbg_recording *cursor;
    struct rrt_frame frame;
    int r = rrt_reopen(trace, &cursor);
    if (r != 0)
        return r;
    rrt_set_skip_data(cursor, true);
    while ((r = rrt_next(cursor, &frame)) > 0) {
        r = on_frame(scan, &frame);
        if (r != 0)
            break;
    }
    wetdbg_recording_close(cursor);
    return r;
}

int wetdbg_recording_processes(struct wetdbg_recording *trace, const struct wetdbg_process **list,
                               size_t *count)
{
    struct rrt_process_table **kept = rrt_trace_process_table(trace);
    if (!*kept) {
        struct process_scan scan = {.dir = rrt_trace_dir(trace),
                                    .table = calloc(1, sizeof(*scan.table))};
        int r = scan.table ? scan_frames(trace, &scan) : -ENOMEM;
        free(scan.live);
        free(scan.states);
        if (r != 0) {
            rrt_note_failure(trace, r);
            rrt_process_table_free(scan.table);
            return r;
        }
        *kept = scan.table;
    }
    *list = (*kept)->list;
    *count = (*kept)->count;
    return 0;
}
