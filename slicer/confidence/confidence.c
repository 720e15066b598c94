/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Follows right values back through everything that ran: instances that define nothing that is
 * pinned are passed over. Calls, returns and branches are met as in a backward scan
 * (slicer/scan/frames.h), so that what let an instance run is known when it is met. Where anything
 * else happens to a task than instructions and system calls, the pins on its registers are dropped:
 * less is known then, and nothing that is wrong.
 */
#include "slicer/confidence/confidence.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/bisect.h"
#include "recorder/event/ops.h"
#include "slicer/call_events.h"
#include "slicer/confidence/evidence.h"
#include "slicer/confidence/passed_pins.h"
#include "slicer/scan/scan.h"
#include <wetdbg/errors.h>

struct walk {
    struct slc_scan scan; /* of which tasks, code, hits and interval are used */
    const struct slc_confidence_options *options;
    struct slc_confidence_counts *counts;
    struct slc_stepping stepping;
    struct slc_pinned_task *tasks[EVQ_TASKS_MAX];
    const struct slc_seed **seeds; /* the latest first */
    size_t seed_count, seed_at;
    size_t good_at; /* options->good[good_at - 1] is the next one */
    size_t event_at;
    bool has_values;     /* of the interval */
    uint64_t judged;     /* instances */
    uint64_t told;       /* of these, when progress was told lately */
    wetdbg_time reached; /* all from here on have been passed */
};

/* ---- tasks ---- */

static struct slc_pinned_task *task_of(struct walk *walk, uint32_t number, int *err)
{
    if (!slc_scan_task(&walk->scan, number, err))
        return NULL;
    if (!walk->tasks[number]) {
        walk->tasks[number] = calloc(1, sizeof(struct slc_pinned_task));
        if (walk->tasks[number])
            memset(&walk->tasks[number]->live, 0xff, sizeof(walk->tasks[number]->live));
        else
            *err = -ENOMEM;
    }
    return walk->tasks[number];
}

/* Something came between: nothing is known of its registers, nor of what let it run. */
static int forget_task(struct walk *walk, uint32_t number)
{
    int err = 0;
    struct slc_pinned_task *task = task_of(walk, number, &err);

    if (!task)
        return err;
    slc_forget_registers(&walk->stepping, task);
    slc_frames_fini(&walk->scan.tasks[number]->frames);
    walk->scan.tasks[number]->next = NULL;
    return slc_frames_init(&walk->scan.tasks[number]->frames);
}

/* ---- events ---- */

static int pass_op(struct walk *walk, const struct evq_entry *entry, const struct evq_op *op)
{
    struct slc_pins *pins = walk->stepping.pins;
    int err = slc_passed_pins_take(pins, walk->scan.code->session, entry, op);

    if (err)
        return err;
    switch (op->op) {
    case EVQ_OP_REMAP:
        slc_pins_drop_range(pins, op->remap.to, op->remap.to_size);
        slc_pins_drop_range(pins, op->range.start, op->range.size);
        return 0;
    case EVQ_OP_WRITE:
    case EVQ_OP_ZERO:
    case EVQ_OP_MAP:
    case EVQ_OP_UNMAP:
    case EVQ_OP_DISCARD:
        slc_pins_drop_range(pins, op->range.start, op->range.size);
        return 0;
    case EVQ_OP_CLEAR_SPACE:
        slc_pins_drop_range(pins, 0, UINT64_MAX);
        return 0;
    case EVQ_OP_TASK_NEW:
        return op->task_new.task < EVQ_TASKS_MAX ? forget_task(walk, (uint32_t)op->task_new.task)
                                                 : 0;
    default:
        return 0;
    }
}

static int pass_event(struct walk *walk, const struct wet_event *event)
{
    const struct evq_entry *entry = event->entry;
    const struct evq_regs *regs = evq_entry_loads(entry);
    bool is_handler = regs && entry->kind == EVQ_OPS && slc_entry_calls_handler(entry, regs);
    bool is_return = (entry->kind == EVQ_SYSCALL_ENTER || entry->kind == EVQ_SYSCALL_EXIT) &&
                     entry->number == SYS_rt_sigreturn;
    int err = 0;

    if (is_handler || is_return)
        err = forget_task(walk, event->task);
    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(entry, op));)
        err = pass_op(walk, entry, op);
    if (!err && entry->kind == EVQ_SYSCALL_ENTER)
        err = slc_passed_pins_give(walk->stepping.pins, walk->scan.code->session, event->time);
    return err;
}

