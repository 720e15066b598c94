/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bytes of registers. Sets of registers are sets of pieces (recorder/insn/insn.h); copies pass on
 * single bytes of them.
 */
#ifndef SLICER_PIECES_H
#define SLICER_PIECES_H

#include "recorder/insn/insn.h"

/* Bytes [*from, *to) of its register (*unit: general ones, then vectors) that a location is; false
 * if it is no piece of one. */
bool slc_piece_bytes(unsigned loc, unsigned *unit, unsigned *from, unsigned *to);
/* The register that a copy's set names, and the byte where it starts in it. */
bool slc_set_start(const struct ins_regset *set, unsigned *unit, unsigned *start);
/* A copy whose source is no plain piece or memory (an x87 state, a mask register) goes whole. */
bool slc_is_byte_copy(const struct ins_flow *flow);

/* Where the pieces of a register lie in it. */
struct slc_shape {
    uint8_t count;
    uint8_t start[INS_VEC_PIECES];
    uint32_t mask[INS_VEC_PIECES]; /* as many ones as the piece has bytes */
};
extern const struct slc_shape slc_gpr_shape, slc_vector_shape;

/* The shape of the register whose first location is `base`. */
static inline const struct slc_shape *slc_shape_of(unsigned base)
{
    return base < INS_LOC_CF ? &slc_gpr_shape : &slc_vector_shape;
}

/* As many ones as a piece has bytes. */
static inline uint32_t slc_piece_mask(unsigned loc)
{
    return loc < INS_LOC_CF ? slc_gpr_shape.mask[loc % INS_GPR_PIECES]
                            : slc_vector_shape.mask[(loc - INS_LOC_VEC) % INS_VEC_PIECES];
}

/* First location of the register that a piece belongs to. */
static inline unsigned slc_piece_base(unsigned loc)
{
    return loc < INS_LOC_CF ? loc - loc % INS_GPR_PIECES
                            : loc - (loc - INS_LOC_VEC) % INS_VEC_PIECES;
}

/* The piece of a general register that its two halves share, and the bytes of it in the lower
 * one. */
#define SLC_UPPER_PIECE(gpr) (INS_LOC_GPR + INS_GPR_PIECES * (gpr) + 2)
#define SLC_HALF_MASK        3u

/*
 * How a flow passes bytes on: byte i of the destination, counted from its start, is byte i of the
 * source, or that many bytes before its last one; what lies above the source's bytes are zeros, or
 * come from its last byte.
 */
struct slc_move {
    bool from_memory, to_memory, is_sign, is_reversed;
    uint8_t operand;              /* of memory that it comes from */
    uint8_t from, to;             /* first locations of the registers */
    uint8_t from_start, to_start; /* bytes of them */
    uint64_t bytes;               /* as many ones as the source has bytes */
};

/* False if the flow passes nothing on, or not byte by byte. */
bool slc_move_make(struct slc_move *move, const struct ins_flow *flow);

/* Bytes of the source, counted from its start, that those of the destination come from. */
static inline uint64_t slc_move_source(const struct slc_move *move, uint64_t wanted)
{
    uint64_t bytes = wanted & move->bytes, reversed = 0;
    unsigned last = 63 - (unsigned)__builtin_clzll(move->bytes);

    if (move->is_reversed) {
        for (; bytes; bytes &= bytes - 1)
            reversed |= UINT64_C(1) << (last - (unsigned)__builtin_ctzll(bytes));
        return reversed;
    }
    if (move->is_sign && wanted & ~move->bytes)
        bytes |= move->bytes & ~(move->bytes >> 1);
    return bytes;
}

/* Bytes of the destination, counted from its start, that come from those of the source. */
static inline uint64_t slc_move_target(const struct slc_move *move, uint64_t source)
{
    uint64_t bytes = source & move->bytes, reversed = 0;
    unsigned last = 63 - (unsigned)__builtin_clzll(move->bytes);

    if (move->is_reversed) {
        for (; bytes; bytes &= bytes - 1)
            reversed |= UINT64_C(1) << (last - (unsigned)__builtin_ctzll(bytes));
        return reversed;
    }
    if (move->is_sign && bytes >> last & 1)
        bytes |= ~move->bytes;
    return bytes;
}

#endif
