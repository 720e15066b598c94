/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A walk looks at the arrays of intervals (wet/intervals.h), and learns of each node what it needs
 * when it first meets it.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/bisect.h"
#include "recorder/event/ops.h"
#include "wet/intervals.h"
#include "wet/trace/handler.h"
#include "wet/walk/transfer.h"
#include <wetdbg/errors.h>
#include <wetdbg/model.h>
#include <wetdbg/walk.h>

struct node {
    struct wetdbg_walk_node is;
    bool is_known;
    uint16_t slot; /* of a call or return: where in the execution's slots its stack slot is */
    const struct wet_node *node;
};

/* A signal handler's begin (+1) or end (-1), after instruction `time`. */
struct mark {
    wetdbg_time time;
    int change;
    uint64_t stack; /* rsp at the handler's begin */
};

struct wetdbg_walk {
    struct wetdbg *wet;
    struct wetdbg_model *model;
    const struct wetdbg_thread *thread;
    wetdbg_time first, last; /* times between which the thread's instructions lie */
    const struct wet_interval *interval;
    size_t exec;        /* of `interval`; exec_count and is_end: behind the last one */
    uint32_t statement; /* of its node */
    bool is_end;
    struct node *nodes; /* by id */
    struct mark *marks; /* of the interval and the thread, by time */
    size_t mark_count, mark_capacity;
    uint64_t handler_stack;
    bool (*is_unwanted)(void *arg); /* may be NULL */
    void *arg;
};

/* ---- nodes ---- */

/* The innermost function around pc, and how many there are; not found where none is known. */
static int innermost_at(struct wetdbg_walk *walk, uint64_t pc, struct wetdbg_line *innermost,
                        size_t *count)
{
    int err = wetdbg_inline_chain(walk->model, pc, innermost, 1, count);
    if (!err && *count == 0)
        err = -WETDBG_ERR_NOT_FOUND;
    return err;
}

/* Notes whether all of a node is code of one line, outside and inside of the same inlined
 * functions: of a recursive one copies may be side by side, or in each other. */
static void learn_line(struct wetdbg_walk *walk, struct wetdbg_walk_node *is, uint64_t start)
{
    struct wetdbg_line line, innermost;
    size_t count;
    if (wetdbg_line_at(walk->model, start, &line) != 0)
        return;
    is->file = line.file;
    is->line = line.line;
    is->inlined = line.function;
    is->inlined_count = innermost_at(walk, start, &innermost, &count) == 0 ? count : 0;
    is->is_of_line = line.line != 0;
    while (is->is_of_line && line.end < is->end && line.end > line.start) {
        uint64_t at = line.end;
        if (wetdbg_line_at(walk->model, at, &line) != 0)
            is->is_of_line = false;
        else
            is->is_of_line =
                line.line == is->line && line.file == is->file && line.function == is->inlined;
        if (innermost_at(walk, at, &innermost, &count) == 0)
            is->is_of_line &= count == is->inlined_count && !innermost.begins_here;
    }
}

static void learn(struct wetdbg_walk *walk, struct node *facts, const struct wet_node *node)
{
    const struct wet_statement *last = &node->statements[node->statement_count - 1];
    enum wetdbg_transfer transfer = wet_transfer_of(last->info->klass);
    struct wetdbg_function function;
    *facts = (struct node){
        .is = {.transfer = transfer,
               .count = node->statement_count,
               .end = node->pc + node->code_bytes},
        .is_known = true,
        .node = node,
    };
    if (transfer == WETDBG_TRANSFER_CALL || transfer == WETDBG_TRANSFER_RETURN)
        /* explicit operands come before the stack's */
        facts->slot =
            (uint16_t)(last->slot + (last->info->mem_count ? last->info->mem_count - 1 : 0));
    if (wetdbg_function_at(walk->model, node->pc, &function) == 0) {
        facts->is.function = function.start;
        facts->is.is_entry = function.start == node->pc;
    }
    learn_line(walk, &facts->is, node->pc);
}

