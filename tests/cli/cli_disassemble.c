/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_disassemble FILE: the instructions that its bytes are, one a line, as the prompt shows
 * them. */
#include <stdio.h>

#include "dbgcli/commands/disassembly.h"

static size_t fill(struct cli_instruction *instruction, FILE *from, long offset)
{
    fseek(from, offset, SEEK_SET);
    return fread(instruction->bytes, 1, sizeof(instruction->bytes), from);
}

int main(int argc, char **argv)
{
    FILE *from = argc == 2 ? fopen(argv[1], "rb") : NULL;
    struct cli_instruction instruction = {.address = 0};
    size_t available;
    if (!from) {
        fputs("usage: cli_disassemble FILE\n", stderr);
        return 2;
    }
    while ((available = fill(&instruction, from, (long)instruction.address)) > 0) {
        cli_instruction_decode(NULL, available, false, &instruction);
        puts(instruction.text);
        instruction.address += instruction.length;
    }
    fclose(from);
    return 0;
}
