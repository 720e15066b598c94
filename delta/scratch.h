/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The directory of one run, below $TMPDIR or /tmp. */
#ifndef DELTA_SCRATCH_H
#define DELTA_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#define DLT_SCRATCH_PATH_BYTES 4096

/* Makes a directory (mode 0700) and puts its name into `path`. An errno, with a sentence. */
int dlt_scratch_make(char path[DLT_SCRATCH_PATH_BYTES]);

/* Removes it with all that is in it, whatever modes a program left there. What cannot be removed stays. Links are
 * not followed, and other file systems not entered. */
void dlt_scratch_remove(const char *path);

/* The space that its files take. */
uint64_t dlt_scratch_bytes(const char *path);

#endif
