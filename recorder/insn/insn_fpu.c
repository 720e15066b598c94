/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x87, MMX and the instructions that save or restore whole register files.
 *
 * Which of the eight registers st(i) is depends on TOP, which an execution tells: ins_settle().
 */

#include <string.h>

#include "recorder/insn/insn_image.h"
#include "recorder/insn/insn_priv.h"

/* ---- x87 ---- */

static void add_registers(struct ins_regset *set)
{
    for (unsigned r = 0; r < 8; r++)
        ins_regset_add(set, INS_LOC_ST + r);
}

static void add_x87(struct ins_regset *set)
{
    add_registers(set);
    ins_regset_add(set, INS_LOC_X87);
    ins_regset_add(set, INS_LOC_X87_STATUS);
}

static bool is_x87(const ZydisDecodedInstruction *zi)
{
    switch (zi->meta.isa_ext) {
    case ZYDIS_ISA_EXT_X87:
        return true;
    default:
        return zi->meta.category == ZYDIS_CATEGORY_X87_ALU ||
               zi->meta.category == ZYDIS_CATEGORY_FCMOV;
    }
}

/* Adds what operands outside the x87 registers give and take. */
static void add_outside_operands(struct ins_work *work, struct ins_flow *flow)
{
    for (unsigned i = 0; i < work->zi->operand_count; i++) {
        const ZydisDecodedOperand *op = &work->ops[i];
        bool outside = work->mem_of[i] != INS_NO_MEM || (op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
                                                         ins_gpr_number(op->reg.value) >= 0);
        if (!outside)
            continue;
        if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
            ins_use_operand(work, flow, i);
        if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            ins_def_operand(work, flow, i);
    }
    if (work->zi->cpu_flags != NULL) {
        ins_add_flags(&flow->cond_uses, work->zi->cpu_flags->tested);
        ins_add_flags(&flow->defs, work->zi->cpu_flags->modified | work->zi->cpu_flags->set_0);
    }
}

/*
 * What an instruction does to the stack: `defs` are computed from `uses` (and what is outside), bit
 * i is st(i) before it, so that 7 is what a push makes; `pops` as many registers become empty.
 */
struct x87_form {
    uint8_t uses, defs;
    int8_t step;     /* what it adds to TOP */
    bool is_perhaps; /* it computes, and pushes, unless its operand is out of range */
    bool is_exact;   /* neither rounding nor precision matters */
};

#define PUSHED 0x80

/* The register that an operand names, as a bit; st(0) if it names none. */
static uint8_t named(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops, unsigned i)
{
    if (i < zi->operand_count_visible && ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        ZydisRegisterGetClass(ops[i].reg.value) == ZYDIS_REGCLASS_X87)
        return (uint8_t)(1u << ZydisRegisterGetId(ops[i].reg.value));
    return 1;
}

/* The bits of both explicit operands, or of one and st(0). */
static uint8_t both(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops)
{
    return (uint8_t)(named(zi, ops, 0) | named(zi, ops, 1) | 1);
}

