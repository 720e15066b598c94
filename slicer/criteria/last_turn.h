/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The last turns on the way away from some code: in each stack frame that led there, the branch
 * after which the frame could not come there again.
 *
 * What is missing has no instance to slice from. But something like it ran before: the loop that
 * printed lines, say. In the graph of each function that was active then (callers too) there are
 * blocks from which the code, or the call that led to it, can be reached once more; the instance of
 * a branch that goes from such a block to another one is where the frame turned away, and there is
 * one such instance at most. It is what a potential dependence (Gyimothy, Beszedes and Forgacs,
 * ESEC/FSE 1999, "relevant slicing") of the missing code would lead to first.
 */
#ifndef SLICER_CRITERIA_LAST_TURN_H
#define SLICER_CRITERIA_LAST_TURN_H

#include "wet/intervals.h"

struct slc_turn {
    wetdbg_time time; /* of the branch */
    uint64_t pc;
    unsigned depth; /* of its frame, 0 the innermost of all */
};

/*
 * The turns of the frames of the program's own code that were there at `time`, in the thread that
 * ran then; *turns is to be freed, the innermost frame's first. *is_left: the run ended in some of
 * these frames, before it turned away. 0 or an error of running an interval.
 */
int slc_last_turns(struct wetdbg *wet, wetdbg_time time, struct slc_turn **turns, size_t *count,
                   bool *is_left);

#endif
