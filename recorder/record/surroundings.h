/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a program found where it was recorded, and rr does not keep: when that was, its working
 * directory, what its descriptors were, and what standard input still held at its end. For runs
 * that go on differently, which may read on.
 */
#ifndef RECORDER_RECORD_SURROUNDINGS_H
#define RECORDER_RECORD_SURROUNDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/rr_trace/trace_surroundings.h"

struct rec_surroundings {
    struct rrt_surroundings began;
    bool input_is_file;
    uint64_t input_start; /* of a file: its position */
};

/* Just before the program begins. What cannot be had is not known. rec_surroundings_fini() is
 * due. */
void rec_surroundings_begin(struct rec_surroundings *surroundings);
void rec_surroundings_fini(struct rec_surroundings *surroundings);

/* When it has ended, and all that it started. */
void rec_surroundings_end(struct rec_surroundings *surroundings);

/* Leaves `wetdbg.surroundings` in the trace directory. Errors are named. */
int rec_surroundings_write(const struct rec_surroundings *surroundings, const char *trace_dir);

/*
 * Leaves `wetdbg.input` there, of at most `most` bytes (0: no file), if standard input is a regular
 * file, a pipe or /dev/null. A file's position stays. A pipe is read to its end, but not longer
 * than a moment; one that others may read from keeps what it has, of which a copy is made.
 * `is_quiet`: no line on stderr if there was more. Errors are named.
 */
int rec_input_write(const struct rec_surroundings *surroundings, const char *trace_dir,
                    uint64_t most, bool is_quiet);

#endif
