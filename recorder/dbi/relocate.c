/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/relocate.h"

#include <assert.h>

#include "recorder/dbi/scratch.h"
#include <wetdbg/errors.h>

/* Register `number` in `class`. The decoder counts ah, ch, dh and bh as 8-bit registers 4 to 7. */
static ZydisRegister register_named(ZydisRegisterClass class, unsigned number)
{
    if (class == ZYDIS_REGCLASS_GPR8 && number >= 4)
        number += 4;
    return ZydisRegisterEncode(class, (ZyanU8)number);
}

/* Makes the operand one whose address is in a 64-bit register. */
static void flatten(ZydisEncoderOperand *op, unsigned flat)
{
    bool has_lanes = ZydisRegisterGetClass(op->mem.index) >= ZYDIS_REGCLASS_XMM;
    op->mem.base = register_named(ZYDIS_REGCLASS_GPR64, flat);
    op->mem.displacement = 0;
    if (!has_lanes) {
        op->mem.index = ZYDIS_REGISTER_NONE;
        op->mem.scale = 0;
    }
}

static void operand_rename(ZydisEncoderOperand *op, struct dbi_renaming names)
{
    ZydisRegister *registers[3] = {&op->reg.value, &op->mem.base, &op->mem.index};
    for (unsigned k = 0; k < 3; k++) {
        ZydisRegister *reg = registers[k];
        ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, *reg);
        if (names.r15 >= 0 && wide == ZYDIS_REGISTER_R15)
            *reg = register_named(ZydisRegisterGetClass(*reg), (unsigned)names.r15);
        if (names.rip >= 0 && (*reg == ZYDIS_REGISTER_RIP || *reg == ZYDIS_REGISTER_EIP)) {
            bool narrow = *reg == ZYDIS_REGISTER_EIP;
            *reg = register_named(narrow ? ZYDIS_REGCLASS_GPR32 : ZYDIS_REGCLASS_GPR64,
                                  (unsigned)names.rip);
            op->mem.displacement = 0;
        }
    }
}

int dbi_reencode(struct work *w, unsigned at, struct dbi_renaming names)
{
    struct dbi_insn *insn = &w->code->insns[at];
    const struct dbi_whole *whole = dbi_insn_whole(insn);
    ZydisEncoderRequest request;
    uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
    ZyanUSize length = sizeof(bytes);
    ZyanStatus status = ZydisEncoderDecodedInstructionToEncoderRequest(
        &whole->zydis, whole->operands, whole->zydis.operand_count_visible, &request);
    for (unsigned i = 0; ZYAN_SUCCESS(status) && i < request.operand_count; i++) {
        operand_rename(&request.operands[i], names);
        if (names.flat >= 0 && request.operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
            flatten(&request.operands[i], (unsigned)names.flat);
            request.prefixes &= ~(ZydisInstructionAttributes)ZYDIS_ATTRIB_HAS_SEGMENT;
            request.address_size_hint = ZYDIS_ADDRESS_SIZE_HINT_NONE;
        }
    }
    if (ZYAN_SUCCESS(status))
        status = ZydisEncoderEncodeInstruction(&request, bytes, &length);
    if (ZYAN_FAILED(status))
        return wetdbg_fail(
            -WETDBG_ERR_UNSUPPORTED, "the instruction at %#llx (%s) cannot be re-encoded",
            (unsigned long long)insn->pc, ins_mnemonic_name((uint16_t)whole->zydis.mnemonic));
    emit_bytes(w->e, bytes, (unsigned)length);
    return 0;
}

uint64_t dbi_rip_address(const struct dbi_insn *insn)
{
    int32_t disp;
    memcpy(&disp, insn->bytes + insn->is.disp_off, sizeof(disp));
    uint64_t address = insn->pc + insn->is.length + (uint64_t)(int64_t)disp;
    return insn->is.is_narrow ? (uint32_t)address : address;
}

/* Copies the instruction if its rip-relative operand stays in reach. */
static bool copy_rip_relative(struct work *w, const struct dbi_insn *insn)
{
    unsigned at = insn->is.disp_off;
    uint64_t target = dbi_rip_address(insn);
    if (insn->is.is_narrow)
        return false;
    int64_t disp = (int64_t)(target - (emit_host(w->e) + insn->is.length));
    if (disp != (int32_t)disp)
        return false;
    int32_t disp32 = (int32_t)disp;
    uint8_t bytes[15];
    memcpy(bytes, insn->bytes, insn->is.length);
    memcpy(bytes + at, &disp32, 4);
    emit_bytes(w->e, bytes, insn->is.length);
    return true;
}

int dbi_insn_relocate(struct work *w, unsigned at)
{
    const struct dbi_insn *insn = &w->code->insns[at];
    bool names_r15 = insn->is.gpr_used >> R15 & 1;
    assert(!insn->is.uses_gs && !insn->is.loads_gs && !insn->is.moves_gs_base);
    if (insn->is.has_no_effect && (names_r15 || insn->is.rip_relative)) {
        dbi_place_add(w, at);
        return 0;
    }
    if (!names_r15 && !insn->is.rip_relative) {
        dbi_place_add(w, at);
        emit_bytes(w->e, insn->bytes, insn->is.length);
        return 0;
    }
    int r15 = names_r15 ? (int)dbi_r15_get(w, at) : -1;
    int rip = -1, err = 0;
    dbi_place_add(w, at);
    if (r15 >= 0 || !copy_rip_relative(w, insn)) {
        w->out->place_count--;
        if (insn->is.rip_relative) {
            w->busy |= (uint16_t)(r15 >= 0 ? 1u << r15 : 0);
            /* what names ah, ch, dh or bh cannot name r8 and above */
            rip = (int)dbi_reg_borrow(w, at, insn->is.names_high_byte ? 0xff00 : 0);
            emit_mov_imm(w->e, (unsigned)rip, dbi_rip_address(insn));
        }
        dbi_place_add(w, at);
        err = dbi_reencode(w, at, (struct dbi_renaming){.r15 = r15, .rip = rip, .flat = -1});
        w->busy = 0;
    }
    if (r15 >= 0 && insn->is.writes_r15)
        emit_store_gs(w->e, HOME(R15), (unsigned)r15);
    return err;
}
