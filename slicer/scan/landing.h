/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the stack pointer is after a jump that left frames (longjmp and kin, exceptions). */
#ifndef SLICER_SCAN_LANDING_H
#define SLICER_SCAN_LANDING_H

#include "slicer/scan/code_summary.h"

struct slc_landing {
    uint64_t rsp;  /* frames whose return addresses lie below are gone; 0: not known */
    bool is_moved; /* `rsp` is that of a little later, when something had moved it that is not
                    * known */
};

/*
 * Finds it by the first operand on the stack that the thread has among the executions from `e` on
 * of an interval, or soon after it; less the constants that were added to the stack pointer before
 * that. 0, -ENOMEM or what wet_interval_get() returns.
 */
int slc_landing_find(struct slc_code *code, const struct wet_interval *interval, size_t e,
                     uint32_t task, struct slc_landing *landing);

/* Asks for the registers at the jump's time, which may take some 10 ms. 0 or what
 * wetdbg_state_open() returns. */
int slc_landing_ask(struct wetdbg *wet, wetdbg_time jump, struct slc_landing *landing);

#endif
