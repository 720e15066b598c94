/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each node stores is learned once; each of its executions then has the addresses in its
 * slots. */
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "recorder/event/ops.h"
#include "recorder/insn/insn_ranges.h"
#include "wet/intervals.h"
#include <wetdbg/writes.h>

/* A memory operand that matters: one that is written, or a return's; for reads, one that is
 * read. */
struct store {
    uint16_t statement;
    uint16_t rep_count; /* of a rep instruction: how far behind `slot` its three counters are */
    uint32_t slot;
    uint32_t size_bytes;
    const struct ins_info *info; /* of what stores some of these bytes only; else NULL */
    uint32_t first_slot;         /* ... of its instruction */
    uint8_t operand;
    bool is_return, is_maybe;
};

struct node_stores {
    uint32_t first, count; /* in finder->stores */
    bool is_known;
};

struct wetdbg_write_finder {
    struct wetdbg *wet;
    bool is_for_reads;
    struct node_stores *nodes; /* by id */
    size_t node_count;
    struct store *stores;
    size_t store_count, store_capacity;
};

struct search {
    struct wetdbg_write_finder *finder;
    const struct wet_interval *interval;
    const struct wetdbg_range *range;
    wetdbg_time from, to;
    bool with_returns;
    struct wetdbg_write last; /* found, and not passed on yet; time 0: none */
    bool has_last;
    wetdbg_write_fn fn;
    void *arg;
};

static int finder_open(struct wetdbg *wet, bool is_for_reads, struct wetdbg_write_finder **out)
{
    struct wetdbg_write_finder *finder = malloc(sizeof(*finder));
    if (!finder)
        return -ENOMEM;
    *finder = (struct wetdbg_write_finder){.wet = wet, .is_for_reads = is_for_reads};
    *out = finder;
    return 0;
}

int wetdbg_write_finder_open(struct wetdbg *wet, struct wetdbg_write_finder **out)
{
    return finder_open(wet, false, out);
}

int wetdbg_read_finder_open(struct wetdbg *wet, struct wetdbg_write_finder **out)
{
    return finder_open(wet, true, out);
}

void wetdbg_write_finder_close(struct wetdbg_write_finder *finder)
{
    if (!finder)
        return;
    free(finder->nodes);
    free(finder->stores);
    free(finder);
}

/* ---- what a node stores ---- */

static int learn_store(struct wetdbg_write_finder *finder, const struct wet_statement *statement,
                       size_t index, unsigned m, unsigned slot)
{
    const struct ins_mem *mem = &statement->info->mems[m];
    bool is_return =
        !finder->is_for_reads && statement->info->klass == INS_RET && mem->flags & INS_MEM_STACK;
    unsigned wanted = finder->is_for_reads ? INS_MEM_READ : INS_MEM_WRITE;
    if (!(mem->flags & wanted) && !is_return)
        return 0;
    if (wd_grow(finder->stores, finder->store_capacity, finder->store_count + 1))
        return -ENOMEM;
    bool is_sized = mem->flags & INS_MEM_SIZE_BOUND, has_lanes = mem->flags & INS_MEM_LANES;
    finder->stores[finder->store_count++] = (struct store){
        .statement = (uint16_t)index,
        .rep_count = mem->flags & INS_MEM_REP ? (uint16_t)(statement->info->mem_count - m) : 0,
        .slot = statement->slot + slot,
        .size_bytes = mem->size_bytes,
        .info = has_lanes || is_sized ? statement->info : NULL,
        .first_slot = statement->slot,
        .operand = (uint8_t)m,
        .is_return = is_return,
        .is_maybe = (is_sized || has_lanes) && !ins_ranges_are_exact(statement->info, m),
    };
    return 0;
}

