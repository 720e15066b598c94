/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The directory of one run, below $TMPDIR or /tmp. */
#ifndef DELTA_DELTA_SCRATCH_H
#define DELTA_DELTA_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#define DLT_SCRATCH_PATH_BYTES 4096

/* Chooses a name that nobody can know before. An errno, with a sentence. Nothing is there yet: the
 * warden makes the directory when it is sure to remove it, and whoever waits for the warden knows
 * the name. */
int dlt_scratch_name(char path[DLT_SCRATCH_PATH_BYTES]);

/* Makes it (mode 0700). An errno, with a sentence. */
int dlt_scratch_make(const char *path);

/* Removes it with all that is in it, whatever modes a program left there. What cannot be removed
 * stays. Links are not followed, and other file systems not entered. */
void dlt_scratch_remove(const char *path);

/* The space that its files take. The working directory is another one meanwhile. */
uint64_t dlt_scratch_bytes(const char *path);

#endif
