/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How translated code is left: for the agent, and for other fragments. */
#ifndef RECORDER_DBI_LEAVE_H
#define RECORDER_DBI_LEAVE_H

#include "recorder/dbi/work.h"

/* Emits ctx.rip = rip. */
void dbi_rip_store(struct emit *e, uint64_t rip);

/* Leaves for the agent at `rip`. */
void dbi_leave_emit(struct emit *e, uint64_t rip, enum agt_exit kind);

/* Leaves for the agent, which comes back to what follows. */
void dbi_agent_call(struct work *w, enum agt_exit kind, uint32_t arg);

/* dbi_leave_emit() for time, shorter. */
void dbi_leave_time_emit(struct work *w, uint64_t rip);

/* Adds a branch (enum emit_branch) to another fragment; who emits this one leads it there. */
void dbi_exit_add(struct work *w, unsigned opcode, uint64_t target);

#endif
