/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forward slices: one pass from the source to the end of the run, over intervals, node executions
 * and their instructions, first to last. A second one in the rare case that the first met an
 * indirect jump's unknown target.
 */
#include "slicer/forward/forward.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/clock.h"
#include "slicer/forward/answers.h"
#include "slicer/forward/crossing.h"
#include "slicer/forward/forward_memo.h"
#include "slicer/forward/reached.h"
#include "slicer/forward/sent.h"
#include "slicer/scan/landing.h"
#include "slicer/state_view.h"
#include <wetdbg/errors.h>

#define REPORT_EXECS (1u << 14)

struct slc_fwd_task *slc_fwd_task(struct slc_forward *fwd, uint32_t number, int *err)
{
    if (number >= EVQ_TASKS_MAX) {
        *err = wetdbg_fail(-WETDBG_ERR_CORRUPT, "a node execution names task %u", number);
        return NULL;
    }
    if (fwd->tasks[number])
        return fwd->tasks[number];
    struct slc_fwd_task *task = calloc(1, sizeof(*task));
    if (!task || slc_branches_init(&task->branches) ||
        slc_regs_init(&task->regs, fwd->memory.has_wants)) {
        if (task)
            slc_branches_fini(&task->branches);
        free(task);
        *err = -ENOMEM;
        return NULL;
    }
    task->call = slc_no_call();
    task->last_mark = slc_no_want();
    fwd->tasks[number] = task;
    return task;
}

/* ---- the source ---- */

static int by_time(const void *a, const void *b)
{
    const struct slc_start *x = a, *y = b;
    return x->time < y->time ? -1 : x->time > y->time;
}

static int list_starts(struct slc_forward *fwd)
{
    const struct wetdbg_criterion *source = fwd->criterion;

    fwd->starts = malloc((2 * source->seed_count + 1) * sizeof(*fwd->starts));
    if (!fwd->starts)
        return -ENOMEM;
    for (size_t i = 0; i < source->seed_count; i++) {
        const struct slc_seed *seed = &source->seeds[i];
        bool is_after = seed->place_count && seed->places[0].is_after;
        wetdbg_time maker = is_after ? seed->time : seed->maker;
        if (seed->is_fault)
            continue;
        fwd->starts[fwd->start_count++] =
            (struct slc_start){seed->time + is_after, seed, maker, false};
        if (maker)
            fwd->starts[fwd->start_count++] = (struct slc_start){maker, seed, maker, true};
    }
    qsort(fwd->starts, fwd->start_count, sizeof(*fwd->starts), by_time);
    return 0;
}

/* Of a register that a variable is in only the variable's bytes. */
static void mark_value(struct slc_regs *regs, const struct slc_seed *seed,
                       const struct slc_want *mark)
{
    const struct ins_regset *set = &seed->regs[WETDBG_EDGE_VALUE];
    unsigned unit, from, to, first = 0;
    bool is_first = true;

    for (unsigned l = ins_regset_next(set, 0); l < INS_LOC_COUNT; l = ins_regset_next(set, l + 1)) {
        bool is_piece = slc_piece_bytes(l, &unit, &from, &to);
        uint32_t mask = UINT32_MAX;
        if (is_first)
            first = from;
        is_first = false;
        if (is_piece && seed->register_bytes && from + 32 > first + seed->register_bytes) {
            unsigned end = first + seed->register_bytes;
            mask = end > from ? UINT32_MAX >> (32 - (end - from < 32 ? end - from : 32)) : 0;
        }
        if (is_piece && mask & slc_piece_mask(l))
            slc_regs_add_mask(regs, l, mask & slc_piece_mask(l), mark);
        else if (!is_piece)
            slc_regs_add(regs, l, mark, false);
        if (!is_piece || mask & slc_piece_mask(l))
            slc_regs_add(regs, l, mark, true);
    }
}

/* Marks a place of the source; of a call, which delivered it, that is what the slice is about. */
static int pass_place(struct slc_forward *fwd, const struct slc_place *place, wetdbg_time maker,
                      const struct slc_want *mark)
{
    const struct slc_call_run run = {maker, SLC_BYTES_MEMORY, place->address, place->size_bytes};
    int err = maker ? slc_call_bytes_add(&fwd->slice->calls, run) : 0;

    return err ? err : slc_memory_add(&fwd->memory, place->address, place->size_bytes, mark);
}

