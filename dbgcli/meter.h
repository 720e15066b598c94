/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A query that goes over the run says here how far it is, and is told when to end. On a terminal
 * people see it (dbgcli/screen.h).
 */
#ifndef DBGCLI_METER_H
#define DBGCLI_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "dbgcli/out.h"

/* Embedded by its holder. */
struct cli_meter {
    struct cli_out *out;
    const char *what;
};

/* `what`: a constant, "searching". */
void cli_meter_begin(struct cli_meter *meter, struct cli_out *out, const char *what);

/* Told how far the query is. Returns true if it is to end: Ctrl-C came, or nobody reads any
 * more. */
bool cli_meter_update(struct cli_meter *meter, uint64_t done, uint64_t total);

/* Ends the meter: what follows is not measured. */
void cli_meter_end(struct cli_meter *meter);

#endif