static int pass_events(struct walk *walk, wetdbg_time time)
{
    const struct wet_interval *interval = walk->scan.interval;
    int err = 0;

    while (!err && walk->event_at && interval->events[walk->event_at - 1].time >= time)
        err = pass_event(walk, &interval->events[--walk->event_at]);
    return err;
}

/* ---- what is right ---- */

static wetdbg_time seed_time(const struct walk *walk)
{
    return walk->seed_at < walk->seed_count ? walk->seeds[walk->seed_at]->time : 0;
}

static wetdbg_time good_time(const struct walk *walk)
{
    return walk->good_at ? walk->options->good[walk->good_at - 1] : 0;
}

/* Places that the instance at a seed's time made itself, or those before it. */
static int pin_places(struct walk *walk, const struct slc_seed *seed, bool is_after)
{
    int err = 0;

    for (size_t i = 0; i < seed->place_count && !err; i++) {
        const struct slc_place *place = &seed->places[i];
        if (place->is_after != is_after || place->edge != WETDBG_EDGE_VALUE)
            continue;
        walk->counts->right_bytes += place->size_bytes;
        for (uint64_t b = 0; b < place->size_bytes && !err; b++)
            err = slc_pins_add(walk->stepping.pins, place->address + b, SLC_PIN_EXACT);
    }
    return err;
}

static void pin_set(struct walk *walk, struct slc_pinned_task *task, const struct ins_regset *set,
                    unsigned bytes)
{
    uint64_t mask = bytes ? (bytes < 64 ? (UINT64_C(1) << bytes) - 1 : UINT64_MAX) : UINT64_MAX;

    for (unsigned l = ins_regset_next(set, 0); l < INS_LOC_COUNT; l = ins_regset_next(set, l + 1))
        slc_pin_location(&walk->stepping, task, l, mask);
}

/* What an instance uses is right. */
static int pin_uses(struct walk *walk, struct slc_pinned_task *task,
                    const struct wet_statement *statement, const uint64_t *slots)
{
    const struct ins_info *info = statement->info;
    struct ins_range ranges[INS_RANGES_MAX];
    unsigned skipped = ins_skipped_flow(info, slots + statement->slot);
    int err = 0;

    for (unsigned f = 0; f < info->flow_count && !err; f++) {
        const struct ins_flow *flow = &info->flows[f];
        if (flow->kinds & (skipped | INS_FLOW_STACK))
            continue;
        pin_set(walk, task, &flow->value_uses, 0);
        for (unsigned m = 0; m < info->mem_count; m++) {
            unsigned count =
                flow->mem_uses >> m & 1 ? slc_operand_ranges(statement, m, slots, ranges) : 0;
            for (unsigned r = 0; r < count; r++)
                for (uint64_t b = 0; b < ranges[r].size_bytes && !err; b++)
                    err = slc_pins_add(walk->stepping.pins, ranges[r].address + b, SLC_PIN_EXACT);
        }
    }
    return err;
}

/* Pins what seeds say of the state just before `time`. `statement` is NULL at the run's end. */
static int pin_seeds(struct walk *walk, wetdbg_time time, const struct wet_statement *statement,
                     const uint64_t *slots)
{
    int err = 0;

    while (!err && seed_time(walk) == time && time) {
        const struct slc_seed *seed = walk->seeds[walk->seed_at++];
        struct slc_pinned_task *task = task_of(walk, seed->task, &err);
        if (!task)
            return err;
        pin_set(walk, task, &seed->regs[WETDBG_EDGE_VALUE], seed->register_bytes);
        err = pin_places(walk, seed, false);
        if (!err && seed->uses == SLC_USES_ALL && statement)
            err = pin_uses(walk, task, statement, slots);
    }
    return err;
}

/* Pins what the instance at `time` is to have made. */
static int pin_made(struct walk *walk, wetdbg_time time)
{
    int err = 0;

    for (size_t i = walk->seed_at; i < walk->seed_count && walk->seeds[i]->time == time && !err;
         i++)
        err = pin_places(walk, walk->seeds[i], true);
    return err;
}

