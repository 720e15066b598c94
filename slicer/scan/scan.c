/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The pass itself: intervals, node executions and their instructions, all from the last to the
 * first.
 *
 * Most executions define nothing that is wanted. One is passed over after a test of four words (the
 * registers it defines) and of its stores against the wanted pages; only calls, returns and
 * branches also look at the frames, if control dependences are followed. Without them whole
 * intervals are skipped that wrote no wanted byte while no register is wanted.
 */
#include "slicer/scan/scan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/bisect.h"
#include "common/checked.h"
#include "common/clock.h"
#include "slicer/scan/call_uses.h"
#include "slicer/scan/fast.h"
#include "slicer/scan/landing.h"
#include "slicer/scan/loader.h"
#include "slicer/scan/memo.h"
#include "slicer/scan/stretch.h"
#include "slicer/scan/users.h"
#include <wetdbg/errors.h>

struct slc_task *slc_scan_task(struct slc_scan *scan, uint32_t number, int *err)
{
    if (number >= EVQ_TASKS_MAX) {
        *err = wetdbg_fail(-WETDBG_ERR_CORRUPT, "a node execution names task %u", number);
        return NULL;
    }
    if (scan->tasks[number])
        return scan->tasks[number];
    struct slc_task *task = calloc(1, sizeof(*task));
    if (!task || slc_frames_init(&task->frames) ||
        slc_regs_init(&task->regs, scan->memory.has_wants)) {
        if (task)
            slc_frames_fini(&task->frames);
        free(task);
        *err = -ENOMEM;
        return NULL;
    }
    task->pending = slc_no_want();
    task->hooked.want = slc_no_want();
    scan->tasks[number] = task;
    return task;
}

/* ---- one execution ---- */

#define LANDINGS_MAX 256 /* that are asked for: each runs an interval */

static int pass_far_jump(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                         const struct slc_node *node)
{
    wetdbg_time time = scan->interval->first_time + exec->time_off + node->statement_count - 1;
    size_t after = (size_t)(exec - scan->interval->execs) + node->joining.node_count;
    struct slc_landing landing;
    int err = slc_landing_find(scan->code, scan->interval, after, exec->task, &landing);

    if (!err && (landing.is_moved || !landing.rsp) && scan->landings_asked++ < LANDINGS_MAX)
        err = slc_landing_ask(scan->wet, time, &landing);
    else if (landing.is_moved)
        landing.rsp = 0;
    return err ? err : slc_frames_pass_far_jump(&task->frames, task->next->function, landing.rsp);
}

int slc_pass_exit(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                  const struct slc_node *node)
{
    const uint64_t *slots = scan->interval->slots + exec->slot_off;
    struct slc_want *hit = &scan->hits.best;

    if (node->flags & SLC_NODE_RET)
        return slc_frames_pass_return(&task->frames, slots[node->exit_slot]);
    if (node->flags & SLC_NODE_CALL)
        return slc_frames_pass_call(&task->frames, slots[node->exit_slot], node->function, hit);
    if (!task->next)
        return 0;
    if (node->flags & SLC_NODE_INDIRECT && slc_code_saw_jump(scan->code, node, task->next) > 0)
        scan->is_stale = true;
    if (slc_is_tail_jump(node, task->next)) {
        slc_frames_take_all(&task->frames, hit);
        return 0;
    }
    if (slc_is_landing(node, task->next))
        slc_frames_branch(&task->frames, scan->code->classes, task->next->wet->pc, hit);
    if (slc_is_far_jump(node, task->next))
        return pass_far_jump(scan, task, exec, node);
    return 0;
}

void slc_pass_branch(struct slc_scan *scan, struct slc_task *task, const struct slc_node *node)
{
    struct slc_want hit = slc_no_want();

    slc_frames_branch(&task->frames, scan->code->classes, node->last_pc, &hit);
    if (hit.distance == SLC_NOT_WANTED)
        return;
    slc_want_merge(&scan->hits.best, &hit);
    scan->hits.is_guard = true;
}

