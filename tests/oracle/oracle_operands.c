/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Effective addresses from Zydis's operands. Zydis names the stack operand of push, call and ret
 * as [rsp] with the rsp before the instruction, and the others by their encoding; what differs
 * from what the processor accesses is put right here:
 *   - stack writes go below rsp; `pop [rsp+x]` adds after the pop;
 *   - bt and its kin with a register reach beyond their operand;
 *   - xlat's index is al; a gather has an address for each element;
 *   - the XSAVE family's size depends on edx:eax.
 */
#include "tests/oracle/oracle_operands.h"

#include <Zydis/Zydis.h>
#include <string.h>

#include "common/cpuid.h"
#include "tests/oracle/oracle_child.h"

#define XSAVE_HEADER_END 576
#define XMM_AT           160
#define XSTATE_BV_AT     512
#define YMM_COMPONENT    2

/* ---------------------------------------------------------------- registers */

/* In the order of instruction encoding. */
static uint64_t gpr_value(const struct rrt_regs *regs, unsigned id)
{
    const uint64_t values[16] = {regs->rax, regs->rcx, regs->rdx, regs->rbx, regs->rsp, regs->rbp,
                                 regs->rsi, regs->rdi, regs->r8,  regs->r9,  regs->r10, regs->r11,
                                 regs->r12, regs->r13, regs->r14, regs->r15};

    return values[id & 15];
}

static uint64_t truncate_to(uint64_t value, unsigned bits)
{
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static uint64_t reg_value(const struct rrt_regs *regs, ZydisRegister reg, uint64_t next_pc)
{
    ZydisRegister whole;

    if (reg == ZYDIS_REGISTER_NONE)
        return 0;
    if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP)
        return next_pc;
    whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    return truncate_to(gpr_value(regs, (unsigned)(whole - ZYDIS_REGISTER_RAX)),
                       ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg));
}

static uint64_t segment_base(const struct rrt_regs *regs, ZydisRegister segment)
{
    if (segment == ZYDIS_REGISTER_FS)
        return regs->fs_base;
    return segment == ZYDIS_REGISTER_GS ? regs->gs_base : 0;
}

/* ---------------------------------------------------------------- the XSAVE area */

static uint64_t enabled_components(void)
{
    uint32_t low;
    uint32_t high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static uint64_t xsave_bytes(const struct rrt_regs *regs, bool compact)
{
    uint64_t mask = (regs->rdx << 32 | (regs->rax & 0xffffffff)) & enabled_components();
    uint64_t end = XSAVE_HEADER_END;

    for (unsigned i = 2; i < 63; i++) {
        if (!(mask >> i & 1))
            continue;
        struct wd_cpuid is = wd_cpuid_ask(0xd, i); /* size, offset, flags */
        if (!compact)
            end = is.ebx + is.eax > end ? is.ebx + is.eax : end;
        else
            end = ((is.ecx & 2) ? (end + 63) & ~UINT64_C(63) : end) + is.eax;
    }
    return end;
}

static uint64_t special_size(const ZydisDecodedInstruction *insn, const struct rrt_regs *regs,
                             uint64_t size)
{
    switch (insn->mnemonic) {
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
        return xsave_bytes(regs, false);
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
        return xsave_bytes(regs, true);
    default:
        return size; /* xrstor: how much it reads is in the header that it reads */
    }
}

/* ---------------------------------------------------------------- gathers */

static void vector_register(const uint8_t *image, unsigned id, uint8_t out[32])
{
    uint32_t at = wd_cpuid_ask(0xd, YMM_COMPONENT).ebx;

    memset(out, 0, 32);
    if (image[XSTATE_BV_AT] & 2)
        memcpy(out, image + XMM_AT + 16 * id, 16);
    if ((image[XSTATE_BV_AT] & 4) && at + 256 <= ORC_XSTATE_MAX)
        memcpy(out + 16, image + at + 16 * id, 16);
}

static unsigned index_bits(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_VPGATHERQD:
    case ZYDIS_MNEMONIC_VPGATHERQQ:
    case ZYDIS_MNEMONIC_VGATHERQPS:
    case ZYDIS_MNEMONIC_VGATHERQPD:
        return 64;
    default:
        return 32;
    }
}

