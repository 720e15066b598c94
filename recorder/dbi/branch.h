/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a fragment ends, and what stands before one where a stop is. */
#ifndef RECORDER_DBI_BRANCH_H
#define RECORDER_DBI_BRANCH_H

#include "recorder/dbi/work.h"

/* The last instruction. */
void dbi_terminal_emit(struct work *w);

/* Leaves only if the filter holds. */
void dbi_filter_emit(struct work *w, const struct dbi_filter *filter);

#endif
