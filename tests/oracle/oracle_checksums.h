/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the oracle's memory with the checksums that `rr -C on-all-events record` leaves in a
 * trace directory (tests/rr_checksums.h): a line per mapping,
 *
 *     (14ca03d1) 0x401000-0x479000 r-xp 00001000 fe:00 11045857   /path
 *
 * taken when the frame of that time had been recorded. Registers do not prove memory; these do.
 */
#ifndef TESTS_ORACLE_ORACLE_CHECKSUMS_H
#define TESTS_ORACLE_ORACLE_CHECKSUMS_H

#include <stdint.h>

#include "tests/oracle/oracle.h"

/* `frame` has just been applied. 0 also when it has no checksums; *compared grows by the number of
 * mappings that were compared. -WETDBG_ERR_DIVERGED names the mapping that differs. */
int orc_checksums_compare(struct orc *orc, const char *dir, const struct rrt_frame *frame,
                          uint64_t *compared);

#endif
