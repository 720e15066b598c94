/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Implicit dependences that a scan follows: their predicates are seeds among the criterion's, which
 * count if a use is in the slice. All uses are later, so that by then it is known.
 */
#ifndef SLICER_SCAN_IMPLIED_H
#define SLICER_SCAN_IMPLIED_H

#include "slicer/criteria/criterion.h"
#include "slicer/slice_priv.h"

/* What a scan gets in the place of a criterion; slc_implicit_fini() is due in any case. */
struct slc_implicit {
    struct wetdbg_criterion criterion;  /* a copy, with a seed for each predicate besides */
    struct wetdbg_implicit_edge *edges; /* the latest predicate first */
};

/* 0 or -ENOMEM; -EINVAL for an edge that does not lead to something earlier. */
int slc_implicit_init(struct slc_implicit *self, const struct wetdbg_criterion *criterion,
                      const struct wetdbg_slice_options *options);
void slc_implicit_fini(struct slc_implicit *self);

/* The nearest of the uses that depend on a seed's predicate, as who wants it; SLC_NOT_WANTED if
 * none is in the slice. */
struct slc_want slc_implicit_want(const struct wetdbg_slice *slice, const struct slc_seed *seed);

#endif
