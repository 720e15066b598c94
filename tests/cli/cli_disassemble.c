/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli_disassemble FILE [intel]: the instructions that its bytes are, one a line, as the prompt
 * shows them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/commands/disassembly.h"

static uint8_t *read_all(FILE *from, size_t *size)
{
    uint8_t *bytes;
    fseek(from, 0, SEEK_END);
    *size = (size_t)ftell(from);
    rewind(from);
    bytes = malloc(*size + 1);
    if (bytes && fread(bytes, 1, *size, from) != *size)
        *size = 0;
    return bytes;
}

int main(int argc, char **argv)
{
    FILE *from = argc > 1 ? fopen(argv[1], "rb") : NULL;
    struct cli_instruction instruction = {.address = 0};
    size_t size = 0;
    uint8_t *bytes = from ? read_all(from, &size) : NULL;
    if (!bytes) {
        fputs("usage: cli_disassemble FILE [intel]\n", stderr);
        return 2;
    }
    while (instruction.address < size) {
        size_t left = size - instruction.address, most = sizeof(instruction.bytes);
        size_t available = left < most ? left : most;
        memcpy(instruction.bytes, bytes + instruction.address, available);
        cli_instruction_decode(NULL, available, argc > 2, &instruction);
        puts(instruction.text);
        instruction.address += instruction.length;
    }
    free(bytes);
    fclose(from);
    return 0;
}
