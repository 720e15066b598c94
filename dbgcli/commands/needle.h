/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `search` looks for, and whether something written is it. */
#ifndef DBGCLI_COMMANDS_NEEDLE_H
#define DBGCLI_COMMANDS_NEEDLE_H

#include "dbgcli/args.h"
#include <wetdbg/wet.h>

#define CLI_NEEDLE_BYTES_MAX 256

struct cli_needle {
    bool is_number;    /* else `bytes` */
    unsigned sizes;    /* of numbers: a sum of 1, 2, 4 and 8 */
    uint64_t value[9]; /* by size: the bits to look for */
    uint8_t bytes[CLI_NEEDLE_BYTES_MAX];
    size_t byte_count;
};

/* The needle that the options --string, --bytes, --float, --size and the operand describe; integers
 * are decimal or 0x..., other words are strings. -WETDBG_ERR_USAGE. */
int cli_needle_parse(const struct cli_args *args, struct cli_needle *needle);

/*
 * Where memory holds the needle after the effect and did not before: its address and size. Numbers:
 * all of what an instruction stored, or a part of more at an address that is a multiple of its size
 * (4 or more bytes). Bytes: anywhere, also if only some of them were stored now. 1, 0, or an error
 * of wetdbg_effects_read().
 */
int cli_needle_in_memory(const struct cli_needle *needle, struct wetdbg_effects *effects,
                         const struct wetdbg_effect *effect, uint64_t *address, uint64_t *size);

/* Whether a register's new value is the needle (a number). */
bool cli_needle_in_register(const struct cli_needle *needle, const struct wetdbg_effect *effect);

#endif
