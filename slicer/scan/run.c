/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What most of a scan is: executions of one task, one after the other, in which nothing happens but
 * instructions. They end at the next event or instance of the criterion, which is looked for once,
 * not at each execution; and at whatever is not plain: the dynamic linker where it is passed by,
 * nodes that were not met before, another task.
 */
#include "slicer/scan/memo.h"
#include "slicer/scan/scan.h"
#include "slicer/scan/users.h"

#define EARLY 8 /* executions: nodes and their memos do not fit into the nearer caches together */

static inline void fetch_early(const struct slc_scan *scan, size_t i)
{
    const struct wet_exec *execs = scan->interval->execs;
    const struct wet_exec *exec = &execs[i < EARLY ? 0 : i - EARLY];
    const struct wet_exec *next = &execs[i < EARLY / 2 ? 0 : i - EARLY / 2];

    if (exec->node < scan->code->node_limit) {
        const char *node = (const char *)scan->code->nodes[exec->node];
        __builtin_prefetch(node);
        __builtin_prefetch(node + 64);
    }
    if (next->node < scan->code->node_limit && scan->code->nodes[next->node]) {
        const struct slc_node *node = scan->code->nodes[next->node];
        const char *memo = (const char *)node->memos.first;
        for (unsigned line = 0; line < 3 * SLC_MEMO_LINE; line += SLC_MEMO_LINE)
            __builtin_prefetch(memo + line);
        __builtin_prefetch(node->stores);
    }
    __builtin_prefetch(scan->interval->slots + exec->slot_off);
}

/* From this time on (from the interval's start) nothing happens but instructions: no event that is
 * still to be passed, nothing of the criterion. */
static uint64_t quiet_from(const struct slc_scan *scan)
{
    const struct wet_interval *interval = scan->interval;
    wetdbg_time last = 0;

    if (scan->event_at)
        last = interval->events[scan->event_at - 1].time;
    if (scan->seed_at < scan->criterion->seed_count &&
        scan->criterion->seeds[scan->seed_at].time > last)
        last = scan->criterion->seeds[scan->seed_at].time;
    return last < interval->first_time ? 0 : last - interval->first_time + 1;
}

/* Whether the last instruction was let run by the branch that is passed, or led to a frame that
 * something waits in. */
static inline bool pass_control(struct slc_scan *scan, struct slc_task *task,
                                const struct wet_exec *exec, const struct slc_node *node, int *err)
{
    bool is_control = false;

    if (!slc_stays_inside(task, node)) {
        *err = slc_pass_exit(scan, task, exec, node);
        is_control = scan->hits.best.distance != SLC_NOT_WANTED;
    }
    if (!(node->flags & SLC_NODE_BRANCH) ||
        !(slc_frames_top(&task->frames)->bloom & node->branch_bit))
        return is_control;
    if (!scan->memory.has_wants)
        return slc_frames_guard(&task->frames, scan->code->classes, node->last_pc) || is_control;
    slc_pass_branch(scan, task, node);
    return scan->hits.best.distance != SLC_NOT_WANTED;
}

/* Whether executions of the node are for slc_memo_exec(). */
static inline bool is_plain(const struct slc_scan *scan, const struct slc_node *node)
{
    return node && !node->is_recorder && !(node->is_loader && !scan->follows_loader);
}

static inline void forget_hit(struct slc_hits *hits)
{
    hits->best = slc_no_want();
    hits->best_address = 0;
    hits->is_guard = false;
}

static inline bool can_run(const struct slc_scan *scan, const struct wet_exec *exec,
                           wetdbg_time last)
{
    const struct slc_node *node =
        exec->node < scan->code->node_limit ? scan->code->nodes[exec->node] : NULL;

    return (!scan->tracks_frames || scan->follows_control) && node && exec->task < EVQ_TASKS_MAX &&
           scan->tasks[exec->task] &&
           scan->tasks[exec->task]->hooked.want.distance == SLC_NOT_WANTED &&
           scan->interval->first_time + exec->time_off + node->statement_count - 1 <= last;
}

/* Executions that are passed together: one, or those of a joined node. */
struct passage {
    struct slc_node *node;
    size_t first;
};

/* What all executions of a run have in common. */
struct course {
    size_t first;    /* of it */
    uint32_t number; /* of the task */
    uint64_t from;   /* it is quiet from this time on */
};

