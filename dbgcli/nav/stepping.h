/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Steps by source line, as gdb makes them: to the first instruction of another line that begins a
 * statement, in this function, in one that is called (unless `over`) and has lines, or, after a
 * return, in the caller. Functions without lines and signal handlers are passed over.
 */
#ifndef DBGCLI_NAV_STEPPING_H
#define DBGCLI_NAV_STEPPING_H

#include "dbgcli/nav/call_walk.h"

/* One step of the walk of `calls`. 1: it stands there; 0: the thread ended (began) first, and the
 * walk is at its end (start); or an error. */
int cli_step_line(struct cli_calls *calls, bool over);
int cli_step_line_back(struct cli_calls *calls, bool over);

/* Functions that are inlined where the walk stands and begin there count as not entered yet: so gdb
 * takes them wherever a step ends. */
void cli_step_stay_outside(struct cli_calls *calls);

/* Leaves an inlined function, as gdb's `finish` does: to the next place outside of it where a step
 * stops. It is the one of that depth at `lookup_pc`, which is where the walk stands, or in the call
 * behind which it stands. Results as above. */
int cli_step_out_inlined(struct cli_calls *calls, uint64_t lookup_pc, size_t depth);

/* A step by one instruction; calls count as one with `over`. */
int cli_step_instruction(struct cli_calls *calls, bool over);
int cli_step_instruction_back(struct cli_calls *calls, bool over);

/* How many of the functions that are inlined at pc begin there: the innermost ones, which a
 * debugger shows as not entered yet. */
size_t cli_inlined_beginning(struct wetdbg_model *model, uint64_t pc);

#endif