bool slc_stores_wanted(struct slc_scan *scan, const struct slc_node *node, const uint64_t *slots)
{
    struct ins_range ranges[INS_RANGES_MAX];

    for (uint32_t i = 0; i < node->store_count; i++) {
        const struct slc_store *store = &node->stores[i];
        if (!store->is_range) {
            if (slc_memory_wants(&scan->memory, slots[store->slot], store->size_bytes))
                return true;
            continue;
        }
        unsigned count = slc_operand_ranges(&node->wet->statements[store->statement],
                                            store->operand, slots, ranges);
        for (unsigned r = 0; r < count; r++)
            if (slc_memory_wants(&scan->memory, ranges[r].address, ranges[r].size_bytes))
                return true;
    }
    return false;
}

int slc_pass_events(struct slc_scan *scan, wetdbg_time time)
{
    int err = 0;

    while (!err && scan->event_at && scan->interval->events[scan->event_at - 1].time >= time) {
        scan->event_at--;
        err = slc_pass_event(scan, &scan->interval->events[scan->event_at], scan->event_at);
    }
    return err;
}

static wetdbg_time seed_time(const struct slc_scan *scan)
{
    return scan->seed_at < scan->criterion->seed_count ? scan->criterion->seeds[scan->seed_at].time
                                                       : 0;
}

static inline void forget_hit(struct slc_hits *hits)
{
    hits->best = slc_no_want();
    hits->best_address = 0;
    hits->is_guard = false;
}

static int pass_statement(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                          const struct slc_node *node, uint32_t s)
{
    wetdbg_time time = scan->interval->first_time + exec->time_off + s;
    const struct slc_seed *seed = NULL;
    int err = slc_pass_events(scan, time);

    if (err)
        return err;
    if (task->pending.distance != SLC_NOT_WANTED) {
        slc_hit(&scan->hits, &task->pending, task->pending.location, task->pending_address);
        task->pending = slc_no_want();
    }
    if (seed_time(scan) == time)
        seed = &scan->criterion->seeds[scan->seed_at++];
    err = slc_follow(scan, task, exec, node, s, seed);
    forget_hit(&scan->hits);
    return err;
}

/* Passes the instructions of an execution up to `last` (a time). */
static int pass_exec(struct slc_scan *scan, const struct wet_exec *exec, wetdbg_time last)
{
    wetdbg_time first = scan->interval->first_time + exec->time_off;
    struct slc_node *node = slc_code_node(scan->code, exec->node);
    int err = 0;
    struct slc_task *task = exec->task < EVQ_TASKS_MAX ? scan->tasks[exec->task] : NULL;

    if (!task)
        task = slc_scan_task(scan, exec->task, &err);
    if (!node || !task)
        return err ? err : -ENOMEM;
    uint32_t count = node->statement_count;
    bool is_whole = first + count - 1 <= last;
    if (!is_whole)
        count = (uint32_t)(last - first) + 1;
    if (scan->event_at)
        err = slc_pass_events(scan, first + count - 1);
    scan->slice->counts.scanned += count;
    bool is_passed_by = node->is_loader && !scan->follows_loader;
    if (is_whole && node->flags && !scan->follows_loader && !err &&
        (node->is_loader || task->aside))
        err = slc_loader_pass_border(scan, task, exec, node);
    if (scan->tracks_frames && is_whole && node->flags && !err) {
        if (!slc_stays_inside(task, node))
            err = slc_pass_exit(scan, task, exec, node);
        if (node->flags & SLC_NODE_BRANCH && !is_passed_by &&
            slc_frames_top(&task->frames)->bloom & node->branch_bit)
            slc_pass_branch(scan, task, node);
    }
    task->jumped_to = task->next;
    task->next = node;
    if (err)
        return err;
    bool is_quiet = task->pending.distance == SLC_NOT_WANTED &&
                    task->hooked.want.distance == SLC_NOT_WANTED && seed_time(scan) < first &&
                    !(scan->event_at && scan->interval->events[scan->event_at - 1].time >= first);
    bool is_fast = is_quiet && node->compiled.ops && !is_passed_by && !node->is_recorder;
    if (is_fast && node->store_count == 0 && scan->hits.best.distance == SLC_NOT_WANTED &&
        !slc_regs_intersect(&task->regs, &node->defs))
        return 0;
    if (!is_fast && is_quiet && scan->hits.best.distance == SLC_NOT_WANTED &&
        !slc_regs_intersect(&task->regs, &node->defs) &&
        !slc_stores_wanted(scan, node, scan->interval->slots + exec->slot_off))
        return 0;
    if (first - scan->interval->first_time + count > scan->interval->instructions)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "interval %llu holds time %llu beyond its end",
                           (unsigned long long)scan->interval->index,
                           (unsigned long long)(first + count - 1));
    if (is_passed_by && seed_time(scan) < first)
        return slc_loader_pass(scan, task, exec, node, count);
    if (is_fast && scan->memory.has_wants)
        return slc_users_exec(scan, task, exec, node, count);
    if (is_fast && is_whole) {
        err = slc_memo_exec(scan, task, exec, node, scan->hits.best.distance != SLC_NOT_WANTED);
        forget_hit(&scan->hits);
        return err;
    }
    if (is_fast)
        return slc_fast_exec(scan, task, exec, node, count);
    for (uint32_t s = count; s-- > 0 && !err;)
        err = pass_statement(scan, task, exec, node, s);
    return err;
}