static unsigned vector_id(ZydisRegister reg)
{
    int id = ZydisRegisterGetId(reg);

    return id < 0 ? 0 : (unsigned)id & 15;
}

static int64_t element(const uint8_t *bytes, unsigned i, unsigned bits)
{
    int32_t narrow;
    int64_t wide;

    if (bits == 32) {
        memcpy(&narrow, bytes + (size_t)i * 4, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, bytes + (size_t)i * 8, sizeof(wide));
    return wide;
}

/* AVX2 gathers only: destination, [base + vector * scale], mask vector. */
static void add_gather(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
                       const struct rrt_regs *regs, const uint8_t *image, struct orc_decoded *out)
{
    const ZydisDecodedOperand *memory = &operands[1];
    unsigned data_bits = memory->size;
    unsigned idx_bits = index_bits(insn->mnemonic);
    unsigned width = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, operands[0].reg.value);
    unsigned index_width = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, memory->mem.index);
    uint8_t indexes[32];
    uint8_t mask[32];
    uint64_t base = reg_value(regs, memory->mem.base, 0) + (uint64_t)memory->mem.disp.value;

    if (insn->encoding != ZYDIS_INSTRUCTION_ENCODING_VEX || data_bits == 0 ||
        operands[2].type != ZYDIS_OPERAND_TYPE_REGISTER)
        return;
    vector_register(image, vector_id(memory->mem.index), indexes);
    vector_register(image, vector_id(operands[2].reg.value), mask);
    for (unsigned i = 0; i < width / data_bits && i < index_width / idx_bits; i++) {
        uint64_t offset = (uint64_t)element(indexes, i, idx_bits) * memory->mem.scale;
        if (element(mask, i, data_bits) >= 0 || out->place_count == ORC_OPERANDS_MAX)
            continue;
        out->places[out->place_count++] = (struct orc_place){
            .address = truncate_to(base + offset, insn->address_width) +
                       segment_base(regs, memory->mem.segment),
            .size_bytes = data_bits / 8,
            .is_read = true,
        };
    }
}

/* ---------------------------------------------------------------- plain operands */

static bool accesses_memory(const ZydisDecodedInstruction *insn)
{
    switch (insn->mnemonic) {
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
    case ZYDIS_MNEMONIC_CLWB:
    case ZYDIS_MNEMONIC_CLDEMOTE:
        return false;
    default:
        return insn->meta.category != ZYDIS_CATEGORY_PREFETCH &&
               insn->meta.category != ZYDIS_CATEGORY_WIDENOP;
    }
}

static bool is_string(const ZydisDecodedInstruction *insn)
{
    return insn->meta.category == ZYDIS_CATEGORY_STRINGOP;
}

static bool is_bit_test(const ZydisDecodedInstruction *insn)
{
    return insn->mnemonic == ZYDIS_MNEMONIC_BT || insn->mnemonic == ZYDIS_MNEMONIC_BTS ||
           insn->mnemonic == ZYDIS_MNEMONIC_BTR || insn->mnemonic == ZYDIS_MNEMONIC_BTC;
}

/* The distance in bytes at which a bit test with a register works. */
static uint64_t bit_offset(const ZydisDecodedOperand *operands, const struct rrt_regs *regs)
{
    unsigned bits = operands[0].size;
    uint64_t value;
    int64_t bit;

    if (operands[1].type != ZYDIS_OPERAND_TYPE_REGISTER || bits == 0)
        return 0;
    value = reg_value(regs, operands[1].reg.value, 0);
    bit = bits == 16 ? (int16_t)value : bits == 32 ? (int32_t)value : (int64_t)value;
    return (uint64_t)((bit >= 0 ? bit / bits : -((bits - 1 - bit) / bits)) * (int64_t)(bits / 8));
}

static uint64_t plain_address(const ZydisDecodedInstruction *insn,
                              const ZydisDecodedOperand *operand, const struct rrt_regs *regs)
{
    uint64_t sum = reg_value(regs, operand->mem.base, regs->rip + insn->length) +
                   reg_value(regs, operand->mem.index, 0) * operand->mem.scale;

    if (operand->mem.disp.has_displacement)
        sum += (uint64_t)operand->mem.disp.value;
    /* an address size prefix leaves the stack's addresses alone */
    if (operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
        operand->mem.segment == ZYDIS_REGISTER_SS)
        return sum;
    return truncate_to(sum, insn->address_width) + segment_base(regs, operand->mem.segment);
}

