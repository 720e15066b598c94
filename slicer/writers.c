/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/writers.h"

#include <errno.h>
#include <stdlib.h>

#include "common/bisect.h"
#include "slicer/call_events.h"

struct search {
    struct wetdbg *wet;
    struct slc_code *code; /* the finder's */
    const struct wet_interval *interval;
    wetdbg_time before;
    uint64_t address, size_bytes;
    bool *is_found;     /* by byte */
    uint64_t low, high; /* all bytes that are not found lie in [low, high), by offset */
    size_t event_at;
    slc_writer_fn fn;
    void *arg;
};

static bool is_over(const struct search *search)
{
    return search->low == search->high;
}

/* Gives those of [address, address + size) that were not found yet to the caller. */
static int take(struct search *search, struct slc_writer writer, uint64_t address, uint64_t size)
{
    uint64_t base = search->address, from = search->low, end = search->high;
    int result = 0;

    if (address > base && address - base > from)
        from = address - base;
    if (address + size >= address) /* else to the end of memory */
        end = address + size > base + end ? end : address + size > base ? address + size - base : 0;
    for (uint64_t at = from, last; at < end && !result; at = last) {
        for (; at < end && search->is_found[at]; at++)
            ;
        for (last = at; last < end && !search->is_found[last]; last++)
            search->is_found[last] = true;
        writer.address = search->address + at;
        writer.size_bytes = last - at;
        if (last > at)
            result = search->fn(search->arg, &writer);
    }
    while (search->low < search->high && search->is_found[search->low])
        search->low++;
    while (search->low < search->high && search->is_found[search->high - 1])
        search->high--;
    return result;
}

/* ---- events ---- */

static int pass_op(struct search *search, const struct wet_event *event, const struct evq_op *op,
                   const struct slc_clip *clip)
{
    struct slc_writer writer = {.task = event->task};
    uint64_t all = search->address;

    switch (op->op) {
    case EVQ_OP_WRITE:
        writer.time = event->time;
        return take(search, writer, op->range.start, slc_clip_bytes(clip, op));
    case EVQ_OP_ZERO:
    case EVQ_OP_MAP:
    case EVQ_OP_DISCARD:
        return take(search, writer, op->range.start, op->range.size);
    case EVQ_OP_REMAP:
        return take(search, writer, op->remap.to, op->remap.to_size);
    case EVQ_OP_CLEAR_SPACE:
        return take(search, writer, all, search->size_bytes);
    default:
        return 0;
    }
}

/* Passes events that happened at a time or later. */
static int pass_events(struct search *search, wetdbg_time time)
{
    const struct wet_interval *interval = search->interval;
    int result = 0;

    while (!result && search->event_at && interval->events[search->event_at - 1].time >= time) {
        size_t index = --search->event_at;
        const struct wet_event *event = &interval->events[index];
        struct slc_clip clip = slc_event_clip(interval, index);
        for (const struct evq_op *op = NULL;
             !result && (op = evq_op_next(event->entry, op)) && !is_over(search);)
            result = pass_op(search, event, op, &clip);
    }
    return result;
}

/* ---- instructions ---- */

static int pass_store(struct search *search, const struct wet_exec *exec,
                      const struct slc_node *node, const struct slc_store *store)
{
    const uint64_t *slots = search->interval->slots + exec->slot_off;
    const struct wet_statement *statement = &node->wet->statements[store->statement];
    struct slc_writer writer = {
        .time = search->interval->first_time + exec->time_off + store->statement,
        .pc = statement->pc,
        .task = exec->task,
    };
    struct ins_range ranges[INS_RANGES_MAX];
    int result = writer.time < search->before ? pass_events(search, writer.time) : 0;

    unsigned count = slc_operand_ranges(statement, store->operand, slots, ranges);
    for (unsigned r = 0; r < count && !result && writer.time < search->before; r++)
        result = take(search, writer, ranges[r].address, ranges[r].size_bytes);
    return result;
}

static int pass_exec(struct search *search, const struct wet_exec *exec)
{
    const struct slc_node *node = slc_code_node(search->code, exec->node);
    int result = 0;

    if (!node)
        return -ENOMEM;
    for (uint32_t i = node->store_count; i-- > 0 && !result && !is_over(search);)
        result = pass_store(search, exec, node, &node->stores[i]);
    return result;
}

static int pass_interval(struct search *search, const struct wet_interval *interval)
{
    int result = 0;

    search->interval = interval;
    search->event_at = interval->event_count;
    while (search->event_at && interval->events[search->event_at - 1].time >= search->before)
        search->event_at--;
    size_t end = wd_bisect(0, interval->exec_count, i,
                           interval->first_time + interval->execs[i].time_off < search->before);
    while (end-- > 0 && !result && !is_over(search))
        result = pass_exec(search, &interval->execs[end]);
    return result ? result : pass_events(search, 0);
}

static int search_run(struct search *search)
{
    uint64_t first = wetdbg_get_info(search->wet)->first_time;
    int result = 0;

    if (search->before > first)
        for (uint64_t k = wetdbg_interval_at(search->wet, search->before - 1) + 1;
             k-- > 0 && !result && !is_over(search);) {
            const struct wet_interval *interval;
            if (!wetdbg_interval_may_write(search->wet, k, search->address + search->low,
                                           search->high - search->low))
                continue;
            result = wet_interval_get(search->wet, k, &interval);
            if (result)
                break;
            result = pass_interval(search, interval);
            wet_interval_put(search->wet, interval);
        }
    if (!result && !is_over(search))
        result = take(search, (struct slc_writer){0}, search->address, search->size_bytes);
    return result;
}

int slc_writer_finder_init(struct slc_writer_finder *finder, struct wetdbg *wet)
{
    finder->wet = wet;
    int err = slc_code_init(&finder->code, wet, false, false);

    if (err)
        slc_code_fini(&finder->code);
    return err;
}

void slc_writer_finder_fini(struct slc_writer_finder *finder)
{
    slc_code_fini(&finder->code);
}

int slc_last_writers(struct slc_writer_finder *finder, wetdbg_time time, uint64_t address,
                     uint64_t size_bytes, slc_writer_fn fn, void *arg)
{
    struct search search = {.wet = finder->wet,
                            .code = &finder->code,
                            .before = time,
                            .address = address,
                            .size_bytes = size_bytes,
                            .high = size_bytes,
                            .fn = fn,
                            .arg = arg};

    if (size_bytes == 0 || address + size_bytes < address)
        return 0;
    search.is_found = calloc(size_bytes, sizeof(*search.is_found));
    int err = search.is_found ? search_run(&search) : -ENOMEM;
    free(search.is_found);
    return err;
}
