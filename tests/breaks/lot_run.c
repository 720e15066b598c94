/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/breaks/lot_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include <wetdbg/writes.h>

struct wetdbg {
    int unused;
};

struct wetdbg_state {
    wetdbg_time time;
    struct user_regs_struct regs;
};

struct wetdbg_write_finder {
    bool is_for_reads;
};

struct lot_run lot;
static struct wetdbg the_wet;
static const struct wetdbg_thread threads[2] = {{.index = 0}, {.index = 1, .task = 1}};
static const struct wetdbg_info info = {
    .first_time = 1,
    .last_time = LOT_INSTRUCTIONS,
    .instructions = LOT_INSTRUCTIONS,
    .intervals = LOT_INSTRUCTIONS / LOT_INTERVAL,
    .threads = 2,
};

struct wetdbg *lot_wet(void)
{
    return &the_wet;
}

void lot_draw(unsigned seed)
{
    srand(seed);
    memset(&lot, 0, sizeof(lot));
    for (int t = 1; t <= LOT_INSTRUCTIONS; t++) {
        struct lot_instruction *is = &lot.at[t];
        is->pc = 0x400 + (uint64_t)(rand() % LOT_PCS);
        is->writes = rand() % 3 ? -1 : rand() % LOT_BYTES;
        is->reads = rand() % 4 ? -1 : rand() % LOT_BYTES;
        is->value = (uint8_t)(rand() % 3);
        is->is_kernel = is->writes >= 0 && rand() % 5 == 0;
        is->thread = (unsigned)(t / 37 % 2);
        memcpy(lot.memory[t + 1], lot.memory[t], LOT_BYTES);
        if (is->writes >= 0)
            lot.memory[t + 1][is->writes] = is->value;
    }
}

/* ---- the run ---- */

const struct wetdbg_info *wetdbg_get_info(const struct wetdbg *wet)
{
    (void)wet;
    return &info;
}

uint64_t wetdbg_interval_at(const struct wetdbg *wet, wetdbg_time t)
{
    (void)wet;
    return t > LOT_INSTRUCTIONS ? info.intervals - 1 : (t - 1) / LOT_INTERVAL;
}

wetdbg_time wetdbg_interval_time(const struct wetdbg *wet, uint64_t k)
{
    (void)wet;
    return k * LOT_INTERVAL + 1;
}

const struct wetdbg_thread *wetdbg_thread_at(const struct wetdbg *wet, wetdbg_time t)
{
    (void)wet;
    return t < 1 || t > LOT_INSTRUCTIONS ? NULL : &threads[lot.at[t].thread];
}

const struct wetdbg_thread *wetdbg_thread_of(const struct wetdbg *wet, uint32_t task, wetdbg_time t)
{
    (void)wet;
    (void)t;
    return &threads[task];
}

/* ---- instances ---- */

static bool is_one_of(const uint64_t *pcs, size_t count, uint64_t pc)
{
    for (size_t i = 0; i < count; i++)
        if (pcs[i] == pc)
            return true;
    return false;
}

int wetdbg_count_instances_in(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count, uint64_t k,
                              uint64_t *count)
{
    (void)wet;
    *count = 0;
    for (uint64_t t = k * LOT_INTERVAL + 1; t <= (k + 1) * LOT_INTERVAL; t++)
        *count += is_one_of(pcs, pc_count, lot.at[t].pc);
    return 0;
}

int wetdbg_each_instance(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count, wetdbg_time from,
                         wetdbg_time to, wetdbg_instance_fn fn, void *arg)
{
    int result = 0;
    (void)wet;
    lot.intervals_run++;
    for (wetdbg_time t = from; t <= to && t <= LOT_INSTRUCTIONS && !result; t++)
        if (is_one_of(pcs, pc_count, lot.at[t].pc))
            result = fn(arg, t, lot.at[t].pc);
    return result;
}

/* ---- writes ---- */

