/* SPDX-License-Identifier: GPL-3.0-or-later */
/* $_ and $__: the address that a command showed last, and what is there; as gdb has them. */
#ifndef DBGCLI_COMMANDS_LAST_ADDRESS_H
#define DBGCLI_COMMANDS_LAST_ADDRESS_H

#include "dbgcli/commands/session.h"

/* A unit of so many bytes (1, 2, 4 or 8) was shown: $_ points to it, $__ is the number there, or
 * void (NULL). The moment is open. */
void cli_last_address_set(struct cli_session *session, uint64_t address, unsigned bytes,
                          const uint64_t *number);

/* An address was named, of which `x` shows more: $_ is it. */
void cli_last_address_next(struct cli_session *session, uint64_t address);

#endif
