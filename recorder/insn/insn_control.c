/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How control leaves an instruction, and the instructions that move the stack pointer. */
#include "recorder/insn/insn_priv.h"

/* ---- classes ---- */

static bool is_trap(const struct ins_work *work)
{
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_VMMCALL:
    case ZYDIS_MNEMONIC_VMCALL:
    case ZYDIS_MNEMONIC_MONITOR:
    case ZYDIS_MNEMONIC_MWAIT:
    case ZYDIS_MNEMONIC_SYSRET:
    case ZYDIS_MNEMONIC_SYSEXIT:
    case ZYDIS_MNEMONIC_SWAPGS:
    case ZYDIS_MNEMONIC_CLI:
    case ZYDIS_MNEMONIC_STI:
        return true;
    default:
        return work->zi->meta.category == ZYDIS_CATEGORY_IO ||
               work->zi->meta.category == ZYDIS_CATEGORY_IOSTRINGOP ||
               (work->zi->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED);
    }
}

static bool is_far(const struct ins_work *work)
{
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
        return true;
    default:
        return work->zi->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ||
               work->zi->meta.isa_set == ZYDIS_ISA_SET_RTM;
    }
}

static enum ins_class input_class(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_CPUID:
        return INS_CPUID;
    case ZYDIS_MNEMONIC_RDTSC:
    case ZYDIS_MNEMONIC_RDTSCP:
        return INS_RDTSC;
    case ZYDIS_MNEMONIC_RDRAND:
    case ZYDIS_MNEMONIC_RDSEED:
        return INS_RDRAND;
    case ZYDIS_MNEMONIC_XGETBV:
        return INS_XGETBV;
    case ZYDIS_MNEMONIC_RDPID:
    case ZYDIS_MNEMONIC_LSL: /* of one segment the limit is the processor's number */
        return INS_RDPID;
    default:
        return INS_PLAIN;
    }
}

static enum ins_class classify(const struct ins_work *work)
{
    bool direct = work->ops[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && work->ops[0].imm.is_relative;
    if (is_trap(work))
        return INS_TRAP;
    if (is_far(work))
        return INS_FAR;
    switch (work->zi->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        return INS_JCC;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return direct ? INS_JMP : INS_JMP_INDIRECT;
    case ZYDIS_CATEGORY_CALL:
        return direct ? INS_CALL : INS_CALL_INDIRECT;
    case ZYDIS_CATEGORY_RET:
        return INS_RET;
    case ZYDIS_CATEGORY_SYSCALL:
        return INS_SYSCALL;
    default:
        return input_class(work->zi->mnemonic);
    }
}

/* ---- conditions ---- */

static unsigned counted_condition(const struct ins_work *work)
{
    bool narrow = work->zi->address_width == 32;
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_JRCXZ:
        return INS_COND_RCXZ;
    case ZYDIS_MNEMONIC_JECXZ:
        return INS_COND_ECXZ;
    case ZYDIS_MNEMONIC_LOOP:
        return narrow ? INS_COND_LOOP32 : INS_COND_LOOP;
    case ZYDIS_MNEMONIC_LOOPE:
        return narrow ? INS_COND_LOOPE32 : INS_COND_LOOPE;
    case ZYDIS_MNEMONIC_LOOPNE:
        return narrow ? INS_COND_LOOPNE32 : INS_COND_LOOPNE;
    default:
        return INS_COND_NONE;
    }
}

static unsigned condition_of(const struct ins_work *work)
{
    unsigned counted = counted_condition(work);
    if (counted != INS_COND_NONE)
        return counted;
    switch (work->zi->meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_CMOV:
    case ZYDIS_CATEGORY_SETCC:
        return work->zi->opcode & 0xf;
    default:
        return INS_COND_NONE;
    }
}

bool ins_condition_holds(unsigned condition, uint64_t rflags, uint64_t rcx)
{
    bool cf = rflags & ZYDIS_CPUFLAG_CF, zf = rflags & ZYDIS_CPUFLAG_ZF;
    bool sf = rflags & ZYDIS_CPUFLAG_SF, of = rflags & ZYDIS_CPUFLAG_OF;
    bool pf = rflags & ZYDIS_CPUFLAG_PF;
    switch (condition) {
    case INS_COND_RCXZ:
        return rcx == 0;
    case INS_COND_ECXZ:
        return (uint32_t)rcx == 0;
    case INS_COND_LOOP:
        return rcx != 1;
    case INS_COND_LOOPE:
        return rcx != 1 && zf;
    case INS_COND_LOOPNE:
        return rcx != 1 && !zf;
    case INS_COND_LOOP32:
        return (uint32_t)rcx != 1;
    case INS_COND_LOOPE32:
        return (uint32_t)rcx != 1 && zf;
    case INS_COND_LOOPNE32:
        return (uint32_t)rcx != 1 && !zf;
    default:
        break;
    }
    const bool even[8] = {of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of};
    return even[condition >> 1 & 7] != (condition & 1);
}