static bool names_register(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops)
{
    return zi->operand_count_visible && ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static bool push_form(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                      struct x87_form *form)
{
    *form = (struct x87_form){.defs = PUSHED, .step = -1};
    switch (zi->mnemonic) {
    case ZYDIS_MNEMONIC_FLD:
        form->uses = names_register(zi, ops) ? named(zi, ops, 0) : 0;
        form->is_exact = true;
        return true;
    case ZYDIS_MNEMONIC_FILD:
    case ZYDIS_MNEMONIC_FBLD:
    case ZYDIS_MNEMONIC_FLD1:
    case ZYDIS_MNEMONIC_FLDZ:
        form->is_exact = true;
        return true;
    case ZYDIS_MNEMONIC_FLDL2E:
    case ZYDIS_MNEMONIC_FLDL2T:
    case ZYDIS_MNEMONIC_FLDLG2:
    case ZYDIS_MNEMONIC_FLDLN2:
    case ZYDIS_MNEMONIC_FLDPI:
        return true;
    case ZYDIS_MNEMONIC_FXTRACT:
        *form = (struct x87_form){.uses = 1, .defs = 1 | PUSHED, .step = -1};
        return true;
    case ZYDIS_MNEMONIC_FPTAN:
    case ZYDIS_MNEMONIC_FSINCOS:
        *form = (struct x87_form){.uses = 1, .defs = 1 | PUSHED, .step = -1, .is_perhaps = true};
        return true;
    default:
        return false;
    }
}

static bool store_form(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                       struct x87_form *form)
{
    bool is_register = names_register(zi, ops);

    *form = (struct x87_form){.uses = 1, .step = 1};
    switch (zi->mnemonic) {
    case ZYDIS_MNEMONIC_FST:
        form->step = 0;
        break;
    case ZYDIS_MNEMONIC_FSTP:
        break;
    case ZYDIS_MNEMONIC_FIST:
        form->step = 0;
        return true;
    case ZYDIS_MNEMONIC_FISTP:
    case ZYDIS_MNEMONIC_FISTTP:
    case ZYDIS_MNEMONIC_FBSTP:
        return true;
    case ZYDIS_MNEMONIC_FFREE:
    case ZYDIS_MNEMONIC_FFREEP:
        *form = (struct x87_form){.step = zi->mnemonic == ZYDIS_MNEMONIC_FFREEP, .is_exact = true};
        return true;
    case ZYDIS_MNEMONIC_FINCSTP:
    case ZYDIS_MNEMONIC_FDECSTP:
        *form = (struct x87_form){.step = zi->mnemonic == ZYDIS_MNEMONIC_FINCSTP ? 1 : -1,
                                  .is_exact = true};
        return true;
    default:
        return false;
    }
    form->defs = is_register ? named(zi, ops, 0) : 0;
    form->is_exact = is_register || ops[0].size == 80;
    return true;
}

static bool compare_form(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                         struct x87_form *form)
{
    *form = (struct x87_form){.uses = both(zi, ops), .is_exact = true};
    switch (zi->mnemonic) {
    case ZYDIS_MNEMONIC_FTST:
    case ZYDIS_MNEMONIC_FXAM:
        form->uses = 1;
        return true;
    case ZYDIS_MNEMONIC_FCOM:
    case ZYDIS_MNEMONIC_FCOMI:
    case ZYDIS_MNEMONIC_FICOM:
    case ZYDIS_MNEMONIC_FUCOM:
    case ZYDIS_MNEMONIC_FUCOMI:
        return true;
    case ZYDIS_MNEMONIC_FCOMP:
    case ZYDIS_MNEMONIC_FCOMIP:
    case ZYDIS_MNEMONIC_FICOMP:
    case ZYDIS_MNEMONIC_FUCOMP:
    case ZYDIS_MNEMONIC_FUCOMIP:
        form->step = 1;
        return true;
    case ZYDIS_MNEMONIC_FCOMPP:
    case ZYDIS_MNEMONIC_FUCOMPP:
        form->uses = 3;
        form->step = 2;
        return true;
    default:
        return false;
    }
}

static bool compute_form(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                         struct x87_form *form)
{
    *form = (struct x87_form){.uses = 1, .defs = 1};
    switch (zi->mnemonic) {
    case ZYDIS_MNEMONIC_FABS:
    case ZYDIS_MNEMONIC_FCHS:
        form->is_exact = true;
        return true;
    case ZYDIS_MNEMONIC_F2XM1:
    case ZYDIS_MNEMONIC_FCOS:
    case ZYDIS_MNEMONIC_FRNDINT:
    case ZYDIS_MNEMONIC_FSIN:
    case ZYDIS_MNEMONIC_FSQRT:
        return true;
    case ZYDIS_MNEMONIC_FPREM:
    case ZYDIS_MNEMONIC_FPREM1:
    case ZYDIS_MNEMONIC_FSCALE:
        form->uses = 3;
        return true;
    case ZYDIS_MNEMONIC_FPATAN:
    case ZYDIS_MNEMONIC_FYL2X:
    case ZYDIS_MNEMONIC_FYL2XP1:
        *form = (struct x87_form){.uses = 3, .defs = 2, .step = 1};
        return true;
    case ZYDIS_MNEMONIC_FCMOVB:
    case ZYDIS_MNEMONIC_FCMOVBE:
    case ZYDIS_MNEMONIC_FCMOVE:
    case ZYDIS_MNEMONIC_FCMOVNB:
    case ZYDIS_MNEMONIC_FCMOVNBE:
    case ZYDIS_MNEMONIC_FCMOVNE:
    case ZYDIS_MNEMONIC_FCMOVNU:
    case ZYDIS_MNEMONIC_FCMOVU:
        form->uses = both(zi, ops);
        form->is_exact = true;
        return true;
    default:
        return false;
    }
}

static bool arithmetic_form(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                            struct x87_form *form)
{
    *form = (struct x87_form){.uses = both(zi, ops), .defs = named(zi, ops, 0)};
    switch (zi->mnemonic) {
    case ZYDIS_MNEMONIC_FADD:
    case ZYDIS_MNEMONIC_FDIV:
    case ZYDIS_MNEMONIC_FDIVR:
    case ZYDIS_MNEMONIC_FIADD:
    case ZYDIS_MNEMONIC_FIDIV:
    case ZYDIS_MNEMONIC_FIDIVR:
    case ZYDIS_MNEMONIC_FIMUL:
    case ZYDIS_MNEMONIC_FISUB:
    case ZYDIS_MNEMONIC_FISUBR:
    case ZYDIS_MNEMONIC_FMUL:
    case ZYDIS_MNEMONIC_FSUB:
    case ZYDIS_MNEMONIC_FSUBR:
        return true;
    case ZYDIS_MNEMONIC_FADDP:
    case ZYDIS_MNEMONIC_FDIVP:
    case ZYDIS_MNEMONIC_FDIVRP:
    case ZYDIS_MNEMONIC_FMULP:
    case ZYDIS_MNEMONIC_FSUBP:
    case ZYDIS_MNEMONIC_FSUBRP:
        form->step = 1;
        return true;
    default:
        return false;
    }
}

/* False if only tables know the instruction. */
static bool form_of(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                    struct x87_form *form)
{
    return push_form(zi, ops, form) || store_form(zi, ops, form) || compare_form(zi, ops, form) ||
           compute_form(zi, ops, form) || arithmetic_form(zi, ops, form);
}

static void use_st(struct ins_flow *flow, uint8_t uses)
{
    flow->st_uses = uses;
    if (uses)
        add_registers(&flow->value_uses);
}

static void define_st(struct ins_flow *flow, uint8_t defs, bool is_perhaps)
{
    *(is_perhaps ? &flow->st_may_defs : &flow->st_defs) = defs;
    if (defs)
        add_registers(&flow->may_defs);
}

/* Registers that become empty: only their tags change. */
static void empty_st(struct ins_work *work, uint8_t emptied)
{
    struct ins_flow *tags = ins_flow_new(work);
    tags->kinds = INS_FLOW_STACK;
    define_st(tags, emptied, true);
}

/* Which of the registers before it an instruction empties. */
static uint8_t emptied_by(const struct ins_work *work, const struct x87_form *form)
{
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_FINCSTP:
    case ZYDIS_MNEMONIC_FDECSTP:
        return 0;
    case ZYDIS_MNEMONIC_FFREE:
        return named(work->zi, work->ops, 0);
    case ZYDIS_MNEMONIC_FFREEP:
        return named(work->zi, work->ops, 0) | 1;
    default:
        return form->step > 0 ? (uint8_t)((1u << form->step) - 1) : 0;
    }
}

