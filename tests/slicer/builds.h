/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For suites that slice the builds of one guest, run natively (fake_wet.h): their arguments are the
 * guest's source, in which comments say what is expected, and the builds.
 */
#ifndef TESTS_SLICER_BUILDS_H
#define TESTS_SLICER_BUILDS_H

#include <stdbool.h>

#include "slicer/slicer.h"
#include "tests/slicer/fake_wet.h"

extern const char *builds_source;

/* Takes the suite's arguments; false, with a sentence on stderr, if some are missing. */
bool builds_take(int argc, char **argv);

/* Runs each build, which has to end with status 0, and calls `check` with it and its path. */
void builds_each(void (*check)(struct wetdbg *wet, const char *build));

/* The line of the guest's source that has a comment of these two words; the test fails if none
 * has. */
unsigned builds_line(const char *mark, const char *name);

/* Whether the slice has that line of the guest's source. */
bool builds_slice_has(const struct wetdbg_slice *slice, unsigned line);

#endif
