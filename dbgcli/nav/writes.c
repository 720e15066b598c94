/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/nav/writes.h"

#include <stdlib.h>

#include "dbgcli/alloc.h"
#include "recorder/event/ops.h"
#include <wetdbg/errors.h>

/* A memory operand that matters: one that is written, or a return's. */
struct store {
    uint16_t statement;
    uint16_t rep_count; /* of a rep instruction: how far behind `slot` its three counters are */
    uint32_t slot;
    uint32_t size_bytes;
    bool is_return, is_maybe;
};

struct node_stores {
    uint32_t first, count; /* in finder->stores */
    bool is_known;
};

struct cli_write_finder {
    struct wetdbg *wet;
    struct node_stores *nodes; /* by id */
    size_t node_count;
    struct store *stores;
    size_t store_count, store_capacity;
};

struct search {
    struct cli_write_finder *finder;
    const struct wet_interval *interval;
    const struct cli_range *range;
    wetdbg_time from, to;
    bool with_returns;
    struct cli_write_list *list;
};

void cli_write_list_fini(struct cli_write_list *list)
{
    free(list->items);
    *list = (struct cli_write_list){0};
}

struct cli_write_finder *cli_write_finder_new(struct wetdbg *wet)
{
    struct cli_write_finder *finder = cli_malloc(sizeof(*finder));
    *finder = (struct cli_write_finder){.wet = wet};
    return finder;
}

void cli_write_finder_free(struct cli_write_finder *finder)
{
    if (!finder)
        return;
    free(finder->nodes);
    free(finder->stores);
    free(finder);
}

/* ---- what a node stores ---- */

static void learn_store(struct cli_write_finder *finder, const struct wet_statement *statement,
                        size_t index, unsigned m, unsigned slot)
{
    const struct ins_mem *mem = &statement->info->mems[m];
    bool is_return = statement->info->klass == INS_RET && mem->flags & INS_MEM_STACK;
    if (!(mem->flags & INS_MEM_WRITE) && !is_return)
        return;
    if (finder->store_count == finder->store_capacity) {
        finder->store_capacity = finder->store_capacity ? 2 * finder->store_capacity : 256;
        finder->stores =
            cli_realloc(finder->stores, finder->store_capacity, sizeof(*finder->stores));
    }
    finder->stores[finder->store_count++] = (struct store){
        .statement = (uint16_t)index,
        .rep_count = mem->flags & INS_MEM_REP ? (uint16_t)(statement->info->mem_count - m) : 0,
        .slot = statement->slot + slot,
        .size_bytes = mem->size_bytes,
        .is_return = is_return,
        .is_maybe = (mem->flags & (INS_MEM_LANES | INS_MEM_SIZE_BOUND)) != 0,
    };
}

static const struct node_stores *stores_of(struct cli_write_finder *finder, uint32_t id)
{
    if (id >= finder->node_count) {
        size_t count = wet_node_limit(finder->wet);
        count = count > id ? count : (size_t)id + 1;
        finder->nodes = cli_realloc(finder->nodes, count, sizeof(*finder->nodes));
        for (size_t i = finder->node_count; i < count; i++)
            finder->nodes[i] = (struct node_stores){0};
        finder->node_count = count;
    }
    struct node_stores *stores = &finder->nodes[id];
    if (stores->is_known)
        return stores;
    const struct wet_node *node = wet_get_node(finder->wet, id);
    stores->first = (uint32_t)finder->store_count;
    for (uint32_t i = 0; node && i < node->statement_count; i++) {
        const struct ins_info *info = node->statements[i].info;
        for (unsigned m = 0, slot = 0; m < info->mem_count; m++) {
            learn_store(finder, &node->statements[i], i, m, slot);
            slot += info->mems[m].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64) ? 17 : 1;
        }
    }
    stores->count = (uint32_t)finder->store_count - stores->first;
    stores->is_known = true;
    return stores;
}

/* ---- what an execution stores ---- */