static int learn(struct wetdbg_write_finder *finder, struct node_stores *stores,
                 const struct wet_node *node)
{
    size_t first = finder->store_count;
    for (uint32_t i = 0; node && i < node->statement_count; i++) {
        const struct ins_info *info = node->statements[i].info;
        for (unsigned m = 0, slot = 0; m < info->mem_count; m++) {
            int err = learn_store(finder, &node->statements[i], i, m, slot);
            if (err)
                return err;
            slot += info->mems[m].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64) ? 17 : 1;
        }
    }
    *stores = (struct node_stores){(uint32_t)first, (uint32_t)(finder->store_count - first), true};
    return 0;
}

/* What a node stores; NULL where memory is short. */
static const struct node_stores *stores_of(struct wetdbg_write_finder *finder, uint32_t id)
{
    if (id >= finder->node_count) {
        size_t limit = wet_node_limit(finder->wet);
        if (wd_grow_zeroed(finder->nodes, finder->node_count, limit > id ? limit : (size_t)id + 1))
            return NULL;
    }
    struct node_stores *stores = &finder->nodes[id];
    if (!stores->is_known && learn(finder, stores, wet_get_node(finder->wet, id)))
        return NULL;
    return stores;
}

/* ---- what an execution stores ---- */

static int pass_last(struct search *search)
{
    bool has_last = search->has_last;
    search->has_last = false;
    return has_last ? search->fn(search->arg, &search->last) : 0;
}

static int add_write(struct search *search, const struct wetdbg_write *write)
{
    struct wetdbg_write *last = &search->last;
    if (write->time < search->from || write->time > search->to)
        return 0;
    if (search->has_last && last->time == write->time && last->is_return == write->is_return) {
        last->is_maybe = last->is_maybe && write->is_maybe;
        return 0;
    }
    int result = pass_last(search);
    *last = *write;
    search->has_last = true;
    return result;
}

/* The bytes that `count` elements of a rep instruction lie in; see struct wet_exec. */
static struct wetdbg_range rep_range(const struct store *store, const uint64_t *slot)
{
    const uint64_t *counters = slot + store->rep_count;
    uint64_t first_operand = slot[0], count = counters[0] - counters[1];
    uint64_t size = count * store->size_bytes;
    bool is_down = (int64_t)(counters[2] - first_operand) < 0;
    uint64_t start = is_down ? slot[0] + store->size_bytes - size : slot[0];
    return (struct wetdbg_range){start, start + size};
}

static bool is_outside(const struct wetdbg_range *is, const struct wetdbg_range *range)
{
    return is->start >= range->end || is->end <= range->start;
}

/* Whether a store touches the range, by the slots of its node's execution. */
static bool touches(const struct store *store, const uint64_t *slots,
                    const struct wetdbg_range *range)
{
    const uint64_t *slot = &slots[store->slot];
    struct wetdbg_range is = {*slot, *slot + store->size_bytes};
    struct ins_range parts[INS_RANGES_MAX];

    if (store->rep_count)
        is = rep_range(store, slot);
    if (!store->info)
        return !is_outside(&is, range);
    unsigned count =
        ins_operand_ranges(store->info, store->operand, slots + store->first_slot, parts);
    for (unsigned i = 0; i < count; i++) {
        is = (struct wetdbg_range){parts[i].address, parts[i].address + parts[i].size_bytes};
        if (!is_outside(&is, range))
            return true;
    }
    return false;
}

static int look_at_exec(struct search *search, const struct wet_exec *exec,
                        const struct node_stores *stores)
{
    const struct store *store = &search->finder->stores[stores->first];
    const uint64_t *slots = search->interval->slots + exec->slot_off;
    int result = 0;
    for (uint32_t i = 0; i < stores->count && !result; i++, store++) {
        if ((store->is_return && !search->with_returns) || !touches(store, slots, search->range))
            continue;
        const struct wet_node *node = wet_get_node(search->finder->wet, exec->node);
        struct wetdbg_write write = {
            .time = search->interval->first_time + exec->time_off + store->statement,
            .pc = node->statements[store->statement].pc,
            .syscall = -1,
            .task = exec->task,
            .is_return = store->is_return,
            .is_maybe = store->is_maybe,
        };
        result = add_write(search, &write);
    }
    return result;
}

