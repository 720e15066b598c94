/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of register locations: their pieces, their names. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "recorder/insn/insn.h"

#define GPR_NAMES(r) r ".b0", r ".b1", r ".b2-7"
#define VEC_NAMES(n)                                                                               \
    "zmm" #n ".b0-3", "zmm" #n ".b4-7", "zmm" #n ".b8-15", "zmm" #n ".b16-31", "zmm" #n ".b32-63"

static const char *const location_names[INS_LOC_COUNT] = {
    GPR_NAMES("rax"),
    GPR_NAMES("rcx"),
    GPR_NAMES("rdx"),
    GPR_NAMES("rbx"),
    GPR_NAMES("rsp"),
    GPR_NAMES("rbp"),
    GPR_NAMES("rsi"),
    GPR_NAMES("rdi"),
    GPR_NAMES("r8"),
    GPR_NAMES("r9"),
    GPR_NAMES("r10"),
    GPR_NAMES("r11"),
    GPR_NAMES("r12"),
    GPR_NAMES("r13"),
    GPR_NAMES("r14"),
    GPR_NAMES("r15"),
    "CF",
    "PF",
    "AF",
    "ZF",
    "SF",
    "OF",
    "DF",
    VEC_NAMES(0),
    VEC_NAMES(1),
    VEC_NAMES(2),
    VEC_NAMES(3),
    VEC_NAMES(4),
    VEC_NAMES(5),
    VEC_NAMES(6),
    VEC_NAMES(7),
    VEC_NAMES(8),
    VEC_NAMES(9),
    VEC_NAMES(10),
    VEC_NAMES(11),
    VEC_NAMES(12),
    VEC_NAMES(13),
    VEC_NAMES(14),
    VEC_NAMES(15),
    VEC_NAMES(16),
    VEC_NAMES(17),
    VEC_NAMES(18),
    VEC_NAMES(19),
    VEC_NAMES(20),
    VEC_NAMES(21),
    VEC_NAMES(22),
    VEC_NAMES(23),
    VEC_NAMES(24),
    VEC_NAMES(25),
    VEC_NAMES(26),
    VEC_NAMES(27),
    VEC_NAMES(28),
    VEC_NAMES(29),
    VEC_NAMES(30),
    VEC_NAMES(31),
    "k0",
    "k1",
    "k2",
    "k3",
    "k4",
    "k5",
    "k6",
    "k7",
    "x87.r0",
    "x87.r1",
    "x87.r2",
    "x87.r3",
    "x87.r4",
    "x87.r5",
    "x87.r6",
    "x87.r7",
    "x87.pointers",
    "x87.status",
    "x87.control",
    "mxcsr.status",
    "mxcsr.control",
    "fs_base",
    "gs_base",
    "pkru",
};

const char *ins_location_name(unsigned loc)
{
    return loc < INS_LOC_COUNT ? location_names[loc] : NULL;
}

unsigned ins_regset_next(const struct ins_regset *set, unsigned from)
{
    while (from < INS_LOC_COUNT) {
        uint64_t rest = set->bits[from / 64] >> (from % 64);
        if (rest != 0) {
            unsigned loc = from + (unsigned)__builtin_ctzll(rest);
            return loc < INS_LOC_COUNT ? loc : INS_LOC_COUNT;
        }
        from = (from / 64 + 1) * 64;
    }
    return INS_LOC_COUNT;
}

/* Adds base + i for each piece i that [first, first + count) touches; ends[i] is the byte after
 * piece i. */
static void add_pieces(struct ins_regset *set, unsigned base, const uint8_t *ends, unsigned pieces,
                       unsigned first, unsigned count)
{
    unsigned start = 0;
    for (unsigned i = 0; i < pieces; i++) {
        if (first < ends[i] && first + count > start)
            ins_regset_add(set, base + i);
        start = ends[i];
    }
}

void ins_regset_add_gpr(struct ins_regset *set, unsigned gpr, unsigned first, unsigned count)
{
    static const uint8_t ends[INS_GPR_PIECES] = {1, 2, 8};
    add_pieces(set, INS_LOC_GPR + INS_GPR_PIECES * gpr, ends, INS_GPR_PIECES, first, count);
}

void ins_regset_add_vector(struct ins_regset *set, unsigned vector, unsigned first, unsigned count)
{
    static const uint8_t ends[INS_VEC_PIECES] = {4, 8, 16, 32, 64};
    add_pieces(set, INS_LOC_VEC + INS_VEC_PIECES * vector, ends, INS_VEC_PIECES, first, count);
}

