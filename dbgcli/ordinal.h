/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ordinal numbers in English. */
#ifndef DBGCLI_ORDINAL_H
#define DBGCLI_ORDINAL_H

#include <stdint.h>

/* What follows the digits: the "st" of 1st, the "th" of 11th. */
const char *cli_ordinal_end(uint64_t number);

#endif