/* ---- instructions ---- */

static int need_values(struct walk *walk)
{
    int err = walk->has_values ? 0 : slc_values_load(walk->stepping.values, walk->scan.interval);

    walk->has_values |= !err;
    return err;
}

static int demand_control(struct walk *walk, uint32_t task, uint32_t pc_index)
{
    uint32_t klass = slc_code_class(walk->scan.code, pc_index);

    if (klass == SLC_UNKNOWN)
        return -ENOMEM;
    return slc_frames_wait(&walk->scan.tasks[task]->frames, walk->scan.code->classes, klass);
}

static bool defines_pinned(const struct walk *walk, const struct slc_pinned_task *task,
                           const struct wet_statement *statement, const uint64_t *slots)
{
    const struct ins_info *info = statement->info;
    struct ins_range ranges[INS_RANGES_MAX];

    for (unsigned f = 0; f < info->flow_count; f++) {
        const struct ins_flow *flow = &info->flows[f];
        unsigned stores = flow->mem_defs | flow->mem_may_defs;
        if (ins_regset_intersects(&flow->defs, &task->pinned) ||
            ins_regset_intersects(&flow->may_defs, &task->pinned))
            return true;
        for (unsigned m = 0; m < info->mem_count; m++) {
            unsigned count = stores >> m & 1 ? slc_operand_ranges(statement, m, slots, ranges) : 0;
            for (unsigned r = 0; r < count; r++)
                if (slc_pins_touch(walk->stepping.pins, ranges[r].address, ranges[r].size_bytes))
                    return true;
        }
    }
    return false;
}

static bool defines_flags(const struct ins_info *info)
{
    for (unsigned f = 0; f < info->flow_count; f++)
        for (unsigned l = INS_LOC_CF; l <= INS_LOC_OF; l++)
            if (ins_regset_has(&info->flows[f].defs, l) ||
                ins_regset_has(&info->flows[f].may_defs, l))
                return true;
    return false;
}

static int pass_statement(struct walk *walk, const struct wet_exec *exec,
                          const struct slc_node *node, uint32_t s, bool is_guard, uint64_t next_pc)
{
    struct slc_pinned_task *task = walk->tasks[exec->task];
    const struct wet_statement *statement = &node->wet->statements[s];
    wetdbg_time time = walk->scan.interval->first_time + exec->time_off + s;
    struct slc_instance instance = {.statement = statement,
                                    .slots = walk->scan.interval->slots + exec->slot_off,
                                    .time = time,
                                    .task = exec->task,
                                    .next_pc = next_pc,
                                    .is_guard = is_guard,
                                    .is_right = good_time(walk) == time,
                                    .is_loader = node->is_loader};
    struct slc_verdict verdict;
    int err = pass_events(walk, time);

    if (!err)
        err = pin_made(walk, time);
    if (err)
        return err;
    walk->good_at -= instance.is_right;
    if (!is_guard && !instance.is_right && !(task->flag_count && defines_flags(statement->info)) &&
        !defines_pinned(walk, task, statement, instance.slots)) {
        slc_pass_liveness(&task->live, statement->info);
        return pin_seeds(walk, time, statement, instance.slots);
    }
    err = need_values(walk);
    walk->judged++;
    if (!err)
        err = slc_step(&walk->stepping, task, &instance, &verdict);
    if (!err && verdict.is_pinned) {
        walk->counts->pinned++;
        err = walk->options->on_instance(walk->options->to, time, node->pc_index[s],
                                         verdict.is_neutral, verdict.confidence);
        if (!err)
            err = demand_control(walk, exec->task, node->pc_index[s]);
    }
    return err ? err : pin_seeds(walk, time, statement, instance.slots);
}

