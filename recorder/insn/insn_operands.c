/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From Zydis's operands to places: register pieces and memory operands. */
#include <assert.h>
#include <string.h>

#include "recorder/insn/insn_image.h"
#include "recorder/insn/insn_priv.h"

/* ---- registers ---- */

/* Where inside its general register a byte register lies: ah, ch, dh and bh are byte 1. */
static unsigned gpr_first_byte(ZydisRegister reg)
{
    return reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH ? 1 : 0;
}

int ins_gpr_number(ZydisRegister reg)
{
    switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
        break;
    default:
        return -1;
    }
    ZydisRegister full = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    return (int)full - (int)ZYDIS_REGISTER_RAX;
}

bool ins_is_vector(ZydisRegister reg)
{
    ZydisRegisterClass klass = ZydisRegisterGetClass(reg);
    return klass == ZYDIS_REGCLASS_XMM || klass == ZYDIS_REGCLASS_YMM ||
           klass == ZYDIS_REGCLASS_ZMM;
}

static unsigned register_bytes(ZydisRegister reg)
{
    return ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg) / 8u;
}

/* The location of a register that is not cut into pieces, or INS_LOC_COUNT. */
static unsigned whole_location(ZydisRegister reg)
{
    switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_MASK:
        return INS_LOC_K + (unsigned)ZydisRegisterGetId(reg);
    case ZYDIS_REGCLASS_MMX:
        return INS_LOC_ST + (unsigned)ZydisRegisterGetId(reg);
    case ZYDIS_REGCLASS_X87:
        return INS_LOC_X87;
    default:
        break;
    }
    switch (reg) {
    case ZYDIS_REGISTER_X87STATUS:
        return INS_LOC_X87_STATUS;
    case ZYDIS_REGISTER_X87CONTROL:
        return INS_LOC_X87_CONTROL;
    case ZYDIS_REGISTER_X87TAG:
        return INS_LOC_X87;
    case ZYDIS_REGISTER_PKRU:
        return INS_LOC_PKRU;
    default:
        return INS_LOC_COUNT;
    }
}

bool ins_add_read(struct ins_regset *set, ZydisRegister reg, unsigned first, unsigned count)
{
    int gpr = ins_gpr_number(reg);
    if (gpr >= 0) {
        unsigned bytes = register_bytes(reg);
        if (count < bytes)
            bytes = count;
        ins_regset_add_gpr(set, (unsigned)gpr, gpr_first_byte(reg) + first, bytes);
        return true;
    }
    if (ins_is_vector(reg)) {
        ins_regset_add_vector(set, (unsigned)ZydisRegisterGetId(reg), first, count);
        return true;
    }
    if (reg == ZYDIS_REGISTER_MXCSR) {
        ins_regset_add(set, INS_LOC_MXCSR_STATUS);
        ins_regset_add(set, INS_LOC_MXCSR_CONTROL);
        return true;
    }
    unsigned loc = whole_location(reg);
    if (loc == INS_LOC_COUNT)
        return false;
    ins_regset_add(set, loc);
    return true;
}

static bool zeroes_above(const struct ins_work *work)
{
    return work->zi->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
           work->zi->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ||
           work->zi->encoding == ZYDIS_INSTRUCTION_ENCODING_XOP;
}

/* Adds what a write of an operand's register surely overwrites (see insn.h on widths). */
static bool write_add(struct ins_regset *set, const struct ins_work *work, ZydisRegister reg,
                      unsigned first, unsigned count)
{
    int gpr = ins_gpr_number(reg);
    if (gpr >= 0) {
        unsigned bytes = register_bytes(reg);
        ins_regset_add_gpr(set, (unsigned)gpr, gpr_first_byte(reg), bytes == 4 ? 8 : bytes);
        return true;
    }
    if (ins_is_vector(reg) && zeroes_above(work)) {
        ins_regset_add_vector(set, (unsigned)ZydisRegisterGetId(reg), 0, 64);
        return true;
    }
    return ins_add_read(set, reg, first, count);
}

void ins_add_flags(struct ins_regset *set, uint32_t mask)
{
    static const struct {
        uint32_t bit;
        enum ins_loc loc;
    } flags[] = {
        {ZYDIS_CPUFLAG_CF, INS_LOC_CF}, {ZYDIS_CPUFLAG_PF, INS_LOC_PF},
        {ZYDIS_CPUFLAG_AF, INS_LOC_AF}, {ZYDIS_CPUFLAG_ZF, INS_LOC_ZF},
        {ZYDIS_CPUFLAG_SF, INS_LOC_SF}, {ZYDIS_CPUFLAG_OF, INS_LOC_OF},
        {ZYDIS_CPUFLAG_DF, INS_LOC_DF},
    };
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (mask & flags[i].bit)
            ins_regset_add(set, flags[i].loc);
    }
}

