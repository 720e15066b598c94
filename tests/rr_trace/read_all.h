/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads whole recordings, some of them damaged on purpose. For cmocka tests. */
#ifndef TESTS_RR_TRACE_READ_ALL_H
#define TESTS_RR_TRACE_READ_ALL_H

#include <stddef.h>

#include "recorder/rr_trace/rr_trace.h"

/* 0 or the first error. */
int read_all_of(struct wetdbg_recording *trace, bool skip_data);
int read_all_in(const char *dir, bool skip_data);

/* Whether the reader may answer bad bytes with this. */
bool is_reading_error(int code);

size_t file_size(const char *dir, const char *name);

/* Reads the recording with the file cut at 0, step, 2 * step and so on (the file itself is put
 * back): how many of these readings failed. Any answer that is not allowed fails the test. */
size_t cut_everywhere(const char *dir, const char *name, size_t step);

/* cut_everywhere() with one bit flipped in each reading. */
size_t flip_everywhere(const char *dir, const char *name, size_t step_bits);

#endif
