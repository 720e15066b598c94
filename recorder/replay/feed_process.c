/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which process, and how the replay gets to it.
 *
 * Each program that was run and each fork is a *node*: the birth of an address space. A node made
 * by fork has a parent; one made by exec has none, since nothing before it matters. Every task
 * points at the node of the space that it lives in, so the way to a process is read backwards from
 * its task's last node up to an exec.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/err.h"
#include "recorder/replay/feed_priv.h"

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

/* ---------------------------------------------------------------- selection */

int rep_selection_parse(const char *text, struct rep_selection *out)
{
    struct rep_selection found = {0};
    char *end;
    if (!text || !text[0]) {
        *out = found;
        return 0;
    }
    long pid = strtol(text, &end, 10);
    if (!*end && pid > 0 && pid <= INT32_MAX) {
        found.pid = (int)pid;
        *out = found;
        return 0;
    }
    const char *hash = strrchr(text, '#');
    size_t length = hash ? (size_t)(hash - text) : strlen(text);
    unsigned long nth = hash ? strtoul(hash + 1, &end, 10) : 1;
    if (!length || length >= sizeof(found.name) ||
        (hash && (*end || hash[1] < '0' || hash[1] > '9' || !nth || nth > UINT32_MAX)))
        return wd_fail(-WD_ERR_USAGE, "\"%s\" is no process: write PID, NAME or NAME#N", text);
    memcpy(found.name, text, length);
    found.nth = (unsigned)nth;
    *out = found;
    return 0;
}

static const char *basename_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool runs(const struct rrt_process *process, const char *name)
{
    if (!process->exec_count)
        return false;
    const struct rrt_exec *exec = &process->execs[process->exec_count - 1];
    return !strcmp(basename_of(exec->file), name) ||
           (exec->argc && !strcmp(basename_of(exec->argv[0]), name));
}

static bool has_failed(const struct rrt_process *process)
{
    return (process->end == RRT_END_EXITED || process->end == RRT_END_SIGNALED) &&
           process->wait_status;
}

/* The status that a shell would pass on for `child`. */
static int passed_on(const struct rrt_process *child)
{
    return WIFSIGNALED(child->wait_status) ? 128 + WTERMSIG(child->wait_status)
                                           : WEXITSTATUS(child->wait_status);
}

/* From a process that failed to the child whose failure it passed on, and so forth. */
static const struct rrt_process *find_origin(const struct rrt_process *list, size_t count,
                                             const struct rrt_process *failed)
{
    const struct rrt_process *origin = failed;
    for (size_t steps = 0; steps < count; steps++) {
        const struct rrt_process *next = NULL;
        for (size_t i = 0; i < count; i++)
            if (list[i].parent_pid == origin->pid && &list[i] != origin && has_failed(&list[i]) &&
                WIFEXITED(origin->wait_status) &&
                passed_on(&list[i]) == WEXITSTATUS(origin->wait_status) &&
                (!next || list[i].end_time > next->end_time))
                next = &list[i];
        if (!next)
            break;
        origin = next;
    }
    return origin;
}

static bool is_crash(const struct rrt_process *process)
{
    if (process->end != RRT_END_SIGNALED)
        return false;
    switch (process->fatal_signal) {
    case SIGSEGV:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS:
        return true;
    default:
        return false;
    }
}

typedef bool (*process_test_fn)(const struct rrt_process *process);

static const struct rrt_process *last_to_end(const struct rrt_process *list, size_t count,
                                             process_test_fn test)
{
    const struct rrt_process *last = NULL;
    for (size_t i = 0; i < count; i++)
        if (test(&list[i]) && (!last || list[i].end_time > last->end_time))
            last = &list[i];
    return last;
}

static bool was_signaled(const struct rrt_process *process)
{
    return process->end == RRT_END_SIGNALED;
}

static const struct rrt_process *last_to_exec(const struct rrt_process *list, size_t count)
{
    const struct rrt_process *last = NULL;
    uint64_t last_time = 0;
    for (size_t i = 0; i < count; i++) {
        if (!list[i].exec_count)
            continue;
        uint64_t time = list[i].execs[list[i].exec_count - 1].time;
        if (time > last_time)
            last = &list[i];
        last_time = time > last_time ? time : last_time;
    }
    return last;
}

/* A crash anywhere is what somebody wants to see; else why the whole command failed; else any
 * failure. */
static const struct rrt_process *choose_default(const struct rrt_process *list, size_t count)
{
    const struct rrt_process *found = last_to_end(list, count, is_crash);
    if (!found && has_failed(&list[0]))
        found = find_origin(list, count, &list[0]);
    if (!found)
        found = last_to_end(list, count, was_signaled);
    if (!found)
        found = last_to_end(list, count, has_failed);
    return found ? found : last_to_exec(list, count);
}