/* ---- branches ---- */

static struct ins_flow *new_branch_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    flow->kinds = INS_FLOW_BRANCH;
    return flow;
}

static bool counts_down(unsigned condition)
{
    return condition >= INS_COND_LOOP && condition <= INS_COND_LOOPNE32;
}

static void jcc_flows(struct ins_work *work)
{
    struct ins_flow *branch = new_branch_flow(work);
    ins_add_flags(&branch->cond_uses, work->zi->cpu_flags->tested);
    if (counted_condition(work) != INS_COND_NONE)
        ins_regset_add_gpr(&branch->cond_uses, INS_RCX, 0, 8);
    if (counts_down(counted_condition(work))) {
        struct ins_flow *count = ins_flow_new(work);
        ins_regset_add_gpr(&count->defs, INS_RCX, 0, 8);
        ins_regset_add_gpr(&count->value_uses, INS_RCX, 0, 8);
    }
}

/* The operand that Zydis hides: the stack slot. */
static unsigned stack_slot(const struct ins_work *work)
{
    for (unsigned i = 0; i < work->zi->operand_count; i++) {
        if (work->mem_of[i] != INS_NO_MEM &&
            (work->info.mems[work->mem_of[i]].flags & INS_MEM_IMPLICIT))
            return i;
    }
    return 0;
}

static void call_flows(struct ins_work *work)
{
    /* The return address is a constant of the program. */
    ins_def_operand(work, ins_flow_new(work), stack_slot(work));
    ins_flow_stack(work, INS_RSP);
    if (work->info.klass == INS_CALL_INDIRECT)
        ins_use_operand(work, new_branch_flow(work), 0);
}

static void ret_flows(struct ins_work *work)
{
    ins_use_operand(work, new_branch_flow(work), stack_slot(work));
    ins_flow_stack(work, INS_RSP);
}

static void syscall_flows(struct ins_work *work)
{
    static const uint8_t arguments[] = {INS_RAX,      INS_RDI, INS_RSI, INS_RDX,
                                        10 /* r10 */, INS_R8,  9 /* r9 */};
    struct ins_flow *result = ins_flow_new(work);
    ins_regset_add_gpr(&result->defs, INS_RAX, 0, 8);
    for (size_t i = 0; i < sizeof(arguments); i++)
        ins_regset_add_gpr(&result->value_uses, arguments[i], 0, 8);
    ins_regset_add_gpr(&ins_flow_new(work)->defs, INS_RCX, 0, 8);
    struct ins_flow *flags = ins_flow_new(work);
    ins_regset_add_gpr(&flags->defs, 11, 0, 8);
    ins_add_flags(&flags->value_uses, ~0u);
}

bool ins_rules_control(struct ins_work *work)
{
    struct ins_info *info = &work->info;
    info->klass = (uint8_t)classify(work);
    if (info->klass != INS_FAR)
        info->condition = (uint8_t)condition_of(work);
    if (info->klass == INS_JCC || info->klass == INS_JMP || info->klass == INS_CALL)
        info->target = work->pc + work->zi->length + (uint64_t)work->ops[0].imm.value.s;
    switch (info->klass) {
    case INS_JCC:
        jcc_flows(work);
        return true;
    case INS_JMP:
        return true;
    case INS_TRAP:
        info->mem_count = 0;
        return true;
    case INS_JMP_INDIRECT:
        ins_use_operand(work, new_branch_flow(work), 0);
        return true;
    case INS_CALL:
    case INS_CALL_INDIRECT:
        call_flows(work);
        return true;
    case INS_RET:
        ret_flows(work);
        return true;
    case INS_SYSCALL:
        syscall_flows(work);
        return true;
    case INS_FAR:
        info->flags |= INS_IS_APPROXIMATE;
        return true;
    default:
        return false;
    }
}

/* ---- the stack ---- */

