/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For one form: a random state in which its memory operands lie in the test's memory; a run; then
 * the same with one thing changed, and again. What must hold of every pair of runs that completed:
 *
 *   1. A register location outside all flows' defs and may_defs keeps its value, and memory
 *      outside the operands that flows define keeps its bytes.
 *   2. An output that differs between the two runs belongs to a flow that declares the changed
 *      input: as a use, as a byte of a memory use, or as part of a used operand's address.
 *   3. Only may_defs may also depend on their own old value.
 *
 * Exempt by the rules of insn.h: rsp and rbp as inputs of INS_FLOW_STACK, rsp as an address's base,
 * flags that the manual leaves undefined.
 */
#include "oracle_check.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "insn_format.h"

#define RANGE_BYTES_MAX 4096
#define SLOT(i)         ((uint64_t)(uintptr_t)ORACLE_MEMORY + 0x8000u + 0x1800u * (i))

struct range {
    uint64_t start, size;
};

struct outcome {
    struct oracle_state state;
    struct range written[INS_MEM_MAX]; /* size 0 when the operand is not written */
    uint8_t bytes[INS_MEM_MAX][RANGE_BYTES_MAX];
};

/* The thing that was changed: a register location, or memory that some operands cover. */
struct change {
    unsigned loc;     /* INS_LOC_COUNT for memory */
    unsigned mems;    /* operands that cover the byte */
    uint64_t address; /* for the report */
};

struct check {
    struct ins_info info;
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
    uint8_t code[ZYDIS_MAX_INSTRUCTION_LENGTH];
    uint64_t random;
    struct oracle_tally *tally;
    FILE *why;
    unsigned complaints;
    char last_complaint[160];
    int last_signal;
    struct ins_regset seen;      /* locations whose change mattered */
    struct ins_regset undefined; /* flags */
    struct ins_regset all_defs;
};

static uint64_t next_random(struct check *check)
{
    check->random ^= check->random << 13;
    check->random ^= check->random >> 7;
    check->random ^= check->random << 17;
    return check->random * UINT64_C(0x2545f4914f6cdd1d);
}