/* NULL where memory is short. */
static const struct node *node_of(struct wetdbg_walk *walk, size_t exec)
{
    uint32_t id = walk->interval->execs[exec].node;
    struct node *facts = &walk->nodes[id];
    if (facts->is_known)
        return facts;
    const struct wet_node *node = wet_get_node(walk->wet, id);
    if (!node || !node->statement_count)
        return NULL;
    learn(walk, facts, node);
    return facts;
}

static const struct node *here(struct wetdbg_walk *walk)
{
    return node_of(walk, walk->exec);
}

/* ---- where it stands ---- */

bool wetdbg_walk_is_end(const struct wetdbg_walk *walk)
{
    return walk->is_end;
}

wetdbg_time wetdbg_walk_time(const struct wetdbg_walk *walk)
{
    return walk->interval->first_time + walk->interval->execs[walk->exec].time_off +
           walk->statement;
}

uint64_t wetdbg_walk_pc(struct wetdbg_walk *walk)
{
    return here(walk)->node->statements[walk->statement].pc;
}

const struct wetdbg_walk_node *wetdbg_walk_here(struct wetdbg_walk *walk)
{
    return &here(walk)->is;
}

uint32_t wetdbg_walk_left(struct wetdbg_walk *walk)
{
    return here(walk)->is.count - walk->statement - 1;
}

uint64_t wetdbg_walk_slot(struct wetdbg_walk *walk)
{
    const struct wet_exec *exec = &walk->interval->execs[walk->exec];
    return walk->interval->slots[exec->slot_off + here(walk)->slot];
}

uint64_t wetdbg_walk_interval(const struct wetdbg_walk *walk)
{
    return walk->interval->index;
}

wetdbg_time wetdbg_walk_interval_time(const struct wetdbg_walk *walk)
{
    return walk->interval ? walk->interval->first_time : walk->first;
}

const struct wetdbg_thread *wetdbg_walk_thread(const struct wetdbg_walk *walk)
{
    return walk->thread;
}

wetdbg_time wetdbg_walk_first_time(const struct wetdbg_walk *walk)
{
    return walk->first;
}

wetdbg_time wetdbg_walk_last_time(const struct wetdbg_walk *walk)
{
    return walk->last;
}

uint64_t wetdbg_walk_handler_stack(const struct wetdbg_walk *walk)
{
    return walk->handler_stack;
}

/* ---- marks ---- */

static int note_marks(struct wetdbg_walk *walk)
{
    const struct wet_interval *interval = walk->interval;
    walk->mark_count = 0;
    for (size_t i = 0; i < interval->event_count; i++) {
        const struct wet_event *event = &interval->events[i];
        int change = event->task == walk->thread->task ? wet_handler_change(event->entry) : 0;
        if (!change)
            continue;
        if (wd_grow(walk->marks, walk->mark_capacity, walk->mark_count + 1))
            return -ENOMEM;
        walk->marks[walk->mark_count++] = (struct mark){
            .time = event->time,
            .change = change,
            .stack = change > 0 ? evq_entry_loads(event->entry)->r[EVQ_RSP] : 0,
        };
    }
    return 0;
}

/* The sum of the changes of depth after instructions from..to-1. */
static int changes_between(struct wetdbg_walk *walk, wetdbg_time from, wetdbg_time to)
{
    int sum = 0;
    for (size_t i = 0; i < walk->mark_count && walk->marks[i].time < to; i++)
        if (walk->marks[i].time >= from) {
            sum += walk->marks[i].change;
            if (walk->marks[i].change > 0)
                walk->handler_stack = walk->marks[i].stack;
        }
    return sum;
}

/* ---- intervals ---- */

static int load(struct wetdbg_walk *walk, uint64_t k)
{
    const struct wet_interval *interval;
    if (walk->is_unwanted && walk->is_unwanted(walk->arg))
        return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    if (walk->interval && walk->interval->index == k)
        return 0;
    int err = wet_interval_get(walk->wet, k, &interval);
    if (err)
        return err;
    wet_interval_put(walk->wet, walk->interval);
    walk->interval = interval;
    return note_marks(walk);
}

