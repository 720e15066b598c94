/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/nav/walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "recorder/event/ops.h"
#include <wetdbg/errors.h>

/* ---- nodes ---- */

/* Is all of it code of one line, outside and inside of the same inlined functions? */
static void learn_line(struct cli_walk *walk, struct cli_walk_node *facts)
{
    const struct wet_node *node = facts->node;
    struct wetdbg_line line;
    uint64_t end = node->pc + node->code_bytes;
    if (wetdbg_line_at(walk->model, node->pc, &line) != 0)
        return;
    facts->file = line.file;
    facts->line = line.line;
    facts->inlined = line.function;
    facts->is_of_line = line.line != 0;
    while (facts->is_of_line && line.end < end && line.end > line.start) {
        if (wetdbg_line_at(walk->model, line.end, &line) != 0)
            facts->is_of_line = false;
        else
            facts->is_of_line = line.line == facts->line && line.file == facts->file &&
                                line.function == facts->inlined;
    }
}

static void learn(struct cli_walk *walk, struct cli_walk_node *facts, const struct wet_node *node)
{
    const struct wet_statement *last = &node->statements[node->statement_count - 1];
    struct wetdbg_function function;
    *facts = (struct cli_walk_node){
        .is_known = true,
        .klass = last->info->klass,
        .count = node->statement_count,
        .node = node,
    };
    if (cli_walk_is_call(facts) || facts->klass == INS_RET)
        /* explicit operands come before the stack's */
        facts->slot =
            (uint16_t)(last->slot + (last->info->mem_count ? last->info->mem_count - 1 : 0));
    if (wetdbg_function_at(walk->model, node->pc, &function) == 0) {
        facts->function = function.start;
        facts->is_entry = function.start == node->pc;
    }
    learn_line(walk, facts);
}

const struct cli_walk_node *cli_walk_node(struct cli_walk *walk, uint32_t id)
{
    struct cli_walk_node *facts = &walk->nodes[id];
    if (facts->is_known)
        return facts;
    const struct wet_node *node = wet_get_node(walk->wet, id);
    if (!node || !node->statement_count)
        return NULL;
    learn(walk, facts, node);
    return facts;
}

const struct cli_walk_node *cli_walk_here(struct cli_walk *walk)
{
    return cli_walk_node(walk, walk->interval->execs[walk->exec].node);
}

/* ---- where it stands ---- */

wetdbg_time cli_walk_time(const struct cli_walk *walk)
{
    return walk->interval->first_time + walk->interval->execs[walk->exec].time_off +
           walk->statement;
}

const struct wet_statement *cli_walk_statement(struct cli_walk *walk)
{
    const struct cli_walk_node *here = cli_walk_here(walk);
    return &here->node->statements[walk->statement];
}

uint64_t cli_walk_pc(struct cli_walk *walk)
{
    return cli_walk_statement(walk)->pc;
}

bool cli_walk_is_last(struct cli_walk *walk)
{
    return walk->statement + 1 == cli_walk_here(walk)->count;
}

uint64_t cli_walk_slot(struct cli_walk *walk)
{
    const struct wet_exec *exec = &walk->interval->execs[walk->exec];
    return walk->interval->slots[exec->slot_off + cli_walk_here(walk)->slot];
}

/* ---- marks ---- */

/* A signal that is ignored loads registers too; but a handler is called with the signal's number and,
 * behind its return address, its ucontext. */
static int change_of(const struct evq_entry *entry)
{
    if (entry->kind == EVQ_SYSCALL_ENTER)
        return entry->number == SYS_rt_sigreturn ? -1 : 0;
    if (entry->kind != EVQ_OPS)
        return 0;
    const struct evq_regs *regs = evq_entry_loads(entry);
    return regs && regs->r[EVQ_RDI] == (uint64_t)entry->number &&
           regs->r[EVQ_RDX] == regs->r[EVQ_RSP] + 8;
}

/* The first bytes that an entry writes at an address: a frame's return address. */
static uint64_t written_word(const struct evq_entry *entry, uint64_t address)
{
    uint64_t word = 0;
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));) {
        if (op->op == EVQ_OP_WRITE && op->range.start == address &&
            evq_op_payload_bytes(op) >= sizeof(word) && op->range.size >= sizeof(word))
            memcpy(&word, evq_op_payload(op), sizeof(word));
    }
    return word;
}

bool cli_walk_calls_handler(const struct wet_event *event, uint64_t slot, uint64_t address)
{
    return change_of(event->entry) > 0 && evq_entry_loads(event->entry)->r[EVQ_RSP] == slot &&
           written_word(event->entry, slot) == address;
}

static int note_marks(struct cli_walk *walk)
{
    const struct wet_interval *interval = walk->interval;
    walk->mark_count = 0;
    for (size_t i = 0; i < interval->event_count; i++) {
        const struct wet_event *event = &interval->events[i];
        int change = event->task == walk->thread->task ? change_of(event->entry) : 0;
        if (!change)
            continue;
        struct cli_walk_mark *marks =
            realloc(walk->marks, (walk->mark_count + 1) * sizeof(*walk->marks));
        if (!marks)
            return -ENOMEM;
        walk->marks = marks;
        marks[walk->mark_count++] = (struct cli_walk_mark){
            .time = event->time,
            .change = change,
            .stack = change > 0 ? evq_entry_loads(event->entry)->r[EVQ_RSP] : 0,
        };
    }
    return 0;
}

/* Sum of the changes after instructions from..to-1. */
static int changes_between(struct cli_walk *walk, wetdbg_time from, wetdbg_time to)
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

