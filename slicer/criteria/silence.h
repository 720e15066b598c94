/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What kept a run silent. A run that put out nothing has no last byte whose place could be looked
 * at (last_turn.h). But its code has calls that would have put something out: of printf(), write(),
 * operator<< and their kin, and of functions that make such calls. None of them was made, so each
 * is guarded by branches that went another way: the nearest that ran, in the sense of control
 * dependence, are where the program turned away. They are what a potential dependence of the
 * missing output leads to (Gyimothy, Beszedes and Forgacs, ESEC/FSE 1999, "relevant slicing").
 */
#ifndef SLICER_CRITERIA_SILENCE_H
#define SLICER_CRITERIA_SILENCE_H

#include "slicer/criteria/last_turn.h"

/*
 * The last instances of such branches in the program's own code, the latest 32 of them in the order
 * of their times; their depth is 0. `of_errors`: what is missing is on standard error, to which
 * only warn(), perror(), calls that are given stderr, and kin lead; these do not count otherwise,
 * nor do calls after which the program ends. *turns is to be freed. None is no error. A function
 * whose address is taken counts as called there, and if such a one puts something out, so does
 * every call through a pointer. 0, -ENOMEM or an error of running an interval.
 */
int slc_silent_turns(struct wetdbg *wet, bool of_errors, struct slc_turn **turns, size_t *count);

#endif