/* Whether the execution's last instruction let something run that is known to be right. */
static int pass_control(struct walk *walk, const struct wet_exec *exec, const struct slc_node *node,
                        bool *is_guard)
{
    struct slc_scan *scan = &walk->scan;
    struct slc_task *task = scan->tasks[exec->task];
    int err = 0;

    scan->hits.best = slc_no_want();
    if (node->flags && !slc_stays_inside(task, node))
        err = slc_pass_exit(scan, task, exec, node);
    *is_guard = scan->hits.best.distance != SLC_NOT_WANTED;
    if (node->flags & SLC_NODE_BRANCH && slc_frames_top(&task->frames)->bloom & node->branch_bit)
        *is_guard |= slc_frames_guard(&task->frames, scan->code->classes, node->last_pc);
    return err;
}

static bool is_quiet(const struct walk *walk, const struct slc_pinned_task *task,
                     const struct wet_exec *exec, const struct slc_node *node, wetdbg_time first)
{
    const struct wet_interval *interval = walk->scan.interval;
    struct ins_range ranges[INS_RANGES_MAX];

    if (task->flag_count || ins_regset_intersects(&node->defs, &task->pinned) ||
        seed_time(walk) >= first || good_time(walk) >= first ||
        (walk->event_at && interval->events[walk->event_at - 1].time >= first))
        return false;
    for (uint32_t i = 0; i < node->store_count; i++) {
        const struct slc_store *store = &node->stores[i];
        unsigned count =
            slc_operand_ranges(&node->wet->statements[store->statement], store->operand,
                               interval->slots + exec->slot_off, ranges);
        for (unsigned r = 0; r < count; r++)
            if (slc_pins_touch(walk->stepping.pins, ranges[r].address, ranges[r].size_bytes))
                return false;
    }
    return true;
}

static int pass_exec(struct walk *walk, const struct wet_exec *exec, wetdbg_time last)
{
    const struct wet_interval *interval = walk->scan.interval;
    wetdbg_time first = interval->first_time + exec->time_off;
    struct slc_node *node = slc_code_node(walk->scan.code, exec->node);
    bool is_guard = false;
    int err = 0;
    struct slc_pinned_task *task = task_of(walk, exec->task, &err);

    if (!task || !node)
        return err ? err : -ENOMEM;
    uint32_t count = node->statement_count;
    if (exec->time_off + (uint64_t)count > interval->instructions)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "interval %llu holds times beyond its end",
                           (unsigned long long)interval->index);
    bool is_whole = first + count - 1 <= last;
    if (!is_whole)
        count = (uint32_t)(last - first) + 1;
    err = pass_events(walk, first + count - 1);
    struct slc_task *own = walk->scan.tasks[exec->task];
    uint64_t next_pc = is_whole && own->next ? own->next->wet->pc : 0;
    if (!err && is_whole)
        err = pass_control(walk, exec, node, &is_guard);
    own->next = node;
    if (err)
        return err;
    if (!is_guard && is_quiet(walk, task, exec, node, first)) {
        for (uint32_t s = count; s-- > 0;)
            slc_pass_liveness(&task->live, node->wet->statements[s].info);
        walk->reached = first;
        return 0;
    }
    for (uint32_t s = count; s-- > 0 && !err;) {
        bool is_last = s + 1 == node->statement_count;
        err = pass_statement(walk, exec, node, s, is_guard && is_last, is_last ? next_pc : 0);
        if (!err)
            walk->reached = first + s;
    }
    return err;
}

/* ---- the pass ---- */

#define REPORT_EXECS  (1u << 12)
#define REPORT_JUDGED 256

/* Says how far the pass is: by what it has gone through or by what it has judged, whichever is more
 * of all. */
static int report(struct walk *walk, wetdbg_time time)
{
    const struct wetdbg_info *info = wetdbg_get_info(walk->scan.wet);
    uint64_t done = info->last_time - time, total = info->instructions;
    uint64_t limit = walk->options->limit;

    walk->told = walk->judged;
    if (limit && (double)walk->judged / (double)limit > (double)done / (double)total) {
        done = walk->judged;
        total = limit;
    }
    if (walk->options->progress && walk->options->progress(walk->options->arg, done, total))
        return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "pruning was interrupted");
    return 0;
}

static bool is_enough(const struct walk *walk)
{
    return walk->options->limit && walk->judged >= walk->options->limit;
}

