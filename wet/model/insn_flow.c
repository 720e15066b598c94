/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Graphs of functions are made of all their code, of which a slice looks at few places: a fifth of
 * a slice of cc1 went into Zydis. So the most common instructions are told by tables; the test
 * compares them with Zydis, all of them.
 */
#include "wet/model/insn_flow.h"

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <string.h>

static enum mdl_insn_kind kind_of(const ZydisDecodedInstruction *raw)
{
    switch (raw->mnemonic) {
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
        return MDL_INSN_STOP;
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_INT3:
        return MDL_INSN_NOP;
    default:
        break;
    }
    switch (raw->meta.category) {
    case ZYDIS_CATEGORY_CALL:
        return MDL_INSN_CALL;
    case ZYDIS_CATEGORY_COND_BR:
        return MDL_INSN_BRANCH;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return MDL_INSN_JUMP;
    case ZYDIS_CATEGORY_RET:
        return MDL_INSN_RETURN;
    default:
        return MDL_INSN_PLAIN;
    }
}

/* ---- what most code is made of ---- */

enum shape {
    SHAPE_OTHER, /* not told here */
    SHAPE_BARE,  /* the opcode alone */
    SHAPE_MODRM,
    SHAPE_MEMORY, /* ModRM, which names no register */
    SHAPE_SHIFT,  /* ModRM with an operation but the sixth, which is undocumented */
    SHAPE_STEP,   /* ModRM with inc or dec */
    SHAPE_MOVE,   /* ModRM with operation 0 */
    SHAPE_IMMEDIATE,
    SHAPE_BRANCH,
    SHAPE_JUMP,
    SHAPE_CALL,
    SHAPE_RETURN,
};

struct form {
    uint8_t shape;     /* enum shape */
    uint8_t immediate; /* its bytes, or those of a relative target */
};

#define ALU(op)                                                                                    \
    [(op)] = {SHAPE_MODRM, 0}, [(op) + 1] = {SHAPE_MODRM, 0}, [(op) + 2] = {SHAPE_MODRM, 0},       \
    [(op) + 3] = {SHAPE_MODRM, 0}, [(op) + 4] = {SHAPE_IMMEDIATE, 1},                              \
    [(op) + 5] = {SHAPE_IMMEDIATE, 4}

static const struct form one_byte[256] = {
    ALU(0x00),
    ALU(0x08),
    ALU(0x10),
    ALU(0x18),
    ALU(0x20),
    ALU(0x28),
    ALU(0x30),
    ALU(0x38),
    [0x50 ... 0x5f] = {SHAPE_BARE, 0},
    [0x63] = {SHAPE_MODRM, 0},
    [0x68] = {SHAPE_IMMEDIATE, 4},
    [0x69] = {SHAPE_MODRM, 4},
    [0x6a] = {SHAPE_IMMEDIATE, 1},
    [0x6b] = {SHAPE_MODRM, 1},
    [0x70 ... 0x7f] = {SHAPE_BRANCH, 1},
    [0x80] = {SHAPE_MODRM, 1},
    [0x81] = {SHAPE_MODRM, 4},
    [0x83] = {SHAPE_MODRM, 1},
    [0x84 ... 0x8b] = {SHAPE_MODRM, 0},
    [0x8d] = {SHAPE_MEMORY, 0},
    [0x98 ... 0x99] = {SHAPE_BARE, 0},
    [0xa8] = {SHAPE_IMMEDIATE, 1},
    [0xa9] = {SHAPE_IMMEDIATE, 4},
    [0xb0 ... 0xb7] = {SHAPE_IMMEDIATE, 1},
    [0xb8 ... 0xbf] = {SHAPE_IMMEDIATE, 4}, /* but with REX.W */
    [0xc0 ... 0xc1] = {SHAPE_SHIFT, 1},
    [0xc3] = {SHAPE_RETURN, 0},
    [0xc6] = {SHAPE_MOVE, 1},
    [0xc7] = {SHAPE_MOVE, 4},
    [0xc9] = {SHAPE_BARE, 0},
    [0xd0 ... 0xd3] = {SHAPE_SHIFT, 0},
    [0xe8] = {SHAPE_CALL, 4},
    [0xe9] = {SHAPE_JUMP, 4},
    [0xeb] = {SHAPE_JUMP, 1},
    [0xf6] = {SHAPE_MOVE, 1}, /* test */
    [0xf7] = {SHAPE_MOVE, 4},
    [0xfe ... 0xff] = {SHAPE_STEP, 0},
};

/* Behind 0x0f. */
static const struct form two_bytes[256] = {
    [0x10 ... 0x11] = {SHAPE_MODRM, 0}, [0x28 ... 0x29] = {SHAPE_MODRM, 0},
    [0x40 ... 0x4f] = {SHAPE_MODRM, 0}, [0x80 ... 0x8f] = {SHAPE_BRANCH, 4},
    [0x90 ... 0x9f] = {SHAPE_MODRM, 0}, [0xaf] = {SHAPE_MODRM, 0},
    [0xb6 ... 0xb7] = {SHAPE_MODRM, 0}, [0xbe ... 0xbf] = {SHAPE_MODRM, 0},
};

