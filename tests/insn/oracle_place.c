/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random register states and memory in which an instruction's operands can be reached. */
#include <string.h>

#include "oracle_case.h"
#include "recorder/insn/insn_ranges.h"

#define SLOT(i) ((uint64_t)(uintptr_t)ORACLE_MEMORY + 0x8000u + 0x1800u * (i))

uint64_t oracle_random(struct oracle_case *at)
{
    at->random ^= at->random << 13;
    at->random ^= at->random >> 7;
    at->random ^= at->random << 17;
    return at->random * UINT64_C(0x2545f4914f6cdd1d);
}

/* ---- where operands are ---- */

static uint64_t register_value(const struct oracle_state *state, int gpr)
{
    return gpr >= 0 ? state->regs.gpr[gpr] : 0;
}

static int64_t bit_offset_bytes(const struct ins_mem *mem, const struct oracle_state *state)
{
    if (mem->bit_reg < 0)
        return 0;
    uint64_t value = state->regs.gpr[mem->bit_reg];
    switch (mem->size_bytes) {
    case 2:
        return (int64_t)((int16_t)value >> 4) * 2;
    case 4:
        return (int64_t)((int32_t)value >> 5) * 4;
    default:
        return ((int64_t)value >> 6) * 8;
    }
}

/* The address as insn.h defines it, without vector indices. */
static uint64_t operand_address(const struct ins_mem *mem, const struct oracle_state *state)
{
    uint64_t index = 0;
    if (!(mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64)))
        index = register_value(state, mem->index);
    if (mem->flags & INS_MEM_INDEX_BYTE)
        index &= 0xff;
    uint64_t address = register_value(state, mem->base) + index * mem->scale + (uint64_t)mem->disp;
    address += (uint64_t)bit_offset_bytes(mem, state);
    if (mem->flags & INS_MEM_ADDR32)
        address = (uint32_t)address;
    if (mem->flags & INS_MEM_FS)
        address += state->regs.fs_base;
    if (mem->flags & INS_MEM_GS)
        address += state->regs.gs_base;
    if (mem->flags & INS_MEM_LINE)
        address &= ~UINT64_C(63);
    return address;
}

static struct oracle_range rep_range(const struct ins_mem *mem, const struct oracle_state *state,
                                     uint64_t address)
{
    uint64_t count = state->regs.gpr[INS_RCX];
    if (mem->flags & INS_MEM_ADDR32)
        count = (uint32_t)count;
    if (count > ORACLE_MEMORY_BYTES)
        count = ORACLE_MEMORY_BYTES; /* it will fault */
    uint64_t size = count * mem->size_bytes;
    bool down = state->regs.rflags & 0x400;
    return (struct oracle_range){down && count != 0 ? address + mem->size_bytes - size : address,
                                 size};
}

struct oracle_range oracle_operand_range(const struct oracle_case *at, unsigned i,
                                         const struct oracle_state *state)
{
    const struct ins_mem *mem = &at->info.mems[i];
    uint64_t address = operand_address(mem, state);
    if (mem->flags & INS_MEM_REP)
        return rep_range(mem, state, address);
    if (mem->flags & INS_MEM_SIZE_BOUND) {
        uint64_t components =
            oracle_components & (state->regs.gpr[INS_RDX] << 32 | (uint32_t)state->regs.gpr[0]);
        return (struct oracle_range){address, ins_xsave_bytes(at->info.mnemonic, components)};
    }
    return (struct oracle_range){address, mem->size_bytes};
}

bool oracle_in_memory(const struct oracle_range *range)
{
    uint64_t start = (uint64_t)(uintptr_t)ORACLE_MEMORY;
    return range->start >= start && range->size <= ORACLE_MEMORY_BYTES &&
           range->start - start <= ORACLE_MEMORY_BYTES - range->size;
}

bool oracle_overlap(const struct oracle_range *a, const struct oracle_range *b)
{
    return a->start < b->start + b->size && b->start < a->start + a->size;
}

/* The range of an operand; of a list of addresses, what place_vector_index lets it reach. */
struct oracle_range oracle_reachable_range(const struct oracle_case *at, unsigned i,
                                           const struct oracle_state *in)
{
    struct oracle_range range = oracle_operand_range(at, i, in);
    if (at->info.mems[i].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64))
        range.size = 200 * at->info.mems[i].scale + 8;
    return range;
}