static void add_write(struct search *search, const struct cli_write *write)
{
    struct cli_write_list *list = search->list;
    struct cli_write *last = list->count ? &list->items[list->count - 1] : NULL;
    if (write->time < search->from || write->time > search->to)
        return;
    if (last && last->time == write->time && last->is_return == write->is_return) {
        last->is_maybe = last->is_maybe && write->is_maybe;
        return;
    }
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->items = cli_realloc(list->items, list->capacity, sizeof(*list->items));
    }
    list->items[list->count++] = *write;
}

/* The bytes that `count` elements of a rep instruction lie in; see struct wet_exec. */
static struct cli_range rep_range(const struct store *store, const uint64_t *slot)
{
    const uint64_t *counters = slot + store->rep_count;
    uint64_t first_operand = slot[0], count = counters[0] - counters[1];
    uint64_t size = count * store->size_bytes;
    bool is_down = (int64_t)(counters[2] - first_operand) < 0;
    uint64_t start = is_down ? slot[0] + store->size_bytes - size : slot[0];
    return (struct cli_range){start, start + size};
}

static void look_at_exec(struct search *search, const struct wet_exec *exec,
                         const struct node_stores *stores)
{
    const struct store *store = &search->finder->stores[stores->first];
    const uint64_t *slots = search->interval->slots + exec->slot_off;
    const struct cli_range *range = search->range;
    for (uint32_t i = 0; i < stores->count; i++, store++) {
        struct cli_range is = {slots[store->slot], slots[store->slot] + store->size_bytes};
        if (store->rep_count)
            is = rep_range(store, &slots[store->slot]);
        if (is.start >= range->end || is.end <= range->start ||
            (store->is_return && !search->with_returns))
            continue;
        const struct wet_node *node = wet_get_node(search->finder->wet, exec->node);
        struct cli_write write = {
            .time = search->interval->first_time + exec->time_off + store->statement,
            .pc = node->statements[store->statement].pc,
            .syscall = -1,
            .task = exec->task,
            .is_return = store->is_return,
            .is_maybe = store->is_maybe,
        };
        add_write(search, &write);
    }
}

/* ---- the kernel ---- */

static bool op_touches(const struct evq_op *op, const struct cli_range *range)
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

static struct touch entry_touches(const struct evq_entry *entry, const struct cli_range *range)
{
    struct touch touch = {false, false};
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));) {
        touch.is_touched |= op_touches(op, range);
        if (op->op == EVQ_OP_REGS && evq_op_regs(op))
            touch.is_rsp_there = evq_op_regs(op)->r[EVQ_RSP] == range->start;
    }
    return touch;
}

static void look_at_event(struct search *search, const struct wet_event *event)
{
    const struct evq_entry *entry = event->entry;
    bool is_call = entry->kind == EVQ_SYSCALL_ENTER || entry->kind == EVQ_SYSCALL_EXIT;
    const struct touch touch = entry_touches(entry, search->range);
    if (!touch.is_touched)
        return;
    struct cli_write write = {
        .time = event->time,
        .syscall = is_call ? entry->number : -1,
        .task = event->task,
        .is_maybe = true,
        .is_handler = entry->kind == EVQ_OPS && touch.is_rsp_there,
    };
    add_write(search, &write);
}

int cli_writes_find(struct cli_write_finder *finder, uint64_t k, const struct cli_range *range,
                    wetdbg_time from, wetdbg_time to, bool with_returns,
                    struct cli_write_list *list)
{
    const struct wet_interval *interval;
    int err = wet_interval_get(finder->wet, k, &interval);
    if (err)
        return err;
    struct search search = {finder, interval, range, from, to, with_returns, list};
    size_t event = 0;
    for (size_t i = 0; i < interval->exec_count; i++) {
        const struct wet_exec *exec = &interval->execs[i];
        for (; event < interval->event_count &&
               (int64_t)(int32_t)interval->events[event].exec < (int64_t)i;
             event++)
            look_at_event(&search, &interval->events[event]);
        const struct node_stores *stores = stores_of(finder, exec->node);
        if (stores->count)
            look_at_exec(&search, exec, stores);
    }
    for (; event < interval->event_count; event++)
        look_at_event(&search, &interval->events[event]);
    wet_interval_put(finder->wet, interval);
    return 0;
}