/* Marks the places of the source that are looked at just before `time`. */
static int pass_starts(struct slc_forward *fwd, struct slc_fwd_task *task, wetdbg_time time)
{
    int err = 0;

    for (size_t i = fwd->start_at;
         i < fwd->start_count && fwd->starts[i].time <= time && fwd->follows_data && !err; i++) {
        const struct slc_seed *seed = fwd->starts[i].seed;
        const struct slc_want mark = {.user = fwd->starts[i].maker ? fwd->starts[i].maker : time,
                                      .distance = 1,
                                      .edge = WETDBG_EDGE_VALUE,
                                      .location = INS_LOC_COUNT};
        if (fwd->starts[i].is_maker)
            continue;
        mark_value(&task->regs, seed, &mark);
        for (size_t p = 0; p < seed->place_count && !err; p++)
            if (seed->places[p].edge == WETDBG_EDGE_VALUE)
                err = pass_place(fwd, &seed->places[p], fwd->starts[i].maker, &mark);
        if (seed->passed.size && !err)
            err = slc_fwd_send_start(fwd, &seed->passed, &mark);
    }
    if (!err && fwd->criterion->info.kind == WETDBG_CRITERION_FUNCTION && fwd->follows_control &&
        fwd->start_at < fwd->start_count && fwd->starts[fwd->start_at].time == time) {
        const struct slc_want mark = {
            .user = time, .distance = 1, .edge = WETDBG_EDGE_CONTROL, .location = INS_LOC_COUNT};
        slc_branches_remake(&task->branches, &mark);
    }
    return err;
}

static void leave_starts(struct slc_forward *fwd, wetdbg_time time)
{
    while (fwd->start_at < fwd->start_count && fwd->starts[fwd->start_at].time <= time)
        fwd->start_at++;
}

static wetdbg_time next_start(const struct slc_forward *fwd)
{
    return fwd->start_at < fwd->start_count ? fwd->starts[fwd->start_at].time : UINT64_MAX;
}

/* ---- one execution ---- */

/* Passes events that happened before the instruction at `time`. */
static int pass_events(struct slc_forward *fwd, wetdbg_time time)
{
    const struct wet_interval *interval = fwd->interval;
    int err = 0;

    while (!err && fwd->event_at < interval->event_count &&
           interval->events[fwd->event_at].time < time) {
        err = slc_fwd_event(fwd, &interval->events[fwd->event_at], fwd->event_at);
        fwd->event_at++;
    }
    return err;
}

static wetdbg_time next_event(const struct slc_forward *fwd)
{
    return fwd->event_at < fwd->interval->event_count ? fwd->interval->events[fwd->event_at].time
                                                      : UINT64_MAX;
}

static int pass_statement(struct slc_forward *fwd, struct slc_fwd_task *task,
                          const struct wet_exec *exec, const struct slc_node *node, uint32_t s,
                          struct slc_want *as_parent)
{
    wetdbg_time time = fwd->interval->first_time + exec->time_off + s;
    int err = pass_events(fwd, time);

    if (!err)
        err = pass_starts(fwd, task, time);
    if (!err)
        err = slc_reached_pass(fwd, task, node, s, time);
    if (!err && node->is_loader && !fwd->follows_loader) {
        slc_fwd_linker(fwd, task, exec, node, s);
        *as_parent = slc_branches_top(&task->branches)->maker;
    } else if (!err) {
        err = slc_fwd_step(fwd, task, exec, node, s, as_parent);
        fwd->bits = slc_slice_bits(fwd->slice, fwd->interval);
    }
    leave_starts(fwd, time);
    return err;
}

/* Whether the bottom frame has its return address below an address. Where it has it the stack
 * tells. */
