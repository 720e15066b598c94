/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What may stop in a piece of the run: instances of breakpoints, accesses to watched bytes, events.
 * A piece of which the trace's counts and written lines tell that there is nothing, or no more than
 * is ignored, is passed over without being run.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/user.h>

#include "breaks/breaks_priv.h"
#include "common/array.h"
#include "common/bisect.h"

/* What callbacks of a piece are told. */
struct gathering {
    struct brk_search *search;
    struct wetdbg_break *is;
    uint32_t index;
    bool is_read;
};

static int add(struct gathering *to, const struct wetdbg_stop *stop, bool is_maybe)
{
    struct brk_search *search = to->search;
    struct wetdbg_breaks *breaks = search->breaks;
    if (stop->time < search->low || stop->time > search->high ||
        (to->is->thread && to->is->thread != stop->thread))
        return 0;
    if (wd_grow(breaks->items, breaks->capacity, breaks->count + 1))
        return -ENOMEM;
    breaks->items[breaks->count++] =
        (struct brk_candidate){.stop = *stop, .index = to->index, .is_maybe = is_maybe};
    return 0;
}

/* ---- code ---- */

static int add_instance(void *arg, wetdbg_time time, uint64_t pc)
{
    struct gathering *to = arg;
    struct wetdbg_stop stop = {
        .time = time,
        .at = time,
        .pc = pc,
        .syscall = -1,
        .thread = wetdbg_thread_at(to->search->breaks->wet, time),
    };
    return add(to, &stop, false);
}

/* A signal that ended the run struck before an instruction, which is no instance of it. */
static int add_struck(struct gathering *to)
{
    struct wetdbg *wet = to->search->breaks->wet;
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    struct wetdbg_state *state;
    if (!info->signal || !info->signal_time || info->signal_time < to->search->low ||
        info->signal_time > to->search->high || wetdbg_thread_at(wet, info->signal_time))
        return 0;
    int err = wetdbg_state_open(wet, info->signal_time, &state);
    if (err)
        return err;
    uint64_t pc = wetdbg_state_registers(state)->rip;
    wetdbg_time time = info->signal_time;
    struct wetdbg_stop stop = {.time = time, .at = time, .pc = pc, .syscall = -1};
    stop.thread = wetdbg_thread_of(wet, wetdbg_state_task(state), time - 1);
    wetdbg_state_close(state);
    for (size_t i = 0; i < to->is->pc_count; i++)
        if (to->is->pcs[i] == pc)
            return add(to, &stop, false);
    return 0;
}

static int gather_code(struct gathering *to)
{
    const struct wetdbg_break *is = to->is;
    struct brk_search *search = to->search;
    int err = wetdbg_each_instance(search->breaks->wet, is->pcs, is->pc_count, search->low,
                                   search->high, add_instance, to);
    return err ? err : add_struck(to);
}

/* ---- memory ---- */

static int add_access(void *arg, const struct wetdbg_write *write)
{
    struct gathering *to = arg;
    struct brk_search *search = to->search;
    struct wetdbg_stop stop = {
        .time = search->is_back ? write->time : write->time + 1,
        .at = write->time,
        .pc = write->pc,
        .syscall = write->syscall,
        .thread = wetdbg_thread_at(search->breaks->wet, write->time),
        .is_read = to->is_read,
    };
    return add(to, &stop, write->is_maybe);
}

static int gather_writes(struct gathering *to, uint64_t k, wetdbg_time from, wetdbg_time to_time)
{
    struct wetdbg_breaks *breaks = to->search->breaks;
    const struct wetdbg_range *range = &to->is->range;
    to->is_read = false;
    if (!wetdbg_interval_may_write(breaks->wet, k, range->start, brk_size(range)))
        return 0;
    return brk_writes_each(breaks, k, range, from, to_time, false, add_access, to);
}

static int gather_reads(struct gathering *to, uint64_t k, wetdbg_time from, wetdbg_time to_time)
{
    struct wetdbg_breaks *breaks = to->search->breaks;
    int err = breaks->reads ? 0 : wetdbg_read_finder_open(breaks->wet, &breaks->reads);
    to->is_read = true;
    return err ? err
               : wetdbg_writes_each(breaks->reads, k, &to->is->range, from, to_time, false,
                                    add_access, to);
}

/* Instructions from..to_time, all of interval k. */
static int gather_accesses(struct gathering *to, uint64_t k, wetdbg_time from, wetdbg_time to_time)
{
    enum wetdbg_break_kind kind = to->is->kind;
    int err = 0;
    if (from > to_time)
        return 0;
    if (kind != WETDBG_BREAK_READ_WATCH)
        err = gather_writes(to, k, from, to_time);
    if (!err && kind != WETDBG_BREAK_WATCH)
        err = gather_reads(to, k, from, to_time);
    return err;
}

static int add_frame_end(struct gathering *to)
{
    const struct wetdbg_break *is = to->is;
    bool is_back = to->search->is_back;
    wetdbg_time at = is_back ? is->frame_from : is->frame_to;
    struct wetdbg_stop stop = {
        .time = is_back ? at : at + 1,
        .at = at,
        .syscall = -1,
        .thread = wetdbg_thread_at(to->search->breaks->wet, at),
        .is_scope_end = true,
    };
    bool is_there = is_back ? is->has_frame_start : is->has_frame_end;
    return is->frame_slot && is_there ? add(to, &stop, false) : 0;
}

