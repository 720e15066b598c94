/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leaves the list of what a recording's files hold; recorder/rr_trace/trace_sums.h has its format
 * and reads it. */
#ifndef RECORDER_RECORD_SUMS_H
#define RECORDER_RECORD_SUMS_H

/*
 * Writes `wetdbg.sums` of a finished recording: all its streams, our side files, and all files
 * behind its mappings, wherever they are; the bytes of all of them are read once. A backing file
 * that is gone or has become something else is left out: replay will miss it anyway. 0, or an error
 * of reading the recording or of the file system, named; then there is no list.
 */
int rec_sums_write(const char *trace_dir);

#endif
