/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checksums of a recording's streams. rr keeps none: a bit flipped in recorded memory can give another
 * run that is just as consistent, which replay would believe.
 *
 * `wetdbg.sums` in the trace directory has a line per stream: XXH64 in 16 hex digits, a space, the name.
 */
#ifndef RECORDER_RECORD_SUMS_H
#define RECORDER_RECORD_SUMS_H

/* Writes the sums of a finished recording. 0, or an error of the file system, named. */
int rec_sums_write(const char *trace_dir);

/* 0 if all streams are as they were recorded, or if the recording has no sums (made by rr alone);
 * -WD_ERR_CORRUPT naming the stream that differs. */
int rec_sums_check(const char *trace_dir);

#endif
