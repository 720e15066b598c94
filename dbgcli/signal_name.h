/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals by name, and what the kernel says of a fault. */
#ifndef DBGCLI_SIGNAL_NAME_H
#define DBGCLI_SIGNAL_NAME_H

#include <stdint.h>

/* "SIGSEGV"; "SIG64" and the like for numbers without a name. Borrowed until the next call. */
const char *cli_signal_name(int number);

/* What si_code says of a fault, as in "address not mapped"; NULL if there is nothing to say. */
const char *cli_signal_reason(int number, int64_t code);

#endif
