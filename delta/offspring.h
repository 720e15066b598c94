/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The processes that this one started, or that came to it as their subreaper, and all below
 * them. */
#ifndef DELTA_OFFSPRING_H
#define DELTA_OFFSPRING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* fork(), which is tried for some seconds where there are too many processes: those of another run
 * may end. */
pid_t dlt_fork(void);

struct dlt_offspring {
    size_t processes;
    uint64_t memory_bytes; /* that they have in the machine's memory */
};

/* Looks at all of them; what ends meanwhile may be missing. */
void dlt_offspring_measure(struct dlt_offspring *offspring);

/* Ends all of them, and waits until none is left. 0; -EBUSY if some do not end within 10 s (they
 * are another user's, or wait for a device). */
int dlt_offspring_end(void);

#endif
