/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * General registers by the numbers that instructions give them (rax 0, rcx 1, rdx 2, rbx 3, rsp 4,
 * rbp 5, rsi 6, rdi 7, r8...).
 */
#ifndef DBGCLI_NAV_GENERAL_H
#define DBGCLI_NAV_GENERAL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/user.h>

#define CLI_GENERAL_COUNT 16

/* "rax"; `number` is below CLI_GENERAL_COUNT. */
const char *cli_general_name(unsigned number);

/* A general register's value among all registers. */
uint64_t cli_general_value(const struct user_regs_struct *registers, unsigned number);

/* Where the general register (or, as 16, rip) with a DWARF number lies among all registers, in
 * bytes. */
size_t cli_dwarf_offset(unsigned dwarf_register);

/* The register that lies at an offset. */
static inline uint64_t cli_register_at(const struct user_regs_struct *registers, size_t offset)
{
    uint64_t value;
    memcpy(&value, (const char *)registers + offset, sizeof(value));
    return value;
}

#endif
