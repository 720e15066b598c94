/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which executions of an interval a scan goes over at once, so that what it does to them can be
 * kept. They depend on the run alone, not on the scan, but for the ones that it begins with.
 */
#ifndef SLICER_SCAN_REACH_H
#define SLICER_SCAN_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slc_scan;

/* Executions [first, end) of the scan's interval. */
struct slc_reach {
    size_t first, end;
    uint32_t number; /* of their stretch in the interval */
    bool has_events;
};

/* The last executions before `end` that are in one stretch. */
struct slc_reach slc_reach_stretch(const struct slc_scan *scan, size_t end);

/* Of a stretch the last executions among which no events are, if that is long; or those up to a
 * long part without events, or to the stretch's start. */
struct slc_reach slc_reach_part(const struct slc_scan *scan, size_t end);

/* The time that they end, from the interval's start. */
uint64_t slc_reach_end(const struct slc_scan *scan, const struct slc_reach *reach);

#endif
