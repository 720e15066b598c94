/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Named slices put together: "A & B", "(A | B) - C". */
#ifndef DBGCLI_COMMANDS_SET_EXPRESSION_H
#define DBGCLI_COMMANDS_SET_EXPRESSION_H

#include "dbgcli/commands/named_slices.h"
#include "dbgcli/commands/slice_made.h"

/*
 * '&' what both have, '|' what either has, '-' what the left has and the right has not. '&' binds
 * closest, the other two go from left to right; parentheses group. Of *made, set, plain and near
 * are set, on success only; cli_made_fini() frees them. An instance is in a set by implicit
 * dependences only if it is so in all of those sets that brought it there.
 * -WETDBG_ERR_USAGE for text that is none; errors of cli_named_slices_find() and
 * wetdbg_set_combine().
 */
int cli_set_evaluate(struct cli_named_slices *named, const char *text, struct cli_made *made);

#endif
