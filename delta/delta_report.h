/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a warden tells of a run. It goes through a pipe in one piece. */
#ifndef DELTA_DELTA_REPORT_H
#define DELTA_DELTA_REPORT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "delta/crash_place.h"

enum dlt_ending {
    DLT_EXITED,   /* number: the exit status */
    DLT_SIGNALED, /* number: the signal */
    DLT_TOO_LONG, /* and so on: it passed a limit, and was ended */
    DLT_TOO_MUCH_MEMORY,
    DLT_TOO_MUCH_DISK,
    DLT_TOO_MANY_PROCESSES,
    DLT_NOT_STARTED, /* number: errno of execve() */
    DLT_BROKEN,      /* our own failure: `error` and `sentence` */
};

struct dlt_how {
    enum dlt_ending ending;
    int number;
};

/* What stands at the first wrong byte of the output, if it is no byte. */
#define DLT_OUTPUT_ENDS  (-1)
#define DLT_OUTPUT_RIGHT (-2)

struct dlt_report {
    struct dlt_how program, command; /* the command was asked if the program ended by itself */
    double seconds;
    struct dlt_crash_place place; /* of the first process that died of a signal that dumps core */
    int crash_signal;             /* of it, or 0 */
    uint64_t output_bytes, output_low, output_high; /* size and hash of the output */
    uint64_t wrong_offset;                          /* of the first byte that is not as expected */
    /* what is there instead, or DLT_OUTPUT_ENDS; DLT_OUTPUT_RIGHT if there is none */
    int wrong_byte;
    int error;
    char sentence[600]; /* of an error; else the first line that the command said, if it said any */
};

_Static_assert(sizeof(struct dlt_report) <= PIPE_BUF, "a report is written in one piece");

/* Whether the program took too long, or the command that was asked about it. */
static inline bool dlt_is_too_long(const struct dlt_report *report)
{
    return report->program.ending == DLT_TOO_LONG ||
           (report->program.ending <= DLT_SIGNALED && report->command.ending == DLT_TOO_LONG);
}

#endif
