/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a fragment ends, and what stands before one where a stop is. */
#ifndef RECORDER_DBI_BRANCH_H
#define RECORDER_DBI_BRANCH_H

#include "recorder/dbi/work.h"

/* Emits the fragment's last instruction. */
void dbi_terminal_emit(struct work *w);

/* Emits what leaves for the agent only if the filter holds. */
void dbi_filter_emit(struct work *w, const struct dbi_filter *filter);

#endif
