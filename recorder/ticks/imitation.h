/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A counter descriptor made without perf_event_open: the read end of a pipe. rr gives it an owner
 * and a signal by fcntl, as it does for the real thing; when the time is up a thread of ours
 * writes a byte, and the kernel sends the owner that signal with si_code POLL_IN and the
 * descriptor's number, which is all that rr looks at.
 *
 * One counter runs at a time, since rr runs one task at a time.
 */
#ifndef RECORDER_TICKS_IMITATION_H
#define RECORDER_TICKS_IMITATION_H

#include <stdint.h>

/* Returns the read end, close-on-exec, and the write end; or -errno. */
int tck_imitation_open(int *write_fd);

/* From now on counts for this pair; fires once after `after_ns` (UINT64_MAX: never). */
void tck_imitation_arm(int read_fd, int write_fd, uint64_t after_ns);

/* Nanoseconds (of the wall) since the last arm or reset. */
uint64_t tck_imitation_elapsed_ns(void);

void tck_imitation_disarm(void);

#endif
