/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long a stack frame is there: from the call that pushed its return address to the return that
 * popped it. What is known grows with the search, so that nobody pays for more of the run than is
 * looked at.
 */
#include "breaks/breaks_priv.h"

#define SLOT_BYTES 8

int brk_writes_each(struct wetdbg_breaks *breaks, uint64_t k, const struct wetdbg_range *range,
                    wetdbg_time from, wetdbg_time to, bool with_returns, wetdbg_write_fn fn,
                    void *arg)
{
    int err = breaks->writes ? 0 : wetdbg_write_finder_open(breaks->wet, &breaks->writes);
    return err ? err
               : wetdbg_writes_each(breaks->writes, k, range, from, to, with_returns, fn, arg);
}

/* Whether a write to a return address's slot makes a frame there, or takes it away: not so xsave of
 * the dynamic linker, which may reach that far and does not, and what a recording has around a
 * signal's. */
static bool is_certain(const struct wetdbg_write *write)
{
    return write->is_return || write->is_handler || (write->pc && !write->is_maybe);
}

static int note_first(void *arg, const struct wetdbg_write *write)
{
    if (!is_certain(write))
        return 0;
    *(wetdbg_time *)arg = write->time;
    return 1;
}

static int note_last(void *arg, const struct wetdbg_write *write)
{
    if (is_certain(write))
        *(wetdbg_time *)arg = write->time;
    return 0;
}

/* Whether the frame may end in interval k. That a tail call left it there shows later, at the next
 * call's write. */
static bool may_end(struct wetdbg *wet, const struct wetdbg_break *is, uint64_t k)
{
    return wetdbg_interval_may_write(wet, k, is->frame_slot, SLOT_BYTES) ||
           wetdbg_may_return_in(wet, is->frame_function.start, is->frame_function.end, k);
}

static int learn_end(struct wetdbg_breaks *breaks, struct wetdbg_break *is, wetdbg_time to)
{
    const struct wetdbg_range slot = {is->frame_slot, is->frame_slot + SLOT_BYTES};
    int result = 0;
    while (!is->has_frame_end && is->frame_to < to && result >= 0) {
        wetdbg_time end = 0, from = is->frame_to + 1;
        uint64_t k = wetdbg_interval_at(breaks->wet, from);
        wetdbg_time last = wetdbg_interval_time(breaks->wet, k + 1) - 1;
        last = last < to ? last : to;
        result = brk_check(breaks, k);
        if (!result && may_end(breaks->wet, is, k))
            result = brk_writes_each(breaks, k, &slot, from, last, true, note_first, &end);
        is->has_frame_end = result > 0;
        if (result >= 0)
            is->frame_to = result > 0 ? end : last;
    }
    return result < 0 ? result : 0;
}

static int learn_start(struct wetdbg_breaks *breaks, struct wetdbg_break *is, wetdbg_time from)
{
    const struct wetdbg_range slot = {is->frame_slot, is->frame_slot + SLOT_BYTES};
    int err = 0;
    while (!is->has_frame_start && is->frame_from >= from && !err) {
        wetdbg_time start = 0, last = is->frame_from;
        uint64_t k = wetdbg_interval_at(breaks->wet, last);
        wetdbg_time first = wetdbg_interval_time(breaks->wet, k);
        first = first > from ? first : from;
        err = brk_check(breaks, k);
        if (!err && wetdbg_interval_may_write(breaks->wet, k, is->frame_slot, SLOT_BYTES))
            err = brk_writes_each(breaks, k, &slot, first, last, false, note_last, &start);
        is->has_frame_start = !err && start;
        if (!err)
            is->frame_from = start ? start : first - 1;
    }
    return err;
}

int brk_frame_learn(struct wetdbg_breaks *breaks, struct wetdbg_break *is, wetdbg_time from,
                    wetdbg_time to)
{
    if (!is->frame_slot)
        return 0;
    if (!is->frame_to) {
        is->frame_to = is->frame_time - 1; /* instructions before that time have run */
        is->frame_from = is->frame_time - 1;
    }
    int err = learn_end(breaks, is, to);
    return err ? err : learn_start(breaks, is, from);
}
