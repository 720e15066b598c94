/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/state_view.h"

#include <errno.h>
#include <string.h>

#include <wetdbg/errors.h>

uint64_t slc_gpr_value(const struct evq_regs *regs, unsigned gpr)
{
    return regs->r[evq_reg_of_gpr[gpr % INS_GPR_COUNT]];
}

/* bt and kin with a register bit offset reach beyond the operand. */
static uint64_t bit_offset(const struct evq_regs *regs, const struct ins_mem *mem)
{
    uint64_t raw = slc_gpr_value(regs, (unsigned)mem->bit_reg);
    int64_t bit = mem->size_bytes == 2   ? (int16_t)raw
                  : mem->size_bytes == 4 ? (int32_t)raw
                                         : (int64_t)raw;
    int64_t bits = 8 * (int64_t)mem->size_bytes;
    int64_t units = bit >= 0 ? bit / bits : -((-bit + bits - 1) / bits);
    return (uint64_t)(units * mem->size_bytes);
}

uint64_t slc_operand_address(const struct evq_regs *regs, const struct ins_mem *mem)
{
    uint64_t address = (uint64_t)mem->disp;

    if (mem->base >= 0)
        address += slc_gpr_value(regs, (unsigned)mem->base);
    if (mem->index >= 0 && !(mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64))) {
        uint64_t index = slc_gpr_value(regs, (unsigned)mem->index);
        address += mem->flags & INS_MEM_INDEX_BYTE ? (index & 0xff) : index * mem->scale;
    }
    if (mem->flags & INS_MEM_BIT_OFFSET && mem->bit_reg >= 0)
        address += bit_offset(regs, mem);
    if (mem->flags & INS_MEM_ADDR32)
        address = (uint32_t)address;
    if (mem->flags & INS_MEM_FS)
        address += regs->r[EVQ_FS_BASE];
    if (mem->flags & INS_MEM_GS)
        address += regs->r[EVQ_GS_BASE];
    return mem->flags & INS_MEM_LINE ? address & ~UINT64_C(63) : address;
}

/* The last instruction of a mapping may be shorter than the longest one. */
int slc_decode_at(struct wetdbg_state *state, uint64_t pc, struct ins_info *info)
{
    uint8_t bytes[15];
    size_t size = sizeof(bytes);

    while (size && wetdbg_state_read(state, pc, bytes, size))
        size--;
    if (size == 0)
        return wetdbg_fail(-EFAULT, "there is no code at 0x%llx", (unsigned long long)pc);
    return ins_decode(bytes, size, pc, info);
}

bool slc_decode_unrun(const struct wetdbg_model *model, uint64_t pc, uint64_t end,
                      uint8_t code[SLC_INSN_BYTES], struct ins_info *info)
{
    size_t size = end - pc < SLC_INSN_BYTES ? (size_t)(end - pc) : SLC_INSN_BYTES;

    while (size && wetdbg_read_bytes(model, pc, code, size))
        size--;
    return size && ins_decode(code, size, pc, info) == 0;
}

int slc_dwarf_gpr(unsigned dwarf_reg)
{
    static const uint8_t gprs[] = {INS_RAX, INS_RDX, INS_RCX, INS_RBX,
                                   INS_RSI, INS_RDI, INS_RBP, INS_RSP};

    if (dwarf_reg < 8)
        return gprs[dwarf_reg];
    return dwarf_reg < 16 ? (int)dwarf_reg : -1;
}

#define XSAVE_XMM_OFF 160

int slc_read_register(void *context, unsigned dwarf_reg, uint64_t *value)
{
    const struct wetdbg_state *state = context;
    const struct evq_regs *regs = wet_state_regs(state);
    int gpr = slc_dwarf_gpr(dwarf_reg);
    size_t size;

    if (gpr >= 0) {
        *value = slc_gpr_value(regs, (unsigned)gpr);
    } else if (dwarf_reg == WETDBG_REG_RIP) {
        *value = regs->r[EVQ_RIP];
    } else if (dwarf_reg == WETDBG_REG_FS_BASE) {
        *value = regs->r[EVQ_FS_BASE];
    } else if (dwarf_reg == WETDBG_REG_GS_BASE) {
        *value = regs->r[EVQ_GS_BASE];
    } else if (dwarf_reg >= WETDBG_REG_XMM0 && dwarf_reg < WETDBG_REG_XMM0 + 16) {
        const uint8_t *image = wetdbg_state_xstate(state, &size);
        size_t off = XSAVE_XMM_OFF + 16 * (size_t)(dwarf_reg - WETDBG_REG_XMM0);
        if (!image || off + sizeof(*value) > size)
            return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
        memcpy(value, image + off, sizeof(*value));
    } else {
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    }
    return 0;
}

int slc_read_memory(void *state, uint64_t address, void *bytes, size_t count)
{
    return wetdbg_state_read(state, address, bytes, count);
}

struct wetdbg_frame_regs slc_frame_regs(const struct wetdbg_state *state)
{
    struct wetdbg_frame_regs frame = {.is_innermost = 1};

    for (unsigned i = 0; i < 16; i++)
        frame.value[i] = slc_gpr_value(wet_state_regs(state), (unsigned)slc_dwarf_gpr(i));
    frame.value[WETDBG_REG_RIP] = wet_state_regs(state)->r[EVQ_RIP];
    frame.valid = (1u << WETDBG_FRAME_REG_COUNT) - 1;
    return frame;
}