static int load(struct cli_walk *walk, uint64_t k)
{
    const struct wet_interval *interval;
    if (walk->is_unwanted && walk->is_unwanted(walk->context))
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

/* A slot may have been another thread's before, or be so later. */
static bool is_ours(const struct cli_walk *walk, size_t exec)
{
    const struct wet_exec *is = &walk->interval->execs[exec];
    wetdbg_time time = walk->interval->first_time + is->time_off;
    return is->task == walk->thread->task && time >= walk->first && time <= walk->last;
}

/* The first execution that ends behind `time`. */
static size_t exec_at(struct cli_walk *walk, wetdbg_time time)
{
    const struct wet_interval *interval = walk->interval;
    size_t low = 0, high = interval->exec_count;
    uint64_t off = time > interval->first_time ? time - interval->first_time : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t end = middle + 1 < interval->exec_count ? interval->execs[middle + 1].time_off
                                                         : interval->instructions;
        if (end <= off)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int cli_walk_seek(struct cli_walk *walk, wetdbg_time time)
{
    uint64_t count = wetdbg_get_info(walk->wet)->intervals;
    walk->is_end = walk->is_start = false;
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
        wetdbg_time start = cli_walk_time(walk);
        if (start < time)
            walk->statement = (uint32_t)(time - start);
        return cli_walk_here(walk) ? 0 : -ENOMEM;
    }
    walk->is_end = true;
    return 0;
}

int cli_walk_init(struct cli_walk *walk, struct wetdbg *wet, const struct wetdbg_thread *thread,
                  wetdbg_time time)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    *walk = (struct cli_walk){
        .wet = wet,
        .model = wetdbg_get_model(wet),
        .thread = thread,
        .first = thread->start > info->first_time ? thread->start : info->first_time,
        .last = thread->has_ended && thread->end < info->last_time ? thread->end : info->last_time,
        .node_limit = wet_node_limit(wet),
    };
    walk->nodes = calloc((size_t)walk->node_limit + 1, sizeof(*walk->nodes));
    if (!walk->nodes)
        return -ENOMEM;
    int err = cli_walk_seek(walk, time);
    if (err)
        cli_walk_fini(walk);
    return err;
}

void cli_walk_fini(struct cli_walk *walk)
{
    wet_interval_put(walk->wet, walk->interval);
    free(walk->nodes);
    free(walk->marks);
    *walk = (struct cli_walk){.wet = walk->wet};
}

/* ---- steps ---- */

static int go_on(struct cli_walk *walk, wetdbg_time from, int *change)
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
        if (k >= count || cli_walk_interval_start(walk->wet, k) > walk->last) {
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
        sum += changes_between(walk, from, cli_walk_time(walk));
    if (change)
        *change = sum;
    return cli_walk_here(walk) ? 1 : -ENOMEM;
}

int cli_walk_next_node(struct cli_walk *walk, int *change)
{
    if (change)
        *change = 0;
    if (walk->is_end)
        return 0;
    wetdbg_time last = cli_walk_time(walk) - walk->statement + cli_walk_here(walk)->count - 1;
    return go_on(walk, last, change);
}

int cli_walk_next(struct cli_walk *walk, int *change)
{
    if (change)
        *change = 0;
    if (walk->is_end)
        return 0;
    if (cli_walk_is_last(walk))
        return cli_walk_next_node(walk, change);
    walk->statement++;
    return 1;
}

/* Where it began: the way back ends at the thread's first instruction. */
static int refuse_back(struct cli_walk *walk)
{
    int err = cli_walk_seek(walk, walk->first);
    walk->is_start = true;
    return err;
}

static int go_back(struct cli_walk *walk, wetdbg_time to, int *change)
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
            return refuse_back(walk);
        int err = load(walk, k - 1);
        if (err)
            return err;
        exec = walk->interval->exec_count;
    }
    walk->exec = exec - 1;
    const struct cli_walk_node *here = cli_walk_here(walk);
    if (!here)
        return -ENOMEM;
    walk->statement = here->count - 1;
    if (change && walk->mark_count)
        sum += changes_between(walk, cli_walk_time(walk), to);
    if (change)
        *change = sum;
    return 1;
}

int cli_walk_previous_node(struct cli_walk *walk, int *change)
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
    return go_back(walk, cli_walk_time(walk) - walk->statement, change);
}

int cli_walk_previous(struct cli_walk *walk, int *change)
{
    if (change)
        *change = 0;
    if (walk->is_end || walk->statement == 0)
        return cli_walk_previous_node(walk, change);
    walk->statement--;
    return 1;
}

int cli_walk_seek_back(struct cli_walk *walk, wetdbg_time time)
{
    if (time > walk->last)
        time = walk->last;
    if (time < walk->first)
        return refuse_back(walk);
    walk->is_end = walk->is_start = false;
    int err = load(walk, wetdbg_interval_at(walk->wet, time));
    if (err)
        return err;
    size_t exec = exec_at(walk, time);
    if (exec < walk->interval->exec_count && is_ours(walk, exec)) {
        walk->exec = exec;
        walk->statement =
            (uint32_t)(time - walk->interval->first_time - walk->interval->execs[exec].time_off);
        return cli_walk_here(walk) ? 1 : -ENOMEM;
    }
    walk->exec = exec;
    return go_back(walk, time, NULL);
}

wetdbg_time cli_walk_interval_start(struct wetdbg *wet, uint64_t k)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    wetdbg_time low = info->first_time, high = info->last_time + 1;
    if (k >= info->intervals)
        return high;
    while (low < high) {
        wetdbg_time middle = low + (high - low) / 2;
        if (wetdbg_interval_at(wet, middle) < k)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