const char *oracle_verdict_name(enum oracle_verdict verdict)
{
    static const char *const names[ORACLE_VERDICTS] = {
        "right",
        "WRONG",
        "control flow",
        "traps or enters the kernel",
        "result comes from outside",
        "waits",
        "not on this processor",
        "always faults",
        "operands cannot be placed",
    };
    return names[verdict];
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

static struct range rep_range(const struct ins_mem *mem, const struct oracle_state *state,
                              uint64_t address)
{
    uint64_t count = state->regs.gpr[INS_RCX];
    if (mem->flags & INS_MEM_ADDR32)
        count = (uint32_t)count;
    if (count > ORACLE_MEMORY_BYTES)
        count = ORACLE_MEMORY_BYTES; /* it will fault */
    uint64_t size = count * mem->size_bytes;
    bool down = state->regs.rflags & 0x400;
    return (struct range){down && count != 0 ? address + mem->size_bytes - size : address, size};
}

static struct range operand_range(const struct check *check, unsigned i,
                                  const struct oracle_state *state)
{
    const struct ins_mem *mem = &check->info.mems[i];
    uint64_t address = operand_address(mem, state);
    if (mem->flags & INS_MEM_REP)
        return rep_range(mem, state, address);
    if (mem->flags & INS_MEM_SIZE_BOUND) {
        uint64_t components = 7 & (state->regs.gpr[INS_RDX] << 32 | (uint32_t)state->regs.gpr[0]);
        return (struct range){address, ins_xsave_bytes(check->info.mnemonic, components)};
    }
    return (struct range){address, mem->size_bytes};
}

static bool in_memory(const struct range *range)
{
    uint64_t start = (uint64_t)(uintptr_t)ORACLE_MEMORY;
    return range->start >= start && range->size <= ORACLE_MEMORY_BYTES &&
           range->start - start <= ORACLE_MEMORY_BYTES - range->size;
}

static bool overlap(const struct range *a, const struct range *b)
{
    return a->start < b->start + b->size && b->start < a->start + a->size;
}

/* ---- running ---- */

static bool is_defined_mem(const struct check *check, unsigned i)
{
    for (unsigned f = 0; f < check->info.flow_count; f++) {
        if ((check->info.flows[f].mem_defs | check->info.flows[f].mem_may_defs) >> i & 1)
            return true;
    }
    return false;
}

__attribute__((format(printf, 2, 3))) static void complain(struct check *check, const char *format,
                                                           ...);

/* False when the run faulted or its operands run into each other or out of reach. */
static bool run(struct check *check, const struct oracle_state *in, struct outcome *out)
{
    check->tally->runs++;
    int number = oracle_run(in, &out->state);
    if (number != 0) {
        check->tally->faults++;
        check->last_signal = number;
        return false;
    }
    for (unsigned i = 0; i < check->info.mem_count; i++) {
        out->written[i] = (struct range){0};
        if (!is_defined_mem(check, i))
            continue;
        struct range range = operand_range(check, i, in);
        if (!in_memory(&range) || range.size > RANGE_BYTES_MAX)
            return false;
        out->written[i] = range;
        memcpy(out->bytes[i], (const void *)(uintptr_t)range.start, range.size);
    }
    return true;
}

/* ---- the three claims ---- */

static void complain(struct check *check, const char *format, ...)
{
    char line[sizeof(check->last_complaint)];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (strcmp(line, check->last_complaint) == 0 || check->complaints++ >= 4)
        return;
    memcpy(check->last_complaint, line, sizeof(line));
    if (check->complaints == 1) {
        char text[160];
        ins_text(check->code, check->zi.length, (uint64_t)(uintptr_t)ORACLE_CODE, text,
                 sizeof(text));
        fprintf(check->why, "  %s\n", text);
    }
    fprintf(check->why, "    %s\n", line);
}

static bool is_stack_pointer(unsigned loc, bool or_frame)
{
    unsigned gpr = loc / INS_GPR_PIECES;
    return loc < INS_LOC_CF && (gpr == INS_RSP || (or_frame && gpr == INS_RBP));
}

static bool address_depends(const struct check *check, unsigned i, unsigned loc)
{
    if (loc == INS_LOC_COUNT)
        return false;
    struct ins_regset uses = ins_addr_uses(&check->info, i);
    return ins_regset_has(&uses, loc) ||
           (check->info.mems[i].base == INS_RSP && is_stack_pointer(loc, false));
}

static bool flow_declares(const struct check *check, const struct ins_flow *flow,
                          const struct change *change)
{
    if (change->loc != INS_LOC_COUNT && (ins_regset_has(&flow->value_uses, change->loc) ||
                                         ins_regset_has(&flow->cond_uses, change->loc)))
        return true;
    if ((flow->kinds & INS_FLOW_STACK) && is_stack_pointer(change->loc, true))
        return true;
    for (unsigned i = 0; i < check->info.mem_count; i++) {
        if ((flow->mem_uses >> i & 1) &&
            ((change->mems >> i & 1) || address_depends(check, i, change->loc)))
            return true;
    }
    return false;
}

static bool register_may_differ(const struct check *check, unsigned loc,
                                const struct change *change)
{
    for (unsigned f = 0; f < check->info.flow_count; f++) {
        const struct ins_flow *flow = &check->info.flows[f];
        bool may = ins_regset_has(&flow->may_defs, loc);
        if ((may || ins_regset_has(&flow->defs, loc)) && flow_declares(check, flow, change))
            return true;
        if (may && change->loc == loc)
            return true;
    }
    return false;
}

static bool memory_may_differ(const struct check *check, unsigned i, const struct change *change)
{
    for (unsigned f = 0; f < check->info.flow_count; f++) {
        const struct ins_flow *flow = &check->info.flows[f];
        bool may = flow->mem_may_defs >> i & 1;
        if ((may || (flow->mem_defs >> i & 1)) && flow_declares(check, flow, change))
            return true;
        if (may && ((change->mems >> i & 1) || address_depends(check, i, change->loc)))
            return true;
    }
    return false;
}

static const char *change_name(const struct change *change)
{
    static char text[40];
    if (change->loc != INS_LOC_COUNT)
        return ins_location_name(change->loc);
    snprintf(text, sizeof(text), "memory (operands %#x)", change->mems);
    return text;
}

static bool same_location(const struct oracle_state *a, const struct oracle_state *b, unsigned loc)
{
    uint8_t left[ORACLE_VALUE_MAX], right[ORACLE_VALUE_MAX];
    unsigned size = oracle_get(a, loc, left);
    oracle_get(b, loc, right);
    return memcmp(left, right, size) == 0;
}

/* Claim 1. */
static void check_untouched(struct check *check, const struct oracle_state *in,
                            const struct outcome *out)
{
    for (unsigned loc = 0; loc < INS_LOC_COUNT; loc++) {
        if (oracle_has_location(loc) && !ins_regset_has(&check->all_defs, loc) &&
            !same_location(in, &out->state, loc))
            complain(check, "%s changes, which no flow defines", ins_location_name(loc));
    }
    for (uint64_t at = 0; at < ORACLE_MEMORY_BYTES; at++) {
        if (at % 64 == 0 && memcmp(ORACLE_MEMORY + at, oracle_pristine + at, 64) == 0) {
            at += 63;
            continue;
        }
        if (ORACLE_MEMORY[at] == oracle_pristine[at])
            continue;
        struct range byte = {(uint64_t)(uintptr_t)ORACLE_MEMORY + at, 1};
        bool declared = false;
        for (unsigned i = 0; i < check->info.mem_count; i++)
            declared |= overlap(&byte, &out->written[i]);
        if (!declared)
            complain(check, "memory %#llx changes, outside every defined operand",
                     (unsigned long long)byte.start);
    }
}

static bool memory_differs(const struct outcome *a, const struct outcome *b, unsigned i)
{
    uint64_t size =
        a->written[i].size < b->written[i].size ? a->written[i].size : b->written[i].size;
    return memcmp(a->bytes[i], b->bytes[i], size) != 0;
}

/* Claims 2 and 3. Returns whether any output differed beyond the changed input itself. */
static bool check_differences(struct check *check, const struct outcome *before,
                              const struct outcome *after, const struct change *change)
{
    bool mattered = false;
    for (unsigned loc = 0; loc < INS_LOC_COUNT; loc++) {
        if (!oracle_has_location(loc) || ins_regset_has(&check->undefined, loc) ||
            !ins_regset_has(&check->all_defs, loc) ||
            same_location(&before->state, &after->state, loc))
            continue;
        mattered = true;
        if (!register_may_differ(check, loc, change))
            complain(check, "%s depends on %s, which its flows do not use", ins_location_name(loc),
                     change_name(change));
    }
    for (unsigned i = 0; i < check->info.mem_count; i++) {
        if (!memory_differs(before, after, i))
            continue;
        mattered = true;
        if (!memory_may_differ(check, i, change))
            complain(check, "memory operand %u depends on %s, which its flows do not use", i,
                     change_name(change));
    }
    return mattered;
}

/* An address that moves a written operand onto another one changes what is read: not our case. */
static bool operands_collide(const struct check *check, const struct oracle_state *in)
{
    for (unsigned i = 0; i < check->info.mem_count; i++) {
        struct range a = operand_range(check, i, in);
        for (unsigned k = i + 1; k < check->info.mem_count; k++) {
            struct range b = operand_range(check, k, in);
            if (overlap(&a, &b))
                return true;
        }
    }
    return false;
}

/* ---- random states ---- */

static uint64_t random_value(struct check *check, const struct oracle_state *state)
{
    static const uint64_t corners[] = {0,          1,         UINT64_MAX,          0x7fffffff,
                                       0x80000000, INT64_MAX, (uint64_t)INT64_MIN, 0x8080,
                                       0x100000000};
    uint64_t random = next_random(check);
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

static void random_vector(struct check *check, uint8_t *bytes, unsigned size)
{
    uint64_t kind = next_random(check) % 8;
    for (unsigned at = 0; at < size; at += 8) {
        uint64_t random = next_random(check);
        double number = (double)(int64_t)(random & 0xffff) / 7.0 - 3000.0;
        float halves[2] = {(float)number, (float)(random >> 50)};
        if (kind < 2)
            memcpy(bytes + at, halves, 8);
        else if (kind < 4)
            memcpy(bytes + at, &number, 8);
        else if (kind == 4)
            memset(bytes + at, 0, 8);
        else if (kind == 5)
            memcpy(bytes + at, &(uint64_t){random & 0x000f000f000f000f}, 8);
        else
            memcpy(bytes + at, &random, 8);
    }
}

/* Pseudo-denormals and the like are legal, but finite numbers say more. */
static void random_x87(struct check *check, struct oracle_state *state)
{
    uint8_t *image = state->vectors;
    uint64_t random = next_random(check);
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
        uint64_t mantissa = next_random(check) | UINT64_C(1) << 63;
        uint64_t bits = next_random(check);
        unsigned exponent = 0x3fff + (unsigned)(bits & 15) - 4;
        exponent |= bits & 16 ? 0x8000u : 0;
        memcpy(image + 32 + 16 * i, &mantissa, 8);
        image[32 + 16 * i + 8] = (uint8_t)exponent;
        image[32 + 16 * i + 9] = (uint8_t)(exponent >> 8);
    }
}

static void random_vectors(struct check *check, struct oracle_state *state)
{
    memset(state->vectors, 0, sizeof(state->vectors));
    random_x87(check, state);
    uint64_t random = next_random(check);
    unsigned mxcsr = 0x1f80 | (random & 0x3f);
    if (random & 0x100)
        mxcsr |= random & 0xe040;
    if (random & 0x200)
        mxcsr &= ~0x3fu;
    memcpy(state->vectors + 24, &mxcsr, 4);
    state->vectors[512] = 7; /* XSTATE_BV */
    for (unsigned vector = 0; vector < 16; vector++) {
        random_vector(check, state->vectors + 160 + 16 * vector, 16);
        random_vector(check, state->vectors + 576 + 16 * vector, 16);
    }
}

static void random_memory(struct check *check)
{
    uint64_t kind = next_random(check) % 4;
    for (unsigned at = 0; at < ORACLE_MEMORY_BYTES; at += 8) {
        uint64_t random = next_random(check);
        if (kind == 0)
            random &= 0x0101010101010101;
        memcpy(oracle_pristine + at, &random, 8);
    }
}

/* ---- pointing operands at the test's memory ---- */

/* 4-byte displacements without a base (rip-relative and absolute) are rewritten in the code. */
static bool redirect_displacement(struct check *check, unsigned mem_index, uint64_t fs_gs_base)
{
    const ZydisDecodedInstruction *zi = &check->zi;
    struct ins_mem *mem = &check->info.mems[mem_index];
    uint64_t wanted = SLOT(mem_index) - fs_gs_base, value = wanted;
    bool relative = false;
    for (unsigned i = 0; i < zi->operand_count; i++) {
        const ZydisDecodedOperand *op = &check->ops[i];
        relative |= op->type == ZYDIS_OPERAND_TYPE_MEMORY &&
                    (op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP);
    }
    if (relative)
        value -= (uint64_t)(uintptr_t)ORACLE_CODE + zi->length;
    unsigned bytes = zi->raw.disp.size / 8;
    if (bytes != 4 && bytes != 8)
        return false;
    memcpy(check->code + zi->raw.disp.offset, &value, bytes);
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
static void place_vector_index(struct check *check, const struct ins_mem *mem,
                               struct oracle_state *state)
{
    unsigned step = mem->flags & INS_MEM_VSIB32 ? 4 : 8;
    for (unsigned at = 0; at < 32; at += step) {
        uint64_t value = next_random(check) % 200;
        uint8_t *half = state->vectors + (at < 16 ? 160 : 576) + 16 * (unsigned)mem->index;
        memcpy(half + at % 16, &value, step);
    }
}

static void place_base_and_index(struct check *check, unsigned i, struct oracle_state *state)
{
    const struct ins_mem *mem = &check->info.mems[i];
    uint64_t *gpr = state->regs.gpr;
    uint64_t slot = SLOT(i) + (next_random(check) & 3) * 64 - segment_base(mem, state);
    uint64_t offset = (uint64_t)mem->disp;
    bool vector_index = mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64);
    if (vector_index) {
        place_vector_index(check, mem, state);
    } else if (mem->index >= 0 && mem->index == mem->base) {
        gpr[mem->index] = (slot - offset) / (1u + mem->scale);
        return;
    } else if (mem->index >= 0 && mem->base < 0) {
        gpr[mem->index] = (slot - offset) / mem->scale;
        return;
    } else if (mem->flags & INS_MEM_INDEX_BYTE) {
        offset += gpr[mem->index] & 0xff;
    } else if (mem->index >= 0) {
        gpr[mem->index] = next_random(check) % 16 * 64;
        offset += gpr[mem->index] * mem->scale;
    }
    gpr[mem->base] = slot - offset;
    if ((mem->flags & INS_MEM_ADDR32) && !(mem->flags & (INS_MEM_FS | INS_MEM_GS)))
        gpr[mem->base] = (uint32_t)gpr[mem->base] | next_random(check) << 32;
}

static bool place_operand(struct check *check, unsigned i, struct oracle_state *state)
{
    const struct ins_mem *mem = &check->info.mems[i];
    uint64_t *gpr = state->regs.gpr;
    if (mem->bit_reg >= 0 && mem->bit_reg != mem->base && mem->bit_reg != mem->index)
        gpr[mem->bit_reg] = (uint64_t)((int64_t)(next_random(check) % 8192) - 4096);
    if (mem->base < 0 && (mem->index < 0 || mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64)))
        return mem->index < 0 && redirect_displacement(check, i, segment_base(mem, state));
    place_base_and_index(check, i, state);
    return true;
}

