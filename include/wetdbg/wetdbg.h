/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libwetdbg: recordings of failing runs, Whole Execution Traces of them, and what is asked of
 * those.
 *
 *   record.h      recording a program with rr; the recordings that there are
 *   recording.h   what a recording holds: processes, programs, events
 *   build.h       replaying a recording; making its trace, FILE.wet
 *   verify.h      whether a FILE.wet is sound
 *   wet.h         a trace: the run, its threads, its state at any time, its events, what was
 *                 written
 *   model.h       the program apart from any run: functions, lines, variables, types, frames,
 *                 control flow
 *   walk.h        what a thread executed, one instruction or node after the other
 *   writes.h      who wrote to some bytes
 *   breaks.h      breakpoints, watchpoints, catchpoints: where a run stops
 *   caller.h      on whose behalf library code ran
 *   slice.h       criteria, and the backward and forward slices of them
 *   set.h         instances of several slices put together, and chops
 *   spectrum.h    a slice held against passing runs; measures of suspicion
 *   parting.h     where two runs of one program went different ways first
 *   decisions.h   the branches that lie nearest to a slice's criterion
 *   origin.h      where one value came from
 *   prune.h       slices pruned by confidence: what also led to right output
 *   switch.h      what if: runs that go on differently
 *   candidates.h  predicate switching: where a run might have gone on otherwise, and what to try
 *                 first
 *   locate.h         what is known of a failing run by source line, and a ranked list of suspects
 *   replace.h        values that repair a failing run
 *   mutate.h         other instructions that do
 *   switch_search.h  the search for critical predicates, over whatever runs the switched programs
 *   implicit.h    what went wrong because something did not run: slices with dependences that
 *                 switched runs have proven
 *   delta.h       delta debugging: what of a difference makes a failure
 *   delta_program.h  the same of the inputs of a program, which it runs
 *   delta_record.h   what was found, recorded
 *   files.h       the files that a run read and wrote
 *   errors.h      errors as values, with their sentences
 *
 * Functions that can fail return 0 or a negative code (errors.h). What comes back by a `const`
 * pointer is borrowed; what comes back by an `out` pointer is the caller's, and the header names
 * the function that ends it. docs/library.md has a program that goes from recording to slice.
 */
#ifndef WETDBG_WETDBG_H
#define WETDBG_WETDBG_H

#include <wetdbg/breaks.h>
#include <wetdbg/build.h>
#include <wetdbg/caller.h>
#include <wetdbg/candidates.h>
#include <wetdbg/decisions.h>
#include <wetdbg/delta.h>
#include <wetdbg/delta_program.h>
#include <wetdbg/delta_record.h>
#include <wetdbg/errors.h>
#include <wetdbg/files.h>
#include <wetdbg/implicit.h>
#include <wetdbg/locate.h>
#include <wetdbg/model.h>
#include <wetdbg/mutate.h>
#include <wetdbg/origin.h>
#include <wetdbg/own_file.h>
#include <wetdbg/parting.h>
#include <wetdbg/prune.h>
#include <wetdbg/record.h>
#include <wetdbg/recording.h>
#include <wetdbg/replace.h>
#include <wetdbg/set.h>
#include <wetdbg/slice.h>
#include <wetdbg/spectrum.h>
#include <wetdbg/switch.h>
#include <wetdbg/switch_search.h>
#include <wetdbg/verify.h>
#include <wetdbg/walk.h>
#include <wetdbg/wet.h>
#include <wetdbg/writes.h>

#endif
