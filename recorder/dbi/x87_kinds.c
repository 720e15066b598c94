/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is told apart here are a few opcodes, so their bytes are looked at and no decoder is asked:
 * who maps a fault back needs the same answer for code of which nothing else is kept.
 */
#include "recorder/dbi/x87_kinds.h"

#include "recorder/agent/x87.h"
#include "recorder/insn/insn.h"

/* An instruction's bytes behind its prefixes. */
struct code {
    const uint8_t *at; /* opcode */
    unsigned left;
    bool is_narrow; /* operand size prefix */
    bool is_wide;   /* REX.W */
};

static bool is_prefix(uint8_t byte)
{
    static const uint8_t prefixes[] = {0x66, 0x67, 0x26, 0x2e, 0x36, 0x3e,
                                       0x64, 0x65, 0xf0, 0xf2, 0xf3};
    for (unsigned i = 0; i < sizeof(prefixes); i++)
        if (byte == prefixes[i])
            return true;
    return (byte & 0xf0) == 0x40;
}

static struct code behind_prefixes(const uint8_t *bytes, unsigned length)
{
    struct code code = {bytes, length, false, false};
    for (; code.left && is_prefix(*code.at); code.at++, code.left--) {
        code.is_narrow |= *code.at == 0x66;
        code.is_wide = (*code.at & 0xf8) == 0x48;
    }
    return code;
}

static bool is_memory(uint8_t modrm)
{
    return modrm < 0xc0;
}

/* d8 to df */
static enum dbi_x87_kind x87_kind(uint8_t opcode, uint8_t modrm)
{
    unsigned reg = modrm >> 3 & 7;
    switch (opcode) {
    case 0xd9:
        if (!is_memory(modrm) || reg < 4)
            return DBI_X87_SETS;
        return reg == 4 ? DBI_X87_LOADS : reg == 6 ? DBI_X87_STORES : DBI_X87_NONE;
    case 0xdb: /* fneni, fndisi, fnclex, fninit, fnsetpm */
        if (modrm < 0xe0 || modrm > 0xe4)
            return DBI_X87_SETS;
        return modrm == 0xe3 ? DBI_X87_CLEARS : DBI_X87_NONE;
    case 0xdd:
        if (!is_memory(modrm) || reg < 4)
            return DBI_X87_SETS;
        return reg == 4 ? DBI_X87_LOADS : reg == 6 ? DBI_X87_STORES : DBI_X87_NONE;
    case 0xdf: /* fnstsw ax */
        return modrm == 0xe0 ? DBI_X87_NONE : DBI_X87_SETS;
    default:
        return DBI_X87_SETS;
    }
}

enum dbi_x87_kind dbi_x87_kind(const uint8_t *bytes, unsigned length)
{
    struct code code = behind_prefixes(bytes, length);
    if (code.left >= 2 && (*code.at & 0xf8) == 0xd8)
        return x87_kind(code.at[0], code.at[1]);
    if (code.left < 3 || code.at[0] != 0x0f || code.at[1] != 0xae || !is_memory(code.at[2]))
        return DBI_X87_NONE;
    switch (code.at[2] >> 3 & 7) {
    case 0:
        return DBI_X87_STORES;
    case 1:
    case 5:
        return DBI_X87_LOADS;
    default:
        return DBI_X87_NONE;
    }
}

uint32_t dbi_x87_arg(const uint8_t *bytes, unsigned length)
{
    struct code code = behind_prefixes(bytes, length);
    if (code.at[0] == 0x0f) {
        uint32_t form = code.is_wide ? AGT_X87_IMAGE64 : AGT_X87_IMAGE32;
        unsigned reg = code.at[2] >> 3 & 7;
        return form | (reg == 1 ? AGT_X87_LOADS : reg == 5 ? AGT_X87_XRSTOR : 0);
    }
    uint32_t form = code.is_narrow && !code.is_wide ? AGT_X87_ENV16 : AGT_X87_ENV32;
    if ((code.at[1] >> 3 & 7) == 4)
        return form | AGT_X87_LOADS;
    return form | (code.at[0] == 0xdd ? AGT_X87_CLEARS : 0);
}

uint64_t dbi_x87_ip(uint64_t pc, const uint8_t *bytes, unsigned length)
{
    struct code code = behind_prefixes(bytes, length);
    return pc | (uint64_t)((code.at[0] & 7) << 8 | code.at[1]) << 48;
}

bool dbi_x87_last(uint64_t pc, const uint8_t *code, unsigned code_bytes, unsigned count,
                  uint64_t *ip)
{
    struct ins_info info;
    bool is_found = false;
    for (unsigned i = 0, off = 0; i < count && off < code_bytes; i++, off += info.length) {
        if (ins_decode(code + off, code_bytes - off, pc + off, &info))
            return is_found;
        switch (dbi_x87_kind(code + off, info.length)) {
        case DBI_X87_SETS:
            *ip = dbi_x87_ip(pc + off, code + off, info.length);
            is_found = true;
            break;
        case DBI_X87_CLEARS:
            *ip = 0;
            is_found = true;
            break;
        case DBI_X87_STORES:
        case DBI_X87_LOADS: /* the agent has seen to it, and to all before */
            is_found = false;
            break;
        case DBI_X87_NONE:
            break;
        }
    }
    return is_found;
}