/* Instructions without memory operands in our view may still look at an address: prefetches and
 * cache-line instructions, which fault on unmapped pages. */
static void give_addresses(struct check *check, struct oracle_state *state)
{
    for (unsigned i = 0; i < 16 && check->info.mem_count == 0 && check->info.flow_count == 0; i++)
        state->regs.gpr[i] = SLOT(0) - (uint64_t)check->zi.raw.disp.value;
}

/* Values that the instruction needs in memory or in rcx so as not to fault or run for long. */
static void settle_special(struct check *check, struct oracle_state *state)
{
    uint8_t *slot = oracle_pristine;
    uint64_t address = operand_address(&check->info.mems[0], state);
    struct range range = {address, 1100};
    if (check->info.flags & INS_IS_REP)
        state->regs.gpr[INS_RCX] = next_random(check) % 12;
    if (check->info.mem_count == 0 || !in_memory(&range))
        return;
    slot += address - (uint64_t)(uintptr_t)ORACLE_MEMORY;
    switch (check->zi.mnemonic) {
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
        random_vectors(check, &other);
        memcpy(slot, other.vectors, sizeof(other.vectors));
        break;
    }
    default:
        if (next_random(check) & 1)
            memcpy(slot, &state->regs.gpr[INS_RAX], 8);
        if (check->info.mems[0].size_bytes == 16 && (next_random(check) & 1))
            memcpy(slot + 8, &state->regs.gpr[INS_RDX], 8);
        break;
    }
}