static int is_bottom_below(struct slc_forward *fwd, const struct slc_branches *branches,
                           uint64_t rsp, bool *is_below)
{
    struct wetdbg_state *state;
    int err = 0, result = 1;

    *is_below = false;
    if (!branches->bottom_time || branches->bottom_time == UINT64_MAX)
        return 0;
    err = wetdbg_state_open(fwd->wet, branches->bottom_time, &state);
    if (err)
        return err;
    struct wetdbg_frame_regs regs = slc_frame_regs(state);
    for (unsigned i = 0; i < 1u + branches->is_bottom_caller && result > 0; i++)
        result = wetdbg_unwind(wetdbg_get_model(fwd->wet), &regs, slc_read_memory, state);
    wetdbg_state_close(state);
    *is_below = result > 0 && regs.value[WETDBG_REG_RSP] - 8 < rsp;
    return result == -WETDBG_ERR_INTERRUPTED ? result : 0;
}

/* Leaves the frames that a jump left which landed in this execution. */
static int pass_far_jump(struct slc_forward *fwd, struct slc_fwd_task *task,
                         const struct wet_exec *exec, const struct slc_node *node)
{
    struct slc_branches *branches = &task->branches;
    struct slc_landing landing;
    bool is_gone = false;
    int err = slc_landing_find(fwd->code, fwd->interval, (size_t)(exec - fwd->interval->execs),
                               exec->task, &landing);

    if (err)
        return err;
    size_t left = slc_branches_landing(branches, node->function, landing.rsp);
    if (left == 1 && landing.rsp)
        err = is_bottom_below(fwd, branches, landing.rsp, &is_gone);
    slc_branches_land(branches, is_gone ? 0 : left, fwd->interval->first_time + exec->time_off);
    return err;
}

/* What the way from the task's last node to an execution of this one means to frames. */
static int pass_way(struct slc_forward *fwd, struct slc_fwd_task *task, const struct wet_exec *exec,
                    const struct slc_node *node)
{
    const struct slc_node *last = task->last;
    int err = 0;

    if (!fwd->follows_loader && (last->is_loader || node->is_loader))
        err = slc_fwd_border(task, node);
    if (err || !fwd->follows_control || last->flags & (SLC_NODE_CALL | SLC_NODE_RET))
        return err;
    if (last->flags & SLC_NODE_INDIRECT && slc_code_saw_jump(fwd->code, last, node) > 0)
        fwd->is_stale = true;
    if (slc_is_tail_jump(last, node)) {
        slc_branches_remake(&task->branches, &task->last_mark);
        return 0;
    }
    if (slc_is_far_jump(last, node))
        err = pass_far_jump(fwd, task, exec, node);
    if (!err && slc_is_landing(last, node))
        err = slc_branches_note(&task->branches, fwd->ids, node->pc_index[0], task->last_time,
                                task->last_mark.distance);
    return err;
}

/* What the last instruction of an execution does to frames. */
static int pass_exit(struct slc_forward *fwd, struct slc_fwd_task *task,
                     const struct slc_node *node, uint64_t slot, wetdbg_time time,
                     const struct slc_want *as_parent)
{
    struct slc_branches *branches = &task->branches;

    if (node->flags & SLC_NODE_CALL) {
        slc_branches_forget_below(branches, slot);
        return slc_branches_push(branches, slot, as_parent);
    }
    if (node->flags & SLC_NODE_RET)
        slc_branches_return(branches, slot, time);
    bool is_passed_by = node->is_loader && !fwd->follows_loader;
    if (node->flags & SLC_NODE_BRANCH && !is_passed_by)
        return slc_branches_note(branches, fwd->ids, node->pc_index[node->statement_count - 1],
                                 time, as_parent->distance);
    return 0;
}

static int pass_statements(struct slc_forward *fwd, struct slc_fwd_task *task,
                           const struct wet_exec *exec, struct slc_node *node,
                           struct slc_want *as_parent)
{
    wetdbg_time first = fwd->interval->first_time + exec->time_off;
    wetdbg_time last = first + node->statement_count - 1;
    bool is_quiet = next_event(fwd) >= last && next_start(fwd) > last &&
                    slc_reached_next(fwd, first) > last &&
                    !(node->is_loader && !fwd->follows_loader);
    int err = 0;

    if (is_quiet && slc_fwd_is_fast(fwd, node))
        return slc_fwd_fast(fwd, task, exec, node, as_parent);
    for (uint32_t s = 0; s < node->statement_count && !err; s++)
        err = pass_statement(fwd, task, exec, node, s, as_parent);
    return err;
}