/* ---- memory operands ---- */

static bool is_stack_push(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_CALL:
    case ZYDIS_MNEMONIC_ENTER:
        return true;
    default:
        return false;
    }
}

/* Addresses count from the registers before the instruction; Zydis leaves out what push and pop
 * have already done to rsp when the operand's address is formed. */
static void settle_stack_pointer(const struct ins_work *work, const ZydisDecodedOperand *op,
                                 struct ins_mem *mem)
{
    bool hidden = op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
    if (hidden && is_stack_push(work->zi->mnemonic))
        mem->disp -= mem->size_bytes;
    if (!hidden && work->zi->mnemonic == ZYDIS_MNEMONIC_POP)
        mem->disp += mem->size_bytes;
}

/* Address-size prefixes do not apply to what push, pop and leave reach through rsp and rbp. */
static bool is_stack_slot(const struct ins_work *work, const ZydisDecodedOperand *op)
{
    return op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
           work->zi->meta.category != ZYDIS_CATEGORY_STRINGOP &&
           (op->mem.base == ZYDIS_REGISTER_RSP || op->mem.base == ZYDIS_REGISTER_RBP);
}

static uint16_t address_flags(const struct ins_work *work, const ZydisDecodedOperand *op)
{
    uint16_t flags = 0;
    if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
        flags |= INS_MEM_READ;
    if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
        flags |= INS_MEM_WRITE;
    if (op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
        flags |= INS_MEM_IMPLICIT;
    if (op->mem.segment == ZYDIS_REGISTER_FS)
        flags |= INS_MEM_FS;
    if (op->mem.segment == ZYDIS_REGISTER_GS)
        flags |= INS_MEM_GS;
    if (work->zi->address_width == 32 && !is_stack_slot(work, op))
        flags |= INS_MEM_ADDR32;
    return flags;
}

static bool has_rep_prefix(const struct ins_work *work)
{
    return work->zi->attributes &
           (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

/* Whether a mask decides which bytes of the memory operand are touched. */
static bool is_lane_wise(const struct ins_work *work)
{
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
        return true;
    default:
        return work->zi->avx.mask.mode == ZYDIS_MASK_MODE_MERGING ||
               work->zi->avx.mask.mode == ZYDIS_MASK_MODE_ZEROING;
    }
}

static void set_index(const ZydisDecodedOperand *op, struct ins_mem *mem)
{
    mem->index = -1;
    if (op->mem.index == ZYDIS_REGISTER_NONE)
        return;
    mem->scale = op->mem.scale;
    if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
        mem->index = (int8_t)ZydisRegisterGetId(op->mem.index);
    else
        mem->index = (int8_t)ins_gpr_number(op->mem.index);
}

/* Notes the register that bt, bts, btr and btc take a bit number from: on memory they reach outside
 * the operand then. */
static void set_bit_register(const struct ins_work *work, struct ins_mem *mem)
{
    mem->bit_reg = -1;
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTC:
        if (work->ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
            mem->bit_reg = (int8_t)ins_gpr_number(work->ops[1].reg.value);
            mem->flags |= INS_MEM_BIT_OFFSET;
        }
        return;
    default:
        return;
    }
}

static unsigned lanes_of(ZydisRegister reg, unsigned element_bytes)
{
    return register_bytes(reg) / element_bytes;
}

/* Sets the number of lanes: as many as there are indices and elements for. The mask is the other
 * operand beside the data. */
static void set_lanes(const struct ins_work *work, const ZydisDecodedOperand *op,
                      struct ins_mem *mem)
{
    mem->lanes = lanes_of(op->mem.index, mem->flags & INS_MEM_VSIB32 ? 4 : 8);
    for (unsigned i = 0; i < work->zi->operand_count_visible; i++) {
        const ZydisDecodedOperand *other = &work->ops[i];
        if (other->type != ZYDIS_OPERAND_TYPE_REGISTER)
            continue;
        bool is_k = ZydisRegisterGetClass(other->reg.value) == ZYDIS_REGCLASS_MASK;
        bool is_data = !is_k && !(i == 2 && work->zi->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX);
        if (is_k)
            mem->flags |= INS_MEM_K;
        if (!is_data)
            mem->mask = ZydisRegisterGetId(other->reg.value);
        else if (lanes_of(other->reg.value, mem->size_bytes) < mem->lanes)
            mem->lanes = lanes_of(other->reg.value, mem->size_bytes);
    }
}

static void set_vsib(const struct ins_work *work, struct ins_mem *mem)
{
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_VPGATHERDD:
    case ZYDIS_MNEMONIC_VPGATHERDQ:
    case ZYDIS_MNEMONIC_VGATHERDPS:
    case ZYDIS_MNEMONIC_VGATHERDPD:
    case ZYDIS_MNEMONIC_VPSCATTERDD:
    case ZYDIS_MNEMONIC_VPSCATTERDQ:
    case ZYDIS_MNEMONIC_VSCATTERDPS:
    case ZYDIS_MNEMONIC_VSCATTERDPD:
        mem->flags |= INS_MEM_LANES | INS_MEM_VSIB32;
        return;
    default:
        mem->flags |= INS_MEM_LANES | INS_MEM_VSIB64;
    }
}

