/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Of each register there is a log of what it got and when; a finger in it goes back with the time.
 * Memory is that of the interval's end, page by page as it is asked for, on which stores are
 * undone.
 */
#include "slicer/confidence/values.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/buf.h"
#include "common/hash.h"
#include "recorder/event/ops.h"

#define PAGE_BYTES  4096u
#define PAGES_FIRST 256u

struct change {
    uint32_t
        time_off; /* of the instruction that made it, + 1; 0: it was so when the interval began */
    uint64_t value;
};

struct log {
    struct change *changes;
    uint32_t count, capacity;
    uint32_t finger; /* changes[finger - 1] is the one in force */
};

struct store {
    uint64_t address;
    uint32_t time_off, bytes;
    uint64_t before_off; /* of the bytes before it, in `before` */
};

struct page {
    uint64_t number; /* address / PAGE_BYTES + 1; 0: free */
    uint8_t *bytes;
};

struct slc_values {
    struct wetdbg *wet;
    struct wetdbg_effects *effects;
    const struct wet_interval *interval;
    uint64_t interval_index;          /* of the last one that was loaded */
    struct log *tasks[EVQ_TASKS_MAX]; /* INS_GPR_COUNT each, or NULL */
    struct store *stores;
    size_t store_count, store_capacity, undone; /* stores[undone..] are */
    struct wd_buf before;
    struct page *pages; /* by hash */
    size_t page_count, page_capacity;
    struct wetdbg_state *start; /* of the interval */
    struct wetdbg_state *end;   /* memory at the interval's end; NULL until it is asked for */
    /* while the interval is run: */
    size_t exec_at, event_at;
};

int slc_values_new(struct wetdbg *wet, struct slc_values **out)
{
    struct slc_values *values = calloc(1, sizeof(*values));

    *out = NULL;
    if (!values)
        return -ENOMEM;
    values->wet = wet;
    int err = wetdbg_effects_open(wet, &values->effects);
    if (err)
        free(values);
    else
        *out = values;
    return err;
}

static void state_close(struct wetdbg_state **state)
{
    if (*state)
        wetdbg_state_close(*state);
    *state = NULL;
}

static void forget_pages(struct slc_values *values)
{
    for (size_t i = 0; i < values->page_capacity; i++)
        free(values->pages[i].bytes);
    free(values->pages);
    values->pages = NULL;
    values->page_count = values->page_capacity = 0;
}

void slc_values_free(struct slc_values *values)
{
    if (!values)
        return;
    for (unsigned t = 0; t < EVQ_TASKS_MAX; t++) {
        for (unsigned r = 0; values->tasks[t] && r < INS_GPR_COUNT; r++)
            free(values->tasks[t][r].changes);
        free(values->tasks[t]);
    }
    forget_pages(values);
    state_close(&values->start);
    state_close(&values->end);
    wetdbg_effects_close(values->effects);
    wd_buf_fini(&values->before);
    free(values->stores);
    free(values);
}

/* ---- running an interval ---- */

static int log_value(struct log *log, uint32_t time_off, uint64_t value)
{
    if (wd_grow(log->changes, log->capacity, log->count + 1))
        return -ENOMEM;
    log->changes[log->count++] = (struct change){time_off, value};
    return 0;
}

static struct log *task_logs(struct slc_values *values, uint32_t task)
{
    if (task < EVQ_TASKS_MAX && !values->tasks[task])
        values->tasks[task] = calloc(INS_GPR_COUNT, sizeof(struct log));
    return task < EVQ_TASKS_MAX ? values->tasks[task] : NULL;
}

static int log_registers(struct slc_values *values, uint32_t task, uint32_t time_off,
                         const struct evq_regs *regs)
{
    struct log *logs = task_logs(values, task);
    int err = logs ? 0 : -ENOMEM;

    for (unsigned r = 0; r < INS_GPR_COUNT && !err; r++) {
        uint64_t value = regs->r[evq_reg_of_gpr[r]];
        if (!logs[r].count || logs[r].changes[logs[r].count - 1].value != value)
            err = log_value(&logs[r], time_off, value);
    }
    return err;
}