static void pass_end(struct slc_forward *fwd, struct slc_fwd_task *task,
                     const struct wet_exec *exec, const struct slc_node *node,
                     const struct slc_want *as_parent)
{
    task->last_slot =
        node->exit_slot == SLC_UNKNOWN ? 0 : fwd->interval->slots[exec->slot_off + node->exit_slot];
    task->last = node;
    task->last_time = fwd->interval->first_time + exec->time_off + node->statement_count - 1;
    task->last_mark = *as_parent;
}

static int pass_exec(struct slc_forward *fwd, const struct wet_exec *exec, wetdbg_time from)
{
    wetdbg_time first = fwd->interval->first_time + exec->time_off;
    struct slc_node *node = slc_code_node(fwd->code, exec->node);
    struct slc_want as_parent = slc_no_want();
    int err = 0;
    struct slc_fwd_task *task = slc_fwd_task(fwd, exec->task, &err);

    if (!node || !task)
        return err ? err : -ENOMEM;
    if (first - fwd->interval->first_time + node->statement_count > fwd->interval->instructions)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "interval %llu holds time %llu beyond its end",
                           (unsigned long long)fwd->interval->index,
                           (unsigned long long)(first + node->statement_count - 1));
    err = pass_events(fwd, first);
    if (!err && task->last && first > from)
        err = pass_way(fwd, task, exec, node);
    if (!task->branches.bottom_time)
        task->branches.bottom_time = first < from ? from : first;
    if (!slc_branches_top(&task->branches)->function)
        slc_branches_top(&task->branches)->function = node->function;
    if (!err)
        err = pass_statements(fwd, task, exec, node, &as_parent);
    fwd->slice->counts.scanned += node->statement_count;
    pass_end(fwd, task, exec, node, &as_parent);
    if (!err && fwd->follows_control && node->flags)
        err = pass_exit(fwd, task, node, task->last_slot, task->last_time, &as_parent);
    return err;
}

/* ---- runs of executions ---- */

#define EARLY 8 /* executions: nodes and their memos do not fit into the nearer caches together */

static inline void fetch_early(const struct slc_forward *fwd, size_t e)
{
    const struct wet_interval *interval = fwd->interval;
    struct slc_node **nodes = fwd->code->nodes;

    if (e + EARLY >= interval->exec_count)
        return;
    const struct wet_exec *exec = &interval->execs[e + EARLY], *next = exec - EARLY / 2,
                          *soon = exec - 3 * EARLY / 4;
    if (exec->node < fwd->code->node_limit) {
        __builtin_prefetch(nodes[exec->node]);
        __builtin_prefetch((const char *)nodes[exec->node] + 64);
    }
    __builtin_prefetch(interval->slots + exec->slot_off);
    if (next->node < fwd->code->node_limit && nodes[next->node]) {
        __builtin_prefetch(nodes[next->node]->glance);
        __builtin_prefetch((const char *)nodes[next->node]->glance + 64);
        __builtin_prefetch((const char *)nodes[next->node]->glance + 128);
    }
    if (soon->node < fwd->code->node_limit && nodes[soon->node] && nodes[soon->node]->glance) {
        const char *memo = (const char *)nodes[soon->node]->glance->memos;
        __builtin_prefetch(memo);
        __builtin_prefetch(memo + 64);
        __builtin_prefetch(memo + 128);
    }
}

/* Up to this time nothing happens but instructions: no event before its last one, nothing of the
 * source, no output. */
static wetdbg_time quiet_until(struct slc_forward *fwd, wetdbg_time first)
{
    wetdbg_time event = next_event(fwd), start = next_start(fwd),
                output = slc_reached_next(fwd, first);
    wetdbg_time other = (start < output ? start : output) - 1;

    return event < other ? event : other;
}

/* Whether what follows the task's last node is nothing but an instruction of the same function. */
static inline bool goes_on(const struct slc_node *last, const struct slc_node *node)
{
    return last->flags & (SLC_NODE_CALL | SLC_NODE_RET) ||
           (!(last->flags & SLC_NODE_INDIRECT) && last->function == node->function);
}

/* Passes executions [e, end) as long as one task runs plain nodes and nothing else happens. Returns
 * the first one that is left. */
