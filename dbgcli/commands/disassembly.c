/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/disassembly.h"

#define PACKAGE "wetdbg" /* bfd.h refuses to be included without */
#include <dis-asm.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/eval/value.h"
#include <wetdbg/errors.h>

/* What libopcodes writes to. */
struct writer {
    struct cli_moment *moment; /* whose symbols are shown; NULL: none are */
    char *text;
    size_t size;
};

static int append(struct writer *writer, const char *format, va_list arguments)
{
    int length = vsnprintf(writer->text, writer->size, format, arguments);
    size_t kept = length < 0 ? 0 : (size_t)length;
    if (kept >= writer->size)
        kept = writer->size - 1;
    writer->text += kept;
    writer->size -= kept;
    return length;
}

static int write_plain(void *stream, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = append(stream, format, arguments);
    va_end(arguments);
    return length;
}

static int write_styled(void *stream, enum disassembler_style style, const char *format, ...)
{
    va_list arguments;
    (void)style;
    va_start(arguments, format);
    int length = append(stream, format, arguments);
    va_end(arguments);
    return length;
}

/* Writes an address that an instruction names: "0x401126 <f>". */
static void write_address(bfd_vma address, struct disassemble_info *info)
{
    struct writer *writer = info->stream;
    char *text = NULL;
    size_t size;
    FILE *stream = writer->moment ? open_memstream(&text, &size) : NULL;
    if (!stream) {
        write_plain(writer, "0x%" PRIx64, (uint64_t)address);
        return;
    }
    cli_address_print(stream, writer->moment->model, address);
    fclose(stream);
    write_plain(writer, "%s", text ? text : "");
    free(text);
}

/* The bytes end within the instruction, which is said by what comes back. */
static void ignore_end(int status, bfd_vma address, struct disassemble_info *info)
{
    (void)status;
    (void)address;
    (void)info;
}

/* Writes the instruction; how many bytes it has, or -1. */
static int disassemble(struct writer *writer, size_t available, bool is_intel,
                       struct cli_instruction *instruction)
{
    struct disassemble_info info;
    unsigned long machine = bfd_mach_x86_64 | (is_intel ? bfd_mach_i386_intel_syntax : 0);
    init_disassemble_info(&info, writer, write_plain, write_styled);
    info.arch = bfd_arch_i386;
    info.mach = machine;
    info.endian = info.display_endian = info.endian_code = BFD_ENDIAN_LITTLE;
    info.buffer = instruction->bytes;
    info.buffer_length = available;
    info.buffer_vma = instruction->address;
    info.print_address_func = write_address;
    info.memory_error_func = ignore_end;
    disassembler_ftype decode = disassembler(info.arch, false, machine, NULL);
    if (!decode)
        return -1;
    disassemble_init_for_target(&info);
    int length = decode(instruction->address, &info);
    disassemble_free_target(&info);
    return length;
}

void cli_instruction_decode(struct cli_moment *moment, size_t available, bool is_intel,
                            struct cli_instruction *instruction)
{
    struct writer writer = {moment, instruction->text, sizeof(instruction->text)};
    int length = disassemble(&writer, available, is_intel, instruction);
    if (length <= 0) {
        instruction->length = 1;
        strcpy(instruction->text, "(bad)");
        return;
    }
    instruction->length = (unsigned)length;
    for (size_t end = strlen(instruction->text); end && instruction->text[end - 1] == ' ';)
        instruction->text[--end] = 0;
}

int cli_instruction_read(struct cli_moment *moment, uint64_t address, bool is_intel,
                         struct cli_instruction *instruction)
{
    size_t available = 0;
    *instruction = (struct cli_instruction){.address = address};
    if (wetdbg_state_read(moment->state, address, instruction->bytes, sizeof(instruction->bytes)) ==
        0)
        available = sizeof(instruction->bytes);
    /* the last bytes of a mapping */
    while (available < sizeof(instruction->bytes) &&
           wetdbg_state_read(moment->state, address + available, instruction->bytes + available,
                             1) == 0)
        available++;
    if (!available)
        return wetdbg_fail(-EFAULT, "cannot access memory at address 0x%" PRIx64, address);
    cli_instruction_decode(moment, available, is_intel, instruction);
    return 0;
}

void cli_disassembly_print_current(struct cli_session *session)
{
    struct cli_instruction instruction;
    FILE *stream = session->out->stream;
    uint64_t pc = session->moment->frames[0].regs.value[WETDBG_REG_RIP];
    if (cli_instruction_read(session->moment, pc, session->is_intel, &instruction) != 0)
        return;
    fputs("=> ", stream);
    cli_address_print(stream, session->model, pc);
    fputs(":\t", stream);
    cli_out_text(session->out, instruction.text);
    putc('\n', stream);
}
