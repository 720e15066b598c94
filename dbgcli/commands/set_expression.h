/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Named slices put together: "A & B", "(A | B) - C". */
#ifndef DBGCLI_COMMANDS_SET_EXPRESSION_H
#define DBGCLI_COMMANDS_SET_EXPRESSION_H

#include "dbgcli/commands/named_slices.h"

/*
 * '&' what both have, '|' what either has, '-' what the left has and the right has not. '&' binds
 * closest, the other two go from left to right; parentheses group. *out is for wetdbg_set_free(),
 * *near, what is known of its distances, for cli_nearness_free(); they are set on success only.
 * -WETDBG_ERR_USAGE for text that is none; errors of cli_named_slices_find() and
 * wetdbg_set_combine().
 */
int cli_set_evaluate(struct cli_named_slices *named, const char *text, struct wetdbg_set **out,
                     struct cli_nearness **near);

#endif