static bool fits_modrm(enum shape shape, uint8_t modrm)
{
    unsigned operation = modrm >> 3 & 7;

    switch (shape) {
    case SHAPE_MEMORY:
        return modrm >> 6 != 3;
    case SHAPE_SHIFT:
        return operation != 6;
    case SHAPE_STEP:
        return operation < 2;
    case SHAPE_MOVE:
        return operation == 0;
    default:
        return true;
    }
}

/* Bytes of ModRM, SIB and displacement, of which two can be read. */
static size_t modrm_bytes(const uint8_t *at)
{
    unsigned mod = at[0] >> 6, rm = at[0] & 7;
    size_t bytes = mod != 3 && rm == 4 ? 2 : 1;

    if (mod == 1)
        return bytes + 1;
    if (mod == 2 || (mod == 0 && (rm == 5 || (rm == 4 && (at[1] & 7) == 5))))
        return bytes + 4;
    return bytes;
}

static enum mdl_insn_kind kind_of_shape(enum shape shape)
{
    switch (shape) {
    case SHAPE_BRANCH:
        return MDL_INSN_BRANCH;
    case SHAPE_JUMP:
        return MDL_INSN_JUMP;
    case SHAPE_CALL:
        return MDL_INSN_CALL;
    case SHAPE_RETURN:
        return MDL_INSN_RETURN;
    default:
        return MDL_INSN_PLAIN;
    }
}

static uint64_t relative(const uint8_t *at, unsigned bytes)
{
    int32_t distance;

    if (bytes == 1)
        return (uint64_t)(int64_t)(int8_t)*at;
    memcpy(&distance, at, sizeof(distance));
    return (uint64_t)(int64_t)distance;
}

/* What needs no prefix but REX; false for all else, where less than what any instruction may take
 * can be read, and for what is none. */
static bool decode_common(uint64_t pc, const uint8_t *bytes, size_t available,
                          struct mdl_insn *insn)
{
    bool has_rex = available >= ZYDIS_MAX_INSTRUCTION_LENGTH && (bytes[0] & 0xf0) == 0x40;
    const uint8_t *at = bytes + has_rex;

    if (available < ZYDIS_MAX_INSTRUCTION_LENGTH)
        return false;
    uint8_t opcode = *at++;
    struct form form = opcode == 0x0f ? two_bytes[*at++] : one_byte[opcode];
    enum shape shape = (enum shape)form.shape;
    if (shape == SHAPE_OTHER ||
        (shape >= SHAPE_MODRM && shape <= SHAPE_MOVE && !fits_modrm(shape, *at)))
        return false;
    if (shape >= SHAPE_MODRM && shape <= SHAPE_MOVE)
        at += modrm_bytes(at);
    bool is_wide = has_rex && bytes[0] & 8 && opcode >= 0xb8 && opcode <= 0xbf;
    unsigned immediate = is_wide ? 8 : form.immediate;
    size_t length = (size_t)(at - bytes) + immediate;
    *insn = (struct mdl_insn){.pc = pc, .length = (uint8_t)length, .kind = kind_of_shape(shape)};
    if (shape >= SHAPE_BRANCH && shape <= SHAPE_CALL) {
        insn->is_direct = true;
        insn->target = pc + length + relative(at, immediate);
    }
    return true;
}

/* ---- all of it ---- */

int mdl_decode(uint64_t pc, const uint8_t *bytes, size_t available, struct mdl_insn *insn)
{
    return decode_common(pc, bytes, available, insn) ? 0
                                                     : mdl_decode_any(pc, bytes, available, insn);
}

int mdl_decode_any(uint64_t pc, const uint8_t *bytes, size_t available, struct mdl_insn *insn)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction raw;

    if (available > ZYDIS_MAX_INSTRUCTION_LENGTH)
        available = ZYDIS_MAX_INSTRUCTION_LENGTH;
    /* some nanoseconds; its layout differs between Zydis 4.0 and 4.1, so no constant initializer */
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, available, &raw)))
        return -1;
    *insn = (struct mdl_insn){.pc = pc, .length = raw.length, .kind = kind_of(&raw)};
    if (insn->kind != MDL_INSN_CALL && insn->kind != MDL_INSN_JUMP && insn->kind != MDL_INSN_BRANCH)
        return 0;
    if (raw.raw.imm[0].is_relative) {
        insn->is_direct = true;
        insn->target = pc + raw.length + (uint64_t)raw.raw.imm[0].value.s;
    } else if (raw.raw.modrm.offset != 0 && raw.raw.modrm.mod == 0 && raw.raw.modrm.rm == 5) {
        insn->slot = pc + raw.length + (uint64_t)raw.raw.disp.value;
    }
    return 0;
}