static bool random_state(struct check *check, struct oracle_state *state)
{
    memset(state, 0, sizeof(*state));
    for (unsigned i = 0; i < 16; i++)
        state->regs.gpr[i] = random_value(check, state);
    if (next_random(check) & 1)
        state->regs.gpr[INS_RDX] = 0; /* so that divisions complete */
    state->regs.rflags = 0x202 | (next_random(check) & 0xcd5);
    state->regs.fs_base = 0x4000;
    state->regs.gs_base = 0x6000;
    random_vectors(check, state);
    random_memory(check);
    for (unsigned i = check->info.mem_count; i-- > 0;) {
        if (!place_operand(check, i, state))
            return false;
    }
    give_addresses(check, state);
    settle_special(check, state);
    oracle_set_code(check->code, check->zi.length);
    return true;
}

/* ---- one change after another ---- */

static bool is_address_register(const struct check *check, unsigned loc)
{
    for (unsigned i = 0; i < check->info.mem_count; i++) {
        if (address_depends(check, i, loc))
            return true;
    }
    return false;
}

/* Half of the changes of an address keep its alignment and stay in reach. */
static void change_register(struct check *check, struct oracle_state *state, unsigned loc)
{
    static const uint8_t shifts[] = {6, 8, 16};
    uint64_t random = next_random(check);
    if (loc < INS_LOC_CF && is_address_register(check, loc) && (random & 3) != 0)
        state->regs.gpr[loc / 3] ^= (1 + (loc % 3 == 2 ? 0 : random >> 8 & 3)) << shifts[loc % 3] &
                                    (loc % 3 == 0 ? 0xff : UINT64_MAX);
    else
        oracle_perturb(state, loc, random);
}

