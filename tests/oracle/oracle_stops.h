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

struct orc_stops {
    struct tck_stop *list; /* NULL: the recording has none */
    size_t count;
    size_t next; /* after the one used last */
};

int orc_stops_open(struct orc_stops *stops, const struct rrt_trace *trace);
void orc_stops_fini(struct orc_stops *stops);

/* The record of a SIGNAL frame; NULL for other frames and when there is none. Frames must come in
 * their order. Borrowed until fini. */
const struct tck_stop *orc_stops_take(struct orc_stops *stops, const struct rrt_frame *frame);

/* Has the child's memory the digest of `stop`? */
int orc_stops_check(const struct tck_stop *stop, const struct orc_child *child, bool *is_equal);

#endif
