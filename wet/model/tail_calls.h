/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that are no longer on the stack, since they ended by a jump to another one. */
#ifndef WET_MODEL_TAIL_CALLS_H
#define WET_MODEL_TAIL_CALLS_H

#include "wet/model/call_sites.h"

/*
 * A call that returns to `return_pc` led to the function that begins at `callee`: the jumps by
 * which it got there, each by the pc behind it, the last one first. Only those that are sure, by
 * gdb's rules: on all ways that the call sites allow. *count is 0 if it was called directly, or if
 * nothing is sure. 0 or -ENOMEM.
 */
#define MDL_TAIL_CALLS_MAX WETDBG_TAIL_CALLERS_MAX
int mdl_tail_calls(struct wetdbg_model *model, uint64_t return_pc, uint64_t callee,
                   uint64_t pcs[MDL_TAIL_CALLS_MAX], size_t *count);

/* Whether the function that begins at `entry` can surely not come back to itself by jumps alone:
 * else what its caller passed need not be what it was entered with. */
bool mdl_is_entered_once(struct wetdbg_model *model, uint64_t entry);

#endif
