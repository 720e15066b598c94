/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Vector instructions that only move bytes to places which the code fixes: unpacks, shuffles by an
 * immediate, blends, byte shifts, insertions, broadcasts. Each is drawn as a map from the bytes of
 * the destination to those of the sources, and the map is cut into flows: a copy wherever whole
 * pieces of the destination come from bytes in a row that start with a piece.
 */
#include <string.h>

#include "recorder/insn/insn_lanes.h"
#include "recorder/insn/insn_priv.h"

#define LANE      16u
#define ZERO      0xffu
#define MAP_BYTES 64u /* a whole vector register */
#define PIECES    INS_VEC_PIECES

/* The destination before and after: byte i becomes byte from[i] of operand operands[i]. */
struct shuffle {
    const struct ins_work *work;
    unsigned bytes; /* of the destination operand */
    unsigned first; /* operands: the first source, */
    unsigned second;
    unsigned immediate;
    uint8_t operands[MAP_BYTES]; /* ZERO: it becomes 0 */
    uint8_t from[MAP_BYTES];
};

static void put(struct shuffle *map, unsigned to, unsigned count, unsigned operand, unsigned from)
{
    for (unsigned i = 0; i < count; i++) {
        map->operands[to + i] = (uint8_t)operand;
        map->from[to + i] = (uint8_t)(from + i);
    }
}

static void put_zeros(struct shuffle *map, unsigned to, unsigned count)
{
    memset(map->operands + to, ZERO, count);
}

/* Two bits of the immediate, from bit `bit` on. */
static unsigned pair_at(const struct shuffle *map, unsigned bit)
{
    return map->immediate >> bit & 3;
}

static unsigned bit_at(const struct shuffle *map, unsigned bit)
{
    return map->immediate >> bit & 1;
}

/* ---- the maps ---- */

static void unpack(struct shuffle *map, unsigned element, bool is_high)
{
    for (unsigned lane = 0; lane < map->bytes; lane += LANE)
        for (unsigned i = 0; i < LANE / 2; i += element) {
            unsigned from = lane + (is_high ? LANE / 2 : 0) + i;
            put(map, lane + 2 * i, element, map->first, from);
            put(map, lane + 2 * i + element, element, map->second, from);
        }
}

static void shuffle_doubles(struct shuffle *map)
{
    for (unsigned to = 0; to < map->bytes; to += 8)
        put(map, to, 8, to % LANE ? map->second : map->first,
            to / LANE * LANE + 8 * bit_at(map, to / 8));
}

static void shuffle_singles(struct shuffle *map)
{
    for (unsigned to = 0; to < map->bytes; to += 4)
        put(map, to, 4, to % LANE < 8 ? map->first : map->second,
            to / LANE * LANE + 4 * pair_at(map, to % LANE / 2));
}

/* Of `source`, in each lane: `count` elements from byte `start` of the lane on, any of these. */
static void permute(struct shuffle *map, unsigned source, unsigned element, unsigned start,
                    unsigned count)
{
    put(map, 0, map->bytes, source, 0);
    for (unsigned lane = 0; lane < map->bytes; lane += LANE)
        for (unsigned i = 0; i < count; i++)
            put(map, lane + start + i * element, element, source,
                lane + start + pair_at(map, 2 * i) * element);
}

/* vpermq, vpermpd: across lanes. */
static void permute_quads(struct shuffle *map, unsigned source)
{
    for (unsigned i = 0; i < map->bytes / 8; i++)
        put(map, 8 * i, 8, source, 8 * pair_at(map, 2 * i));
}

static void permute_lanes(struct shuffle *map)
{
    for (unsigned i = 0; i < 2; i++) {
        unsigned choice = map->immediate >> 4 * i;
        if (choice & 8)
            put_zeros(map, i * LANE, LANE);
        else
            put(map, i * LANE, LANE, choice & 2 ? map->second : map->first, (choice & 1) * LANE);
    }
}

/* One element of each pair, twice; 1 for the upper one. */
static void duplicate(struct shuffle *map, unsigned source, unsigned element, unsigned which)
{
    for (unsigned to = 0; to < map->bytes; to += element)
        put(map, to, element, source, to / (2 * element) * 2 * element + which * element);
}

static void broadcast(struct shuffle *map, unsigned element)
{
    for (unsigned to = 0; to < map->bytes; to += element)
        put(map, to, element, 1, 0);
}