static int pass_interval(struct walk *walk, const struct wet_interval *interval, wetdbg_time last)
{
    size_t at = wd_bisect(0, interval->exec_count, i,
                          interval->first_time + interval->execs[i].time_off <= last);
    int err = 0;

    walk->scan.interval = interval;
    walk->event_at = interval->event_count;
    walk->has_values = false;
    while (walk->event_at && interval->events[walk->event_at - 1].time > last)
        walk->event_at--;
    while (at-- > 0 && !err && !is_enough(walk)) {
        err = pass_exec(walk, &interval->execs[at], last);
        if (!err && (at % REPORT_EXECS == 0 || walk->judged >= walk->told + REPORT_JUDGED))
            err = report(walk, interval->first_time + interval->execs[at].time_off);
    }
    return err || is_enough(walk) ? err : pass_events(walk, 0);
}

static int later_first(const void *a, const void *b)
{
    const struct slc_seed *x = *(const struct slc_seed *const *)a;
    const struct slc_seed *y = *(const struct slc_seed *const *)b;
    return x->time > y->time ? -1 : x->time < y->time;
}

static int gather_seeds(struct walk *walk)
{
    size_t count = 0;

    for (size_t i = 0; i < walk->options->right_count; i++)
        count += walk->options->right[i]->seed_count;
    walk->seeds = malloc((count + 1) * sizeof(struct slc_seed *));
    if (!walk->seeds)
        return -ENOMEM;
    for (size_t i = 0; i < walk->options->right_count; i++)
        for (size_t s = 0; s < walk->options->right[i]->seed_count; s++)
            if (!walk->options->right[i]->seeds[s].is_fault)
                walk->seeds[walk->seed_count++] = &walk->options->right[i]->seeds[s];
    qsort(walk->seeds, walk->seed_count, sizeof(struct slc_seed *), later_first);
    walk->good_at = walk->options->good_count;
    return 0;
}

static int walk_run(struct walk *walk)
{
    const struct wetdbg_info *info = wetdbg_get_info(walk->scan.wet);
    struct slc_confidence_counts *counts = walk->counts;
    wetdbg_time last = seed_time(walk) > good_time(walk) ? seed_time(walk) : good_time(walk);
    int err = 0;

    if (last > info->last_time) {
        err = pin_seeds(walk, last, NULL, NULL);
        last = info->last_time;
    }
    if (!last || err)
        return err;
    uint64_t k = wetdbg_interval_at(walk->scan.wet, last) + 1;
    walk->reached = last + 1;
    while (k-- > slc_ranges_first(walk->stepping.ranges) && !err && !is_enough(walk)) {
        const struct wet_interval *interval;
        err = wet_interval_get(walk->scan.wet, k, &interval);
        if (err)
            break;
        err = pass_interval(walk, interval, last);
        if (!err && !is_enough(walk))
            walk->reached = interval->first_time;
        wet_interval_put(walk->scan.wet, interval);
    }
    counts->is_interrupted = err == -WETDBG_ERR_INTERRUPTED;
    if (walk->reached > info->first_time)
        counts->looked_to = walk->reached;
    return counts->is_interrupted ? 0 : err;
}

int slc_confidence(struct slc_code *code, struct slc_ranges *ranges,
                   const struct slc_confidence_options *options,
                   struct slc_confidence_counts *counts)
{
    struct walk *walk = calloc(1, sizeof(*walk));

    *counts = (struct slc_confidence_counts){0};
    if (!walk)
        return -ENOMEM;
    walk->scan.wet = code->wet;
    walk->scan.code = code;
    walk->options = options;
    walk->counts = counts;
    walk->stepping.ranges = ranges;
    int err = slc_pins_new(&walk->stepping.pins);
    if (!err)
        err = slc_values_new(code->wet, &walk->stepping.values);
    if (!err)
        err = gather_seeds(walk);
    if (!err)
        err = walk_run(walk);
    counts->unjudged = walk->stepping.unjudged;
    for (unsigned i = 0; i < EVQ_TASKS_MAX; i++) {
        struct slc_task *task = walk->scan.tasks[i];
        if (task) {
            slc_frames_fini(&task->frames);
            slc_regs_fini(&task->regs);
        }
        free(task);
        free(walk->tasks[i]);
    }
    slc_values_free(walk->stepping.values);
    slc_pins_free(walk->stepping.pins);
    free(walk->seeds);
    free(walk);
    return err;
}
