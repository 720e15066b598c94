/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Confidence in the values of instances, from what is known to be right: one pass backward over the
 * run.
 *
 * C(n) = 1 - log|alt(n)| / log|range(n)|, where range(n) are the values that n's instruction has
 * produced in this run, and alt(n) those that could stand in for n's own with all that is known to
 * be right unchanged. (X. Zhang, N. Gupta, R. Gupta, Pruning dynamic slices with confidence, PLDI
 * 2006.) What cannot be judged has confidence 0.
 */
#ifndef SLICER_CONFIDENCE_CONFIDENCE_H
#define SLICER_CONFIDENCE_CONFIDENCE_H

#include "slicer/confidence/ranges.h"
#include "slicer/criteria/criterion.h"
#include "slicer/slice_priv.h"

struct slc_confidence_options {
    const struct wetdbg_criterion *const *right; /* places that held the right values */
    size_t right_count;
    const wetdbg_time *good; /* instances that made the right values, sorted */
    size_t good_count;
    uint64_t limit; /* so many instances are judged, the latest first; 0: all */
    /* Non-zero ends it there, and counts->is_interrupted is set; may be NULL. */
    int (*progress)(void *arg, uint64_t done, uint64_t total);
    void *arg;
    /*
     * Called for each instance of which something is known: instances of `code`, latest first.
     * Those of which it is not called have confidence 0. A result that is not 0 ends the pass and
     * is returned.
     */
    int (*on_instance)(void *to, wetdbg_time time, uint32_t pc_index, bool is_neutral,
                       double confidence);
    void *to;
};

struct slc_confidence_counts {
    uint64_t pinned;      /* instances of which something is known */
    uint64_t unjudged;    /* of these, whose operands nothing could be said about */
    uint64_t right_bytes; /* of memory that were known to be right */
    /* All instances from this time on were looked at; 0: all of the run. */
    wetdbg_time looked_to;
    bool is_interrupted; /* by progress, or by wetdbg_interrupt() */
};

/* The pass, back from the latest right place to the start of the run or of `ranges`, or to where it
 * is to end. `code` is of scans that keep users, or of others. Errors of running intervals;
 * -ENOMEM. */
int slc_confidence(struct slc_code *code, struct slc_ranges *ranges,
                   const struct slc_confidence_options *options,
                   struct slc_confidence_counts *counts);

#endif