/* Up (left) for a positive distance. */
static void shift_bytes(struct shuffle *map, unsigned source, int distance)
{
    put_zeros(map, 0, map->bytes);
    for (unsigned to = 0; to < map->bytes; to++) {
        int from = (int)(to % LANE) - distance;
        if (from >= 0 && from < (int)LANE)
            put(map, to, 1, source, to / LANE * LANE + (unsigned)from);
    }
}

static void align(struct shuffle *map)
{
    for (unsigned to = 0; to < map->bytes; to++) {
        unsigned from = to % LANE + map->immediate, lane = to / LANE * LANE;
        if (from < LANE)
            put(map, to, 1, map->second, lane + from);
        else if (from < 2 * LANE)
            put(map, to, 1, map->first, lane + from - LANE);
        else
            put_zeros(map, to, 1);
    }
}

static void blend(struct shuffle *map, unsigned element)
{
    for (unsigned i = 0; i < map->bytes / element; i++)
        put(map, i * element, element, bit_at(map, i % 8) ? map->second : map->first, i * element);
}

/* The second source's first bytes take the place of a lane that the immediate chooses. */
static void insert(struct shuffle *map, unsigned element)
{
    unsigned lane = map->immediate % (map->bytes / element);
    put(map, 0, map->bytes, map->first, 0);
    put(map, lane * element, element, map->second, 0);
}

/* insertps: from a lane, which memory does not have, to a lane; then lanes become zero. */
static void insert_single(struct shuffle *map)
{
    bool is_memory = map->work->mem_of[map->second] != INS_NO_MEM;
    put(map, 0, LANE, map->first, 0);
    put(map, 4 * pair_at(map, 4), 4, map->second, is_memory ? 0 : 4 * pair_at(map, 6));
    for (unsigned i = 0; i < 4; i++)
        if (bit_at(map, i))
            put_zeros(map, 4 * i, 4);
}

/* Halves of both sources: movhlps and kin with a result of their own. */
static void join_halves(struct shuffle *map, unsigned low, unsigned low_from, unsigned high,
                        unsigned high_from)
{
    put(map, 0, 8, low, low_from);
    put(map, 8, 8, high, high_from);
}

/* ---- which map ---- */

static bool draw_unpack(struct shuffle *map, ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_PUNPCKLBW:
    case ZYDIS_MNEMONIC_VPUNPCKLBW:
        unpack(map, 1, false);
        return true;
    case ZYDIS_MNEMONIC_PUNPCKHBW:
    case ZYDIS_MNEMONIC_VPUNPCKHBW:
        unpack(map, 1, true);
        return true;
    case ZYDIS_MNEMONIC_PUNPCKLWD:
    case ZYDIS_MNEMONIC_VPUNPCKLWD:
        unpack(map, 2, false);
        return true;
    case ZYDIS_MNEMONIC_PUNPCKHWD:
    case ZYDIS_MNEMONIC_VPUNPCKHWD:
        unpack(map, 2, true);
        return true;
    case ZYDIS_MNEMONIC_PUNPCKLDQ:
    case ZYDIS_MNEMONIC_VPUNPCKLDQ:
    case ZYDIS_MNEMONIC_UNPCKLPS:
    case ZYDIS_MNEMONIC_VUNPCKLPS:
        unpack(map, 4, false);
        return true;
    case ZYDIS_MNEMONIC_PUNPCKHDQ:
    case ZYDIS_MNEMONIC_VPUNPCKHDQ:
    case ZYDIS_MNEMONIC_UNPCKHPS:
    case ZYDIS_MNEMONIC_VUNPCKHPS:
        unpack(map, 4, true);
        return true;
    case ZYDIS_MNEMONIC_PUNPCKLQDQ:
    case ZYDIS_MNEMONIC_VPUNPCKLQDQ:
    case ZYDIS_MNEMONIC_UNPCKLPD:
    case ZYDIS_MNEMONIC_VUNPCKLPD:
        unpack(map, 8, false);
        return true;
    case ZYDIS_MNEMONIC_PUNPCKHQDQ:
    case ZYDIS_MNEMONIC_VPUNPCKHQDQ:
    case ZYDIS_MNEMONIC_UNPCKHPD:
    case ZYDIS_MNEMONIC_VUNPCKHPD:
        unpack(map, 8, true);
        return true;
    default:
        return false;
    }
}

