/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trace directories that are about to be made, or to go, and what they take on the disk. */
#ifndef RECORDER_RECORD_TRACE_PLACE_H
#define RECORDER_RECORD_TRACE_PLACE_H

#include <stdint.h>

/* Can `dir` be made? Gives its absolute path, to be freed. -EEXIST if anything has that name. */
int rec_place_check_new(const char *dir, char **absolute);

/* Makes rr's own place, with its parents, and checks that it can be written. */
int rec_place_make(void);

/* Deletes the files of a trace directory and the directory itself, silently. */
void rec_place_discard(const char *trace_dir);

/* What the files of a trace directory take on the disk; 0 if it cannot be read. */
uint64_t rec_place_bytes(const char *trace_dir);

#endif
