/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gathers that a fault left halfway: a handler mends the cause, and the processor goes on with the
 * lanes that are left. The execution of which the trace tells is the last one, and what had been
 * loaded by then is no execution's.
 */
#ifndef SLICER_SCAN_HALFWAY_H
#define SLICER_SCAN_HALFWAY_H

#include "recorder/insn/insn_ranges.h"
#include "wet/intervals.h"

struct slc_halfway {
    struct ins_regset loaded; /* the register that lanes are loaded to */
    struct ins_range
        lanes[INS_RANGES_MAX]; /* that were not left: loaded before the fault, or never chosen */
    unsigned count;
};

/*
 * What the fault `event` of that interval left halfway, by the next execution of the instruction in
 * the thread, which is looked for in this interval and the next one; count 0: nothing. 0, -ENOMEM
 * or what wet_interval_get() returns.
 */
int slc_halfway_find(struct wetdbg *wet, const struct wet_interval *interval,
                     const struct wet_event *event, struct slc_halfway *halfway);

#endif
