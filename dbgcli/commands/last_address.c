/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/last_address.h"

#include <stdio.h>

#include "dbgcli/eval/arithmetic.h"
#include "dbgcli/eval/kept.h"

/* Sets both; nothing where memory is short. */
static void set(struct cli_session *session, uint64_t address, const struct wetdbg_type *target,
                const uint64_t *number)
{
    struct cli_moment *moment;
    struct wetdbg_type pointer;
    struct cli_value value;
    if (cli_session_moment(session, &moment) != 0 ||
        wetdbg_type_pointer(session->model, target, &pointer) != 0)
        return;
    cli_value_set(&value, &pointer, address);
    cli_kept_set(session->kept, moment, "_", &value);
    cli_value_set(&value, number ? target : cli_type_basic(CLI_BASIC_VOID), number ? *number : 0);
    cli_kept_set(session->kept, moment, "__", &value);
}

void cli_last_address_set(struct cli_session *session, uint64_t address, unsigned bytes,
                          const uint64_t *number)
{
    struct wetdbg_type unit = {.kind = WETDBG_TYPE_SIGNED, .is_signed = true, .size_bytes = bytes};
    snprintf(unit.name, sizeof(unit.name), "int%u_t", bytes * 8);
    set(session, address, &unit, number);
}

void cli_last_address_next(struct cli_session *session, uint64_t address)
{
    set(session, address, cli_type_basic(CLI_BASIC_VOID), NULL);
    session->examine_next = address;
    if (!session->examine_is_set) {
        session->examine_format = 'x';
        session->examine_size = 'w';
        session->examine_is_set = true;
    }
}