static void exchange_flows(struct ins_work *work)
{
    uint8_t other = named(work->zi, work->ops, 0) | named(work->zi, work->ops, 1);
    other = other == 1 ? 1 : (uint8_t)(other & ~1u);
    for (unsigned i = 0; i < 2; i++) {
        struct ins_flow *flow = ins_flow_new(work);
        use_st(flow, i ? 1 : other);
        define_st(flow, i ? other : 1, false);
        ins_regset_add(&flow->may_defs, INS_LOC_X87);
        ins_regset_add(&flow->may_defs, INS_LOC_X87_STATUS);
    }
}

static void x87_flow(struct ins_work *work)
{
    struct x87_form form;
    bool is_known = form_of(work->zi, work->ops, &form);
    struct ins_flow *flow = ins_flow_new(work);
    add_outside_operands(work, flow);
    if (!is_known) {
        add_x87(&flow->value_uses);
        add_x87(&flow->may_defs);
        ins_regset_add(&flow->value_uses, INS_LOC_X87_CONTROL);
        return;
    }
    use_st(flow, form.uses);
    define_st(flow, form.defs, form.is_perhaps);
    ins_regset_add(&flow->may_defs, INS_LOC_X87);
    ins_regset_add(&flow->may_defs, INS_LOC_X87_STATUS);
    if (!form.is_exact)
        ins_regset_add(&flow->value_uses, INS_LOC_X87_CONTROL);
    uint8_t emptied = emptied_by(work, &form);
    if (emptied)
        empty_st(work, emptied);
}

