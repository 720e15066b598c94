/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The mark and the side file in the trace directory (digest_format.h). */
#ifndef RECORDER_TICKS_STOPS_H
#define RECORDER_TICKS_STOPS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Writes the mark and opens the side file. 0 or -errno; a failure makes the recording useless
 * (nobody could tell that its ticks mean nothing), so the caller lets rr's open fail. */
int tck_stops_open(const char *trace_dir);

bool tck_stops_is_open(void);

/* Some program was replaced or some task ended: what is known of address spaces is void. */
void tck_stops_forget_spaces(void);

/*
 * Appends the stop of `tid`, which is ptrace-stopped by the calling thread. `flags` of enum
 * tck_stop_flags; `info` as PTRACE_GETSIGINFO gave it, NULL for PTRACE_INTERRUPT.
 * Failures to read the task leave ranges of 0 bytes; a full disk ends the side file.
 */
void tck_stops_append(pid_t tid, unsigned flags, const siginfo_t *info);

#endif