/* Instructions with one source and perhaps an immediate. */
static bool draw_permutation(struct shuffle *map, ZydisMnemonic mnemonic)
{
    bool has_immediate = map->work->ops[2].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
                         map->work->zi->operand_count_visible == 3;
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_PSHUFD:
    case ZYDIS_MNEMONIC_VPSHUFD:
        permute(map, 1, 4, 0, 4);
        return true;
    case ZYDIS_MNEMONIC_PSHUFLW:
    case ZYDIS_MNEMONIC_VPSHUFLW:
        permute(map, 1, 2, 0, 4);
        return true;
    case ZYDIS_MNEMONIC_PSHUFHW:
    case ZYDIS_MNEMONIC_VPSHUFHW:
        permute(map, 1, 2, 8, 4);
        return true;
    case ZYDIS_MNEMONIC_VPERMILPS:
        if (has_immediate)
            permute(map, 1, 4, 0, 4);
        return has_immediate;
    case ZYDIS_MNEMONIC_VPERMILPD:
        if (has_immediate) {
            map->second = map->first = 1;
            shuffle_doubles(map);
        }
        return has_immediate;
    case ZYDIS_MNEMONIC_VPERMQ:
    case ZYDIS_MNEMONIC_VPERMPD:
        if (has_immediate)
            permute_quads(map, 1);
        return has_immediate;
    case ZYDIS_MNEMONIC_MOVDDUP:
    case ZYDIS_MNEMONIC_VMOVDDUP:
        duplicate(map, 1, 8, 0);
        return true;
    case ZYDIS_MNEMONIC_MOVSLDUP:
    case ZYDIS_MNEMONIC_VMOVSLDUP:
        duplicate(map, 1, 4, 0);
        return true;
    case ZYDIS_MNEMONIC_MOVSHDUP:
    case ZYDIS_MNEMONIC_VMOVSHDUP:
        duplicate(map, 1, 4, 1);
        return true;
    default:
        return false;
    }
}

static bool draw_shift(struct shuffle *map, ZydisMnemonic mnemonic)
{
    int distance = (int)(map->immediate < LANE ? map->immediate : LANE);
    unsigned source = map->work->zi->operand_count_visible == 3 ? 1 : 0;
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_PSLLDQ:
    case ZYDIS_MNEMONIC_VPSLLDQ:
        shift_bytes(map, source, distance);
        return true;
    case ZYDIS_MNEMONIC_PSRLDQ:
    case ZYDIS_MNEMONIC_VPSRLDQ:
        shift_bytes(map, source, -distance);
        return true;
    case ZYDIS_MNEMONIC_PALIGNR:
    case ZYDIS_MNEMONIC_VPALIGNR:
        align(map);
        return true;
    default:
        return false;
    }
}

static bool draw_broadcast(struct shuffle *map, ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_VPBROADCASTB:
        broadcast(map, 1);
        return true;
    case ZYDIS_MNEMONIC_VPBROADCASTW:
        broadcast(map, 2);
        return true;
    case ZYDIS_MNEMONIC_VPBROADCASTD:
    case ZYDIS_MNEMONIC_VBROADCASTSS:
        broadcast(map, 4);
        return true;
    case ZYDIS_MNEMONIC_VPBROADCASTQ:
    case ZYDIS_MNEMONIC_VBROADCASTSD:
        broadcast(map, 8);
        return true;
    case ZYDIS_MNEMONIC_VBROADCASTF128:
    case ZYDIS_MNEMONIC_VBROADCASTI128:
        broadcast(map, 16);
        return true;
    default:
        return false;
    }
}

static bool draw_insertion(struct shuffle *map, ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_PINSRB:
    case ZYDIS_MNEMONIC_VPINSRB:
        insert(map, 1);
        return true;
    case ZYDIS_MNEMONIC_PINSRW:
    case ZYDIS_MNEMONIC_VPINSRW:
        insert(map, 2);
        return true;
    case ZYDIS_MNEMONIC_PINSRD:
    case ZYDIS_MNEMONIC_VPINSRD:
        insert(map, 4);
        return true;
    case ZYDIS_MNEMONIC_PINSRQ:
    case ZYDIS_MNEMONIC_VPINSRQ:
        insert(map, 8);
        return true;
    case ZYDIS_MNEMONIC_VINSERTF128:
    case ZYDIS_MNEMONIC_VINSERTI128:
        insert(map, 16);
        return true;
    case ZYDIS_MNEMONIC_INSERTPS:
    case ZYDIS_MNEMONIC_VINSERTPS:
        insert_single(map);
        return true;
    default:
        return false;
    }
}

