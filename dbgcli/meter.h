/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a person sees of a query that takes its time: nothing for a second, then one line on the
 * terminal that tells how far it is. A query that goes over the run polls cli_meter_update().
 */
#ifndef DBGCLI_METER_H
#define DBGCLI_METER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "dbgcli/out.h"

/* Embedded by its holder. */
struct cli_meter {
    struct cli_out *out;
    const char *what; /* "searching" */
    bool is_shown;    /* false: nobody is there to see it */
    bool has_line;
    struct timespec start, last;
};

/* `is_shown`: a person waits. `what` is borrowed. */
void cli_meter_begin(struct cli_meter *meter, struct cli_out *out, const char *what, bool is_shown);

/*
 * Told how far the query is. Returns true if it is to end: Ctrl-C came, or nobody reads any more.
 * What was printed so far is shown once it takes long.
 */
bool cli_meter_update(struct cli_meter *meter, uint64_t done, uint64_t total);

/* Removes the line: before something is printed, and at the end. */
void cli_meter_clear(struct cli_meter *meter);

#endif
