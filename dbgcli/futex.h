/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the system has what even the C library's locks need. */
#ifndef DBGCLI_FUTEX_H
#define DBGCLI_FUTEX_H

/* Checks that the system has futexes: 0; or -WETDBG_ERR_MACHINE, told. glibc needs them for its
 * locks, even to set a locale, and ends the process without a word of ours: so this comes first of
 * all. */
int cli_futex_check(void);

#endif