static void try_register(struct check *check, const struct oracle_state *in,
                         const struct outcome *before, unsigned loc)
{
    static struct outcome after;
    struct oracle_state changed = *in;
    struct change change = {.loc = loc};
    change_register(check, &changed, loc);
    if (same_location(in, &changed, loc) || operands_collide(check, &changed) ||
        !run(check, &changed, &after))
        return;
    check_untouched(check, &changed, &after);
    if (check_differences(check, before, &after, &change))
        ins_regset_add(&check->seen, loc);
}

static unsigned covering_operands(const struct check *check, const struct oracle_state *in,
                                  uint64_t address)
{
    unsigned mems = 0;
    for (unsigned i = 0; i < check->info.mem_count; i++) {
        struct range range = operand_range(check, i, in), byte = {address, 1};
        bool scattered = check->info.mems[i].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64);
        if (scattered || overlap(&range, &byte))
            mems |= 1u << i;
    }
    return mems;
}

static void try_memory(struct check *check, const struct oracle_state *in,
                       const struct outcome *before, uint64_t address)
{
    static struct outcome after;
    uint64_t at = address - (uint64_t)(uintptr_t)ORACLE_MEMORY;
    uint8_t old = oracle_pristine[at];
    struct change change = {
        .loc = INS_LOC_COUNT, .mems = covering_operands(check, in, address), .address = address};
    oracle_pristine[at] ^= (uint8_t)(1u << (next_random(check) & 7));
    if (run(check, in, &after)) {
        check_untouched(check, in, &after);
        check_differences(check, before, &after, &change);
    }
    oracle_pristine[at] = old;
}

