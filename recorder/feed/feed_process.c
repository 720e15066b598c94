/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How the replay gets to the chosen program.
 *
 * Each program that was run and each fork is a *node*: the birth of an address space. A node made
 * by fork has a parent; one made by exec has none, since nothing before it matters. Every task
 * points at the node of the space that it lives in, so the way to a process is read backwards from
 * its task's last node up to an exec.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "recorder/feed/feed_priv.h"
#include <wetdbg/errors.h>

#define NO_NODE SIZE_MAX

struct node {
    uint64_t time;
    size_t parent; /* NO_NODE: made by exec */
    int tid;       /* the child's, for a fork */
};

/* One task from birth on; ids are used again, so the latest life of an id is the last in the
 * list. */
struct life {
    int tid;
    uint64_t start;
    size_t node;
};

struct family {
    struct node *nodes;
    size_t node_count, node_capacity;
    struct life *lives;
    size_t life_count, life_capacity;
};

static struct life *find_life(struct family *family, int tid)
{
    for (size_t i = family->life_count; i--;)
        if (family->lives[i].tid == tid)
            return &family->lives[i];
    return NULL;
}

static int add_life(struct family *family, int tid, uint64_t start, size_t node)
{
    int err = wd_grow(family->lives, family->life_capacity, family->life_count + 1);
    if (!err)
        family->lives[family->life_count++] = (struct life){tid, start, node};
    return err;
}

static int add_node(struct family *family, uint64_t time, size_t parent, int tid, size_t *out)
{
    int err = wd_grow(family->nodes, family->node_capacity, family->node_count + 1);
    if (err)
        return err;
    *out = family->node_count;
    family->nodes[family->node_count++] = (struct node){time, parent, tid};
    return 0;
}

static int note_clone(struct family *family, uint64_t time, const struct rrt_task_event *event)
{
    const struct life *parent = find_life(family, event->parent_tid);
    size_t node = parent ? parent->node : NO_NODE;
    int err = 0;
    if (node != NO_NODE && !(event->clone_flags & CLONE_VM))
        err = add_node(family, time, node, event->tid, &node);
    return err ? err : add_life(family, event->tid, time, node);
}

static int note_exec(struct family *family, const struct rrt_frame *frame)
{
    size_t node;
    int err = add_node(family, frame->time, NO_NODE, frame->tid, &node);
    if (!err)
        find_life(family, frame->tid)->node = node;
    return err;
}

static int note_frame(struct family *family, const struct rrt_frame *frame)
{
    int err = 0;
    bool has_exec = false;
    for (size_t i = 0; i < frame->task_count && !err; i++) {
        if (frame->tasks[i].kind == RRT_TASK_CLONE)
            err = note_clone(family, frame->time, &frame->tasks[i]);
        has_exec |= frame->tasks[i].kind == RRT_TASK_EXEC;
    }
    if (!err && !find_life(family, frame->tid))
        err = add_life(family, frame->tid, frame->time, NO_NODE);
    return err || !has_exec ? err : note_exec(family, frame);
}

static int scan_family(struct wetdbg_recording *trace, struct family *family)
{
    struct rrt_frame frame;
    rrt_set_skip_data(trace, true);
    int err = rrt_rewind(trace);
    while (!err && (err = rrt_next(trace, &frame)) == 1)
        err = note_frame(family, &frame);
    return err;
}

static const struct life *life_of(const struct family *family, const struct wetdbg_process *process)
{
    for (size_t i = family->life_count; i--;)
        if (family->lives[i].tid == process->pid && family->lives[i].start <= process->end_time)
            return &family->lives[i];
    return NULL;
}

/* The forks between `node` and the exec it comes from, oldest first. */
static int trace_back(const struct family *family, size_t node, struct feed_plan *plan)
{
    size_t forks = 0;
    for (size_t at = node; family->nodes[at].parent != NO_NODE; at = family->nodes[at].parent)
        forks++;
    plan->follows = calloc(forks + 1, sizeof(*plan->follows));
    if (!plan->follows)
        return -ENOMEM;
    plan->follow_count = forks;
    for (; forks; node = family->nodes[node].parent)
        plan->follows[--forks] =
            (struct feed_follow){family->nodes[node].time, family->nodes[node].tid};
    plan->start_time = family->nodes[node].time;
    return 0;
}

/* A program that was run starts at its exec; one that forked, where the exec before the fork is. */
static int plan_program(const struct family *family, const struct wetdbg_process *process,
                        const struct wetdbg_program *program, struct feed_plan *plan)
{
    plan->pid = process->pid;
    if (program->exec != WETDBG_FORKED) {
        plan->start_time = process->execs[program->exec].time;
        return 0;
    }
    const struct life *life = life_of(family, process);
    if (!life || life->node == NO_NODE)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "process %d never ran a program", process->pid);
    return trace_back(family, life->node, plan);
}

/* The program that a process ran at a time; false if that was before its first exec. */
static bool program_at(const struct wetdbg_process *list, size_t index, uint64_t time,
                       struct wetdbg_program *program)
{
    size_t execs = list[index].exec_count;
    *program = (struct wetdbg_program){index, WETDBG_FORKED};
    if (!execs)
        return true;
    while (execs && list[index].execs[execs - 1].time >= time)
        execs--;
    program->exec = execs - 1;
    return execs > 0;
}

/* A child by vfork that ran no program lived in its parent's memory, and is replayed there. */
static struct wetdbg_program whose_memory(const struct wetdbg_process *list,
                                          struct wetdbg_program program)
{
    struct wetdbg_program parent;
    const struct wetdbg_process *child = &list[program.process];
    while (program.exec == WETDBG_FORKED && child->clone_flags & CLONE_VM &&
           child->parent != WETDBG_NO_PROCESS &&
           program_at(list, child->parent, child->start_time, &parent)) {
        program = parent;
        child = &list[program.process];
    }
    return program;
}

int feed_plan_make(struct wetdbg_recording *trace, const struct rep_selection *which,
                   struct feed_plan *plan)
{
    struct family family = {0};
    const struct wetdbg_process *list;
    struct wetdbg_program program;
    size_t count;
    memset(plan, 0, sizeof(*plan));
    int err = wetdbg_recording_processes(trace, &list, &count);
    if (!err)
        err = rep_selection_find(list, count, which, &program);
    if (!err)
        program = whose_memory(list, program);
    if (!err && program.exec == WETDBG_FORKED)
        err = scan_family(trace, &family);
    if (!err)
        err = plan_program(&family, &list[program.process], &program, plan);
    free(family.nodes);
    free(family.lives);
    return err;
}

void feed_plan_fini(struct feed_plan *plan)
{
    free(plan->follows);
    memset(plan, 0, sizeof(*plan));
}
