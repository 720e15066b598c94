/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of register locations: their pieces, their names. */
#include <errno.h>
#include <stdio.h>
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
    "x87",
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