/* Logs the registers that events of instructions before `time_off` loaded. */
static int pass_events(struct slc_values *values, uint64_t time_off)
{
    const struct wet_interval *interval = values->interval;
    int err = 0;

    for (; values->event_at < interval->event_count && !err; values->event_at++) {
        const struct wet_event *event = &interval->events[values->event_at];
        uint64_t off = event->time + 1 - interval->first_time;
        if (off > time_off)
            break;
        for (const struct evq_op *op = NULL; !err && (op = evq_op_next(event->entry, op));) {
            if (op->op == EVQ_OP_REGS && evq_op_regs(op))
                err = log_registers(values, event->task, (uint32_t)off, evq_op_regs(op));
            else if (op->op == EVQ_OP_TASK_NEW && evq_op_regs(op))
                err = log_registers(values, (uint32_t)op->task_new.task, (uint32_t)off,
                                    evq_op_regs(op));
        }
    }
    return err;
}

/* The task that executed the instruction: effects come in order of time. */
static uint32_t task_at(struct slc_values *values, uint32_t time_off)
{
    const struct wet_interval *interval = values->interval;

    while (values->exec_at + 1 < interval->exec_count &&
           interval->execs[values->exec_at + 1].time_off <= time_off)
        values->exec_at++;
    return interval->exec_count ? interval->execs[values->exec_at].task : 0;
}

static int log_store(struct slc_values *values, const struct wetdbg_effect *effect,
                     uint32_t time_off)
{
    struct store store = {.address = effect->address,
                          .time_off = time_off,
                          .bytes = (uint32_t)effect->size,
                          .before_off = values->before.size_bytes};

    if (effect->size > UINT32_MAX ||
        wd_grow(values->stores, values->store_capacity, values->store_count + 1))
        return -ENOMEM;
    values->stores[values->store_count++] = store;
    return wd_buf_append(&values->before, effect->before, effect->size);
}

static uint64_t to_u64(const uint8_t *bytes, uint64_t size)
{
    uint64_t value = 0;

    memcpy(&value, bytes, size);
    return value;
}

static int note_effect(void *arg, const struct wetdbg_effect *effect)
{
    struct slc_values *values = arg;
    uint32_t off = (uint32_t)(effect->time - values->interval->first_time);
    int err = 0;

    if (!effect->after)
        return 0;
    if (!effect->event)
        err = pass_events(values, off);
    if (!err && effect->reg < 0)
        err = log_store(values, effect, off);
    else if (!err) {
        struct log *logs = task_logs(values, task_at(values, off));
        err = logs && effect->reg < INS_GPR_COUNT
                  ? log_value(&logs[effect->reg], off + 1, to_u64(effect->after, 8))
                  : -ENOMEM;
    }
    return err;
}

/* The registers of all tasks when the interval begins. */
static int begin(struct slc_values *values)
{
    size_t count;
    wetdbg_time time = values->interval->first_time;
    const struct wetdbg_thread *threads = wetdbg_threads(values->wet, &count);
    int err = wetdbg_state_open(values->wet, time, &values->start);

    if (err) {
        values->start = NULL;
        return err;
    }
    for (size_t i = 0; i < count && !err; i++) {
        if (threads[i].start > time || threads[i].end < time)
            continue;
        if (wetdbg_state_select(values->start, threads[i].task) == 0)
            err = log_registers(values, threads[i].task, 0, wet_state_regs(values->start));
    }
    return err;
}

static void forget(struct slc_values *values, const struct wet_interval *next)
{
    bool is_before = values->interval && values->interval_index == next->index + 1;

    for (unsigned t = 0; t < EVQ_TASKS_MAX; t++)
        for (unsigned r = 0; values->tasks[t] && r < INS_GPR_COUNT; r++)
            values->tasks[t][r].count = 0;
    values->store_count = 0;
    values->before.size_bytes = 0;
    values->exec_at = values->event_at = 0;
    forget_pages(values);
    state_close(&values->end);
    if (is_before) { /* one begins where the other ends */
        values->end = values->start;
        values->start = NULL;
    }
    state_close(&values->start);
}

int slc_values_load(struct slc_values *values, const struct wet_interval *interval)
{
    forget(values, interval);
    values->interval = interval;
    values->interval_index = interval->index;
    int err = begin(values);
    if (!err)
        err = wetdbg_effects_each(values->effects, interval->index, true, note_effect, values);
    if (!err)
        err = pass_events(values, UINT64_MAX);
    for (unsigned t = 0; t < EVQ_TASKS_MAX; t++)
        for (unsigned r = 0; values->tasks[t] && r < INS_GPR_COUNT; r++)
            values->tasks[t][r].finger = values->tasks[t][r].count;
    values->undone = values->store_count;
    return err;
}

