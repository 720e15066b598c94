/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The warden: a process that has the program run once, within its limits, asks the oracle's
 * command, and ends and removes all that the run left. It is told to do so early by SIGTERM, which
 * also comes if wetdbg dies.
 */
#ifndef DELTA_WARDEN_H
#define DELTA_WARDEN_H

#include "delta/delta_report.h"
#include "delta/plan.h"

/* The life of a warden, in the process that was forked for it; `parent` forked it. Writes a report
 * to `fd`; does not return. */
_Noreturn void dlt_warden(const struct dlt_plan *plan, const struct wetdbg_dd_bytes *candidate,
                          const char *scratch, int fd, pid_t parent);

#endif
