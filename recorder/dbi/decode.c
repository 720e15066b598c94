/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/decode.h"

#include <string.h>
#include <sys/auxv.h>

#include "recorder/dbi/x87_kinds.h"
#include "recorder/insn/insn_zydis.h"
#include <wetdbg/errors.h>

bool dbi_has_fsgsbase(void)
{
    return getauxval(AT_HWCAP2) & 2; /* HWCAP2_FSGSBASE */
}

static uint8_t status_flags(ZydisAccessedFlagsMask flags)
{
    static const ZydisAccessedFlagsMask status[] = {ZYDIS_CPUFLAG_CF, ZYDIS_CPUFLAG_PF,
                                                    ZYDIS_CPUFLAG_AF, ZYDIS_CPUFLAG_ZF,
                                                    ZYDIS_CPUFLAG_SF, ZYDIS_CPUFLAG_OF};
    uint8_t mask = 0;
    for (unsigned i = 0; i < 6; i++) {
        if (flags & status[i])
            mask |= (uint8_t)(1 << i);
    }
    return mask;
}

/* Flags that the manual calls undefined count as written only where every processor is known to
 * write them; a count of zero in cl or rcx leaves all flags as they were. */
static void flags_decode(struct dbi_insn *insn)
{
    const ZydisAccessedFlags *flags = insn->whole->zydis.cpu_flags;
    if (flags) {
        insn->is.flags_read = status_flags(flags->tested);
        insn->is.flags_killed = status_flags(flags->modified | flags->set_0 | flags->set_1);
    }
    switch (insn->whole->zydis.mnemonic) {
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_OR:
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_TEST:
        insn->is.flags_killed = DBI_FLAGS_ALL;
        break;
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFD:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_LAHF:
        insn->is.flags_read = DBI_FLAGS_ALL;
        insn->is.flags_killed = 0;
        break;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_NEG:
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC:
    case ZYDIS_MNEMONIC_ADC:
    case ZYDIS_MNEMONIC_SBB:
    case ZYDIS_MNEMONIC_XADD:
    case ZYDIS_MNEMONIC_PTEST:
    case ZYDIS_MNEMONIC_VPTEST:
    case ZYDIS_MNEMONIC_COMISD:
    case ZYDIS_MNEMONIC_COMISS:
    case ZYDIS_MNEMONIC_UCOMISD:
    case ZYDIS_MNEMONIC_UCOMISS:
    case ZYDIS_MNEMONIC_VCOMISD:
    case ZYDIS_MNEMONIC_VCOMISS:
    case ZYDIS_MNEMONIC_VUCOMISD:
    case ZYDIS_MNEMONIC_VUCOMISS:
        break;
    default: /* shifts by cl, rep cmps, bit scans, mul...: read perhaps, written not for sure */
        insn->is.flags_killed = 0;
    }
}

static void register_use(struct dbi_insn *insn, ZydisRegister reg, bool written)
{
    ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    if (wide < ZYDIS_REGISTER_RAX || wide > ZYDIS_REGISTER_R15)
        return;
    unsigned number = (unsigned)(wide - ZYDIS_REGISTER_RAX);
    if (reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH)
        insn->is.names_high_byte = true;
    insn->is.gpr_used |= (uint16_t)(1u << number);
    insn->is.gpr_written |= (uint16_t)((written ? 1u : 0u) << number);
    if (number == INS_GPR_COUNT - 1 && written)
        insn->is.writes_r15 = true;
}

/* Decodes operands; returns whether any is in memory. */
static bool operands_decode(struct dbi_insn *insn)
{
    bool has_memory = false;
    for (unsigned i = 0; i < insn->whole->zydis.operand_count; i++) {
        const ZydisDecodedOperand *op = &insn->whole->operands[i];
        if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
            register_use(insn, op->reg.value, op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE);
        } else if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
            has_memory |= op->mem.type != ZYDIS_MEMOP_TYPE_AGEN;
            /* string instructions move their pointers */
            register_use(insn, op->mem.base,
                         insn->whole->zydis.meta.category == ZYDIS_CATEGORY_STRINGOP);
            register_use(insn, op->mem.index, false);
            if ((op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP) &&
                op->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN)
                insn->is.rip_relative = true;
        }
    }
    return has_memory;
}

/* Whether an instruction has tiles of AMX, whose rows are all over memory, and what is sent to
 * devices. */
static bool is_tile_or_enqueue(const struct dbi_insn *insn)
{
    ZydisInstructionCategory category = insn->whole->zydis.meta.category;
    return category == ZYDIS_CATEGORY_AMX_TILE || category == ZYDIS_CATEGORY_ENQCMD;
}

