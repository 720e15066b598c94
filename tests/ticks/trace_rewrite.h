/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes of a recording with software ticks one as a machine with a PMU would have made it: each
 * frame has a count of conditional branches, and nothing else says where an event struck.
 */
#ifndef TESTS_TICKS_TRACE_REWRITE_H
#define TESTS_TICKS_TRACE_REWRITE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copies the recording `from` (by hard links, so both are on one file system) to the new directory
 * `to`; frame n of it has the ticks `ticks[n - 1]`. Left out is all that wetdbg's recorder added:
 * mark, digests, line hashes and checksums. Fails the test if it cannot, also if the recording does
 * not have `count` frames.
 */
void trace_rewrite(const char *from, const char *to, const int64_t *ticks, size_t count);

#endif
