/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/hop_value.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/user.h>

#include "dbgcli/eval/value.h"
#include "dbgcli/nav/general.h"

static void describe_location(FILE *to, const struct wetdbg_state *state, unsigned location)
{
    const struct user_regs_struct *registers = wetdbg_state_registers(state);
    unsigned number;
    switch (wetdbg_location_kind(location, &number)) {
    case WETDBG_LOCATION_GENERAL:
        fprintf(to, "%s = 0x%" PRIx64, cli_general_name(number),
                cli_general_value(registers, number));
        break;
    case WETDBG_LOCATION_FLAG:
        fprintf(to, "%s = %u", wetdbg_location_name(location),
                (unsigned)(registers->eflags >> number & 1));
        break;
    case WETDBG_LOCATION_VECTOR:
        fprintf(to, "xmm%u", number);
        break;
    case WETDBG_LOCATION_MASK:
        fputs("a mask register", to);
        break;
    case WETDBG_LOCATION_OTHER:
        fputs("floating-point state", to);
        break;
    }
}

static void describe_byte(FILE *to, struct wetdbg_model *model, struct wetdbg_state *state,
                          uint64_t address)
{
    uint8_t byte;
    fputs("the byte at ", to);
    cli_address_print(to, model, address);
    if (wetdbg_state_read(state, address, &byte, 1) == 0)
        fprintf(to, " = 0x%02x", byte);
}

char *cli_hop_value(struct cli_session *session, const struct wetdbg_slice_instance *hop)
{
    bool is_byte = hop->location == WETDBG_LOCATION_NONE;
    struct wetdbg_state *state;
    char *text = NULL;
    size_t size;
    if (!hop->parent || (is_byte && !hop->address) || hop->edge == WETDBG_EDGE_CONTROL ||
        hop->edge == WETDBG_EDGE_IMPLICIT)
        return NULL;
    if (wetdbg_state_open(session->wet, hop->parent, &state) != 0)
        return NULL;
    FILE *to = open_memstream(&text, &size);
    if (to && is_byte)
        describe_byte(to, session->model, state, hop->address);
    else if (to)
        describe_location(to, state, hop->location);
    if (to)
        fclose(to);
    wetdbg_state_close(state);
    return text;
}