/* ---- intervals ---- */

/* Events at the end that belong to `last` or come after it, where the criterion's state is that
 * before the next instruction: only what completed before it counts. */
static size_t events_before(const struct slc_scan *scan, const struct wet_interval *interval,
                            wetdbg_time last)
{
    const struct slc_seed *seed = &scan->criterion->seeds[0];
    size_t count = interval->event_count;

    if (!seed->is_fault) {
        while (count && interval->events[count - 1].time >= seed->time)
            count--;
        return count;
    }
    while (count && interval->events[count - 1].time > last)
        count--;
    for (size_t i = count; i-- > 0 && interval->events[i].time == last;)
        if (interval->events[i].task == seed->task &&
            (interval->events[i].entry->kind == EVQ_FAULT ||
             interval->events[i].entry->kind == EVQ_PLACE))
            return i;
    return count;
}

/* Notes a criterion that is a system call itself: what it defined comes later, but not what it
 * was. */
static int note_call(struct slc_scan *scan, wetdbg_time last)
{
    const struct wet_interval *interval = scan->interval;
    int err = 0;

    for (size_t i = scan->event_at; i < interval->event_count && !err; i++) {
        const struct wet_event *event = &interval->events[i];
        if (event->time > last)
            break;
        if (event->entry->kind != EVQ_SYSCALL_ENTER)
            continue;
        struct slc_task *task = slc_scan_task(scan, event->task, &err);
        if (task)
            slc_call_note(&task->call, event->entry);
    }
    return err;
}

/* How many executions began at or before a time. */
static size_t find_exec(const struct wet_interval *interval, wetdbg_time time)
{
    return wd_bisect(0, interval->exec_count, i,
                     interval->first_time + interval->execs[i].time_off <= time);
}

#define REPORT_SECONDS 0.1
#define REPORT_EXECS   (1u << 14) /* an interval of which all is in the slice takes its time */

/* Tells how far the scan is, now and then. */
static int report(struct slc_scan *scan, uint64_t scanned)
{
    const struct wetdbg_slice_options *options = &scan->slice->options;
    double now = wd_seconds();

    if (now - scan->reported < REPORT_SECONDS)
        return 0;
    scan->reported = now;
    if (options->progress &&
        options->progress(options->arg, scanned, wetdbg_get_info(scan->wet)->instructions))
        return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "the slice was interrupted");
    return 0;
}

/* Whether a first look ends before an execution, which it tells then. */
static bool ends_look(struct slc_scan *scan, const struct wet_exec *exec, wetdbg_time last)
{
    const uint64_t look = scan->slice->options.look;
    wetdbg_time time = scan->interval->first_time + exec->time_off;

    if (!look || time + look > last)
        return false;
    scan->slice->counts.looked_to = time;
    return true;
}