static size_t run_execs(struct slc_forward *fwd, size_t e, size_t end, int *err)
{
    const struct wet_interval *interval = fwd->interval;
    const struct wet_exec *exec = &interval->execs[e];
    uint32_t number = exec->task;
    struct slc_fwd_task *task = number < EVQ_TASKS_MAX ? fwd->tasks[number] : NULL;
    wetdbg_time until = quiet_until(fwd, interval->first_time + exec->time_off);
    uint64_t scanned = 0;

    if (!task || !task->last || next_event(fwd) < interval->first_time + exec->time_off)
        return e;
    end = end - e < REPORT_EXECS ? end : e + REPORT_EXECS;
    for (; e < end && !*err; e++) {
        exec = &interval->execs[e];
        struct slc_node *node =
            exec->node < fwd->code->node_limit ? fwd->code->nodes[exec->node] : NULL;
        struct slc_want as_parent = slc_no_want();
        if (exec->task != number || !node || !slc_fwd_is_fast(fwd, node) ||
            (!fwd->follows_loader && (node->is_loader || task->last->is_loader)) ||
            exec->time_off + (uint64_t)node->statement_count > interval->instructions ||
            interval->first_time + exec->time_off + node->statement_count - 1 > until)
            break;
        fetch_early(fwd, e);
        if (fwd->follows_control && !goes_on(task->last, node))
            *err = pass_way(fwd, task, exec, node);
        if (*err || fwd->is_stale)
            break;
        if (!slc_branches_top(&task->branches)->function)
            slc_branches_top(&task->branches)->function = node->function;
        *err = slc_fwd_fast(fwd, task, exec, node, &as_parent);
        scanned += node->statement_count;
        pass_end(fwd, task, exec, node, &as_parent);
        if (!*err && fwd->follows_control && node->flags)
            *err = pass_exit(fwd, task, node, task->last_slot, task->last_time, &as_parent);
    }
    fwd->slice->counts.scanned += scanned;
    return e;
}

/* ---- intervals ---- */

#define REPORT_SECONDS 0.1

static int report(struct slc_forward *fwd, uint64_t scanned)
{
    const struct wetdbg_slice_options *options = &fwd->slice->options;
    double now = wd_seconds();

    if (now - fwd->reported < REPORT_SECONDS)
        return 0;
    fwd->reported = now;
    if (options->progress &&
        options->progress(options->arg, scanned, wetdbg_get_info(fwd->wet)->instructions))
        return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "the slice was interrupted");
    return 0;
}

/* The first execution of which something ran at `time` or later. */
static size_t find_exec(struct slc_forward *fwd, wetdbg_time time, int *err)
{
    const struct wet_interval *interval = fwd->interval;
    size_t at = wd_bisect(0, interval->exec_count, i,
                          interval->first_time + interval->execs[i].time_off <= time);

    if (at && !slc_code_node(fwd->code, interval->execs[at - 1].node))
        *err = -ENOMEM;
    return at ? at - 1 : 0;
}

/* Events before the source are not looked at; those of its instruction are. */
static void skip_events(struct slc_forward *fwd, wetdbg_time from)
{
    while (next_event(fwd) < from)
        fwd->event_at++;
}

/* Whether a first look ends before execution `e`, which it tells then. */
static bool ends_look(struct slc_forward *fwd, size_t e)
{
    const struct wet_interval *interval = fwd->interval;

    if (!fwd->look_end || e >= interval->exec_count ||
        interval->first_time + interval->execs[e].time_off < fwd->look_end)
        return false;
    fwd->slice->counts.looked_to = interval->first_time + interval->execs[e].time_off;
    return true;
}

/* Passes executions from `e` on, up to the end of the interval or where something else comes. */
static size_t pass_some(struct slc_forward *fwd, size_t e, wetdbg_time from, size_t end, int *err)
{
    size_t at = e;

    if (fwd->interval->first_time + fwd->interval->execs[e].time_off > from)
        e = run_execs(fwd, e, end, err);
    if (e == at && !*err)
        *err = pass_exec(fwd, &fwd->interval->execs[e++], from);
    return e;
}

