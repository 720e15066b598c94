/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls by name. */
#ifndef DBGCLI_SYSCALL_NAME_H
#define DBGCLI_SYSCALL_NAME_H

#include <stdint.h>

/* "futex", or "call 999" for a number without a name. Good until the next call. */
const char *cli_syscall_name(int64_t number);

#endif
