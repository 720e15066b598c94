/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a slice is made of, in numbers: by kind of dependence, by function, by module. */
#ifndef DBGCLI_COMMANDS_SLICE_STATS_H
#define DBGCLI_COMMANDS_SLICE_STATS_H

#include "dbgcli/commands/session.h"

/* Tables of text; at most `limit` functions, 0: all. Kinds are counted of slices with parents only.
 * Errors of wetdbg_slice_links(). */
int cli_slice_stats_print(struct cli_session *session, const struct wetdbg_slice *slice,
                          bool has_parents, uint64_t limit);

/* An object with "kinds" (null without parents), "functions" and "modules"; all of them. */
int cli_slice_stats_json(const struct wetdbg_slice *slice, bool has_parents, json_t **out);

#endif
