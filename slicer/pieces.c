/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/pieces.h"

const struct slc_shape slc_gpr_shape = {
    .count = INS_GPR_PIECES, .start = {0, 1, 2}, .mask = {1, 1, 0x3f}};
const struct slc_shape slc_vector_shape = {.count = INS_VEC_PIECES,
                                           .start = {0, 4, 8, 16, 32},
                                           .mask = {0xf, 0xf, 0xff, 0xffff, UINT32_MAX}};

bool slc_piece_bytes(unsigned loc, unsigned *unit, unsigned *from, unsigned *to)
{
    static const uint8_t gpr[] = {0, 1, 2, 8}, vector[] = {0, 4, 8, 16, 32, 64};

    if (loc < INS_LOC_CF) {
        *unit = loc / INS_GPR_PIECES;
        *from = gpr[loc % INS_GPR_PIECES];
        *to = gpr[loc % INS_GPR_PIECES + 1];
        return true;
    }
    if (loc < INS_LOC_VEC || loc >= INS_LOC_K)
        return false;
    *unit = INS_GPR_COUNT + (loc - INS_LOC_VEC) / INS_VEC_PIECES;
    *from = vector[(loc - INS_LOC_VEC) % INS_VEC_PIECES];
    *to = vector[(loc - INS_LOC_VEC) % INS_VEC_PIECES + 1];
    return true;
}

bool slc_set_start(const struct ins_regset *set, unsigned *unit, unsigned *start)
{
    unsigned to;
    return slc_piece_bytes(ins_regset_next(set, 0), unit, start, &to);
}

bool slc_is_byte_copy(const struct ins_flow *flow)
{
    unsigned unit, start;

    if (!(flow->kinds & INS_FLOW_COPY))
        return false;
    if (flow->mem_uses)
        return (flow->mem_uses & (flow->mem_uses - 1)) == 0;
    return slc_set_start(&flow->value_uses, &unit, &start);
}

/* Whether all of a set is pieces of one register: the first location of it, and the first byte. */
static bool find_register(const struct ins_regset *set, uint8_t *base, uint8_t *start)
{
    unsigned first = ins_regset_next(set, 0), unit, own, from, to;

    if (!slc_piece_bytes(first, &unit, &from, &to))
        return false;
    *base = (uint8_t)slc_piece_base(first);
    *start = (uint8_t)from;
    for (unsigned l = first; l < INS_LOC_COUNT; l = ins_regset_next(set, l + 1))
        if (!slc_piece_bytes(l, &own, &from, &to) || own != unit)
            return false;
    return true;
}

bool slc_move_make(struct slc_move *move, const struct ins_flow *flow)
{
    struct ins_regset to = flow->defs;
    unsigned stores = flow->mem_defs | flow->mem_may_defs;

    ins_regset_join(&to, &flow->may_defs);
    *move = (struct slc_move){.from_memory = flow->mem_uses != 0,
                              .to_memory = stores != 0,
                              .is_sign = flow->kinds & INS_FLOW_SIGN_COPY,
                              .is_reversed = flow->kinds & INS_FLOW_REVERSED_COPY};
    if (!(flow->kinds & INS_FLOW_COPIES) || flow->copy_bytes == 0 || flow->copy_bytes > 64 ||
        stores & (stores - 1) || (stores != 0) == !ins_regset_is_empty(&to))
        return false;
    move->bytes = UINT64_MAX >> (64 - flow->copy_bytes);
    if (!stores && !find_register(&to, &move->to, &move->to_start))
        return false;
    if (!flow->mem_uses)
        return find_register(&flow->value_uses, &move->from, &move->from_start);
    move->operand = (uint8_t)__builtin_ctz(flow->mem_uses);
    return (flow->mem_uses & (flow->mem_uses - 1)) == 0 && ins_regset_is_empty(&flow->value_uses);
}
