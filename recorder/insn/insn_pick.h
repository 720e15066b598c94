/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which bytes an executed blend, masked move or permutation took (INS_CHOICE_BYTES), from the
 * recorded slots. Bits of masks are bytes, byte 0 the lowest. */
#ifndef RECORDER_INSN_INSN_PICK_H
#define RECORDER_INSN_INSN_PICK_H

#include "recorder/insn/insn.h"

#define INS_PICK_BYTES 64

/* Of each byte of the destination: */
struct ins_pick {
    uint8_t place[INS_PICK_BYTES];   /* where it came from, or INS_PLACE_COMPUTED, _ZERO, _KEPT */
    uint8_t from[INS_PICK_BYTES];    /* byte of that place */
    uint8_t chooser[INS_PICK_BYTES]; /* byte of the selector that said so, or INS_PLACE_NONE */
    uint64_t masked;                 /* bytes of which the mask register had a say */
};

static inline bool ins_is_pick(const struct ins_info *info)
{
    return info->choice.kind == INS_CHOICE_BYTES;
}

/* Whether flow f is what was chosen: all that takes bytes has one, which is the first. */
static inline bool ins_is_pick_flow(const struct ins_info *info, unsigned f)
{
    return ins_is_pick(info) && f == 0;
}

/* `slots` are those of the instruction's execution, from its first operand on. */
void ins_pick_get(const struct ins_info *info, const uint64_t *slots, struct ins_pick *pick);

#define INS_PICKED_MAX 3

/* What some bytes of a destination depend on. */
struct ins_picked {
    unsigned count;
    uint8_t place[INS_PICKED_MAX];
    uint64_t bytes[INS_PICKED_MAX]; /* of each place; INS_PLACE_COMPUTED: of the destination */
    uint64_t selector;              /* bytes of the selector */
    bool is_masked;                 /* the mask register */
};

/* What the bytes `wanted` of the destination came from. */
void ins_pick_sources(const struct ins_pick *pick, uint64_t wanted, struct ins_picked *picked);

/* Bytes of the destination that came from `bytes` of a place; those that such bytes of the selector
 * chose; those that were written at all. */
uint64_t ins_pick_targets(const struct ins_pick *pick, unsigned place, uint64_t bytes);
uint64_t ins_pick_chosen(const struct ins_pick *pick, uint64_t selector);
uint64_t ins_pick_written(const struct ins_pick *pick);

#endif
