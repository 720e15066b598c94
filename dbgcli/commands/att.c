/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/att.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- mnemonics ---- */

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Whether the instruction names a vector, MMX or mask register, or is a conversion to a general
 * one. */
static bool is_of_vectors(const struct cli_att *att, const char *name)
{
    if (begins(name, "cvt") || begins(name, "vcvt"))
        return true;
    for (unsigned i = 0; i < att->decoded->operand_count_visible; i++) {
        const ZydisDecodedOperand *operand = &att->operands[i];
        if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
            continue;
        switch (ZydisRegisterGetClass(operand->reg.value)) {
        case ZYDIS_REGCLASS_MMX:
        case ZYDIS_REGCLASS_XMM:
        case ZYDIS_REGCLASS_YMM:
        case ZYDIS_REGCLASS_ZMM:
        case ZYDIS_REGCLASS_MASK:
            return true;
        default:
            break;
        }
    }
    return false;
}

static const ZydisDecodedOperand *memory_operand(const struct cli_att *att)
{
    for (unsigned i = 0; i < att->decoded->operand_count_visible; i++)
        if (att->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
            return &att->operands[i];
    return NULL;
}

/* For conversions that make vectors shorter, and vfpclass, whose result is a mask: the bits of the
 * longest source whose result is an xmm. The memory's size is in the name alone then. */
static unsigned longest_ambiguous(const char *name)
{
    static const char *const to_half[] = {"vcvtpd2dq",  "vcvttpd2dq", "vcvtpd2udq", "vcvttpd2udq",
                                          "vcvtpd2ps",  "vcvtqq2ps",  "vcvtuqq2ps", "vcvtneps2bf16",
                                          "vcvtps2phx", "vcvtdq2ph",  "vcvtudq2ph"};
    static const char *const to_quarter[] = {"vcvtpd2ph", "vcvtqq2ph", "vcvtuqq2ph"};
    for (size_t i = 0; i < sizeof(to_half) / sizeof(*to_half); i++)
        if (strcmp(name, to_half[i]) == 0)
            return 256;
    for (size_t i = 0; i < sizeof(to_quarter) / sizeof(*to_quarter); i++)
        if (strcmp(name, to_quarter[i]) == 0)
            return 512;
    return begins(name, "vfpclassp") ? 512 : 0;
}

/* "x", "q" and the like, or "". */
static const char *vector_suffix(const struct cli_att *att, const char *name)
{
    const ZydisDecodedOperand *memory = memory_operand(att);
    unsigned size = memory ? memory->size : 0;
    bool is_broadcast = att->decoded->avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID &&
                        !att->decoded->avx.broadcast.is_static;
    const char *plain = *name == 'v' ? name + 1 : name;
    if (!memory || is_broadcast)
        return "";
    if (begins(plain, "cvtsi2s") || begins(plain, "cvtusi2s"))
        return size == 64 ? "q" : "l";
    if (size > longest_ambiguous(name))
        return "";
    return size == 128 ? "x" : size == 256 ? "y" : "z";
}

/* Writes the mnemonic; returns how many characters of Zydis' text it stands for. */
static size_t put_mnemonic(const struct cli_att *att, const char *from, char *to, size_t size)
{
    const char *name = ZydisMnemonicGetString(att->decoded->mnemonic);
    size_t word = strcspn(from, " ");
    bool is_ours = name && is_of_vectors(att, name);
    snprintf(to, size, "%s%s", is_ours ? name : "", is_ours ? vector_suffix(att, name) : "");
    return is_ours ? word : 0;
}

/* ---- layout ---- */

/* Where the last operand of a text begins. */
static size_t operand_start(const char *text, size_t used)
{
    unsigned depth = 0;
    while (used && (depth || (text[used - 1] != ',' && text[used - 1] != ' '))) {
        used--;
        depth += text[used] == ')';
        depth -= text[used] == '(';
    }
    return used;
}

/* "%zmm1" and a rounding behind it become two operands, the rounding first unless the register is a
 * general one. */
static size_t put_rounding(char *text, size_t used, const char *rounding, size_t length)
{
    size_t start = operand_start(text, used);
    bool is_vector = strncmp(text + start + 2, "mm", 2) == 0;
    size_t at = is_vector ? start : used + 1;
    if (is_vector)
        memmove(text + start + length + 1, text + start, used - start);
    text[is_vector ? start + length : used] = ',';
    memcpy(text + at, rounding, length);
    return used + length + 1;
}

void cli_att_lay_out(const struct cli_att *att, const char *from, char *to, size_t size)
{
    bool is_prefix = strncmp(from, "rep", 3) == 0 || strncmp(from, "lock", 4) == 0;
    size_t word = strcspn(from, " "), i = att ? put_mnemonic(att, from, to, size) : 0;
    size_t used = i ? strlen(to) : 0;
    for (; from[i] && used + 24 < size; i++) {
        bool is_blank = from[i] == ' ' && i;
        size_t decorator =
            att && is_blank && from[i + 1] == '{' ? strcspn(from + i + 1, "}") + 1 : 0;
        if (decorator && decorator < 16 && strchr("rs", from[i + 2])) {
            used = put_rounding(to, used, from + i + 1, decorator);
            i += decorator;
            continue;
        }
        if (decorator || (is_blank && from[i - 1] == ','))
            continue;
        to[used++] = from[i];
        if (i == word && !is_prefix)
            while (used < 7)
                to[used++] = ' ';
    }
    to[used] = 0;
}
