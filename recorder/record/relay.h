/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stands between the user's shell and the program while rr records it, so that the job behaves as
 * without us: what is sent to this process goes to the program, and when the program stops, so
 * does this process.
 *
 * The terminal sends its signals (Ctrl-C, Ctrl-Z, Ctrl-\, a window's new size) to the whole process
 * group, and so does a shell's `kill %1`; then the program has them already. A signal that was
 * sent by a process is therefore held for a moment: if rr got it too, it is dropped.
 */
#ifndef RECORDER_RECORD_RELAY_H
#define RECORDER_RECORD_RELAY_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "recorder/record/rr_report.h"

#define REC_SIGNALS 65

struct rec_relay {
    int signal_fd, program_fd;
    bool has_preload;     /* else nobody tells of the program, and rr passes SIGTERM on */
    bool was_told_to_end; /* one of the signals came by which people end a job */
    pid_t rr;
    /* CLOCK_MONOTONIC in ms until which the other half may come; 0 = none expected */
    int64_t own_until[REC_SIGNALS], rr_until[REC_SIGNALS];
    sigset_t mask_before;
    struct sigaction child_before;
};

/* Blocks the signals that are passed on. 0 or a negative errno. Not for processes that run
 * several threads. */
int rec_relay_open(struct rec_relay *relay, bool has_preload);

/* In the child, before rr: puts signals back to what they were. */
void rec_relay_restore(const struct rec_relay *relay);

/* Passes signals on until rr ends; `status` is a wait status. */
int rec_relay_wait(struct rec_relay *relay, pid_t rr, struct rec_report *report, int *status);

/* Puts signals back to what they were; those that came for a program that is gone are dropped. */
void rec_relay_close(struct rec_relay *relay);

#endif