/* ---- going back ---- */

bool slc_values_register(struct slc_values *values, uint32_t task, unsigned gpr, wetdbg_time time,
                         uint64_t *value)
{
    if (task >= EVQ_TASKS_MAX || !values->tasks[task] || gpr == INS_RSP)
        return false;
    struct log *log = &values->tasks[task][gpr];
    uint64_t off = time - values->interval->first_time;
    while (log->finger && log->changes[log->finger - 1].time_off > off)
        log->finger--;
    if (!log->finger)
        return false;
    *value = log->changes[log->finger - 1].value;
    return true;
}

static int grow_pages(struct slc_values *values)
{
    size_t capacity = values->page_capacity ? 2 * values->page_capacity : PAGES_FIRST;
    struct page *pages = calloc(capacity, sizeof(*pages));

    if (!pages)
        return -ENOMEM;
    for (size_t i = 0; i < values->page_capacity; i++) {
        struct page *page = &values->pages[i];
        if (page->number)
            pages[wd_hash_find(wd_hash_u64(page->number) >> 32, capacity, n, !pages[n].number)] =
                *page;
    }
    free(values->pages);
    values->pages = pages;
    values->page_capacity = capacity;
    return 0;
}

/* A page as it was at the interval's end. */
static int read_page(struct slc_values *values, uint64_t address, uint8_t *bytes)
{
    const struct wet_interval *interval = values->interval;
    int err = 0;

    if (!values->end)
        err = wetdbg_state_open(values->wet, interval->first_time + interval->instructions,
                                &values->end);
    if (err) {
        values->end = NULL;
        return err;
    }
    err = wetdbg_state_read(values->end, address, bytes, PAGE_BYTES);
    if (err != -EFAULT)
        return err;
    memset(bytes, 0, PAGE_BYTES);
    return 0;
}

static int page_get(struct slc_values *values, uint64_t address, uint8_t **bytes)
{
    uint64_t number = address / PAGE_BYTES + 1;

    if (2 * (values->page_count + 1) > values->page_capacity && grow_pages(values))
        return -ENOMEM;
    struct page *page =
        &values->pages[wd_hash_find(wd_hash_u64(number) >> 32, values->page_capacity, n,
                                    !values->pages[n].number || values->pages[n].number == number)];
    if (!page->number) {
        page->bytes = malloc(PAGE_BYTES);
        if (!page->bytes)
            return -ENOMEM;
        int err = read_page(values, address & ~(uint64_t)(PAGE_BYTES - 1), page->bytes);
        if (err) {
            free(page->bytes);
            page->bytes = NULL;
            return err;
        }
        page->number = number;
        values->page_count++;
    }
    *bytes = page->bytes;
    return 0;
}

/* Copies bytes out of the pages or into them. */
static int move_bytes(struct slc_values *values, uint64_t address, uint8_t *bytes, uint64_t size,
                      bool is_in)
{
    while (size) {
        uint64_t off = address % PAGE_BYTES;
        uint64_t count = PAGE_BYTES - off < size ? PAGE_BYTES - off : size;
        uint8_t *page;
        int err = page_get(values, address, &page);
        if (err)
            return err;
        memcpy(is_in ? page + off : bytes, is_in ? bytes : page + off, count);
        address += count;
        bytes += count;
        size -= count;
    }
    return 0;
}

static int undo(struct slc_values *values, uint64_t time_off)
{
    int err = 0;

    while (values->undone && values->stores[values->undone - 1].time_off >= time_off && !err) {
        const struct store *store = &values->stores[--values->undone];
        err = move_bytes(values, store->address, values->before.data + store->before_off,
                         store->bytes, true);
    }
    return err;
}

int slc_values_memory(struct slc_values *values, uint64_t address, unsigned bytes, wetdbg_time time,
                      uint64_t *value)
{
    uint8_t read[8] = {0};
    int err = undo(values, time - values->interval->first_time);

    assert(bytes <= sizeof(read));
    if (!err)
        err = move_bytes(values, address, read, bytes, false);
    memcpy(value, read, sizeof(*value));
    return err;
}