/* Instructions with two sources. */
static bool draw_selection(struct shuffle *map, ZydisMnemonic mnemonic)
{
    bool has_three = map->work->zi->operand_count_visible == 3;
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_SHUFPD:
    case ZYDIS_MNEMONIC_VSHUFPD:
        shuffle_doubles(map);
        return true;
    case ZYDIS_MNEMONIC_SHUFPS:
    case ZYDIS_MNEMONIC_VSHUFPS:
        shuffle_singles(map);
        return true;
    case ZYDIS_MNEMONIC_VPERM2F128:
    case ZYDIS_MNEMONIC_VPERM2I128:
        permute_lanes(map);
        return true;
    case ZYDIS_MNEMONIC_PBLENDW:
    case ZYDIS_MNEMONIC_VPBLENDW:
        blend(map, 2);
        return true;
    case ZYDIS_MNEMONIC_BLENDPS:
    case ZYDIS_MNEMONIC_VBLENDPS:
    case ZYDIS_MNEMONIC_VPBLENDD:
        blend(map, 4);
        return true;
    case ZYDIS_MNEMONIC_BLENDPD:
    case ZYDIS_MNEMONIC_VBLENDPD:
        blend(map, 8);
        return true;
    case ZYDIS_MNEMONIC_VMOVHLPS:
        join_halves(map, map->second, 8, map->first, 8);
        return true;
    case ZYDIS_MNEMONIC_VMOVLHPS:
        join_halves(map, map->first, 0, map->second, 0);
        return true;
    case ZYDIS_MNEMONIC_VMOVHPS:
    case ZYDIS_MNEMONIC_VMOVHPD:
        if (has_three)
            join_halves(map, map->first, 0, map->second, 0);
        return has_three;
    case ZYDIS_MNEMONIC_VMOVLPS:
    case ZYDIS_MNEMONIC_VMOVLPD:
        if (has_three)
            join_halves(map, map->second, 0, map->first, 8);
        return has_three;
    default:
        return false;
    }
}

/* ---- from maps to flows ---- */

static const uint8_t piece_starts[PIECES + 1] = {0, 4, 8, 16, 32, 64};

enum part_kind { PART_KEPT, PART_ZERO, PART_COPY, PART_MIXED };

/* One piece of the destination. */
static enum part_kind part_of(const struct shuffle *map, unsigned piece)
{
    unsigned start = piece_starts[piece], end = piece_starts[piece + 1];
    unsigned operand = map->operands[start], from = map->from[start];
    for (unsigned i = start + 1; i < end; i++)
        if (map->operands[i] != operand || (operand != ZERO && map->from[i] != from + (i - start)))
            return PART_MIXED;
    if (operand == ZERO)
        return PART_ZERO;
    return operand == 0 && from == start ? PART_KEPT : PART_COPY;
}

/* A copy's source is named by its pieces, or is a memory operand from its start. */
static bool starts_copy(const struct shuffle *map, unsigned start)
{
    bool is_memory = map->work->mem_of[map->operands[start]] != INS_NO_MEM;
    for (unsigned i = 0; i < PIECES; i++)
        if (map->from[start] == piece_starts[i])
            return i == 0 || !is_memory;
    return false;
}

static void use_bytes(const struct shuffle *map, struct ins_flow *flow, unsigned start,
                      unsigned end)
{
    for (unsigned i = start; i < end; i++) {
        unsigned operand = map->operands[i];
        if (operand == ZERO)
            continue;
        if (map->work->mem_of[operand] != INS_NO_MEM)
            flow->mem_uses |= (uint8_t)(1u << map->work->mem_of[operand]);
        else
            ins_add_read(&flow->value_uses, map->work->ops[operand].reg.value, map->from[i], 1);
    }
}

/* Whether a copy's source ends where its last byte comes from, so that zeros may follow. */
static bool ends_with(const struct shuffle *map, unsigned last)
{
    const ZydisDecodedOperand *source = &map->work->ops[map->operands[last]];
    unsigned end = map->from[last] + 1u;
    if (source->type == ZYDIS_OPERAND_TYPE_MEMORY)
        return end == source->size / 8u;
    for (unsigned i = 0; i < PIECES; i++)
        if (ins_is_vector(source->reg.value) && end == piece_starts[i + 1])
            return true;
    return false;
}

