/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From dbi->code to a fragment in the cache. */
#ifndef RECORDER_DBI_FRAGMENT_EMIT_H
#define RECORDER_DBI_FRAGMENT_EMIT_H

#include <stdbool.h>

#include "recorder/dbi/fragment.h"

/* Makes and emits the fragment whose code is in dbi->code; its exits are linked, but it is in no
 * table yet. `exact`: always leaves for the agent, and never for time. 0 or an error (-ENOSPC: the
 * region is full). */
int dbi_fragment_emit(struct dbi *dbi, bool exact, struct fragment **out);

#endif
