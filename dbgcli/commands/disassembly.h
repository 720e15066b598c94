/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions as text, as gdb and objdump write them, by the library that those use: AT&T syntax
 * unless Intel's is asked for. */
#ifndef DBGCLI_COMMANDS_DISASSEMBLY_H
#define DBGCLI_COMMANDS_DISASSEMBLY_H

#include "dbgcli/commands/session.h"

#define CLI_INSTRUCTION_BYTES_MAX 15

struct cli_instruction {
    uint64_t address;
    unsigned length; /* 1 for bytes that are no instruction */
    uint8_t bytes[CLI_INSTRUCTION_BYTES_MAX];
    char text[256]; /* "mov    %rsp,%rbp", "call   0x401126 <f>" */
};

/* The instruction in memory at an address at that moment. -EFAULT where there is none to read. */
int cli_instruction_read(struct cli_moment *moment, uint64_t address, bool is_intel,
                         struct cli_instruction *instruction);

/* Fills length and text from the instruction's available bytes, with symbols if there is a
 * moment. */
void cli_instruction_decode(struct cli_moment *moment, size_t available, bool is_intel,
                            struct cli_instruction *instruction);

/* "=> 0x401136 <main+4>:\tmov    %rsp,%rbp" of the innermost frame of the session's moment. */
void cli_disassembly_print_current(struct cli_session *session);

#endif
