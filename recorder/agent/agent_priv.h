/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's insides.
 *
 *   agent.c   turn taking, registers, entries, exits from translated code, probes, start
 *   place_search.c  looks for the places of asynchronous events
 *   guards.c  pages that hold code and may be written
 *   memory.c  the program's memory, with views.c
 */
#ifndef RECORDER_AGENT_AGENT_PRIV_H
#define RECORDER_AGENT_AGENT_PRIV_H

#include "recorder/agent/memory.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11 };

/* ---- agent.c ---- */

/* Which of the entry's registers differ here, as a mask of EVQ_BIT; 0 if it has none. */
uint32_t agt_regs_differ(struct agt *agt, const struct evq_entry *entry);

/* Runs translated code at ctx.target until it comes to the agent; marks are done on the way. */
int agt_code_run(struct agt *agt);

/* ---- place_search.c ---- */

/* Whether the running task stands where the EVQ_PLACE entry struck; if not, it has to run on, and
 * what is needed to come here again when it may be has been arranged. */
bool agt_is_at_place(struct agt *agt, const struct evq_entry *entry);

/* The registers of an EVQ_PLACE are here: do ticks and memory agree? */
bool agt_rest_agrees(struct agt *agt, const struct evq_entry *entry);

#endif