static void set_base(const struct ins_work *work, const ZydisDecodedOperand *op,
                     struct ins_mem *mem)
{
    mem->base = -1;
    mem->disp = op->mem.disp.value;
    if (op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP) {
        uint64_t address = work->pc + work->zi->length + (uint64_t)op->mem.disp.value;
        mem->disp = (int64_t)(op->mem.base == ZYDIS_REGISTER_EIP ? (uint32_t)address : address);
    } else if (op->mem.base != ZYDIS_REGISTER_NONE) {
        mem->base = (int8_t)ins_gpr_number(op->mem.base);
    }
}

static void set_special_address(const struct ins_work *work, struct ins_mem *mem)
{
    if (work->zi->meta.category == ZYDIS_CATEGORY_STRINGOP && has_rep_prefix(work))
        mem->flags |= INS_MEM_REP;
    if (work->zi->mnemonic == ZYDIS_MNEMONIC_XLAT) {
        mem->index = INS_RAX;
        mem->scale = 1;
        mem->flags |= INS_MEM_INDEX_BYTE;
    }
    if (ins_is_image(work->zi->mnemonic)) {
        mem->size_bytes = INS_XSAVE_BYTES_MAX;
        mem->flags |= INS_MEM_SIZE_BOUND;
    }
    if (is_lane_wise(work))
        mem->flags |= INS_MEM_LANES;
}

static struct ins_mem convert_mem(const struct ins_work *work, const ZydisDecodedOperand *op)
{
    struct ins_mem mem = {.size_bytes = op->size / 8, .flags = address_flags(work, op), .mask = -1};
    set_base(work, op, &mem);
    set_index(op, &mem);
    set_bit_register(work, &mem);
    if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
        set_vsib(work, &mem);
        set_lanes(work, op, &mem);
    } else {
        set_special_address(work, &mem);
        if (mem.base == INS_RSP) {
            settle_stack_pointer(work, op, &mem);
            if (mem.index < 0)
                mem.flags |= INS_MEM_STACK;
        }
    }
    return mem;
}

static void add_mem(struct ins_work *work, unsigned operand)
{
    struct ins_info *info = &work->info;
    if (info->mem_count == INS_MEM_MAX)
        return;
    work->mem_of[operand] = info->mem_count;
    info->mems[info->mem_count++] = convert_mem(work, &work->ops[operand]);
}

static void swap_mems(struct ins_work *work)
{
    struct ins_mem first = work->info.mems[0];
    work->info.mems[0] = work->info.mems[1];
    work->info.mems[1] = first;
    for (unsigned i = 0; i < work->zi->operand_count; i++) {
        if (work->mem_of[i] < 2)
            work->mem_of[i] ^= 1;
    }
}

