/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/nav/general.h"

#define AT(name) offsetof(struct user_regs_struct, name)

static const struct {
    const char *name;
    size_t offset;
} general[CLI_GENERAL_COUNT] = {
    {"rax", AT(rax)}, {"rcx", AT(rcx)}, {"rdx", AT(rdx)}, {"rbx", AT(rbx)},
    {"rsp", AT(rsp)}, {"rbp", AT(rbp)}, {"rsi", AT(rsi)}, {"rdi", AT(rdi)},
    {"r8", AT(r8)},   {"r9", AT(r9)},   {"r10", AT(r10)}, {"r11", AT(r11)},
    {"r12", AT(r12)}, {"r13", AT(r13)}, {"r14", AT(r14)}, {"r15", AT(r15)},
};

const char *cli_general_name(unsigned number)
{
    return general[number].name;
}

uint64_t cli_general_value(const struct user_regs_struct *registers, unsigned number)
{
    return cli_register_at(registers, general[number].offset);
}

size_t cli_dwarf_offset(unsigned dwarf_register)
{
    static const size_t offsets[] = {
        AT(rax), AT(rdx), AT(rcx), AT(rbx), AT(rsi), AT(rdi), AT(rbp), AT(rsp), AT(r8),
        AT(r9),  AT(r10), AT(r11), AT(r12), AT(r13), AT(r14), AT(r15), AT(rip),
    };
    return offsets[dwarf_register];
}
