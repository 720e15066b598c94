/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef COMMON_FUTEX_H
#define COMMON_FUTEX_H

/* 0; or -WETDBG_ERR_MACHINE, told, if the system refuses futexes. glibc needs them for its locks, even to set a locale,
 * and ends the process without a word of ours: so this comes first of all. */
int wd_futex_check(void);

#endif
