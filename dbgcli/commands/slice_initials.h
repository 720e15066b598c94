/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a slice uses and nothing in the run defined: initialised variables and tables. A wrong
 * table entry is in no slice's instructions; it is here. Only named data of the program itself
 * counts: what libraries and the loader begin with would drown it.
 */
#ifndef DBGCLI_COMMANDS_SLICE_INITIALS_H
#define DBGCLI_COMMANDS_SLICE_INITIALS_H

#include "dbgcli/commands/session.h"

/* Lines of text, the nearest to the criterion first; nothing if there is none. */
void cli_slice_initials_print(struct cli_session *session, const struct wetdbg_slice *slice,
                              bool all);

/* An array of objects: name, address, size, distance, time of the nearest user. */
json_t *cli_slice_initials_json(struct cli_session *session, const struct wetdbg_slice *slice);

/* What the program was started with and the slice uses: "stack_bytes" of arguments, environment and
 * auxiliary vector; "registers" that nothing set. */
json_t *cli_slice_start_json(struct cli_session *session, const struct wetdbg_slice *slice);

#endif
