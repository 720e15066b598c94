/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/scan/reach.h"

#include <assert.h>

#include "common/bisect.h"
#include "slicer/scan/scan.h"

static uint32_t number_of(const struct slc_scan *scan, size_t exec)
{
    return scan->interval->execs[exec].time_off >> scan->slice->session->stretch_bits;
}

struct slc_reach slc_reach_stretch(const struct slc_scan *scan, size_t end)
{
    struct slc_reach reach = {.end = end, .number = number_of(scan, end - 1)};

    assert(end && end <= scan->interval->exec_count);
    reach.first = wd_bisect(0, end - 1, i, number_of(scan, i) < reach.number);
    return reach;
}

uint64_t slc_reach_end(const struct slc_scan *scan, const struct slc_reach *reach)
{
    return reach->end < scan->interval->exec_count ? scan->interval->execs[reach->end].time_off
                                                   : scan->interval->instructions;
}

/* The last of the executions [first, end) with an event; false if there is none. *events of the
 * interval's are left, and become those before that execution. */
static bool event_before(const struct slc_scan *scan, size_t first, size_t end, size_t *events,
                         size_t *index)
{
    const struct wet_interval *interval = scan->interval;

    assert(first < end && *events <= interval->event_count);
    if (!*events ||
        interval->events[*events - 1].time < interval->first_time + interval->execs[first].time_off)
        return false;
    wetdbg_time time = interval->events[*events - 1].time;
    size_t last =
        wd_bisect(first + 1, end, i, interval->first_time + interval->execs[i].time_off <= time) -
        1;
    time = interval->first_time + interval->execs[last].time_off;
    while (*events && interval->events[*events - 1].time >= time)
        --*events;
    *index = last;
    return true;
}

#define PARTS_BITS 5 /* parts of a stretch are at least so much smaller */

static bool is_long(const struct slc_scan *scan, size_t first, size_t end)
{
    struct slc_reach reach = {.first = first, .end = end};

    return first < end && slc_reach_end(scan, &reach) - scan->interval->execs[first].time_off >
                              UINT64_C(1) << scan->slice->session->stretch_bits >> PARTS_BITS;
}

struct slc_reach slc_reach_part(const struct slc_scan *scan, size_t end)
{
    struct slc_reach reach = slc_reach_stretch(scan, end);
    size_t events = scan->event_at, low = end;

    while (low > reach.first) {
        size_t at;
        bool has = event_before(scan, reach.first, low, &events, &at);
        size_t from = has ? at + 1 : reach.first;
        if (low == end && (!has || is_long(scan, from, low))) {
            reach.first = from;
            return reach;
        }
        if (is_long(scan, from, low))
            break;
        low = has ? at : reach.first;
    }
    reach.first = low;
    reach.has_events = true;
    return reach;
}
