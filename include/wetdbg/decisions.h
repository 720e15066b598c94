/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The branches of a slice that lie nearest to its criterion: what was decided last, and what else
 * could have been. */
#ifndef WETDBG_DECISIONS_H
#define WETDBG_DECISIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/slice.h>

WETDBG_BEGIN

struct wetdbg_decision {
    struct wetdbg_slice_instance instance; /* the nearest one of its line's branches */
    uint64_t instances;                    /* of all these branches, in the slice */
    uint32_t branches; /* of the line, in the slice: a condition with && or || has several */
    uint64_t went;     /* where the program went on; 0: nowhere, or that is not known */
    uint64_t other;    /* where it would have gone otherwise; 0: one of several places (a switch) */
    bool is_way_out;   /* a call that never returns is there, in the same block */
};

/*
 * The branches of the program's own code (<wetdbg/caller.h>) that a slice holds by control edges,
 * one for each source line (without lines: for each instruction), the nearest to the criterion
 * first; at most `limit`, 0: all. Conditional jumps and indirect ones, but no calls. Needs a slice
 * with record_parents (-EINVAL without) that follows control. *decisions is to be freed; *count may
 * be 0. -ENOMEM; errors of running an interval.
 */
int wetdbg_slice_decisions(const struct wetdbg_slice *slice, size_t limit,
                           struct wetdbg_decision **decisions, size_t *count);

WETDBG_END

#endif
