/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Following instances where each wanted place knows its nearest user: slc_follow() over compiled
 * instructions (scan_ops.h). */
#ifndef SLICER_SCAN_USERS_H
#define SLICER_SCAN_USERS_H

#include "slicer/scan/scan.h"

/*
 * The first `count` instructions of an execution in which nothing happens but instructions: no
 * events, no criterion, nothing pending. What scan->hits holds is the last one's. Only for scans
 * that keep users (record_parents). 0 or an error.
 */
int slc_users_exec(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                   const struct slc_node *node, uint32_t count);

#endif
