/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether DBI_COUNT reports every line of memory that changed, by comparing full copies. */
#ifndef TESTS_REPLAY_WRITTEN_LINES_H
#define TESTS_REPLAY_WRITTEN_LINES_H

#include "tests/replay/replay_unit.h"

/*
 * Replays the recording in `dir` (DBI_COUNT) and stops about every `step` instructions: each byte
 * that differs from the copy taken at the stop before must lie in a reported line, unless a
 * mapping was made or removed there meanwhile. Fails the test at the first that does not. Returns
 * the instructions of the whole run.
 */
uint64_t lines_verify(const char *dir, uint64_t step, const char *what);

#endif