/* fnstcw, fnstsw: the destination gets one word. */
static void store_word_flow(struct ins_work *work, unsigned loc)
{
    struct ins_flow *flow = ins_flow_new(work);
    ins_def_operand(work, flow, 0);
    ins_regset_add(&flow->value_uses, loc);
    flow->kinds = INS_FLOW_COPY;
}

/* The summary bit of the status word follows from its flags and the masks in the control word. */
static void load_control_flows(struct ins_work *work)
{
    struct ins_flow *control = ins_flow_new(work);
    control->mem_uses = 1;
    ins_regset_add(&control->defs, INS_LOC_X87_CONTROL);
    struct ins_flow *summary = ins_flow_new(work);
    summary->mem_uses = 1;
    ins_regset_add(&summary->value_uses, INS_LOC_X87_STATUS);
    ins_regset_add(&summary->may_defs, INS_LOC_X87_STATUS);
}

static void reset_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    ins_regset_add(&flow->may_defs, INS_LOC_X87);
    struct ins_flow *tags = ins_flow_new(work);
    tags->kinds = INS_FLOW_STACK;
    add_registers(&tags->may_defs);
    ins_regset_add(&flow->defs, INS_LOC_X87_STATUS);
    ins_regset_add(&flow->defs, INS_LOC_X87_CONTROL);
}

static void add_x87_all(struct ins_regset *set)
{
    add_x87(set);
    ins_regset_add(set, INS_LOC_X87_CONTROL);
}

/* fnsave, fnstenv: the image, then what becomes of the registers. */
static void store_environment_flows(struct ins_work *work)
{
    struct ins_flow *image = ins_flow_new(work);
    image->mem_defs = 1;
    add_x87_all(&image->value_uses);
    if (work->zi->mnemonic == ZYDIS_MNEMONIC_FNSAVE) {
        reset_flow(work);
        return;
    }
    struct ins_flow *masked = ins_flow_new(work); /* fnstenv masks all exceptions */
    add_x87_all(&masked->value_uses);
    ins_regset_add(&masked->defs, INS_LOC_X87_CONTROL);
    ins_regset_add(&masked->may_defs, INS_LOC_X87_STATUS);
}

static void load_environment_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    flow->mem_uses = 1;
    ins_regset_add(&flow->defs, INS_LOC_X87_STATUS);
    ins_regset_add(&flow->defs, INS_LOC_X87_CONTROL);
    ins_regset_add(&flow->defs, INS_LOC_X87);
    add_registers(work->zi->mnemonic == ZYDIS_MNEMONIC_FRSTOR ? &flow->defs : &flow->may_defs);
}

static bool x87_control_rules(struct ins_work *work)
{
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_FNSTCW:
        store_word_flow(work, INS_LOC_X87_CONTROL);
        return true;
    case ZYDIS_MNEMONIC_FNSTSW:
        store_word_flow(work, INS_LOC_X87_STATUS);
        return true;
    case ZYDIS_MNEMONIC_FLDCW:
        load_control_flows(work);
        return true;
    case ZYDIS_MNEMONIC_FNINIT:
        reset_flow(work);
        return true;
    case ZYDIS_MNEMONIC_FNSAVE:
    case ZYDIS_MNEMONIC_FNSTENV:
        store_environment_flows(work);
        return true;
    case ZYDIS_MNEMONIC_FRSTOR:
    case ZYDIS_MNEMONIC_FLDENV:
        load_environment_flow(work);
        return true;
    case ZYDIS_MNEMONIC_FNCLEX: {
        struct ins_flow *flow = ins_flow_new(work);
        ins_regset_add(&flow->value_uses, INS_LOC_X87_STATUS);
        ins_regset_add(&flow->defs, INS_LOC_X87_STATUS);
        return true;
    }
    case ZYDIS_MNEMONIC_FNOP: /* some processors keep its address as the last instruction's */
        ins_regset_add(&ins_flow_new(work)->may_defs, INS_LOC_X87);
        return true;
    case ZYDIS_MNEMONIC_FWAIT:
        return true;
    default:
        return false;
    }
}