static int pass_execs(struct slc_scan *scan, size_t first, size_t end, wetdbg_time last)
{
    const struct wet_interval *interval = scan->interval;
    int err = 0;

    assert(first <= end && end <= interval->exec_count);
    while (end > first && !err) {
        size_t stop = end - first > REPORT_EXECS ? end - REPORT_EXECS : first;
        while (end > stop && !err) {
            end = slc_run_execs(scan, stop, end, last, &err);
            if (end > stop && !err)
                err = pass_exec(scan, &interval->execs[--end], last);
        }
        if (!err)
            err = report(scan, wetdbg_get_info(scan->wet)->last_time - interval->first_time -
                                   interval->execs[end].time_off);
        if (!err && ends_look(scan, &interval->execs[end], last))
            break;
    }
    return err;
}

/* Passes all executions before `end`. */
static int pass_stretches(struct slc_scan *scan, size_t end)
{
    int result = 0;

    while (end && result >= 0) {
        struct slc_reach reach = slc_reach_part(scan, end);
        result = slc_stretch_take(scan, &reach, scan->arrival);
        end = reach.first;
        if (result)
            continue;
        result = pass_execs(scan, reach.first, reach.end, UINT64_MAX);
        if (!result)
            result = slc_stretch_keep(scan, &reach, scan->arrival);
    }
    return result < 0 ? result : 0;
}

int slc_scan_validate(const struct slc_scan *scan)
{
    int err = slc_memory_validate(&scan->memory);

    if (!err)
        err = slc_bypass_validate(&scan->bypass, &scan->memory);
    for (unsigned i = 0; i < EVQ_TASKS_MAX && !err; i++) {
        if (!scan->tasks[i])
            continue;
        err = slc_regs_validate(&scan->tasks[i]->regs);
        if (!err)
            err = slc_frames_validate(&scan->tasks[i]->frames, scan->code->class_count);
    }
    return err;
}

static int pass_interval(struct slc_scan *scan, const struct wet_interval *interval,
                         wetdbg_time last, bool is_first)
{
    int err = 0;

    assert(!scan->interval);
    scan->interval = interval;
    scan->bits = slc_slice_bits(scan->slice, interval);
    scan->event_at = is_first ? events_before(scan, interval, last) : interval->event_count;
    if (is_first)
        err = note_call(scan, last);
    size_t at = find_exec(interval, last);
    if (!err && slc_stretch_is_kept(scan) && at) {
        struct slc_reach partly = slc_reach_stretch(scan, at);
        bool is_whole = last + 1 >= interval->first_time + interval->instructions;
        if (!is_whole) {
            err = pass_execs(scan, partly.first, at, last);
            at = partly.first;
            err = err ? err : slc_slice_collect(scan->slice);
        }
        if (!err)
            err = pass_stretches(scan, at);
    } else if (!err) {
        err = pass_execs(scan, 0, at, last);
    }
    if (!err && !scan->slice->counts.looked_to)
        err = slc_pass_events(scan, 0);
    scan->interval = NULL;
    if (!err)
        err = wd_checked(slc_scan_validate(scan));
    return err ? err : slc_slice_collect(scan->slice);
}

static bool wants_registers(const struct slc_scan *scan)
{
    for (unsigned i = 0; i < EVQ_TASKS_MAX; i++)
        if (scan->tasks[i] && (!slc_regs_is_empty(&scan->tasks[i]->regs) || scan->tasks[i]->aside ||
                               scan->tasks[i]->pending.distance != SLC_NOT_WANTED))
            return true;
    return false;
}

static bool waits_for_control(const struct slc_scan *scan)
{
    for (unsigned i = 0; i < EVQ_TASKS_MAX; i++)
        if (scan->tasks[i] && scan->tasks[i]->frames.demand_count)
            return true;
    return false;
}

static bool holds_handlers(const struct slc_scan *scan)
{
    for (unsigned i = 0; i < EVQ_TASKS_MAX; i++)
        for (size_t f = 0; scan->tasks[i] && f < scan->tasks[i]->frames.count; f++)
            if (scan->tasks[i]->frames.frames[f].kind == SLC_FRAME_SIGNAL)
                return true;
    return false;
}

static bool is_done(const struct slc_scan *scan)
{
    return scan->seed_at == scan->criterion->seed_count && !wants_registers(scan) &&
           scan->memory.word_count == 0 && scan->memory.slot_count == 0 &&
           slc_held_is_empty(&scan->held) && !waits_for_control(scan) && !holds_handlers(scan);
}

