/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The start of a fragment counts its instructions, and looks whether time is up. */
#ifndef RECORDER_DBI_TIME_CHECK_H
#define RECORDER_DBI_TIME_CHECK_H

#include "recorder/dbi/work.h"

enum time_check {
    TIME_UNCHECKED,
    TIME_FLAGS_DEAD,
    TIME_FLAGS_LIVE,
};

/*
 * Counts the fragment's instructions; returns where the branch for "time is up" is, or NULL.
 * Every cycle of fragments must have one that checks, or a loop could run on for ever (or past the
 * end of the ring): where flags are live that costs more, so only those that may close one do.
 */
uint8_t *dbi_time_emit(struct work *w, enum time_check check);

/* Emits where that branch, at `site`, leads: takes the count back and leaves for the agent. Cold
 * code. */
void dbi_time_stub_emit(struct work *w, uint8_t *site, enum time_check check);

#endif
