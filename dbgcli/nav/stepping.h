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

/* A step by one instruction; calls count as one with `over`. */
int cli_step_instruction(struct cli_calls *calls, bool over);
int cli_step_instruction_back(struct cli_calls *calls, bool over);

#endif