void ins_mems_collect(struct ins_work *work)
{
    memset(work->mem_of, INS_NO_MEM, sizeof(work->mem_of));
    for (unsigned i = 0; i < work->zi->operand_count; i++) {
        const ZydisDecodedOperand *op = &work->ops[i];
        if (op->type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        if (op->mem.type == ZYDIS_MEMOP_TYPE_MEM || op->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
            add_mem(work, i);
    }
    if (work->info.mem_count == 2 && work->info.mems[0].base == INS_RSI &&
        work->zi->meta.category == ZYDIS_CATEGORY_STRINGOP)
        swap_mems(work);
    if (work->zi->mnemonic == ZYDIS_MNEMONIC_CLZERO) {
        work->info.mems[work->info.mem_count++] = (struct ins_mem){
            .size_bytes = 64,
            .flags = INS_MEM_WRITE | INS_MEM_IMPLICIT | INS_MEM_LINE |
                     (work->zi->address_width == 32 ? INS_MEM_ADDR32 : 0),
            .base = INS_RAX,
            .index = -1,
            .bit_reg = -1,
            .mask = -1,
        };
    }
}

/* ---- operands in flows ---- */

/* The bytes of its register that a vector operand means. Zydis gives sizes only; these few
 * instructions read or write the upper half. */
static unsigned vector_first_byte(const struct ins_work *work, unsigned i)
{
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_MOVHPS:
    case ZYDIS_MNEMONIC_MOVHPD:
        return 8;
    case ZYDIS_MNEMONIC_MOVLHPS:
        return i == 0 ? 8 : 0;
    case ZYDIS_MNEMONIC_MOVHLPS:
        return i == 1 ? 8 : 0;
    /* a store has two operands; a load keeps the second one's low half */
    case ZYDIS_MNEMONIC_VMOVHPS:
    case ZYDIS_MNEMONIC_VMOVHPD:
        return i == 1 && work->zi->operand_count_visible == 2 ? 8 : 0;
    default:
        return 0;
    }
}

/* How many bytes of a register operand matter: bit numbers and shift counts are taken modulo the
 * operand's size, lanes are inserted from the low end, and an upper half has 8 bytes. */
static unsigned bytes_read(const struct ins_work *work, unsigned i)
{
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_SHLX:
    case ZYDIS_MNEMONIC_SHRX:
    case ZYDIS_MNEMONIC_SARX:
    case ZYDIS_MNEMONIC_BZHI:
        return i == 2 ? 1 : work->ops[i].size / 8;
    case ZYDIS_MNEMONIC_BEXTR:
        return i == 2 ? 2 : work->ops[i].size / 8;
    case ZYDIS_MNEMONIC_BT:
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTC:
        return i == 1 && work->mem_of[0] == INS_NO_MEM ? 1 : work->ops[i].size / 8;
    default:
        return vector_first_byte(work, i) != 0 ? 8 : work->ops[i].size / 8;
    }
}

/* Marks what has no location; the instruction pointer and the segment selectors that are
 * constant in 64-bit user code lose nothing. */
static void note_missing(struct ins_work *work, ZydisRegister reg)
{
    switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_IP:
    case ZYDIS_REGCLASS_FLAGS:
        return;
    default:
        work->info.flags |= INS_IS_APPROXIMATE;
    }
}

void ins_use_operand(struct ins_work *work, struct ins_flow *flow, unsigned i)
{
    const ZydisDecodedOperand *op = &work->ops[i];
    if (work->mem_of[i] != INS_NO_MEM)
        flow->mem_uses |= (uint8_t)(1u << work->mem_of[i]);
    if (op->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return;
    if (!ins_add_read(&flow->value_uses, op->reg.value, vector_first_byte(work, i),
                      bytes_read(work, i)))
        note_missing(work, op->reg.value);
}

void ins_def_operand(struct ins_work *work, struct ins_flow *flow, unsigned i)
{
    const ZydisDecodedOperand *op = &work->ops[i];
    if (work->mem_of[i] != INS_NO_MEM)
        flow->mem_defs |= (uint8_t)(1u << work->mem_of[i]);
    if (op->type != ZYDIS_OPERAND_TYPE_REGISTER)
        return;
    if (op->reg.value == ZYDIS_REGISTER_FS)
        ins_regset_add(&flow->defs, INS_LOC_FS_BASE);
    else if (op->reg.value == ZYDIS_REGISTER_GS)
        ins_regset_add(&flow->defs, INS_LOC_GS_BASE);
    if (!write_add(&flow->defs, work, op->reg.value, vector_first_byte(work, i), op->size / 8))
        note_missing(work, op->reg.value);
}

void ins_may_def_operand(struct ins_work *work, struct ins_flow *flow, unsigned i)
{
    const ZydisDecodedOperand *op = &work->ops[i];
    struct ins_flow sure = {0};
    ins_def_operand(work, &sure, i);
    flow->mem_may_defs |= sure.mem_defs;
    if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && ins_is_vector(op->reg.value)) {
        /* What lies above the vector length is zeroed whatever the mask says. */
        struct ins_regset inside = {0};
        ins_add_read(&inside, op->reg.value, 0, register_bytes(op->reg.value));
        struct ins_regset above = sure.defs;
        ins_regset_remove(&above, &inside);
        ins_regset_join(&flow->defs, &above);
        ins_regset_remove(&sure.defs, &above);
    }
    ins_regset_join(&flow->may_defs, &sure.defs);
}

struct ins_flow *ins_flow_new(struct ins_work *work)
{
    assert(work->info.flow_count < INS_FLOW_MAX);
    return &work->info.flows[work->info.flow_count++];
}

void ins_flow_stack(struct ins_work *work, enum ins_gpr gpr)
{
    struct ins_flow *flow = ins_flow_new(work);
    ins_regset_add_gpr(&flow->defs, gpr, 0, 8);
    flow->kinds = INS_FLOW_STACK;
}
