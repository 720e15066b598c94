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
    return node && node->compiled.ops && !(node->is_loader && !scan->follows_loader);
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
           scan->interval->first_time + exec->time_off + node->statement_count - 1 <= last;
}

size_t slc_run_execs(struct slc_scan *scan, size_t first, size_t end, wetdbg_time last, int *err)
{
    const struct wet_interval *interval = scan->interval;
    const struct wet_exec *exec = &interval->execs[end - 1];
    uint64_t from = quiet_from(scan), scanned = 0;

    if (!can_run(scan, exec, last))
        return end;
    uint32_t number = exec->task;
    struct slc_task *task = scan->tasks[number];
    if (task->pending.distance != SLC_NOT_WANTED || task->aside)
        return end;
    for (; end > first && !*err; end--) {
        exec = &interval->execs[end - 1];
        struct slc_node *node =
            exec->node < scan->code->node_limit ? scan->code->nodes[exec->node] : NULL;
        if (exec->task != number || exec->time_off < from || !is_plain(scan, node) ||
            exec->time_off + (uint64_t)node->statement_count > interval->instructions)
            break;
        fetch_early(scan, end);
        scanned += node->statement_count;
        bool is_control =
            scan->tracks_frames && node->flags && pass_control(scan, task, exec, node, err);
        task->next = node;
        if (*err || (!is_control && node->store_count == 0 &&
                     !slc_regs_intersect(&task->regs, &node->defs)))
            continue;
        *err = scan->memory.has_wants
                   ? slc_users_exec(scan, task, exec, node, node->statement_count)
                   : slc_memo_exec(scan, task, exec, node, is_control);
        if (is_control)
            forget_hit(&scan->hits);
    }
    scan->slice->counts.scanned += scanned;
    return end;
}