/* Comes to execution *e; what another pass has done before is done here. */
static int come_to(struct slc_forward *fwd, struct slc_crossing *crossing, wetdbg_time from,
                   size_t *e)
{
    const struct wet_interval *interval = fwd->interval;
    int err = *e < crossing->end ? 0 : slc_crossing_end(fwd, crossing);

    while (!err && *e == crossing->end && *e < interval->exec_count) {
        err = pass_events(fwd, interval->first_time + interval->execs[*e].time_off);
        if (!err)
            err = slc_cross(fwd, crossing, from, e);
    }
    return err;
}

static int pass_interval(struct slc_forward *fwd, struct slc_crossing *crossing,
                         const struct wet_interval *interval, wetdbg_time from)
{
    uint64_t done = interval->first_time - wetdbg_get_info(fwd->wet)->first_time;
    int err = 0;
    size_t e = 0;

    fwd->interval = interval;
    fwd->bits = slc_slice_bits(fwd->slice, interval);
    fwd->event_at = 0;
    if (from > interval->first_time) {
        e = find_exec(fwd, from, &err);
        if (interval->exec_count)
            skip_events(fwd, interval->first_time + interval->execs[e].time_off);
    }
    crossing->end = slc_crossing_is_kept(fwd) ? e : interval->exec_count;
    while (e < interval->exec_count && !err && !fwd->is_stale && !ends_look(fwd, e)) {
        size_t reported = e / REPORT_EXECS;
        err = come_to(fwd, crossing, from, &e);
        if (!err && e < interval->exec_count)
            e = pass_some(fwd, e, from, crossing->end, &err);
        if (!err && e / REPORT_EXECS != reported)
            err = report(fwd, done + interval->execs[e - 1].time_off);
    }
    if (!err)
        err = slc_crossing_end(fwd, crossing);
    if (!err && !fwd->slice->counts.looked_to)
        err = pass_events(fwd, UINT64_MAX);
    fwd->interval = NULL;
    slc_fwd_memos_collect(fwd);
    slc_slice_turn_members(fwd->slice, interval);
    return err ? err : slc_slice_collect(fwd->slice);
}

/* ---- the whole pass ---- */

static bool holds_marks(const struct slc_fwd_task *task)
{
    if (!slc_regs_is_empty(&task->regs) || task->bracket ||
        task->call.result.distance != SLC_NOT_WANTED)
        return true;
    for (size_t f = 0; f < task->branches.count; f++)
        if (task->branches.frames[f].is_live || task->branches.frames[f].is_signal)
            return true;
    return false;
}

static bool is_done(const struct slc_forward *fwd)
{
    if (fwd->start_at < fwd->start_count || fwd->memory.word_count || slc_sent_waits(fwd))
        return false;
    for (unsigned i = 0; i < EVQ_TASKS_MAX; i++)
        if (fwd->tasks[i] && holds_marks(fwd->tasks[i]))
            return false;
    return true;
}

int slc_fwd_run(struct slc_forward *fwd)
{
    wetdbg_time from = next_start(fwd);
    struct slc_crossing crossing = {.part = NULL};
    uint64_t intervals = wetdbg_get_info(fwd->wet)->intervals;
    uint64_t look = fwd->slice->options.look;
    const wetdbg_time *looked_to = &fwd->slice->counts.looked_to;
    int err = 0;

    fwd->reported = wd_seconds();
    fwd->look_end = look ? from + look : 0;
    for (uint64_t k = wetdbg_interval_at(fwd->wet, from);
         k < intervals && !err && !*looked_to && !fwd->is_stale && !is_done(fwd); k++) {
        const struct wet_interval *interval;
        err = wet_interval_get(fwd->wet, k, &interval);
        if (err)
            break;
        if (k + 1 < intervals)
            wet_prefetch(fwd->wet, k + 1);
        err = pass_interval(fwd, &crossing, interval, from);
        wet_interval_put(fwd->wet, interval);
    }
    slc_crossing_fini(&crossing);
    return err || *looked_to ? err : slc_reached_end(fwd);
}

static void restart(struct slc_forward *fwd)
{
    for (unsigned i = 0; i < EVQ_TASKS_MAX; i++) {
        if (fwd->tasks[i]) {
            slc_fwd_leave_linker(fwd->tasks[i]);
            slc_branches_fini(&fwd->tasks[i]->branches);
            slc_regs_fini(&fwd->tasks[i]->regs);
        }
        free(fwd->tasks[i]);
        fwd->tasks[i] = NULL;
    }
    slc_saves_fini(&fwd->saves);
    slc_sent_fini(&fwd->sent);
    slc_memory_fini(&fwd->memory);
    fwd->start_at = 0;
    fwd->is_stale = false;
}

