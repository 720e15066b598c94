/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the preload in rr says while it runs (recorder/ticks/protocol.h), as it comes. */
#ifndef RECORDER_RECORD_RR_REPORT_H
#define RECORDER_RECORD_RR_REPORT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rec_report {
    int fd; /* non-blocking; -1 = nothing more will come */
    /* what was said once */
    char *dir;        /* the trace directory, as rr named it; NULL = none was made */
    char *no_ticks;   /* why nothing can be counted */
    pid_t program;    /* 0 = the program never started */
    int64_t began_ns; /* when it did, as file systems stamp; 0 = it was not said */
    bool is_aborted;  /* rr gave up by itself */
    int write_error;  /* errno: there was no room for the recording */
    /* what was said since the reader last set it to 0 */
    int stop_signal;           /* the program was stopped by it */
    uint64_t rr_signals;       /* bit N-1: rr was sent signal N */
    char text[PATH_MAX + 128]; /* lines that are not complete yet */
    size_t length;
};

/* `write_fd` is the end for rr, to be closed by the caller. 0 or a negative errno. */
int rec_report_open(struct rec_report *report, int *write_fd);

/* Takes what is there now. */
void rec_report_read(struct rec_report *report);

void rec_report_fini(struct rec_report *report);

#endif