/* The instructions whose states are those of the piece: forward the state behind one. */
static int gather_memory(struct gathering *to)
{
    struct brk_search *search = to->search;
    struct wetdbg *wet = search->breaks->wet;
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    wetdbg_time from = search->is_back ? search->low : search->low - 1;
    wetdbg_time last = search->is_back ? search->high : search->high - 1;
    from = from > info->first_time ? from : info->first_time;
    last = last < info->last_time ? last : info->last_time;
    if (from > last)
        return 0;
    int err = brk_frame_learn(search->breaks, to->is, from, last);
    if (err)
        return err;
    if (to->is->frame_slot) {
        from = from > to->is->frame_from ? from : to->is->frame_from + 1;
        last = last < to->is->frame_to ? last : to->is->frame_to;
    }
    for (uint64_t k = wetdbg_interval_at(wet, from); from <= last && !err; k++) {
        wetdbg_time end = wetdbg_interval_time(wet, k + 1) - 1;
        end = end < last ? end : last;
        err = gather_accesses(to, k, from, end);
        from = end + 1;
    }
    return err ? err : add_frame_end(to);
}

/* ---- events ---- */

static int note_event(void *arg, const struct wetdbg_event *event)
{
    struct wetdbg_breaks *breaks = arg;
    if (event->kind != WETDBG_EVENT_CALL && event->kind != WETDBG_EVENT_CALL_END &&
        event->kind != WETDBG_EVENT_FAULT && event->kind != WETDBG_EVENT_SIGNAL)
        return 0;
    if (wd_grow(breaks->events, breaks->event_capacity, breaks->event_count + 1))
        return -ENOMEM;
    struct brk_event *noted = &breaks->events[breaks->event_count++];
    noted->is = *event;
    noted->is.registers = NULL;
    noted->state = event->kind == WETDBG_EVENT_CALL ? event->time : event->time + 1;
    return 0;
}

static int read_events(struct wetdbg_breaks *breaks)
{
    if (breaks->has_events)
        return 0;
    breaks->event_count = 0;
    int err = wetdbg_each_event(breaks->wet, note_event, breaks);
    breaks->has_events = !err;
    return err;
}

static int gather_events(struct gathering *to)
{
    struct brk_search *search = to->search;
    struct wetdbg_breaks *breaks = search->breaks;
    int err = read_events(breaks);
    if (err)
        return err;
    /* an event's state is its time or the one behind it */
    size_t i = wd_bisect(0, breaks->event_count, at, breaks->events[at].is.time + 1 < search->low);
    for (; i < breaks->event_count && breaks->events[i].is.time <= search->high && !err; i++) {
        const struct brk_event *event = &breaks->events[i];
        if (!to->is->takes(to->is->arg, &event->is))
            continue;
        struct wetdbg_stop stop = {
            .time = event->state,
            .at = event->is.time,
            .syscall = -1,
            .thread = wetdbg_thread_of(breaks->wet, event->is.task, event->is.time),
            .event = event->is.kind,
            .number = event->is.number,
        };
        err = add(to, &stop, false);
    }
    return err;
}

/* ---- all of them ---- */

static bool is_plain_code(const struct wetdbg_break *is)
{
    return is->kind == WETDBG_BREAK_CODE && !is->holds && !is->thread;
}

/*
 * Whether the piece can be passed over by counts alone: if each break is code without condition,
 * and none runs there more often than it is ignored. Counts what is passed.
 */
static int pass_over(struct brk_search *search, bool *is_passed)
{
    const struct wetdbg_info *info = wetdbg_get_info(search->breaks->wet);
    bool has_signal = info->signal && search->high >= info->signal_time;
    *is_passed = false;
    for (int is_counting = 0; is_counting < 2; is_counting++)
        for (size_t i = 0; i < search->count; i++) {
            struct wetdbg_break *is = search->list[i];
            uint64_t count = 0;
            if (!is->is_enabled)
                continue;
            if (!is_plain_code(is) || !search->is_whole || has_signal)
                return 0;
            int err = wetdbg_count_instances_in(search->breaks->wet, is->pcs, is->pc_count,
                                                search->k, &count);
            if (err || count > is->ignore)
                return err;
            if (is_counting) {
                is->hits += count;
                is->ignore -= count;
            }
        }
    *is_passed = true;
    return 0;
}

static int by_state(const void *a, const void *b)
{
    const struct brk_candidate *x = a, *y = b;
    if (x->stop.time != y->stop.time)
        return x->stop.time < y->stop.time ? -1 : 1;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return x->stop.is_read - y->stop.is_read;
}

int brk_gather(struct brk_search *search)
{
    struct wetdbg_breaks *breaks = search->breaks;
    size_t kinds = 0;
    bool is_passed;
    int err = pass_over(search, &is_passed);
    for (size_t i = 0; i < search->count && !err && !is_passed; i++) {
        struct gathering to = {.search = search, .is = search->list[i], .index = (uint32_t)i};
        if (!to.is->is_enabled)
            continue;
        size_t before = breaks->count;
        if (to.is->kind == WETDBG_BREAK_CODE)
            err = gather_code(&to);
        else if (to.is->kind == WETDBG_BREAK_CATCH)
            err = gather_events(&to);
        else
            err = gather_memory(&to);
        kinds += breaks->count > before ? 1 + (to.is->kind != WETDBG_BREAK_CODE) : 0;
    }
    if (!err && kinds > 1)
        qsort(breaks->items, breaks->count, sizeof(*breaks->items), by_state);
    return err;
}
