/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gathers and scatters: what the ring and the agent get of their lists of addresses. */
#ifndef RECORDER_DBI_LANES_H
#define RECORDER_DBI_LANES_H

#include "recorder/dbi/work.h"

/* Puts the indices at AGT_LANES_OFF in the context. False: the processor lacks the instruction. */
bool dbi_lanes_store(struct work *w, const struct ins_mem *mem);

/* Puts index and mask into the ring, 8 words each, behind the word of the address. */
void dbi_lanes_collect(struct work *w, unsigned at, const struct ins_mem *mem);

/* Has the agent mark what the mask of a scatter chooses. */
void dbi_lanes_mark(struct work *w, unsigned at, const struct ins_mem *mem);

#endif