/* The range of an operand; of a list of addresses, what place_vector_index lets it reach. */
static struct range reachable_range(const struct check *check, unsigned i,
                                    const struct oracle_state *in)
{
    struct range range = operand_range(check, i, in);
    if (check->info.mems[i].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64))
        range.size = 200 * check->info.mems[i].scale + 8;
    return range;
}

static void try_operand_bytes(struct check *check, const struct oracle_state *in,
                              const struct outcome *before, unsigned i)
{
    struct range range = reachable_range(check, i, in);
    if (!in_memory(&range) || range.size == 0)
        return;
    unsigned count = range.size <= 8 ? (unsigned)range.size : 12;
    for (unsigned k = 0; k < count; k++)
        try_memory(check, in, before,
                   range.start + (range.size <= 8 ? k : next_random(check) % range.size));
}

/* All memory that no operand covers: nothing may depend on it. */
static void try_other_memory(struct check *check, const struct oracle_state *in,
                             const struct outcome *before)
{
    static struct outcome after;
    static uint8_t kept[ORACLE_MEMORY_BYTES];
    struct change change = {.loc = INS_LOC_COUNT};
    memcpy(kept, oracle_pristine, sizeof(kept));
    for (uint64_t at = 0; at < ORACLE_MEMORY_BYTES; at++)
        oracle_pristine[at] ^= 0x5a;
    for (unsigned i = 0; i < check->info.mem_count; i++) {
        struct range range = reachable_range(check, i, in);
        uint64_t at = range.start - (uint64_t)(uintptr_t)ORACLE_MEMORY;
        if (in_memory(&range))
            memcpy(oracle_pristine + at, kept + at, range.size);
    }
    if (run(check, in, &after))
        check_differences(check, before, &after, &change);
    memcpy(oracle_pristine, kept, sizeof(kept));
}

static bool try_state(struct check *check, const struct oracle_state *in)
{
    static struct outcome before;
    if (operands_collide(check, in) && check->info.mem_count > 1 &&
        !(check->info.mems[0].flags & check->info.mems[1].flags & INS_MEM_STACK))
        return false;
    if (!run(check, in, &before))
        return false;
    check_untouched(check, in, &before);
    for (unsigned loc = 0; loc < INS_LOC_COUNT; loc++) {
        for (unsigned k = 0; k < 2 && oracle_has_location(loc); k++)
            try_register(check, in, &before, loc);
    }
    for (unsigned i = 0; i < check->info.mem_count; i++)
        try_operand_bytes(check, in, &before, i);
    try_other_memory(check, in, &before);
    return true;
}

/* ---- forms ---- */