static bool continues_copy(const struct shuffle *map, unsigned start, enum part_kind before)
{
    return before == PART_COPY && map->operands[start] == map->operands[start - 1] &&
           map->from[start] == map->from[start - 1] + 1;
}

/* Whether a piece goes to the flow of the one before, which is of kind `before`. */
static bool joins(const struct shuffle *map, unsigned start, enum part_kind before,
                  enum part_kind kind, const struct ins_flow *flow, const struct ins_flow *own)
{
    switch (kind) {
    case PART_COPY:
        return continues_copy(map, start, before);
    case PART_ZERO:
        return before == PART_ZERO || (before == PART_COPY && ends_with(map, start - 1));
    default:
        return before == PART_MIXED && flow->mem_uses == own->mem_uses &&
               memcmp(&flow->value_uses, &own->value_uses, sizeof(own->value_uses)) == 0;
    }
}

static void cut(const struct shuffle *map, struct ins_work *work)
{
    struct ins_flow *flow = NULL;
    enum part_kind before = PART_KEPT;
    for (unsigned piece = 0; piece < PIECES; piece++) {
        unsigned start = piece_starts[piece], end = piece_starts[piece + 1];
        enum part_kind kind = part_of(map, piece);
        struct ins_flow own = {0};
        use_bytes(map, &own, start, end);
        if (kind == PART_KEPT) {
            before = kind;
            continue;
        }
        if (kind == PART_COPY && !continues_copy(map, start, before) && !starts_copy(map, start))
            kind = PART_MIXED;
        own.kinds = kind == PART_COPY ? INS_FLOW_COPY : 0;
        if (!joins(map, start, before, kind, flow, &own)) {
            if (work->info.flow_count < INS_FLOW_MAX)
                *(flow = ins_flow_new(work)) = own;
            else /* zeros above four parts */
                flow->kinds = 0;
        }
        ins_add_read(&flow->defs, work->ops[0].reg.value, start, end - start);
        ins_regset_join(&flow->value_uses, &own.value_uses);
        before = kind;
    }
}

unsigned ins_vector_bytes(const ZydisDecodedOperand *op)
{
    if (op->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return 0;
    switch (ZydisRegisterGetClass(op->reg.value)) {
    case ZYDIS_REGCLASS_XMM:
        return 16;
    case ZYDIS_REGCLASS_YMM:
        return 32;
    default:
        return 0;
    }
}

static bool draw(struct shuffle *map, const struct ins_work *work)
{
    const ZydisDecodedInstruction *zi = work->zi;
    unsigned count = zi->operand_count_visible;
    bool is_legacy = zi->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
    if (count < 2 || (!is_legacy && zi->encoding != ZYDIS_INSTRUCTION_ENCODING_VEX))
        return false;
    const ZydisDecodedOperand *last = &work->ops[count - 1];
    bool has_immediate = last->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    *map = (struct shuffle){
        .work = work,
        .bytes = ins_vector_bytes(&work->ops[0]),
        .first = is_legacy ? 0 : 1,
        .second = is_legacy ? 1 : 2,
        .immediate = has_immediate ? (uint8_t)last->imm.value.u : 0,
    };
    if (map->bytes == 0)
        return false;
    if (is_legacy)
        put(map, 0, MAP_BYTES, 0, 0);
    else
        put_zeros(map, 0, MAP_BYTES);
    return draw_unpack(map, zi->mnemonic) || draw_permutation(map, zi->mnemonic) ||
           draw_shift(map, zi->mnemonic) || draw_broadcast(map, zi->mnemonic) ||
           draw_insertion(map, zi->mnemonic) || draw_selection(map, zi->mnemonic);
}

bool ins_rules_shuffle(struct ins_work *work)
{
    struct shuffle map;
    if (!draw(&map, work))
        return false;
    cut(&map, work);
    return true;
}

bool ins_shuffle_lanes(const struct ins_work *work, struct ins_lanes *lanes)
{
    struct shuffle map;
    if (!draw(&map, work))
        return false;
    lanes->kind = INS_LANES_MOVED;
    for (unsigned i = 0; i < MAP_BYTES; i++) {
        bool is_zero = map.operands[i] == ZERO;
        lanes->place[i] = is_zero ? INS_PLACE_ZERO : (uint8_t)ins_lane_place(work, map.operands[i]);
        lanes->from[i] = map.from[i];
    }
    return true;
}
