/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/mutant_words.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/disassembly.h"
#include "dbgcli/verbs/mutant_place.h"

/* ---- comparisons ---- */

/* What a condition code says of two numbers; NULL: nothing that has a sign of its own. */
static const char *sign_of(int64_t code)
{
    static const char *const signs[16] = {
        [2] = "<", [3] = ">=", [4] = "==", [5] = "!=",  [6] = "<=",  [7] = ">",
        [8] = "<", [9] = ">=", [12] = "<", [13] = ">=", [14] = "<=", [15] = ">"};
    return signs[code & 15];
}

/* Whether a line has an operator as such, and not as the begin of another one: "<" is not in "<=",
 * "<<", and neither is ">" in "->". */
static bool has_operator(const char *text, const char *sign)
{
    size_t length = strlen(sign);
    for (const char *at = text; (at = strstr(at, sign)); at += length) {
        bool ends = !strchr("=<>", at[length]) || !at[length];
        bool begins = at == text || !strchr("=<>-!", at[-1]);
        if (ends && begins)
            return true;
    }
    return false;
}

static bool is_signed(int64_t code)
{
    return (code & 15) >= 12 || (code & 14) == 8;
}

static bool is_equality(int64_t code)
{
    return (code & 14) == 4;
}

static const char *signedness(const struct wetdbg_mutant *mutant)
{
    if (is_equality(mutant->was) || is_equality(mutant->is) ||
        is_signed(mutant->was) == is_signed(mutant->is))
        return "";
    return is_signed(mutant->is) ? ", of signed numbers" : ", of unsigned numbers";
}

/* The condition as the source has it: the code's own, or its opposite. NULL: nobody knows. */
static char *comparison_words(const struct wetdbg_mutant *mutant, const char *text)
{
    for (int64_t opposite = 0; opposite < 2 && text; opposite++) {
        const char *was = sign_of(mutant->was ^ opposite), *is = sign_of(mutant->is ^ opposite);
        const char *other = sign_of(mutant->was ^ opposite ^ 1);
        if (was && is && has_operator(text, was) && !has_operator(text, other))
            return cli_asprintf("%s in place of %s%s", is, was, signedness(mutant));
    }
    return NULL;
}

/* ---- instructions ---- */

static void instruction_of(const struct wetdbg_mutant *mutant, bool is_mutated,
                           struct cli_instruction *instruction)
{
    *instruction = (struct cli_instruction){.address = mutant->pc};
    memcpy(instruction->bytes, mutant->code, mutant->length);
    if (is_mutated)
        memcpy(instruction->bytes + mutant->offset, mutant->bytes, mutant->size);
    cli_instruction_decode(NULL, mutant->length, false, instruction);
    if (instruction->bytes[0] == 0x90 && is_mutated) { /* what is shorter has a nop before it */
        memmove(instruction->bytes, instruction->bytes + 1, mutant->length - 1u);
        cli_instruction_decode(NULL, mutant->length - 1u, false, instruction);
    }
}

/* One blank in place of several. */
static void close_up(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ' || from[1] != ' ')
            *to++ = *from;
    *to = 0;
}

static char *instruction_words(const struct wetdbg_mutant *mutant)
{
    struct cli_instruction was, is;
    instruction_of(mutant, false, &was);
    instruction_of(mutant, true, &is);
    close_up(was.text);
    close_up(is.text);
    return cli_asprintf("'%s' in place of '%s'", is.text, was.text);
}

/* A direct or an indirect one, with or without REX. */
static bool is_call(const struct wetdbg_mutant *mutant)
{
    unsigned at = (mutant->code[0] & 0xf0) == 0x40;
    return mutant->code[at] == 0xe8 ||
           (mutant->code[at] == 0xff && (mutant->code[at + 1] >> 3 & 7) == 2);
}

/* What is put in before the line. */
static char *statement_words(struct wetdbg *wet, const struct wetdbg_mutant *mutant)
{
    char *place = cli_mutant_place(wet, mutant);
    const char *name = place ? place : "a variable", *how = mutant->is > 0 ? "up" : "down";
    char *words = mutant->mutation == WETDBG_MUTATION_ZERO
                      ? cli_asprintf("%s set to 0 before it", name)
                      : cli_asprintf("%s counted %s before it", name, how);
    free(place);
    return words;
}

char *cli_mutant_words(struct wetdbg *wet, const struct wetdbg_mutant *mutant, const char *text)
{
    char *words = NULL;
    switch (mutant->mutation) {
    case WETDBG_MUTATION_COMPARISON:
        words = comparison_words(mutant, text);
        if (!words && mutant->cave_size)
            return cli_strdup("<= 0 in place of < 0");
        break;
    case WETDBG_MUTATION_ALWAYS:
    case WETDBG_MUTATION_NEVER:
        return cli_strdup("its condition decided the same way each time");
    case WETDBG_MUTATION_CONSTANT:
        return cli_asprintf("the constant %" PRId64 " in place of %" PRId64, mutant->is,
                            mutant->was);
    case WETDBG_MUTATION_LEFT_OUT:
        return cli_strdup(is_call(mutant) ? "its call left out" : "what it stores left as it was");
    case WETDBG_MUTATION_VALUE:
        return cli_strdup(mutant->is > 0 ? "a value of it one more" : "a value of it one less");
    case WETDBG_MUTATION_SWAPPED:
        return cli_asprintf("arguments %" PRId64 " and %" PRId64 " of its call exchanged",
                            mutant->was, mutant->is);
    case WETDBG_MUTATION_ZERO:
    case WETDBG_MUTATION_COUNT:
        return statement_words(wet, mutant);
    case WETDBG_MUTATION_OPERATOR:
    case WETDBG_MUTATION_EXTENSION:
    case WETDBG_MUTATION_VARIABLE:
    case WETDBG_MUTATION_MEMBER:
        break;
    }
    return words ? words : instruction_words(mutant);
}

/* Each byte as two digits; to be freed. */
static char *hexadecimal(const uint8_t *bytes, size_t size)
{
    char *text = cli_realloc(NULL, 2 * size + 1, 1);
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return text;
}

/* Code that takes more room than there was: the jump, and where it leads to. */
static char *cave_command(const struct wetdbg_mutant *mutant)
{
    char *jump = hexadecimal(mutant->bytes, mutant->size);
    char *code = hexadecimal(mutant->cave_bytes, mutant->cave_size);
    char *command = cli_asprintf("what-if code:0x%" PRIx64 "=%s,0x%" PRIx64 "=%s@%" PRIu64,
                                 mutant->pc, jump, mutant->cave, code, (uint64_t)mutant->time);
    free(jump);
    free(code);
    return command;
}

char *cli_mutant_command(const struct wetdbg_mutant *mutant)
{
    uint64_t value = 0;
    if (mutant->cave_size)
        return cave_command(mutant);
    memcpy(&value, mutant->bytes, mutant->size);
    return cli_asprintf("what-if *0x%" PRIx64 "+%u=%" PRIu64 "@%" PRIu64,
                        mutant->pc + mutant->offset, mutant->size, value, (uint64_t)mutant->time);
}