/* The node that two make; NULL if they are not joined. */
static inline struct slc_node *joined_with(const struct slc_node *node, uint32_t before)
{
    for (unsigned i = 0; i < SLC_JOINS; i++)
        if (node->joining.joins[i].before == before)
            return node->joining.joins[i].node;
    return NULL;
}

static inline bool is_on_course(const struct slc_scan *scan, const struct course *course,
                                const struct wet_exec *exec, const struct slc_node *node)
{
    return exec->task == course->number && exec->time_off >= course->from && is_plain(scan, node) &&
           exec->time_off + (uint64_t)node->statement_count <= scan->interval->instructions;
}

/* Now and then two that came one after the other are joined, if what they do is wanted. */
static inline int join_sometimes(const struct slc_scan *scan, const struct course *course,
                                 const struct passage *passage)
{
    struct slc_node *node = passage->node;

    if (++node->joining.tries & scan->join_mask)
        return 0;
    const struct wet_exec *exec = &scan->interval->execs[passage->first - 1];
    struct slc_node *before =
        exec->node < scan->code->node_limit ? scan->code->nodes[exec->node] : NULL;
    if (!before || !is_on_course(scan, course, exec, before))
        return 0;
    return slc_join(scan->code, node, before);
}

/* Finds what ends with execution `end` - 1; false if that is not plain. */
static inline bool passage_find(const struct slc_scan *scan, const struct course *course,
                                size_t end, struct passage *passage)
{
    const struct wet_exec *exec = &scan->interval->execs[end - 1];
    struct slc_node *node =
        exec->node < scan->code->node_limit ? scan->code->nodes[exec->node] : NULL;

    if (!is_on_course(scan, course, exec, node))
        return false;
    while (node->has_joins && exec > &scan->interval->execs[course->first]) {
        struct slc_node *joined = joined_with(node, exec[-1].node);
        if (!joined || exec[-1].task != course->number || exec[-1].time_off < course->from)
            break;
        node = joined;
        exec--;
    }
    *passage = (struct passage){node, (size_t)(exec - scan->interval->execs)};
    if (!node->is_joined)
        return true;
    const char *memo = (const char *)node->memos.first;
    for (unsigned line = 0; line < 3 * SLC_MEMO_LINE; line += SLC_MEMO_LINE)
        __builtin_prefetch(memo + line);
    __builtin_prefetch(node->stores);
    return true;
}

static inline int pass(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                       struct slc_node *node)
{
    int err = 0;
    bool is_control =
        scan->tracks_frames && node->flags && pass_control(scan, task, exec, node, &err);

    task->next = node;
    if (node->is_joined) {
        if (scan->tracks_frames)
            slc_joints_pass(scan, task, node);
        task->next = node->joining.head;
    }
    if (err || (!is_control && !scan->joints && node->store_count == 0 &&
                !slc_regs_intersect(&task->regs, &node->defs)))
        return err;
    err = scan->memory.has_wants ? slc_users_exec(scan, task, exec, node, node->statement_count)
                                 : slc_memo_exec(scan, task, exec, node, is_control);
    if (is_control)
        forget_hit(&scan->hits);
    scan->joints = 0;
    return err;
}

size_t slc_run_execs(struct slc_scan *scan, size_t first, size_t end, wetdbg_time last, int *err)
{
    const struct wet_interval *interval = scan->interval;
    const struct wet_exec *exec = &interval->execs[end - 1];
    struct course course = {first, exec->task, quiet_from(scan)};
    struct passage now;
    uint64_t scanned = 0;

    if (!can_run(scan, exec, last))
        return end;
    struct slc_task *task = scan->tasks[course.number];
    if (task->pending.distance != SLC_NOT_WANTED || task->aside)
        return end;
    while (end > first && !*err && passage_find(scan, &course, end, &now)) {
        fetch_early(scan, now.first);
        scanned += now.node->statement_count;
        if (now.node->memos.first && now.first > first && scan->join_mask)
            *err = join_sometimes(scan, &course, &now);
        if (!*err)
            *err = pass(scan, task, &interval->execs[now.first], now.node);
        end = now.first;
    }
    scan->slice->counts.scanned += scanned;
    return end;
}