/* ---- names that people type ---- */

struct name_range {
    const char *name;
    uint8_t loc, count; /* adjacent locations */
};

static const struct name_range special_names[] = {
    {"cf", INS_LOC_CF, 1},
    {"pf", INS_LOC_PF, 1},
    {"af", INS_LOC_AF, 1},
    {"zf", INS_LOC_ZF, 1},
    {"sf", INS_LOC_SF, 1},
    {"of", INS_LOC_OF, 1},
    {"df", INS_LOC_DF, 1},
    {"rflags", INS_LOC_CF, 7},
    {"eflags", INS_LOC_CF, 7},
    {"x87", INS_LOC_ST, 9},
    {"mxcsr", INS_LOC_MXCSR_STATUS, 2},
    {"fs_base", INS_LOC_FS_BASE, 1},
    {"gs_base", INS_LOC_GS_BASE, 1},
    {"pkru", INS_LOC_PKRU, 1},
};

/* The legacy names in the numbering of enum ins_gpr: the letters that all widths share. */
static const char *const legacy_words[8] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};

static bool parse_legacy(const char *name, struct ins_regset *set)
{
    static const char *const bytes[8] = {"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil"};
    static const char *const highs[4] = {"ah", "ch", "dh", "bh"};
    for (unsigned gpr = 0; gpr < 8; gpr++) {
        bool wide =
            (tolower((unsigned char)name[0]) == 'r' || tolower((unsigned char)name[0]) == 'e') &&
            strcasecmp(name + 1, legacy_words[gpr]) == 0;
        unsigned count = wide                                       ? 8
                         : strcasecmp(name, legacy_words[gpr]) == 0 ? 2
                         : strcasecmp(name, bytes[gpr]) == 0        ? 1
                                                                    : 0;
        ins_regset_add_gpr(set, gpr, 0, count);
        if (count != 0)
            return true;
        if (gpr < 4 && strcasecmp(name, highs[gpr]) == 0) {
            ins_regset_add_gpr(set, gpr, 1, 1);
            return true;
        }
    }
    return false;
}

/* "<prefix><number><suffix>" with the number in first..limit-1. */
static bool parse_numbered(const char *name, const char *prefix, const char *suffix, unsigned first,
                           unsigned limit, unsigned *number)
{
    size_t length = strlen(prefix);
    if (strncasecmp(name, prefix, length) != 0 || !isdigit((unsigned char)name[length]))
        return false;
    char *end;
    unsigned long value = strtoul(name + length, &end, 10);
    if (strcasecmp(end, suffix) != 0 || value < first || value >= limit)
        return false;
    *number = (unsigned)value;
    return true;
}

static bool parse_indexed(const char *name, struct ins_regset *set)
{
    static const struct {
        const char *prefix, *suffix;
        uint8_t bytes;
    } forms[] = {{"r", "", 8},    {"r", "d", 8},   {"r", "w", 2},   {"r", "b", 1},
                 {"xmm", "", 16}, {"ymm", "", 32}, {"zmm", "", 64}, {"k", "", 0}};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        bool gpr = forms[i].prefix[0] == 'r', mask = forms[i].prefix[0] == 'k';
        unsigned number;
        if (!parse_numbered(name, forms[i].prefix, forms[i].suffix, gpr ? 8 : 0,
                            gpr    ? 16
                            : mask ? 8
                                   : 32,
                            &number))
            continue;
        if (gpr)
            ins_regset_add_gpr(set, number, 0, forms[i].bytes);
        else if (mask)
            ins_regset_add(set, INS_LOC_K + number);
        else
            ins_regset_add_vector(set, number, 0, forms[i].bytes);
        return true;
    }
    return false;
}

static bool parse_special(const char *name, struct ins_regset *set)
{
    for (size_t i = 0; i < sizeof(special_names) / sizeof(special_names[0]); i++) {
        if (strcasecmp(name, special_names[i].name) != 0)
            continue;
        for (unsigned k = 0; k < special_names[i].count; k++)
            ins_regset_add(set, special_names[i].loc + k);
        return true;
    }
    return false;
}

int ins_regset_parse(const char *name, struct ins_regset *set)
{
    struct ins_regset found = {0};
    if (!parse_legacy(name, &found) && !parse_indexed(name, &found) && !parse_special(name, &found))
        return -ENOENT;
    *set = found;
    return 0;
}