bool wetdbg_interval_may_write(const struct wetdbg *wet, uint64_t k, uint64_t address,
                               uint64_t size)
{
    (void)wet;
    for (uint64_t t = k * LOT_INTERVAL + 1; t <= (k + 1) * LOT_INTERVAL; t++) {
        uint64_t at = LOT_MEMORY + (uint64_t)lot.at[t].writes;
        if (lot.at[t].writes >= 0 && at >= address && at < address + size)
            return true;
    }
    return false;
}

int wetdbg_write_finder_open(struct wetdbg *wet, struct wetdbg_write_finder **out)
{
    (void)wet;
    *out = calloc(1, sizeof(**out));
    return *out ? 0 : -ENOMEM;
}

int wetdbg_read_finder_open(struct wetdbg *wet, struct wetdbg_write_finder **out)
{
    int err = wetdbg_write_finder_open(wet, out);
    if (!err)
        (*out)->is_for_reads = true;
    return err;
}

void wetdbg_write_finder_close(struct wetdbg_write_finder *finder)
{
    free(finder);
}

int wetdbg_writes_each(struct wetdbg_write_finder *finder, uint64_t k,
                       const struct wetdbg_range *range, wetdbg_time from, wetdbg_time to,
                       bool with_returns, wetdbg_write_fn fn, void *arg)
{
    int result = 0;
    (void)with_returns;
    lot.intervals_run++;
    for (uint64_t t = k * LOT_INTERVAL + 1; t <= (k + 1) * LOT_INTERVAL && !result; t++) {
        int byte = finder->is_for_reads ? lot.at[t].reads : lot.at[t].writes;
        uint64_t at = LOT_MEMORY + (uint64_t)byte;
        bool is_kernel = !finder->is_for_reads && lot.at[t].is_kernel;
        struct wetdbg_write write = {
            .time = t, .pc = is_kernel ? 0 : lot.at[t].pc, .syscall = -1, .is_maybe = is_kernel};
        if (byte >= 0 && at >= range->start && at < range->end && t >= from && t <= to)
            result = fn(arg, &write);
    }
    return result;
}

bool wetdbg_may_return_in(struct wetdbg *wet, uint64_t start, uint64_t end, uint64_t k)
{
    (void)wet;
    (void)start;
    (void)end;
    (void)k;
    return false;
}

/* ---- states and events ---- */

int wetdbg_state_open(struct wetdbg *wet, wetdbg_time t, struct wetdbg_state **out)
{
    (void)wet;
    *out = calloc(1, sizeof(**out));
    if (*out)
        (*out)->time = t;
    return *out ? 0 : -ENOMEM;
}

int wetdbg_state_advance(struct wetdbg_state *state, wetdbg_time t)
{
    state->time = t;
    return 0;
}

void wetdbg_state_close(struct wetdbg_state *state)
{
    free(state);
}

uint32_t wetdbg_state_task(const struct wetdbg_state *state)
{
    (void)state;
    return 0;
}

const struct user_regs_struct *wetdbg_state_registers(const struct wetdbg_state *state)
{
    return &state->regs;
}

int wetdbg_state_read(struct wetdbg_state *state, uint64_t address, void *bytes, size_t size)
{
    memcpy(bytes, &lot.memory[state->time][address - LOT_MEMORY], size);
    return 0;
}

int wetdbg_each_event(struct wetdbg *wet, wetdbg_event_fn fn, void *arg)
{
    int result = 0;
    (void)wet;
    for (wetdbg_time t = 1; t <= LOT_INSTRUCTIONS && !result; t++) {
        struct wetdbg_event event = {.time = t, .task = lot.at[t].thread};
        if (!lot.at[t].is_kernel)
            continue;
        event.kind = WETDBG_EVENT_CALL;
        event.number = lot.at[t].value;
        result = fn(arg, &event);
        event.kind = WETDBG_EVENT_CALL_END;
        if (!result)
            result = fn(arg, &event);
    }
    return result;
}
