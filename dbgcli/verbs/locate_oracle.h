/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tells that a run on another input fails in the same way as the one that is located. */
#ifndef DBGCLI_VERBS_LOCATE_ORACLE_H
#define DBGCLI_VERBS_LOCATE_ORACLE_H

#include <wetdbg/delta_program.h>

struct cli_locating; /* dbgcli/verbs/locate_steps.h */

/*
 * Sets how->oracle: --oracle's command; for a crash the same signal in the same function; for a
 * sanitizer's report a command that looks for its first line. *command, which `how` names then, is
 * to be freed. -WETDBG_ERR_NOT_FOUND, explained, if nothing tells: of --expect, since what is right
 * for a smaller input nobody knows; errors of the wet.
 */
int cli_locate_oracle(struct cli_locating *self, struct wetdbg_dd_options *how, char **command);

#endif