#define PASSES_MAX 32

static int run_passes(struct slc_forward *fwd)
{
    int err = 0;

    do {
        if (fwd->is_stale) {
            slc_code_forget(fwd->code);
            slc_slice_restart(fwd->slice);
        }
        restart(fwd);
        slc_reached_restart(fwd);
        fwd->slice->counts.passes++;
        err = slc_memory_init(&fwd->memory, fwd->slice->options.record_parents);
        if (!err)
            err = slc_fwd_run(fwd);
    } while (!err && fwd->is_stale && fwd->slice->counts.passes < PASSES_MAX);
    restart(fwd);
    return err;
}

static void set_kinds(struct slc_forward *fwd, const struct wetdbg_slice_options *options)
{
    enum wetdbg_criterion_kind kind = fwd->criterion->info.kind;

    fwd->follows_data = options->kinds != WETDBG_SLICE_CONTROL;
    fwd->follows_address =
        options->kinds == WETDBG_SLICE_FULL || options->kinds == WETDBG_SLICE_DATA;
    fwd->follows_control =
        options->kinds == WETDBG_SLICE_FULL || options->kinds == WETDBG_SLICE_CONTROL;
    /* What a program is given is there when the linker starts it. */
    bool is_given = kind == WETDBG_CRITERION_ARGUMENT || kind == WETDBG_CRITERION_ENVIRONMENT;
    fwd->follows_loader =
        options->loader || (!is_given && slc_code_is_loader(fwd->code, fwd->criterion->info.pc));
}

static int find_session(struct slc_forward *fwd)
{
    struct wetdbg_slice_session *session = fwd->slice->session;

    fwd->passages = slc_passages_of(session);
    if (!fwd->passages)
        return -ENOMEM;
    fwd->ids = &fwd->passages->ids[fwd->code - session->codes];
    return 0;
}

/* Tells of the lines of a slice that had been made before. */
static int tell_lines(const struct wetdbg_slice *slice, const struct wetdbg_slice_options *options)
{
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);

    for (size_t i = 0; i < count && options->on_line; i++)
        if (options->on_line(options->arg, &lines[i]))
            return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "the slice was interrupted");
    return 0;
}

/* Makes the slice, which is empty. */
static int make(struct slc_forward *fwd)
{
    struct wetdbg_criterion *crash = NULL;
    int err = find_session(fwd);

    if (!err)
        err = slc_reached_init(fwd, &crash);
    if (!err && fwd->follows_control)
        err = slc_session_tell_jumps(fwd->slice->session);
    if (!err)
        err = run_passes(fwd);
    if (!err)
        err = slc_slice_finish(fwd->slice);
    wetdbg_criterion_free(crash);
    return err;
}

int wetdbg_slice_forward(struct wetdbg *wet, const struct wetdbg_criterion *source,
                         const struct wetdbg_slice_options *options, struct wetdbg_slice **out)
{
    struct slc_forward fwd = {.wet = wet, .criterion = source};
    double began = wd_seconds();
    struct wetdbg_slice *known =
        options->session ? slc_answer_find(options->session, source, options) : NULL;
    int err = known ? tell_lines(known, options) : list_starts(&fwd);

    if (!err && !known && fwd.start_count == 0)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s: the run ends there, nothing comes after it",
                          source->info.source);
    fwd.slice = err || known ? known : slc_slice_new(wet, options);
    if (!err && !fwd.slice)
        err = -ENOMEM;
    if (!err && !known) {
        fwd.slice->is_forward = true;
        fwd.code = fwd.slice->code;
        set_kinds(&fwd, options);
        err = make(&fwd);
    }
    if (!err && !known && options->session)
        err = slc_answer_keep(fwd.slice, source);
    free(fwd.starts);
    if (err) {
        wetdbg_slice_free(fwd.slice);
        return err;
    }
    fwd.slice->counts.seconds = wd_seconds() - began;
    *out = fwd.slice;
    return 0;
}