#define SKIP_BLOCK_BYTES 256
#define SKIP_PAGES_MAX   512

/* Whether interval k can have no part in the slice, without running it. */
static bool can_skip(struct slc_scan *scan, uint64_t k)
{
    wetdbg_time seed = seed_time(scan);

    if (scan->follows_control || wants_registers(scan) || waits_for_control(scan) ||
        holds_handlers(scan) || scan->memory.page_count > SKIP_PAGES_MAX ||
        (seed && wetdbg_interval_at(scan->wet, seed) == k) || slc_passed_concerns(scan, k))
        return false;
    uint64_t at = 0;
    while (slc_memory_next(&scan->memory, &at, UINT64_MAX)) {
        at &= ~(uint64_t)(SKIP_BLOCK_BYTES - 1);
        if (wetdbg_interval_may_write(scan->wet, k, at, SKIP_BLOCK_BYTES))
            return false;
        at += SKIP_BLOCK_BYTES;
        if (at == 0)
            break;
    }
    at = 0;
    while (slc_memory_next_slot(&scan->memory, &at, UINT64_MAX)) {
        if (wetdbg_interval_may_write(scan->wet, k, at, 8))
            return false;
        at += 8;
        if (at == 0)
            break;
    }
    return true;
}

/* ---- the whole pass ---- */

static int begin(struct slc_scan *scan)
{
    const struct slc_seed *seed = &scan->criterion->seeds[0];
    int err = 0;

    scan->hits.best = slc_no_want();
    scan->hits.is_guard = false;
    scan->hits.flows = scan->hits.whole = 0;
    while (!err && scan->seed_at < scan->criterion->seed_count && seed->is_fault) {
        struct slc_task *task = slc_scan_task(scan, seed->task, &err);
        if (task)
            err = slc_slice_add_fault(scan->slice, seed->time, seed->pc, seed->task, NULL, 0);
        if (task && !err)
            err = slc_follow_seed(scan, task, seed, SLC_USER_FAULT);
        seed = &scan->criterion->seeds[++scan->seed_at];
    }
    scan->hits.best = slc_no_want();
    return err;
}

static int end(struct slc_scan *scan)
{
    int err = slc_bypass_refuse_rest(&scan->bypass);

    if (!err)
        err = slc_memory_from_outside(scan, 0, UINT64_MAX);
    for (uint32_t i = 0; i < EVQ_TASKS_MAX; i++)
        if (scan->tasks[i])
            slc_loader_flush(scan->tasks[i]);
    for (uint32_t i = 0; i < EVQ_TASKS_MAX && !err; i++)
        for (unsigned l = 0; scan->tasks[i] && l < INS_LOC_COUNT && !err; l++)
            err = slc_register_from_outside(scan, scan->tasks[i], i, l);
    return err;
}

static wetdbg_time last_time(const struct slc_scan *scan)
{
    const struct slc_seed *seed = &scan->criterion->seeds[0];
    return seed->is_fault ? seed->time - 1 : seed->time;
}

int slc_scan_run(struct slc_scan *scan)
{
    wetdbg_time last = last_time(scan);
    bool is_first = true;
    int err = begin(scan);

    assert(scan->criterion->seed_count);
    scan->reported = wd_seconds();
    if (err || last == 0)
        return err ? err : end(scan);
    for (uint64_t k = wetdbg_interval_at(scan->wet, last) + 1;
         k-- > 0 && !err && !scan->is_stale && !is_done(scan);) {
        const struct wet_interval *interval;
        if (!is_first && can_skip(scan, k))
            continue;
        err = wet_interval_get(scan->wet, k, &interval);
        if (err)
            break;
        if (k && scan->follows_control) /* no interval is skipped */
            wet_prefetch(scan->wet, k - 1);
        err = pass_interval(scan, interval, last, is_first);
        uint64_t left = interval->first_time;
        wet_interval_put(scan->wet, interval);
        is_first = false;
        if (!err && scan->slice->counts.looked_to)
            return 0;
        if (!err)
            err = report(scan, wetdbg_get_info(scan->wet)->last_time - left);
    }
    if (!err)
        err = wd_checked(slc_stations_validate(scan->slice->session));
    return err || scan->is_stale ? err : end(scan);
}