static const struct rrt_process *choose(const struct rrt_process *list, size_t count,
                                        const struct rep_selection *which)
{
    unsigned nth = which->nth ? which->nth : 1;
    if (!count)
        return NULL;
    if (!which->pid && !which->name[0])
        return choose_default(list, count);
    for (size_t i = 0; i < count; i++) {
        if (which->pid ? list[i].pid == which->pid : runs(&list[i], which->name) && !--nth)
            return &list[i];
    }
    return NULL;
}

static int fail_not_found(const struct rep_selection *which)
{
    if (which->pid)
        return wd_fail(-WD_ERR_NOT_FOUND, "the recording has no process %d", which->pid);
    if (which->name[0])
        return wd_fail(-WD_ERR_NOT_FOUND, "the recording has no process %s#%u", which->name,
                       which->nth ? which->nth : 1);
    return wd_fail(-WD_ERR_NOT_FOUND, "no program ran in the recording");
}

/* ---------------------------------------------------------------- family */

static struct life *find_life(struct family *family, int tid)
{
    for (size_t i = family->life_count; i--;)
        if (family->lives[i].tid == tid)
            return &family->lives[i];
    return NULL;
}

static int add_life(struct family *family, int tid, uint64_t start, size_t node)
{
    void *lives = family->lives;
    int rc =
        feed_array_grow(&lives, family->life_count, &family->life_capacity, sizeof(*family->lives));
    family->lives = lives;
    if (!rc)
        family->lives[family->life_count++] = (struct life){tid, start, node};
    return rc;
}

static int add_node(struct family *family, uint64_t time, size_t parent, int tid, size_t *out)
{
    void *nodes = family->nodes;
    int rc =
        feed_array_grow(&nodes, family->node_count, &family->node_capacity, sizeof(*family->nodes));
    family->nodes = nodes;
    if (rc)
        return rc;
    *out = family->node_count;
    family->nodes[family->node_count++] = (struct node){time, parent, tid};
    return 0;
}

static int note_clone(struct family *family, uint64_t time, const struct rrt_task_event *event)
{
    const struct life *parent = find_life(family, event->parent_tid);
    size_t node = parent ? parent->node : NO_NODE;
    int rc = 0;
    if (node != NO_NODE && !(event->clone_flags & CLONE_VM))
        rc = add_node(family, time, node, event->tid, &node);
    return rc ? rc : add_life(family, event->tid, time, node);
}

static int note_exec(struct family *family, const struct rrt_frame *frame)
{
    size_t node;
    int rc = add_node(family, frame->time, NO_NODE, frame->tid, &node);
    if (!rc)
        find_life(family, frame->tid)->node = node;
    return rc;
}

static int note_frame(struct family *family, const struct rrt_frame *frame)
{
    int rc = 0;
    bool has_exec = false;
    for (size_t i = 0; i < frame->task_count && !rc; i++) {
        if (frame->tasks[i].kind == RRT_TASK_CLONE)
            rc = note_clone(family, frame->time, &frame->tasks[i]);
        has_exec |= frame->tasks[i].kind == RRT_TASK_EXEC;
    }
    if (!rc && !find_life(family, frame->tid))
        rc = add_life(family, frame->tid, frame->time, NO_NODE);
    return rc || !has_exec ? rc : note_exec(family, frame);
}

static int scan_family(struct rrt_trace *trace, struct family *family)
{
    struct rrt_frame frame;
    rrt_set_skip_data(trace, true);
    int rc = rrt_rewind(trace);
    while (!rc && (rc = rrt_next(trace, &frame)) == 1)
        rc = note_frame(family, &frame);
    return rc;
}

static const struct life *life_of(const struct family *family, const struct rrt_process *process)
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

int feed_plan_make(struct rrt_trace *trace, const struct rep_selection *which,
                   struct feed_plan *plan)
{
    struct family family = {0};
    const struct rrt_process *list;
    size_t count;
    memset(plan, 0, sizeof(*plan));
    int rc = rrt_processes(trace, &list, &count);
    if (rc)
        return rc;
    const struct rrt_process *process = choose(list, count, which);
    if (!process)
        return fail_not_found(which);
    plan->pid = process->pid;
    rc = scan_family(trace, &family);
    const struct life *life = rc ? NULL : life_of(&family, process);
    if (!rc && (!life || life->node == NO_NODE))
        rc = wd_fail(-WD_ERR_NOT_FOUND, "process %d never ran a program", process->pid);
    if (!rc)
        rc = trace_back(&family, life->node, plan);
    free(family.nodes);
    free(family.lives);
    return rc;
}

void feed_plan_fini(struct feed_plan *plan)
{
    free(plan->follows);
    memset(plan, 0, sizeof(*plan));
}