/* Whether a time is one of the thread's: its slot may have been another thread's before, or be so
 * later. */
static bool is_ours(const struct wetdbg_walk *walk, size_t exec)
{
    const struct wet_exec *is = &walk->interval->execs[exec];
    wetdbg_time time = walk->interval->first_time + is->time_off;
    return is->task == walk->thread->task && time >= walk->first && time <= walk->last;
}

/* The first execution that ends behind `time`. */
static size_t exec_at(struct wetdbg_walk *walk, wetdbg_time time)
{
    const struct wet_interval *interval = walk->interval;
    uint64_t off = time > interval->first_time ? time - interval->first_time : 0;
    return wd_bisect(0, interval->exec_count, i,
                     (i + 1 < interval->exec_count ? interval->execs[i + 1].time_off
                                                   : interval->instructions) <= off);
}

int wetdbg_walk_seek(struct wetdbg_walk *walk, wetdbg_time time)
{
    uint64_t count = wetdbg_get_info(walk->wet)->intervals;
    walk->is_end = false;
    if (time < walk->first)
        time = walk->first;
    for (uint64_t k = wetdbg_interval_at(walk->wet, time); k < count && time <= walk->last; k++) {
        int err = load(walk, k);
        if (err)
            return err;
        size_t exec = exec_at(walk, time);
        while (exec < walk->interval->exec_count && !is_ours(walk, exec))
            exec++;
        if (exec == walk->interval->exec_count)
            continue;
        walk->exec = exec;
        walk->statement = 0;
        wetdbg_time start = wetdbg_walk_time(walk);
        if (start < time)
            walk->statement = (uint32_t)(time - start);
        return here(walk) ? 0 : -ENOMEM;
    }
    walk->is_end = true;
    return 0;
}

int wetdbg_walk_open(struct wetdbg *wet, const struct wetdbg_thread *thread, wetdbg_time time,
                     struct wetdbg_walk **out)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    struct wetdbg_walk *walk = malloc(sizeof(*walk));
    if (!walk)
        return -ENOMEM;
    *walk = (struct wetdbg_walk){
        .wet = wet,
        .model = wetdbg_get_model(wet),
        .thread = thread,
        .first = thread->start > info->first_time ? thread->start : info->first_time,
        .last = thread->has_ended && thread->end < info->last_time ? thread->end : info->last_time,
        .nodes = calloc((size_t)wet_node_limit(wet) + 1, sizeof(*walk->nodes)),
    };
    int err = walk->nodes ? wetdbg_walk_seek(walk, time) : -ENOMEM;
    if (err)
        wetdbg_walk_close(walk);
    else
        *out = walk;
    return err;
}

void wetdbg_walk_close(struct wetdbg_walk *walk)
{
    if (!walk)
        return;
    wet_interval_put(walk->wet, walk->interval);
    free(walk->nodes);
    free(walk->marks);
    free(walk);
}

void wetdbg_walk_watch(struct wetdbg_walk *walk, bool (*is_unwanted)(void *arg), void *arg)
{
    walk->is_unwanted = is_unwanted;
    walk->arg = arg;
}

/* ---- steps ---- */

static int go_on(struct wetdbg_walk *walk, wetdbg_time from, int *change)
{
    uint64_t count = wetdbg_get_info(walk->wet)->intervals;
    size_t exec = walk->exec + 1;
    int sum = 0;
    for (;;) {
        while (exec < walk->interval->exec_count && !is_ours(walk, exec))
            exec++;
        if (exec < walk->interval->exec_count)
            break;
        if (change && walk->mark_count)
            sum += changes_between(walk, from, UINT64_MAX);
        uint64_t k = walk->interval->index + 1;
        if (k >= count || wetdbg_interval_time(walk->wet, k) > walk->last) {
            walk->is_end = true;
            return 0;
        }
        int err = load(walk, k);
        if (err)
            return err;
        exec = 0;
    }
    walk->exec = exec;
    walk->statement = 0;
    if (change && walk->mark_count)
        sum += changes_between(walk, from, wetdbg_walk_time(walk));
    if (change)
        *change = sum;
    return here(walk) ? 1 : -ENOMEM;
}