/* ---- the kernel ---- */

static bool op_touches(const struct evq_op *op, const struct wetdbg_range *range)
{
    uint64_t start = op->range.start, size = op->range.size;
    switch (op->op) {
    case EVQ_OP_CLEAR_SPACE:
        return true;
    case EVQ_OP_REMAP:
        start = op->remap.to;
        size = op->remap.to_size;
        break;
    case EVQ_OP_WRITE:
    case EVQ_OP_ZERO:
    case EVQ_OP_MAP:
    case EVQ_OP_DISCARD:
        break;
    default:
        return false;
    }
    return start < range->end && size && start + (size - 1) >= range->start;
}

/* What an entry does to a range. */
struct touch {
    bool is_touched;
    bool is_rsp_there; /* it loads registers, and rsp is the range's start */
};

static struct touch entry_touches(const struct evq_entry *entry, const struct wetdbg_range *range)
{
    struct touch touch = {false, false};
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));) {
        touch.is_touched |= op_touches(op, range);
        if (op->op == EVQ_OP_REGS && evq_op_regs(op))
            touch.is_rsp_there = evq_op_regs(op)->r[EVQ_RSP] == range->start;
    }
    return touch;
}

static int look_at_event(struct search *search, const struct wet_event *event)
{
    const struct evq_entry *entry = event->entry;
    bool is_call = entry->kind == EVQ_SYSCALL_ENTER || entry->kind == EVQ_SYSCALL_EXIT;
    const struct touch touch = entry_touches(entry, search->range);
    if (!touch.is_touched || search->finder->is_for_reads)
        return 0;
    struct wetdbg_write write = {
        .time = event->time,
        .syscall = is_call ? entry->number : -1,
        .task = event->task,
        .is_maybe = true,
        .is_handler = entry->kind == EVQ_OPS && touch.is_rsp_there,
    };
    return add_write(search, &write);
}

/* ---- an interval ---- */

static int look_at_interval(struct search *search)
{
    const struct wet_interval *interval = search->interval;
    size_t event = 0;
    int result = 0;
    for (size_t i = 0; i < interval->exec_count && !result; i++) {
        const struct wet_exec *exec = &interval->execs[i];
        for (; event < interval->event_count && !result &&
               (int64_t)(int32_t)interval->events[event].exec < (int64_t)i;
             event++)
            result = look_at_event(search, &interval->events[event]);
        const struct node_stores *stores = result ? NULL : stores_of(search->finder, exec->node);
        if (stores && stores->count)
            result = look_at_exec(search, exec, stores);
        else if (!stores && !result)
            result = -ENOMEM;
    }
    for (; event < interval->event_count && !result; event++)
        result = look_at_event(search, &interval->events[event]);
    return result ? result : pass_last(search);
}

int wetdbg_writes_each(struct wetdbg_write_finder *finder, uint64_t k,
                       const struct wetdbg_range *range, wetdbg_time from, wetdbg_time to,
                       bool with_returns, wetdbg_write_fn fn, void *arg)
{
    const struct wet_interval *interval;
    int err = wet_interval_get(finder->wet, k, &interval);
    if (err)
        return err;
    struct search search = {.finder = finder,
                            .interval = interval,
                            .range = range,
                            .from = from,
                            .to = to,
                            .with_returns = with_returns,
                            .fn = fn,
                            .arg = arg};
    int result = look_at_interval(&search);
    wet_interval_put(finder->wet, interval);
    return result;
}

bool wetdbg_may_return_in(struct wetdbg *wet, uint64_t start, uint64_t end, uint64_t k)
{
    uint32_t limit = wet_node_limit(wet);
    for (uint32_t id = 0; id < limit; id++) {
        const struct wet_node *node;
        if (!wet_node_executions_in(wet, id, k) || !(node = wet_get_node(wet, id)) ||
            node->pc < start || node->pc >= end)
            continue;
        if (node->statement_count &&
            node->statements[node->statement_count - 1].info->klass == INS_RET)
            return true;
    }
    return false;
}