static void vector_image(const struct oracle_state *state, unsigned vector, uint64_t image[8])
{
    for (unsigned i = 0; i < 8; i++) {
        unsigned offset = oracle_vector_offset(vector, 8 * i);
        image[i] = 0;
        if (offset)
            memcpy(&image[i], state->vectors + offset, 8);
    }
}

unsigned oracle_lanes(const struct oracle_case *at, unsigned i, const struct oracle_state *state,
                      struct oracle_range lanes[ORACLE_LANES_MAX])
{
    const struct ins_mem *mem = &at->info.mems[i];
    uint64_t slots[INS_MEM_MAX + 16] = {0};
    struct ins_range ranges[INS_RANGES_MAX];
    slots[i] = operand_address(mem, state);
    vector_image(state, (unsigned)mem->index, slots + i + 1);
    if (mem->flags & INS_MEM_K)
        memcpy(slots + i + 9, state->vectors + oracle_mask_offset((unsigned)mem->mask), 8);
    else
        vector_image(state, (unsigned)mem->mask, slots + i + 9);
    unsigned count = ins_operand_ranges(&at->info, i, slots, ranges);
    for (unsigned k = 0; k < count; k++)
        lanes[k] = (struct oracle_range){ranges[k].address, ranges[k].size_bytes};
    return count;
}

/* ---- random states ---- */

static uint64_t random_value(struct oracle_case *at, const struct oracle_state *state)
{
    static const uint64_t corners[] = {0,          1,         UINT64_MAX,          0x7fffffff,
                                       0x80000000, INT64_MAX, (uint64_t)INT64_MIN, 0x8080,
                                       0x100000000};
    uint64_t random = oracle_random(at);
    switch (random >> 60) {
    case 0:
    case 1:
    case 2:
        return random & 0xff;
    case 3:
    case 4:
        return corners[(random >> 8) % (sizeof(corners) / sizeof(corners[0]))];
    case 5:
    case 6:
        return state->regs.gpr[random & 15];
    case 7:
        return (uint64_t)(int64_t)(int32_t)random;
    case 8:
        return 0;
    case 9: /* so that an undeclared memory operand is found out */
        return SLOT(random & 3) + (random >> 8 & 0xff);
    default:
        return random;
    }
}

static void random_vector(struct oracle_case *at, uint8_t *bytes, unsigned size)
{
    uint64_t kind = oracle_random(at) % 8;
    for (unsigned k = 0; k < size; k += 8) {
        uint64_t random = oracle_random(at);
        double number = (double)(int64_t)(random & 0xffff) / 7.0 - 3000.0;
        float halves[2] = {(float)number, (float)(random >> 50)};
        if (kind < 2)
            memcpy(bytes + k, halves, 8);
        else if (kind < 4)
            memcpy(bytes + k, &number, 8);
        else if (kind == 4)
            memset(bytes + k, 0, 8);
        else if (kind == 5)
            memcpy(bytes + k, &(uint64_t){random & 0x000f000f000f000f}, 8);
        else
            memcpy(bytes + k, &random, 8);
    }
}

/* Pseudo-denormals and the like are legal, but finite numbers say more. */
static void random_x87(struct oracle_case *at, struct oracle_state *state)
{
    uint8_t *image = state->vectors;
    uint64_t random = oracle_random(at);
    unsigned control = 0x37f & ~0x300u;
    control |= (random & 1 ? 3u : 2u) << 8 | (random >> 1 & 3) << 10;
    unsigned status = random >> 8 & 0x7f3f;
    if (random & 8)
        status &= 0x7f00;
    image[0] = (uint8_t)control;
    image[1] = (uint8_t)(control >> 8);
    image[2] = (uint8_t)status;
    image[3] = (uint8_t)(status >> 8);
    image[4] = random & 16 ? 0xff : (uint8_t)(random >> 24);
    for (unsigned i = 0; i < 8; i++) {
        uint64_t mantissa = oracle_random(at) | UINT64_C(1) << 63;
        uint64_t bits = oracle_random(at);
        unsigned exponent = 0x3fff + (unsigned)(bits & 15) - 4;
        exponent |= bits & 16 ? 0x8000u : 0;
        memcpy(image + 32 + 16 * i, &mantissa, 8);
        image[32 + 16 * i + 8] = (uint8_t)exponent;
        image[32 + 16 * i + 9] = (uint8_t)(exponent >> 8);
    }
}

