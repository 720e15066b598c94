/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of programs for comparisons with brute force, and criteria all over them. */
#ifndef TESTS_SLICER_RUNS_H
#define TESTS_SLICER_RUNS_H

#include "tests/slicer/brute.h"

struct run_kind {
    bool has_turns;   /* threads take turns, as random numbers say */
    bool has_signals; /* signals are sent */
    bool has_jumps;   /* there are jumps that leave frames */
};

/* Reads "-t", "-s" and "-j" (threads, signals, jumps that leave frames) in front of the names of
 * programs, which it returns. */
char **run_kind_read(struct run_kind *kind, char **arguments);

/* A run, for wetdbg_close(). The first seed of one without turns and signals is the only one. */
struct wetdbg *run_program(const struct run_kind *kind, char *program, uint64_t seed);

/* The next of a row of random numbers; *state is not 0. */
uint64_t next_random(uint64_t *state);

/* Chooses in turn all that an instance uses, a register, the bytes that it is about to read. */
void choose_criteria(const struct wetdbg *wet, struct brute_criterion *criteria, size_t count);

/* Has every second one stand where the frame that a jump landed in has done little since. */
void stand_after_landings(const struct wetdbg *wet, struct brute_criterion *criteria, size_t count);

#endif