/* ---- MMX: the x87 registers by another name; any use resets TOP and the tags ---- */

static bool touches_mmx(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops)
{
    for (unsigned i = 0; i < zi->operand_count; i++) {
        if (ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            ZydisRegisterGetClass(ops[i].reg.value) == ZYDIS_REGCLASS_MMX)
            return true;
    }
    return zi->mnemonic == ZYDIS_MNEMONIC_EMMS || zi->mnemonic == ZYDIS_MNEMONIC_FEMMS;
}

static void mmx_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_generic(work);
    struct ins_regset state = {0};
    ins_refine_generic(work, flow);
    ins_regset_add(&state, INS_LOC_X87);
    ins_regset_add(&state, INS_LOC_X87_STATUS);
    ins_regset_remove(&flow->defs, &state);
    ins_regset_remove(&flow->value_uses, &state);
    flow->kinds &= (uint8_t)~INS_FLOW_COPY; /* a register is one location */
    bool is_empty =
        ins_regset_is_empty(&flow->defs) && flow->mem_defs == 0; /* emms, say: the tags alone */
    struct ins_flow *tags = is_empty ? flow : ins_flow_new(work);
    if (is_empty)
        *flow = (struct ins_flow){0};
    tags->kinds = INS_FLOW_STACK;
    add_x87(&tags->may_defs);
    ins_regset_remove(&tags->may_defs, &flow->defs);
    if (work->zi->mnemonic == ZYDIS_MNEMONIC_MASKMOVQ) {
        flow->mem_may_defs = flow->mem_defs;
        flow->mem_defs = 0;
    }
}

/* ---- whole register files ---- */

static void add_vectors(struct ins_regset *set, unsigned count, unsigned bytes)
{
    for (unsigned vector = 0; vector < count; vector++)
        ins_regset_add_vector(set, vector, 0, bytes);
}

static void add_mxcsr(struct ins_regset *set)
{
    ins_regset_add(set, INS_LOC_MXCSR_STATUS);
    ins_regset_add(set, INS_LOC_MXCSR_CONTROL);
}

static void add_extended_state(struct ins_regset *set)
{
    add_x87_all(set);
    add_mxcsr(set);
    add_vectors(set, 32, 64);
    for (unsigned k = 0; k < 8; k++)
        ins_regset_add(set, INS_LOC_K + k);
    ins_regset_add(set, INS_LOC_PKRU);
}

static void fxsave_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    add_x87_all(&flow->value_uses);
    add_mxcsr(&flow->value_uses);
    add_vectors(&flow->value_uses, 16, 16);
    flow->mem_may_defs = 1; /* reserved bytes stay */
}

static void fxrstor_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    flow->mem_uses = 1;
    ins_regset_add(&flow->defs, INS_LOC_X87_STATUS);
    ins_regset_add(&flow->defs, INS_LOC_X87_CONTROL);
    add_mxcsr(&flow->defs);
    add_vectors(&flow->defs, 16, 16);
    add_registers(&flow->defs);
    ins_regset_add(&flow->may_defs, INS_LOC_X87); /* AMD keeps the pointers at times */
}

/* edx:eax choose the components. */
static void add_component_choice(struct ins_flow *flow)
{
    ins_regset_add_gpr(&flow->cond_uses, INS_RAX, 0, 8);
    ins_regset_add_gpr(&flow->cond_uses, INS_RDX, 0, 8);
}

/* Bits of the header that nobody asked for stay, except for xsavec, which writes all of them. */
static void xsave_flow(struct ins_work *work, bool reads_header)
{
    struct ins_flow *flow = ins_flow_new(work);
    add_extended_state(&flow->value_uses);
    add_component_choice(flow);
    flow->mem_uses = reads_header ? 1 : 0;
    flow->mem_may_defs = 1; /* less than the operand; ins_image_ranges() */
}

static void xrstor_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    add_extended_state(&flow->may_defs);
    add_component_choice(flow);
    flow->mem_uses = 1;
}

static void mxcsr_flow(struct ins_work *work, bool load)
{
    struct ins_flow *flow = ins_flow_new(work);
    if (load) {
        flow->mem_uses = 1;
        add_mxcsr(&flow->defs);
    } else {
        flow->mem_defs = 1;
        add_mxcsr(&flow->value_uses);
    }
}

