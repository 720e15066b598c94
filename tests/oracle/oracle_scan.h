/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the oracle must know before it starts: which process, from which frame, and where in the
 * address space its own page can hide. */
#ifndef TESTS_ORACLE_ORACLE_SCAN_H
#define TESTS_ORACLE_ORACLE_SCAN_H

#include <stdint.h>

#include "recorder/rr_trace/rr_trace.h"

struct orc_plan {
    int pid;
    uint64_t start_time; /* the frame of the last successful execve */
    uint64_t end_time;   /* the last frame of the process */
    uint64_t stub;
};

/* `pid` 0: the process that died of a signal, else the one that ran exec last. Rewinds `trace`.
 * -WETDBG_ERR_UNSUPPORTED names what the oracle does not do: fork without exec, 32 bits,
 * buffered system calls, a recording from another processor. */
int orc_scan(struct wetdbg_recording *trace, int pid, struct orc_plan *plan);

#endif