static bool is_stack_operand(const ZydisDecodedOperand *operand)
{
    return operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
           operand->mem.base == ZYDIS_REGISTER_RSP;
}

static void add_place(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
                      const ZydisDecodedOperand *operand, const struct rrt_regs *regs,
                      struct orc_decoded *out)
{
    struct orc_place *place = &out->places[out->place_count];

    if (out->place_count == ORC_OPERANDS_MAX)
        return;
    *place = (struct orc_place){
        .address = plain_address(insn, operand, regs),
        .size_bytes = special_size(insn, regs, operand->size / 8),
        .is_read = (operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0,
        .is_write = (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0,
        .is_implicit = operand->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT,
        .is_string = is_string(insn),
    };
    if (is_stack_operand(operand) && place->is_write && !place->is_read)
        place->address -= place->size_bytes;
    else if (insn->mnemonic == ZYDIS_MNEMONIC_POP && operand->mem.base == ZYDIS_REGISTER_RSP &&
             !is_stack_operand(operand))
        place->address += operand->size / 8;
    else if (insn->mnemonic == ZYDIS_MNEMONIC_XLAT)
        place->address += regs->rax & 0xff;
    else if (is_bit_test(insn) && operand == &operands[0])
        place->address += bit_offset(operands, regs);
    out->place_count++;
}

/* ---------------------------------------------------------------- the instruction */

static const ZydisDecoder *decoder(void)
{
    static ZydisDecoder made;
    static bool is_made;

    if (!is_made) {
        ZydisDecoderInit(&made, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
        is_made = true;
    }
    return &made;
}

static void add_all(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands,
                    const struct rrt_regs *regs, orc_vector_fn vector, void *context,
                    struct orc_decoded *out)
{
    for (unsigned i = 0; i < insn->operand_count; i++) {
        if (operands[i].type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        if (operands[i].mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
            uint8_t image[ORC_XSTATE_MAX];
            size_t size = sizeof(image);
            memset(image, 0, sizeof(image));
            if (i == 1 && vector && vector(context, image, &size) == 0)
                add_gather(insn, operands, regs, image, out);
        } else if (operands[i].mem.type == ZYDIS_MEMOP_TYPE_MEM) {
            add_place(insn, operands, &operands[i], regs, out);
        }
    }
}

void orc_decode(const uint8_t *code, size_t code_bytes, const struct rrt_regs *regs,
                orc_vector_fn vector, void *context, struct orc_decoded *out)
{
    const ZydisInstructionAttributes rep =
        ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

    *out = (struct orc_decoded){0};
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder(), code, code_bytes, &insn, operands)))
        return;
    out->length = insn.length;
    out->is_rep = is_string(&insn) && (insn.attributes & rep);
    if (accesses_memory(&insn))
        add_all(&insn, operands, regs, vector, context, out);
}

/* ---------------------------------------------------------------- raw bytes */

static size_t skip_prefixes(const uint8_t *code, size_t count, bool *rep)
{
    size_t i = 0;

    *rep = false;
    for (; i < count; i++) {
        if (code[i] == 0xf2 || code[i] == 0xf3)
            *rep = true;
        else if (code[i] != 0x66 && code[i] != 0x67 && code[i] != 0x2e && code[i] != 0x36 &&
                 code[i] != 0x3e && code[i] != 0x26 && code[i] != 0x64 && code[i] != 0x65 &&
                 (code[i] & 0xf0) != 0x40)
            break;
    }
    return i;
}

bool orc_code_is_rep(const uint8_t *code, size_t code_bytes)
{
    bool rep;
    size_t at = skip_prefixes(code, code_bytes, &rep);
    uint8_t op = at < code_bytes ? code[at] : 0;

    return rep && ((op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf));
}

bool orc_code_is_pushf(const uint8_t *code, size_t code_bytes)
{
    bool rep;
    size_t at = skip_prefixes(code, code_bytes, &rep);

    return at < code_bytes && code[at] == 0x9c;
}
