/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where an image has the registers that descriptions name. */
#include <string.h>

#include "oracle_cpu.h"

uint32_t oracle_components = 7; /* x87, SSE, AVX */

static unsigned k_off, zmm_high_off, zmm_16_off; /* 0: there are none */

void oracle_use_avx512(unsigned masks, unsigned upper_halves, unsigned upper_registers)
{
    k_off = masks;
    zmm_high_off = upper_halves;
    zmm_16_off = upper_registers;
    oracle_components |= ORACLE_AVX512;
}

bool oracle_has_avx512(void)
{
    return oracle_components & ORACLE_AVX512;
}

enum {
    AT_FCW = 0,
    AT_FSW = 2,
    AT_FTW = 4,
    AT_FOP = 6, /* to the end of FDP: 18 bytes */
    AT_MXCSR = 24,
    AT_ST = 32,
    AT_XMM = 160,
    AT_YMM_HIGH = 576,
};

static const uint8_t flag_bits[] = {0, 2, 4, 6, 7, 11, 10};

static unsigned get_u16(const uint8_t *at)
{
    return at[0] | (unsigned)at[1] << 8;
}

/* The image has ST(i) at slot i; locations are physical registers, so that TOP is not among
 * them. */
static unsigned slot_of_physical(const struct oracle_state *state, unsigned physical)
{
    unsigned top = get_u16(state->vectors + AT_FSW) >> 11 & 7;
    return (physical - top) & 7;
}

static unsigned get_st(const struct oracle_state *state, unsigned physical, uint8_t *value)
{
    memcpy(value, state->vectors + AT_ST + 16 * slot_of_physical(state, physical), 10);
    value[10] = state->vectors[AT_FTW] >> physical & 1;
    return 11;
}

uint16_t oracle_x87_status(const struct oracle_state *state)
{
    return get_u16(state->vectors + AT_FSW);
}

unsigned oracle_vector_offset(unsigned vector, unsigned first)
{
    if (vector < 16 && first < 16)
        return AT_XMM + 16 * vector + first;
    if (vector < 16 && first < 32)
        return AT_YMM_HIGH + 16 * vector + first - 16;
    if (!oracle_has_avx512())
        return 0;
    return vector < 16 ? zmm_high_off + 32 * vector + first - 32
                       : zmm_16_off + 64 * (vector - 16) + first;
}

unsigned oracle_mask_offset(unsigned k)
{
    return oracle_has_avx512() ? k_off + 8 * k : 0;
}

/* Where a vector piece lies in the image; 0: nowhere. */
static unsigned vector_offset(unsigned piece_number, unsigned *size)
{
    static const uint8_t starts[] = {0, 4, 8, 16, 32}, sizes[] = {4, 4, 8, 16, 32};
    unsigned vector = piece_number / INS_VEC_PIECES, piece = piece_number % INS_VEC_PIECES;
    *size = sizes[piece];
    return oracle_vector_offset(vector, starts[piece]);
}

bool oracle_has_location(unsigned loc)
{
    unsigned size;
    if (loc >= INS_LOC_VEC && loc < INS_LOC_K)
        return vector_offset(loc - INS_LOC_VEC, &size) != 0;
    if (loc >= INS_LOC_K && loc < INS_LOC_ST)
        return oracle_has_avx512();
    return loc < INS_LOC_PKRU;
}

unsigned oracle_get(const struct oracle_state *state, unsigned loc, uint8_t *value)
{
    static const uint8_t starts[] = {0, 1, 2}, sizes[] = {1, 1, 6};
    unsigned size;
    if (loc < INS_LOC_CF) {
        const uint8_t *bytes = (const uint8_t *)&state->regs.gpr[loc / INS_GPR_PIECES];
        size = sizes[loc % INS_GPR_PIECES];
        memcpy(value, bytes + starts[loc % INS_GPR_PIECES], size);
        return size;
    }
    if (loc < INS_LOC_VEC) {
        value[0] = state->regs.rflags >> flag_bits[loc - INS_LOC_CF] & 1;
        return 1;
    }
    if (loc < INS_LOC_K) {
        unsigned offset = vector_offset(loc - INS_LOC_VEC, &size);
        memcpy(value, state->vectors + offset, size);
        return size;
    }
    if (loc < INS_LOC_ST) {
        memcpy(value, state->vectors + oracle_mask_offset(loc - INS_LOC_K), 8);
        return 8;
    }
    if (loc < INS_LOC_X87)
        return get_st(state, loc - INS_LOC_ST, value);
    switch (loc) {
    case INS_LOC_X87:
        memcpy(value, state->vectors + AT_FOP, 18);
        return 18;
    case INS_LOC_X87_STATUS:
        memcpy(value, state->vectors + AT_FSW, 2);
        return 2;
    case INS_LOC_X87_CONTROL:
        memcpy(value, state->vectors + AT_FCW, 2);
        return 2;
    case INS_LOC_MXCSR_STATUS:
        value[0] = state->vectors[AT_MXCSR] & 0x3f;
        return 1;
    case INS_LOC_MXCSR_CONTROL:
        value[0] = state->vectors[AT_MXCSR] & 0xc0;
        value[1] = state->vectors[AT_MXCSR + 1];
        return 2;
    case INS_LOC_FS_BASE:
        memcpy(value, &state->regs.fs_base, 8);
        return 8;
    case INS_LOC_GS_BASE:
        memcpy(value, &state->regs.gs_base, 8);
        return 8;
    default:
        return 0;
    }
}

