/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/disassembly.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/commands/att.h"
#include "dbgcli/eval/value.h"
#include <wetdbg/errors.h>

static void formatter_init(ZydisFormatter *formatter, bool is_intel)
{
    static const ZydisFormatterProperty unpadded[] = {
        ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE,
        ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_FORMATTER_PROP_IMM_PADDING};
    ZydisFormatterInit(formatter,
                       is_intel ? ZYDIS_FORMATTER_STYLE_INTEL : ZYDIS_FORMATTER_STYLE_ATT);
    for (size_t i = 0; i < sizeof(unpadded) / sizeof(*unpadded); i++)
        ZydisFormatterSetProperty(formatter, unpadded[i], ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL, ZYAN_TRUE);
    ZydisFormatterSetProperty(formatter, ZYDIS_FORMATTER_PROP_FORCE_SIZE, is_intel);
}

static bool is_branch(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand->imm.is_relative;
}

static bool is_relative_memory(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.base == ZYDIS_REGISTER_RIP;
}

/* " <f>" behind a branch, "        # 0x404010 <counter>" behind an operand that rip is the base
 * of. */
static void add_target(struct cli_moment *moment, const ZydisDecodedInstruction *decoded,
                       const ZydisDecodedOperand *operands, struct cli_instruction *instruction)
{
    ZyanU64 target;
    for (unsigned i = 0; i < decoded->operand_count_visible; i++) {
        bool is_to = is_branch(&operands[i]);
        char *text = NULL;
        size_t size, used = strlen(instruction->text);
        if ((!is_to && !is_relative_memory(&operands[i])) ||
            ZYAN_FAILED(
                ZydisCalcAbsoluteAddress(decoded, &operands[i], instruction->address, &target)))
            continue;
        FILE *stream = open_memstream(&text, &size);
        if (!stream)
            return;
        cli_address_print(stream, moment->model, target);
        fclose(stream);
        const char *symbol = is_to ? strchr(text, ' ') : text;
        snprintf(instruction->text + used, sizeof(instruction->text) - used, "%s%s",
                 is_to ? "" : "        # ", symbol ? symbol : "");
        free(text);
        return;
    }
}

void cli_instruction_decode(struct cli_moment *moment, size_t available, bool is_intel,
                            struct cli_instruction *instruction)
{
    ZydisDecoder decoder;
    ZydisFormatter formatter;
    ZydisDecodedInstruction decoded;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    char text[192];
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    instruction->length = 1;
    strcpy(instruction->text, "(bad)");
    if (ZYAN_FAILED(
            ZydisDecoderDecodeFull(&decoder, instruction->bytes, available, &decoded, operands)))
        return;
    formatter_init(&formatter, is_intel);
    if (ZYAN_FAILED(ZydisFormatterFormatInstruction(&formatter, &decoded, operands,
                                                    decoded.operand_count_visible, text,
                                                    sizeof(text), instruction->address, NULL)))
        return;
    instruction->length = decoded.length;
    const struct cli_att att = {&decoded, operands};
    cli_att_lay_out(is_intel ? NULL : &att, text, instruction->text, sizeof(instruction->text));
    if (moment)
        add_target(moment, &decoded, operands, instruction);
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
    if (cli_instruction_read(session->moment, pc, false, &instruction) != 0)
        return;
    fputs("=> ", stream);
    cli_address_print(stream, session->model, pc);
    fputs(":\t", stream);
    cli_out_text(session->out, instruction.text);
    putc('\n', stream);
}
