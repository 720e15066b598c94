/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The dynamic linker, passed by: unless a slice follows it (options.loader), its instances are
 * never in it. What it wrote counts as given from outside, a frame that it made was made by whoever
 * entered it, and registers that it preserves are after it what they were before.
 *
 * Going backward, the linker is entered over a return, or over the jump of its lazy-binding
 * resolver to the function it found; then the wants of preserved registers are put aside. They
 * come back over the call, or the jump to the resolver, that entered it.
 */
#ifndef SLICER_SCAN_LOADER_H
#define SLICER_SCAN_LOADER_H

#include "slicer/scan/scan.h"

/* What the last instruction of an execution means: to be called before its effects. 0 or
 * -ENOMEM. */
int slc_loader_pass_border(struct slc_scan *scan, struct slc_task *task,
                           const struct wet_exec *exec, const struct slc_node *node);

/* The first `count` instructions of an execution in the linker; a control hit in scan->hits waits
 * for what made the frame. */
int slc_loader_pass(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                    const struct slc_node *node, uint32_t count);

/* Registers that are the same after a call into the linker that returned, or after its resolver. */
struct ins_regset slc_loader_preserved(bool is_resolver);

/* Operands of which an instruction of the linker writes for sure what slc_operand_ranges() says:
 * rep ranges, masked stores and what its resolver saves with xsave are exact. */
unsigned slc_loader_stores(const struct ins_info *info);

/* All that is put aside comes back. */
void slc_loader_flush(struct slc_task *task);

#endif
