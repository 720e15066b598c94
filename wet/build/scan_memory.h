/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of the replayee's memory may be other than the files that it mapped. */
#ifndef WET_BUILD_SCAN_MEMORY_H
#define WET_BUILD_SCAN_MEMORY_H

#include <stdint.h>

/* A bit of an entry of /proc/PID/pagemap. */
#define WET_PAGE_PRESENT (1ull << 63)
#define WET_PAGE_SWAPPED (1ull << 62)
#define WET_PAGE_OF_FILE (1ull << 61) /* never written to */

struct wet_builder;

/* Whole pages of one view, whose place in the space is mirror_off, as the replayee has them now.
 * Negative results end the scan. */
typedef int (*wet_scan_fn)(void *arg, uint64_t mirror_off, const uint8_t *now, uint64_t bytes);

/*
 * Tells of all pages in the builder's views that were ever written to, and perhaps of others; of
 * all, where the replayee's page map cannot be read. Those that are left out are as their files, or
 * zero. -WETDBG_ERR_MACHINE, -WETDBG_ERR_INTERRUPTED, -ENOMEM.
 */
int wet_scan(struct wet_builder *builder, wet_scan_fn fn, void *arg);

#endif
