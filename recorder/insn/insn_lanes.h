/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How the bytes of a vector result hang together with those of the operands, for instructions of
 * which that is fixed by the code: unpacks, shuffles by an immediate, broadcasts, insertions, byte
 * shifts; additions, subtractions and exclusive or of whole elements. SSE and AVX, not AVX-512.
 * What chooses by a value is in insn_pick.h.
 */
#ifndef RECORDER_INSN_INSN_LANES_H
#define RECORDER_INSN_INSN_LANES_H

#include "recorder/insn/insn.h"

enum ins_lanes_kind {
    INS_LANES_MOVED, /* each byte is one of an operand's, or 0 */
    /* Of each element of both operands, the other one being as it was, as many of the lowest bytes
     * are determined as are known of the result's. */
    INS_LANES_ONE_TO_ONE,
};

struct ins_lanes {
    uint8_t kind; /* enum ins_lanes_kind */
    /* INS_LANES_MOVED, of each byte of the register: where it came from (a vector register or
     * memory operand as in struct ins_choice, INS_PLACE_ZERO, or INS_PLACE_NONE for others), and
     * which byte of that. */
    uint8_t place[64], from[64];
    /* INS_LANES_ONE_TO_ONE: two different operands, and the size of elements and of them all. */
    uint8_t operands[2];
    uint8_t element_bytes, bytes;
};

/* False if the bytes are no such instruction. `code` is untrusted. */
bool ins_lanes_make(const uint8_t *code, size_t len, struct ins_lanes *out);

#endif