static bool state_rules(struct ins_work *work)
{
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64:
        fxsave_flow(work);
        return true;
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
        fxrstor_flow(work);
        return true;
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
        xsave_flow(work, true);
        return true;
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
        xsave_flow(work, false);
        return true;
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
        xrstor_flow(work);
        return true;
    case ZYDIS_MNEMONIC_LDMXCSR:
    case ZYDIS_MNEMONIC_VLDMXCSR:
        mxcsr_flow(work, true);
        return true;
    case ZYDIS_MNEMONIC_STMXCSR:
    case ZYDIS_MNEMONIC_VSTMXCSR:
        mxcsr_flow(work, false);
        return true;
    default:
        return false;
    }
}

bool ins_rules_fpu(struct ins_work *work)
{
    if (state_rules(work))
        return true;
    if (touches_mmx(work->zi, work->ops)) {
        mmx_flow(work);
        return true;
    }
    if (!is_x87(work->zi))
        return false;
    if (x87_control_rules(work))
        return true;
    if (work->zi->mnemonic == ZYDIS_MNEMONIC_FXCH)
        exchange_flows(work);
    else
        x87_flow(work);
    return true;
}

/* ---- TOP ---- */

static bool loads_top(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_FNINIT:
    case ZYDIS_MNEMONIC_FNSAVE:
    case ZYDIS_MNEMONIC_FRSTOR:
    case ZYDIS_MNEMONIC_FLDENV:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
        return true;
    default:
        return false;
    }
}

static bool keeps_top(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_FLDCW:
    case ZYDIS_MNEMONIC_FNCLEX:
    case ZYDIS_MNEMONIC_FNOP:
    case ZYDIS_MNEMONIC_FNSTCW:
    case ZYDIS_MNEMONIC_FNSTENV:
    case ZYDIS_MNEMONIC_FNSTSW:
    case ZYDIS_MNEMONIC_FWAIT:
    case ZYDIS_MNEMONIC_FXCH:
        return true;
    default:
        return false;
    }
}

void ins_top_choose(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                    struct ins_choice *choice)
{
    struct x87_form form;

    choice->loses_top = loads_top(zi->mnemonic) || touches_mmx(zi, ops);
    if (ins_is_image(zi->mnemonic)) {
        choice->kind = INS_CHOICE_IMAGE;
        choice->slots = INS_IMAGE_SLOTS;
        return;
    }
    if (choice->loses_top || !is_x87(zi))
        return;
    bool is_known = form_of(zi, ops, &form);
    choice->loses_top = is_known ? form.is_perhaps : !keeps_top(zi->mnemonic);
    if (!is_known && zi->mnemonic != ZYDIS_MNEMONIC_FXCH)
        return;
    choice->kind = INS_CHOICE_TOP;
    choice->slots = 1;
    choice->top_step = is_known ? form.step : 0;
}

static void settle(struct ins_flow *flow, unsigned top)
{
    if (flow->st_uses) {
        struct ins_regset all = {0};
        add_registers(&all);
        ins_regset_remove(&flow->value_uses, &all);
    }
    if (flow->st_defs | flow->st_may_defs) {
        struct ins_regset all = {0};
        add_registers(&all);
        ins_regset_remove(&flow->may_defs, &all);
        ins_regset_remove(&flow->defs, &all);
    }
    for (unsigned i = 0; i < 8; i++) {
        unsigned loc = INS_LOC_ST + ((top + i) & 7);
        if (flow->st_uses >> i & 1)
            ins_regset_add(&flow->value_uses, loc);
        if (flow->st_defs >> i & 1)
            ins_regset_add(&flow->defs, loc);
        if (flow->st_may_defs >> i & 1)
            ins_regset_add(&flow->may_defs, loc);
    }
}

const struct ins_info *ins_settle(const struct ins_info *info, const uint64_t *slots,
                                  struct ins_info *out)
{
    if (info->choice.kind != INS_CHOICE_TOP)
        return info;
    memcpy(out, info, ins_info_bytes(info)); /* a cache may keep no more of it */
    for (unsigned f = 0; f < out->flow_count; f++)
        settle(&out->flows[f], slots[info->mem_count] >> 11 & 7);
    return out;
}