static bool is_through_gs(const ZydisDecodedOperand *op)
{
    return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.segment == ZYDIS_REGISTER_GS &&
           (op->mem.type == ZYDIS_MEMOP_TYPE_MEM || op->mem.type == ZYDIS_MEMOP_TYPE_VSIB);
}

static bool uses_gs(const struct dbi_insn *insn)
{
    for (unsigned i = 0; i < insn->whole->zydis.operand_count_visible; i++)
        if (is_through_gs(&insn->whole->operands[i]))
            return !insn->is.has_no_effect;
    return false;
}

/* Whether an operand goes through gs and can have no other base. Of such instructions of the string
 * kind some have a second one. */
static bool loads_gs(const struct dbi_insn *insn)
{
    for (unsigned i = 0; i < insn->whole->zydis.operand_count; i++) {
        const ZydisDecodedOperand *op = &insn->whole->operands[i];
        if (is_through_gs(op) && op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
            return true;
    }
    return false;
}

/* Which segment register a mov writes, if it is one whose base is 0 whatever it holds; else
 * NONE. */
static ZydisRegister segment_written(const struct dbi_insn *insn)
{
    const ZydisDecodedOperand *op = &insn->whole->operands[0];
    bool is_flat = insn->whole->zydis.mnemonic == ZYDIS_MNEMONIC_MOV &&
                   op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
                   (op->reg.value == ZYDIS_REGISTER_DS || op->reg.value == ZYDIS_REGISTER_ES ||
                    op->reg.value == ZYDIS_REGISTER_SS);
    return is_flat ? op->reg.value : ZYDIS_REGISTER_NONE;
}

/* Whether an instruction is beyond us: segment tricks, and memory operands whose address we could
 * not put in the ring. A base that is set without the kernel's knowing lasts until another task
 * runs, where the processor does it at all. */
static bool is_beyond_us(const struct dbi_insn *insn)
{
    bool sets_base = insn->whole->zydis.mnemonic == ZYDIS_MNEMONIC_WRFSBASE ||
                     insn->whole->zydis.mnemonic == ZYDIS_MNEMONIC_WRGSBASE;
    if (is_tile_or_enqueue(insn) || ((sets_base || insn->is.loads_gs) && !dbi_has_fsgsbase()))
        return true;
    for (unsigned i = 0; i < insn->whole->zydis.operand_count; i++) {
        const ZydisDecodedOperand *op = &insn->whole->operands[i];
        if (op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
            (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
            ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_SEGMENT)
            return true;
    }
    return false;
}

static enum dbi_terminal terminal_of(const struct dbi_insn *insn)
{
    bool direct = insn->whole->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    switch (insn->whole->zydis.mnemonic) {
    case ZYDIS_MNEMONIC_JMP:
        if (insn->whole->zydis.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
            return DBI_UNSUPPORTED;
        return direct ? DBI_JMP : DBI_JMP_INDIRECT;
    case ZYDIS_MNEMONIC_CALL:
        if (insn->whole->zydis.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
            return DBI_UNSUPPORTED;
        return direct ? DBI_CALL : DBI_CALL_INDIRECT;
    case ZYDIS_MNEMONIC_RET:
        return insn->whole->zydis.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ? DBI_UNSUPPORTED
                                                                            : DBI_RET;
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
        return DBI_LOOP;
    case ZYDIS_MNEMONIC_SYSCALL:
        return DBI_SYSCALL;
    case ZYDIS_MNEMONIC_RDTSC:
        return DBI_RDTSC;
    case ZYDIS_MNEMONIC_RDTSCP:
        return DBI_RDTSCP;
    case ZYDIS_MNEMONIC_CPUID:
        return DBI_CPUID;
    case ZYDIS_MNEMONIC_XGETBV:
        return DBI_XGETBV;
    case ZYDIS_MNEMONIC_RDPID:
        return DBI_RDPID;
    case ZYDIS_MNEMONIC_LSL: /* of one selector it is the processor's number */
        return DBI_LSL;
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_SWAPGS: /* some Zydis say that it writes gs */
    case ZYDIS_MNEMONIC_SYSEXIT:
    case ZYDIS_MNEMONIC_SYSRET:
        return DBI_TRAP;
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XABORT:
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED:
    case ZYDIS_MNEMONIC_RDPMC:
    case ZYDIS_MNEMONIC_TPAUSE:
    case ZYDIS_MNEMONIC_UMWAIT:
    case ZYDIS_MNEMONIC_UMONITOR:
        return DBI_UNSUPPORTED;
    default:
        if (segment_written(insn))
            return DBI_SEGMENT;
        return insn->whole->zydis.meta.category == ZYDIS_CATEGORY_COND_BR ? DBI_JCC : DBI_NEXT;
    }
}

#define REPEATS (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)

static enum agt_xsave_kind xsave_kind(const struct dbi_insn *insn)
{
    switch (insn->whole->zydis.mnemonic) {
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
        return AGT_XSAVE_WHOLE;
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
        return AGT_XSAVE_OPT;
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
        return AGT_XSAVE_COMPACT;
    default:
        return AGT_XSAVE_NONE;
    }
}

/* Whether is_beyond_us(), or who translates, wants to know more of an instruction's memory operands
 * than Zydis says. */
static bool is_odd(const struct dbi_insn *insn)
{
    if (insn->is.xsave || insn->is.x87 || insn->is.uses_gs ||
        insn->whole->zydis.mnemonic == ZYDIS_MNEMONIC_LSL || segment_written(insn))
        return true;
    for (unsigned i = 0; i < insn->whole->zydis.operand_count; i++) {
        if (insn->whole->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
            insn->whole->operands[i].mem.type == ZYDIS_MEMOP_TYPE_VSIB)
            return true;
    }
    return false;
}

static bool is_described(const struct dbi_insn *insn, enum dbi_detail detail)
{
    return detail == DBI_DETAIL_ALL ||
           (insn->is.has_memory && (detail == DBI_DETAIL_MEMORY || is_odd(insn)));
}

/* What a choice is collected by, whatever else is wanted of the instruction. */
static void choice_decode(struct dbi_insn *insn)
{
    const ZydisDecodedInstruction *zydis = &insn->whole->zydis;
    bool is_cmov = zydis->meta.category == ZYDIS_CATEGORY_CMOV;

    insn->info.flags = is_cmov ? INS_IS_CMOV : 0;
    insn->info.condition = is_cmov ? zydis->opcode & 15 : INS_COND_NONE;
    ins_choice_make(zydis, insn->whole->operands, &insn->info.choice);
}

static void illegal(struct dbi_insn *insn, uint64_t pc, const uint8_t *bytes)
{
    *insn = (struct dbi_insn){.pc = pc,
                              .bytes = {bytes[0]},
                              .is = {.length = 1, .terminal = DBI_ILLEGAL},
                              .has_whole = true,
                              .whole = insn->whole,
                              .info = {.length = 1, .klass = INS_TRAP}};
    memset(insn->whole, 0, sizeof(*insn->whole));
}

static const ZydisDecoder *the_decoder(void)
{
    static ZydisDecoder decoder;
    static bool ready;
    if (!ready) {
        ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
        ready = true;
    }
    return &decoder;
}

void dbi_code_init(struct dbi_code *code)
{
    for (unsigned i = 0; i < DBI_INSN_MAX; i++)
        code->insns[i] = (struct dbi_insn){.whole = &code->wholes[i]};
}

const struct dbi_whole *dbi_insn_whole(struct dbi_insn *insn)
{
    struct dbi_whole *whole = insn->whole;
    if (!insn->has_whole &&
        ZYAN_FAILED(ZydisDecoderDecodeFull(the_decoder(), insn->bytes, insn->is.length,
                                           &whole->zydis, whole->operands)))
        memset(whole, 0, sizeof(*whole));
    insn->has_whole = true;
    return whole;
}

/* Decodes what instructions without a branch or an operand's address need to know of the whole. */
static void encoding_decode(struct dbi_insn *insn)
{
    const ZydisDecodedInstruction *zydis = &insn->whole->zydis;
    insn->is.length = zydis->length;
    insn->is.opcode = zydis->opcode;
    insn->is.is_narrow = zydis->address_width == 32;
    insn->is.disp_off = zydis->raw.disp.offset;
    insn->is.has_no_effect = zydis->meta.category == ZYDIS_CATEGORY_NOP ||
                             zydis->meta.category == ZYDIS_CATEGORY_WIDENOP ||
                             zydis->meta.category == ZYDIS_CATEGORY_PREFETCH;
}

int dbi_insn_decode(struct dbi_insn *insn, uint64_t pc, const uint8_t *bytes, size_t available,
                    enum dbi_detail detail)
{
    insn->is = (struct dbi_traits){0};
    insn->has_whole = true;
    insn->target = 0;
    ZyanStatus status = ZydisDecoderDecodeFull(the_decoder(), bytes, available, &insn->whole->zydis,
                                               insn->whole->operands);
    if (status == ZYDIS_STATUS_NO_MORE_DATA)
        return wetdbg_fail_plain(-WETDBG_ERR_CORRUPT);
    if (ZYAN_FAILED(status)) {
        illegal(insn, pc, bytes);
        return 0;
    }
    insn->pc = pc;
    encoding_decode(insn);
    insn->info.mem_count = 0;
    choice_decode(insn);
    memcpy(insn->bytes, bytes, insn->is.length);
    insn->is.has_memory = operands_decode(insn);
    insn->is.xsave = (uint8_t)xsave_kind(insn);
    insn->is.uses_gs = uses_gs(insn);
    insn->is.loads_gs = loads_gs(insn);
    insn->is.moves_gs_base = insn->whole->zydis.mnemonic == ZYDIS_MNEMONIC_RDGSBASE ||
                             insn->whole->zydis.mnemonic == ZYDIS_MNEMONIC_WRGSBASE;
    insn->is.is_wide = insn->is.xsave && insn->whole->zydis.raw.rex.W;
    if (insn->whole->zydis.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY)
        insn->is.x87 = (uint8_t)dbi_x87_kind(insn->bytes, insn->is.length);
    if (is_described(insn, detail))
        ins_describe(&insn->whole->zydis, insn->whole->operands, pc, &insn->info);
    flags_decode(insn);
    if (insn->whole->zydis.mnemonic == ZYDIS_MNEMONIC_XCHG)
        insn->is.gpr_used |= 1u << INS_RAX; /* as r15d's stand-in it would make a nop: 90 */
    insn->is.is_rep = insn->whole->zydis.meta.category == ZYDIS_CATEGORY_STRINGOP &&
                      insn->whole->zydis.attributes & REPEATS;
    insn->is.writes_fs_base = insn->whole->zydis.mnemonic == ZYDIS_MNEMONIC_WRFSBASE;
    insn->is.terminal = (uint8_t)terminal_of(insn);
    if (dbi_insn_is_direct(insn))
        insn->target = pc + insn->is.length + (uint64_t)insn->whole->operands[0].imm.value.s;
    if (insn->is.terminal == DBI_NEXT && is_beyond_us(insn))
        insn->is.terminal = DBI_UNSUPPORTED;
    bool shows_flags = insn->is.terminal == DBI_SYSCALL || /* in r11 */
                       insn->is.terminal == DBI_TRAP || insn->is.terminal == DBI_ILLEGAL;
    if (shows_flags)
        insn->is.flags_read = DBI_FLAGS_ALL;
    return 0;
}

bool dbi_code_flags_dead(const struct dbi_code *code)
{
    uint8_t left = DBI_FLAGS_ALL;
    for (unsigned i = 0; i < code->count; i++) {
        if (code->insns[i].is.flags_read & left)
            return false;
        left &= (uint8_t)~code->insns[i].is.flags_killed;
        if (!left)
            return true;
    }
    return false;
}

bool dbi_flags_written(const struct dbi_fragment *fragment, unsigned count)
{
    struct dbi_whole room;
    struct dbi_insn insn = {.whole = &room};
    uint8_t left = DBI_FLAGS_ALL;
    for (unsigned i = 0, off = 0; i < count && left && off < fragment->code_bytes; i++) {
        if (dbi_insn_decode(&insn, fragment->pc + off, fragment->code + off,
                            fragment->code_bytes - off, DBI_DETAIL_NONE))
            return false;
        left &= (uint8_t)~insn.is.flags_killed;
        off += insn.is.length;
    }
    return !left;
}

bool dbi_code_may_cycle(const struct dbi_code *code)
{
    const struct dbi_insn *last = &code->insns[code->count - 1];
    switch (last->is.terminal) {
    case DBI_NEXT:
        return code->count == DBI_INSN_MAX;
    case DBI_JMP:
    case DBI_JCC:
    case DBI_LOOP:
    case DBI_CALL:
        return last->target <= last->pc;
    case DBI_JMP_INDIRECT:
    case DBI_CALL_INDIRECT:
        return true;
    default:
        return false;
    }
}

unsigned dbi_code_next_use(const struct dbi_code *code, unsigned from, unsigned reg)
{
    unsigned i = from;
    while (i < code->count && !(code->insns[i].is.gpr_used >> reg & 1))
        i++;
    return i;
}