int wetdbg_walk_next_node(struct wetdbg_walk *walk, int *change)
{
    if (change)
        *change = 0;
    if (walk->is_end)
        return 0;
    return go_on(walk, wetdbg_walk_time(walk) + wetdbg_walk_left(walk), change);
}

int wetdbg_walk_next(struct wetdbg_walk *walk, int *change)
{
    if (change)
        *change = 0;
    if (walk->is_end)
        return 0;
    if (!wetdbg_walk_left(walk))
        return wetdbg_walk_next_node(walk, change);
    walk->statement++;
    return 1;
}

static int go_back(struct wetdbg_walk *walk, wetdbg_time to, int *change)
{
    size_t exec = walk->exec; /* one past the one to be looked at */
    int sum = 0;
    for (;;) {
        while (exec > 0 && !is_ours(walk, exec - 1))
            exec--;
        if (exec > 0)
            break;
        if (change && walk->mark_count)
            sum += changes_between(walk, 0, to);
        uint64_t k = walk->interval->index;
        if (k == 0 || walk->interval->first_time <= walk->first)
            return wetdbg_walk_seek(walk, walk->first);
        int err = load(walk, k - 1);
        if (err)
            return err;
        exec = walk->interval->exec_count;
    }
    walk->exec = exec - 1;
    if (!here(walk))
        return -ENOMEM;
    wetdbg_walk_to_last(walk);
    if (change && walk->mark_count)
        sum += changes_between(walk, wetdbg_walk_time(walk), to);
    if (change)
        *change = sum;
    return 1;
}

int wetdbg_walk_previous_node(struct wetdbg_walk *walk, int *change)
{
    if (change)
        *change = 0;
    if (walk->is_end) {
        int err = load(walk, wetdbg_interval_at(walk->wet, walk->last));
        if (err)
            return err;
        walk->is_end = false;
        walk->exec = walk->interval->exec_count;
        return go_back(walk, UINT64_MAX, change);
    }
    return go_back(walk, wetdbg_walk_time(walk) - walk->statement, change);
}

int wetdbg_walk_previous(struct wetdbg_walk *walk, int *change)
{
    if (change)
        *change = 0;
    if (walk->is_end || walk->statement == 0)
        return wetdbg_walk_previous_node(walk, change);
    walk->statement--;
    return 1;
}

void wetdbg_walk_to_last(struct wetdbg_walk *walk)
{
    walk->statement = here(walk)->is.count - 1;
}

void wetdbg_walk_to_first(struct wetdbg_walk *walk)
{
    walk->statement = 0;
}

void wetdbg_walk_to_end(struct wetdbg_walk *walk)
{
    walk->is_end = true;
}

int wetdbg_walk_seek_back(struct wetdbg_walk *walk, wetdbg_time time)
{
    if (time > walk->last)
        time = walk->last;
    if (time < walk->first)
        return wetdbg_walk_seek(walk, walk->first);
    walk->is_end = false;
    int err = load(walk, wetdbg_interval_at(walk->wet, time));
    if (err)
        return err;
    size_t exec = exec_at(walk, time);
    walk->exec = exec;
    if (exec == walk->interval->exec_count || !is_ours(walk, exec))
        return go_back(walk, time, NULL);
    walk->statement =
        (uint32_t)(time - walk->interval->first_time - walk->interval->execs[exec].time_off);
    return here(walk) ? 1 : -ENOMEM;
}

const struct wetdbg_walk_node *wetdbg_walk_before(struct wetdbg_walk *walk)
{
    if (walk->is_end || walk->exec == 0 || walk->mark_count || !is_ours(walk, walk->exec - 1))
        return NULL;
    const struct node *node = node_of(walk, walk->exec - 1);
    return node ? &node->is : NULL;
}