static enum oracle_verdict reason_to_skip(const struct check *check)
{
    switch (check->info.klass) {
    case INS_JCC:
    case INS_JMP:
    case INS_JMP_INDIRECT:
    case INS_CALL:
    case INS_CALL_INDIRECT:
    case INS_RET:
        return ORACLE_CONTROL_FLOW;
    case INS_SYSCALL:
    case INS_TRAP:
    case INS_FAR:
        return ORACLE_KERNEL;
    case INS_CPUID:
    case INS_RDTSC:
    case INS_RDRAND:
    case INS_RDPID:
        return ORACLE_INPUT;
    default:
        break;
    }
    switch (check->zi.mnemonic) {
    case ZYDIS_MNEMONIC_MONITORX:
    case ZYDIS_MNEMONIC_MWAITX:
    case ZYDIS_MNEMONIC_UMONITOR:
    case ZYDIS_MNEMONIC_UMWAIT:
    case ZYDIS_MNEMONIC_TPAUSE:
        return ORACLE_WAITS;
    default:
        return check->zi.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX &&
                       !__builtin_cpu_supports("avx512f")
                   ? ORACLE_NO_CPU
                   : ORACLE_RIGHT;
    }
}

static void find_undefined_flags(struct check *check)
{
    static const uint32_t bits[] = {ZYDIS_CPUFLAG_CF, ZYDIS_CPUFLAG_PF, ZYDIS_CPUFLAG_AF,
                                    ZYDIS_CPUFLAG_ZF, ZYDIS_CPUFLAG_SF, ZYDIS_CPUFLAG_OF};
    if (check->zi.cpu_flags == NULL)
        return;
    for (unsigned i = 0; i < 6; i++) {
        if (check->zi.cpu_flags->undefined & bits[i])
            ins_regset_add(&check->undefined, INS_LOC_CF + i);
    }
}

static bool setup(struct check *check, const struct oracle_form *form)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (ZYAN_FAILED(
            ZydisDecoderDecodeFull(&decoder, form->code, form->length, &check->zi, check->ops)) ||
        ins_decode(form->code, form->length, (uint64_t)(uintptr_t)ORACLE_CODE, &check->info) != 0)
        return false;
    memcpy(check->code, form->code, form->length);
    check->all_defs = ins_all_defs(&check->info);
    find_undefined_flags(check);
    return true;
}

static void report(struct check *check, const struct oracle_form *form, bool list_unseen)
{
    char text[2048];
    struct ins_regset declared = ins_all_uses(&check->info), unseen;
    ins_text(form->code, form->length, (uint64_t)(uintptr_t)ORACLE_CODE, text, sizeof(text));
    unseen = declared;
    ins_regset_remove(&unseen, &check->seen);
    for (unsigned loc = 0; loc < INS_LOC_COUNT; loc++) {
        bool counted = ins_regset_has(&declared, loc) && oracle_has_location(loc);
        check->tally->uses_declared += counted;
        check->tally->uses_seen += counted && ins_regset_has(&check->seen, loc);
    }
    if (list_unseen && !ins_regset_is_empty(&unseen)) {
        char set[1024];
        insn_format_set(&unseen, set, sizeof(set));
        fprintf(stderr, "never mattered: %-40s %s\n", text, set);
    }
}

enum oracle_verdict oracle_check(const struct oracle_form *form, unsigned trials, uint64_t seed,
                                 struct oracle_tally *tally, FILE *why, bool list_unseen)
{
    struct check check = {.random = (form->key ^ seed) | 1, .tally = tally, .why = why};
    struct oracle_state state;
    unsigned completed = 0;
    if (!setup(&check, form)) {
        fprintf(why, "  a form that decoded before does not decode now\n");
        return ORACLE_WRONG;
    }
    enum oracle_verdict verdict = reason_to_skip(&check);
    if (verdict != ORACLE_RIGHT)
        return verdict;
    for (unsigned attempt = 0; attempt < trials * 16 && completed < trials; attempt++) {
        if (!random_state(&check, &state))
            return ORACLE_NO_STATE;
        completed += try_state(&check, &state);
    }
    if (completed == 0)
        return check.last_signal == SIGILL ? ORACLE_NO_CPU : ORACLE_FAULTS;
    report(&check, form, list_unseen);
    return check.complaints != 0 ? ORACLE_WRONG : ORACLE_RIGHT;
}