/* Few masks choose nothing, and some everything, or a mask of 64 lanes would never be one. */
static void random_avx512(struct oracle_case *at, struct oracle_state *state)
{
    for (unsigned vector = 0; vector < 16; vector++)
        random_vector(at, state->vectors + oracle_vector_offset(vector, 32), 32);
    for (unsigned vector = 16; vector < 32; vector++)
        random_vector(at, state->vectors + oracle_vector_offset(vector, 0), 64);
    for (unsigned k = 0; k < 8; k++) {
        uint64_t mask = oracle_random(at);
        if (oracle_random(at) % 4 == 0)
            mask = UINT64_MAX;
        memcpy(state->vectors + oracle_mask_offset(k), &mask, 8);
    }
}

static void random_vectors(struct oracle_case *at, struct oracle_state *state)
{
    memset(state->vectors, 0, sizeof(state->vectors));
    random_x87(at, state);
    uint64_t random = oracle_random(at);
    unsigned mxcsr = 0x1f80 | (random & 0x3f);
    if (random & 0x100)
        mxcsr |= random & 0xe040;
    if (random & 0x200)
        mxcsr &= ~0x3fu;
    memcpy(state->vectors + 24, &mxcsr, 4);
    memcpy(state->vectors + 512, &oracle_components, 4); /* XSTATE_BV */
    for (unsigned vector = 0; vector < 16; vector++) {
        random_vector(at, state->vectors + 160 + 16 * vector, 16);
        random_vector(at, state->vectors + 576 + 16 * vector, 16);
    }
    if (oracle_has_avx512())
        random_avx512(at, state);
}

static void random_memory(struct oracle_case *at)
{
    uint64_t kind = oracle_random(at) % 4;
    for (unsigned k = 0; k < ORACLE_MEMORY_BYTES; k += 8) {
        uint64_t random = oracle_random(at);
        if (kind == 0)
            random &= 0x0101010101010101;
        memcpy(oracle_pristine + k, &random, 8);
    }
}

/* ---- pointing operands at the test's memory ---- */

/* 4-byte displacements without a base (rip-relative and absolute) are rewritten in the code. */
static bool redirect_displacement(struct oracle_case *at, unsigned mem_index, uint64_t fs_gs_base)
{
    const ZydisDecodedInstruction *zi = &at->zi;
    struct ins_mem *mem = &at->info.mems[mem_index];
    uint64_t wanted = SLOT(mem_index) - fs_gs_base, value = wanted;
    bool relative = false;
    for (unsigned i = 0; i < zi->operand_count; i++) {
        const ZydisDecodedOperand *op = &at->ops[i];
        relative |= op->type == ZYDIS_OPERAND_TYPE_MEMORY &&
                    (op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP);
    }
    if (relative)
        value -= (uint64_t)(uintptr_t)ORACLE_CODE + zi->length;
    unsigned bytes = zi->raw.disp.size / 8;
    if (bytes != 4 && bytes != 8)
        return false;
    memcpy(at->code + zi->raw.disp.offset, &value, bytes);
    mem->disp = (int64_t)wanted;
    return true;
}

static uint64_t segment_base(const struct ins_mem *mem, const struct oracle_state *state)
{
    return mem->flags & INS_MEM_FS   ? state->regs.fs_base
           : mem->flags & INS_MEM_GS ? state->regs.gs_base
                                     : 0;
}

/* Small vector indices, so that base + index * scale stays in reach. */
static void place_vector_index(struct oracle_case *at, const struct ins_mem *mem,
                               struct oracle_state *state)
{
    unsigned step = mem->flags & INS_MEM_VSIB32 ? 4 : 8;
    for (unsigned k = 0; k < 64; k += step) {
        uint64_t value = oracle_random(at) % 200;
        unsigned offset = oracle_vector_offset((unsigned)mem->index, k);
        if (offset)
            memcpy(state->vectors + offset, &value, step);
    }
}