static void push_flows(struct ins_work *work)
{
    struct ins_flow *store = ins_flow_new(work);
    ins_def_operand(work, store, stack_slot(work));
    if (work->zi->operand_count_visible == 0) { /* pushf */
        ins_add_flags(&store->value_uses, work->zi->cpu_flags->tested);
    } else {
        ins_use_operand(work, store, 0);
        if (work->ops[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
            store->kinds = INS_FLOW_COPY;
    }
    ins_flow_stack(work, INS_RSP);
}

static void pop_flows(struct ins_work *work)
{
    struct ins_flow *load = ins_flow_new(work);
    ins_use_operand(work, load, stack_slot(work));
    if (work->zi->operand_count_visible == 0) { /* popf */
        ins_add_flags(&load->defs, work->zi->cpu_flags->modified);
    } else {
        ins_def_operand(work, load, 0);
        load->kinds = INS_FLOW_COPY;
        if (work->ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            ins_gpr_number(work->ops[0].reg.value) == INS_RSP)
            return; /* the popped value is what rsp ends as */
    }
    ins_flow_stack(work, INS_RSP);
}

static void leave_flows(struct ins_work *work)
{
    struct ins_flow *load = ins_flow_new(work);
    ins_use_operand(work, load, stack_slot(work));
    ins_regset_add_gpr(&load->defs, INS_RBP, 0, 8);
    load->kinds = INS_FLOW_COPY;
    ins_flow_stack(work, INS_RSP);
}

/* A nesting level copies that many frame pointers, the new one last, below the saved rbp. */
static void widen_enter(struct ins_work *work, struct ins_flow *store, unsigned level)
{
    struct ins_info *info = &work->info;
    info->mems[0].size_bytes = (uint16_t)(8 * (level + 1));
    info->mems[0].disp = -8 * (int64_t)(level + 1);
    store->kinds = 0;
    ins_regset_add_gpr(&store->value_uses, INS_RSP, 0, 8); /* the new frame pointer */
    if (level < 2)
        return;
    info->mems[info->mem_count++] = (struct ins_mem){
        .disp = -8 * (int64_t)(level - 1),
        .size_bytes = (uint16_t)(8 * (level - 1)),
        .flags = INS_MEM_READ | INS_MEM_IMPLICIT,
        .base = INS_RBP,
        .index = -1,
        .bit_reg = -1,
    };
    store->mem_uses = 2;
}

static void enter_flows(struct ins_work *work)
{
    struct ins_flow *store = ins_flow_new(work);
    unsigned level = work->ops[1].imm.value.u & 31;
    ins_def_operand(work, store, stack_slot(work));
    ins_regset_add_gpr(&store->value_uses, INS_RBP, 0, 8);
    store->kinds = INS_FLOW_COPY;
    if (level != 0)
        widen_enter(work, store, level);
    ins_flow_stack(work, INS_RSP);
    ins_flow_stack(work, INS_RBP);
}

static bool is_reg(const struct ins_work *work, unsigned i, ZydisRegister reg)
{
    return work->ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER && work->ops[i].reg.value == reg;
}

/* mov rbp,rsp and back; lea rsp,[rsp or rbp + constant]; add, sub, and rsp,constant. */
static bool is_frame_arithmetic(const struct ins_work *work)
{
    const ZydisDecodedOperand *source = &work->ops[1];
    bool to_rsp = is_reg(work, 0, ZYDIS_REGISTER_RSP);
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        return (to_rsp && is_reg(work, 1, ZYDIS_REGISTER_RBP)) ||
               (is_reg(work, 0, ZYDIS_REGISTER_RBP) && is_reg(work, 1, ZYDIS_REGISTER_RSP));
    case ZYDIS_MNEMONIC_LEA:
        return to_rsp && source->mem.index == ZYDIS_REGISTER_NONE &&
               (source->mem.base == ZYDIS_REGISTER_RSP || source->mem.base == ZYDIS_REGISTER_RBP);
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_AND:
        return to_rsp && source->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    default:
        return false;
    }
}

static void frame_flows(struct ins_work *work)
{
    ins_flow_stack(work, is_reg(work, 0, ZYDIS_REGISTER_RBP) ? INS_RBP : INS_RSP);
    const ZydisAccessedFlags *flags = work->zi->cpu_flags;
    if (flags == NULL)
        return;
    ins_add_flags(&work->info.flows[0].defs,
                  flags->modified | flags->set_0 | flags->set_1 | flags->undefined);
}

bool ins_rules_stack(struct ins_work *work)
{
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFQ:
        push_flows(work);
        return true;
    case ZYDIS_MNEMONIC_POP:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFQ:
        pop_flows(work);
        return true;
    case ZYDIS_MNEMONIC_LEAVE:
        leave_flows(work);
        return true;
    case ZYDIS_MNEMONIC_ENTER:
        enter_flows(work);
        return true;
    default:
        if (!is_frame_arithmetic(work))
            return false;
        frame_flows(work);
        return true;
    }
}