static bool same_vector(const struct oracle_state *a, const struct oracle_state *b, unsigned vector)
{
    for (unsigned first = 0; first < 64; first += 16) {
        unsigned offset = oracle_vector_offset(vector, first);
        if (offset && memcmp(a->vectors + offset, b->vectors + offset, 16) != 0)
            return false;
    }
    return true;
}

unsigned oracle_same_pieces(const struct oracle_state *a, const struct oracle_state *b,
                            unsigned loc)
{
    unsigned gpr = loc / INS_GPR_PIECES, piece = loc - INS_LOC_VEC;
    if (loc < INS_LOC_CF && loc % INS_GPR_PIECES == 0 && a->regs.gpr[gpr] == b->regs.gpr[gpr])
        return INS_GPR_PIECES;
    if (loc >= INS_LOC_VEC && loc < INS_LOC_K && piece % INS_VEC_PIECES == 0 &&
        same_vector(a, b, piece / INS_VEC_PIECES))
        return INS_VEC_PIECES;
    return 0;
}

static void perturb_bytes(uint8_t *bytes, unsigned size, uint64_t random)
{
    if (random & 1) { /* one bit */
        bytes[(random >> 8) % size] ^= (uint8_t)(1u << (random >> 4 & 7));
        return;
    }
    for (unsigned i = 0; i < size; i++)
        bytes[i] ^= (uint8_t)(random >> (8 + i % 7 * 8));
    bytes[0] ^= 1;
}

/* Turning TOP turns the image, so that the physical registers stay. */
static void perturb_x87_status(struct oracle_state *state, uint64_t random)
{
    uint8_t slots[128];
    unsigned old = get_u16(state->vectors + AT_FSW);
    unsigned now = old ^ ((random & 0x7f3f) | 0x100);
    unsigned turn = ((now >> 11) - (old >> 11)) & 7;
    memcpy(slots, state->vectors + AT_ST, sizeof(slots));
    for (unsigned i = 0; i < 8; i++)
        memcpy(state->vectors + AT_ST + 16 * i, slots + 16 * ((i + turn) & 7), 16);
    state->vectors[AT_FSW] = (uint8_t)now;
    state->vectors[AT_FSW + 1] = (uint8_t)(now >> 8);
}

/* Tags stay: they are bookkeeping. */
static void perturb_st(struct oracle_state *state, unsigned physical, uint64_t random)
{
    perturb_bytes(state->vectors + AT_ST + 16 * slot_of_physical(state, physical), 10, random);
}

void oracle_perturb(struct oracle_state *state, unsigned loc, uint64_t random)
{
    static const uint8_t starts[] = {0, 1, 2}, sizes[] = {1, 1, 6};
    unsigned size;
    if (loc < INS_LOC_CF) {
        uint8_t *bytes = (uint8_t *)&state->regs.gpr[loc / INS_GPR_PIECES];
        perturb_bytes(bytes + starts[loc % INS_GPR_PIECES], sizes[loc % INS_GPR_PIECES], random);
    } else if (loc < INS_LOC_VEC) {
        state->regs.rflags ^= UINT64_C(1) << flag_bits[loc - INS_LOC_CF];
    } else if (loc < INS_LOC_K) {
        unsigned offset = vector_offset(loc - INS_LOC_VEC, &size);
        perturb_bytes(state->vectors + offset, size, random);
    } else if (loc < INS_LOC_ST) {
        perturb_bytes(state->vectors + oracle_mask_offset(loc - INS_LOC_K), 8, random);
    } else if (loc < INS_LOC_X87) {
        perturb_st(state, loc - INS_LOC_ST, random);
    } else if (loc == INS_LOC_X87_STATUS) {
        perturb_x87_status(state, random);
    } else if (loc == INS_LOC_X87_CONTROL) {
        state->vectors[AT_FCW + 1] ^= (uint8_t)(1 + random % 15); /* rounding and precision */
    } else if (loc == INS_LOC_MXCSR_STATUS) {
        state->vectors[AT_MXCSR] ^= (uint8_t)(1 + random % 63);
    } else if (loc == INS_LOC_MXCSR_CONTROL) {
        if (random & 1)
            state->vectors[AT_MXCSR] ^= 0x40; /* denormals are zeros */
        else
            state->vectors[AT_MXCSR + 1] ^= (uint8_t)(0x20u << (random >> 1) % 3); /* RC, FTZ */
    } else if (loc == INS_LOC_FS_BASE) {
        state->regs.fs_base ^= 64 << (random & 7);
    } else if (loc == INS_LOC_GS_BASE) {
        state->regs.gs_base ^= 64 << (random & 7);
    }
}
