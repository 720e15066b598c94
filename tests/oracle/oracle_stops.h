/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory digests that recordings with software ticks have beside them
 * (recorder/ticks/digest_format.h): registers alone do not tell one turn of a loop from another. */
#ifndef TESTS_ORACLE_ORACLE_STOPS_H
#define TESTS_ORACLE_ORACLE_STOPS_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/rr_trace/rr_trace.h"
#include "recorder/ticks/digest_format.h"
#include "tests/oracle/oracle_child.h"

/* How far a task's records have been used. */
struct orc_stops_cursor {
    int tid;
    size_t next;
};

/* A line of memory that was not as a record has it: looked at first the next time. */
struct orc_stops_line {
    const struct tck_stop *stop; /* NULL: none */
    uint64_t address;
    uint32_t bytes;
    uint64_t hash;
};

struct orc_stops {
    struct tck_stop *list; /* NULL: the recording has none */
    size_t count;
    struct orc_stops_cursor *cursors;
    size_t cursor_count;
    int lines_fd; /* -1: no hashes of lines */
    struct orc_stops_line line;
};

int orc_stops_open(struct orc_stops *stops, const struct wetdbg_recording *trace);
void orc_stops_fini(struct orc_stops *stops);

/* *stop becomes the record of a SIGNAL or SCHED frame; NULL for other frames and when there is
 * none. `is_after_growth`: the task's frame before is GROW_MAP. To be called for each frame of a
 * task, in their order. Borrowed until fini. -ENOMEM. */
int orc_stops_take(struct orc_stops *stops, const struct rrt_frame *frame, bool is_after_growth,
                   const struct tck_stop **stop);

/* Whether the child's memory has the digests of `stop`. */
int orc_stops_check(struct orc_stops *stops, const struct tck_stop *stop,
                    const struct orc_child *child, bool *is_equal);

#endif