static void place_base_and_index(struct oracle_case *at, unsigned i, struct oracle_state *state)
{
    const struct ins_mem *mem = &at->info.mems[i];
    uint64_t *gpr = state->regs.gpr;
    uint64_t slot = SLOT(i) + (oracle_random(at) & 3) * 64 - segment_base(mem, state);
    uint64_t offset = (uint64_t)mem->disp;
    bool vector_index = mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64);
    if (vector_index) {
        place_vector_index(at, mem, state);
    } else if (mem->index >= 0 && mem->index == mem->base) {
        gpr[mem->index] = (slot - offset) / (1u + mem->scale);
        return;
    } else if (mem->index >= 0 && mem->base < 0) {
        gpr[mem->index] = (slot - offset) / mem->scale;
        return;
    } else if (mem->flags & INS_MEM_INDEX_BYTE) {
        offset += gpr[mem->index] & 0xff;
    } else if (mem->index >= 0) {
        gpr[mem->index] = oracle_random(at) % 16 * 64;
        offset += gpr[mem->index] * mem->scale;
    }
    gpr[mem->base] = slot - offset;
    if ((mem->flags & INS_MEM_ADDR32) && !(mem->flags & (INS_MEM_FS | INS_MEM_GS)))
        gpr[mem->base] = (uint32_t)gpr[mem->base] | oracle_random(at) << 32;
}

static bool place_operand(struct oracle_case *at, unsigned i, struct oracle_state *state)
{
    const struct ins_mem *mem = &at->info.mems[i];
    uint64_t *gpr = state->regs.gpr;
    if (mem->bit_reg >= 0 && mem->bit_reg != mem->base && mem->bit_reg != mem->index)
        gpr[mem->bit_reg] = (uint64_t)((int64_t)(oracle_random(at) % 8192) - 4096);
    if (mem->base < 0 && (mem->index < 0 || mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64)))
        return mem->index < 0 && redirect_displacement(at, i, segment_base(mem, state));
    place_base_and_index(at, i, state);
    return true;
}

/* Instructions without memory operands in our view may still look at an address: prefetches and
 * cache-line instructions, which fault on unmapped pages. */
static void give_addresses(struct oracle_case *at, struct oracle_state *state)
{
    for (unsigned i = 0; i < 16 && at->info.mem_count == 0 && at->info.flow_count == 0; i++)
        state->regs.gpr[i] = SLOT(0) - (uint64_t)at->zi.raw.disp.value;
}

/* Values that the instruction needs in memory or in rcx so as not to fault or run for long. */
static void settle_special(struct oracle_case *at, struct oracle_state *state)
{
    uint8_t *slot = oracle_pristine;
    uint64_t address = operand_address(&at->info.mems[0], state);
    struct oracle_range range = {address, ORACLE_XSAVE_BYTES};
    if (at->info.flags & INS_IS_REP)
        state->regs.gpr[INS_RCX] = oracle_random(at) % 12;
    if (at->info.mem_count == 0 || !oracle_in_memory(&range))
        return;
    slot += address - (uint64_t)(uintptr_t)ORACLE_MEMORY;
    switch (at->zi.mnemonic) {
    case ZYDIS_MNEMONIC_LDMXCSR:
    case ZYDIS_MNEMONIC_VLDMXCSR:
        slot[2] = slot[3] = 0;
        slot[1] |= 0x1f;
        slot[0] |= 0x80;
        break;
    case ZYDIS_MNEMONIC_FLDCW:
    case ZYDIS_MNEMONIC_FLDENV:
    case ZYDIS_MNEMONIC_FRSTOR:
        slot[0] |= 0x7f;
        break;
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
        slot[1] &= 0x0e;
        slot[2] = 0;
        break;
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64: {
        struct oracle_state other;
        random_vectors(at, &other);
        memcpy(slot, other.vectors, sizeof(other.vectors));
        break;
    }
    default:
        if (oracle_random(at) & 1)
            memcpy(slot, &state->regs.gpr[INS_RAX], 8);
        if (at->info.mems[0].size_bytes == 16 && (oracle_random(at) & 1))
            memcpy(slot + 8, &state->regs.gpr[INS_RDX], 8);
        break;
    }
}

bool oracle_random_state(struct oracle_case *at, struct oracle_state *state)
{
    memset(state, 0, sizeof(*state));
    for (unsigned i = 0; i < 16; i++)
        state->regs.gpr[i] = random_value(at, state);
    if (oracle_random(at) & 1)
        state->regs.gpr[INS_RDX] = 0; /* so that divisions complete */
    state->regs.rflags = 0x202 | (oracle_random(at) & 0xcd5);
    state->regs.fs_base = 0x4000;
    state->regs.gs_base = 0x6000;
    random_vectors(at, state);
    random_memory(at);
    for (unsigned i = at->info.mem_count; i-- > 0;) {
        if (!place_operand(at, i, state))
            return false;
    }
    give_addresses(at, state);
    settle_special(at, state);
    oracle_pristine_is_new();
    oracle_set_code(at->code, at->zi.length);
    return true;
}
