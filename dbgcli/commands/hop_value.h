/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What passed over a dependence. */
#ifndef DBGCLI_COMMANDS_HOP_VALUE_H
#define DBGCLI_COMMANDS_HOP_VALUE_H

#include "dbgcli/commands/session.h"

/* What an instance of a slice with parents gave to its parent, as that one saw it: "rax = 0x7",
 * "the byte at 0x404010 <total> = 0x05". To be freed; NULL if nothing was passed (control), or it
 * is not known. */
char *cli_hop_value(struct cli_session *session, const struct wetdbg_slice_instance *hop);

#endif
