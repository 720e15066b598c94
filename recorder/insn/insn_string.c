/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * String instructions. The data, each pointer and the counter are flows of their own: where a copy
 * ends says nothing about what was copied.
 */
#include "recorder/insn/insn_priv.h"

enum string_op { STRING_NONE, STRING_MOVS, STRING_STOS, STRING_LODS, STRING_SCAS, STRING_CMPS };

static enum string_op string_op_of(const struct ins_work *work)
{
    if (work->zi->meta.category != ZYDIS_CATEGORY_STRINGOP)
        return STRING_NONE;
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_MOVSB:
    case ZYDIS_MNEMONIC_MOVSW:
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_MOVSQ:
        return STRING_MOVS;
    case ZYDIS_MNEMONIC_STOSB:
    case ZYDIS_MNEMONIC_STOSW:
    case ZYDIS_MNEMONIC_STOSD:
    case ZYDIS_MNEMONIC_STOSQ:
        return STRING_STOS;
    case ZYDIS_MNEMONIC_LODSB:
    case ZYDIS_MNEMONIC_LODSW:
    case ZYDIS_MNEMONIC_LODSD:
    case ZYDIS_MNEMONIC_LODSQ:
        return STRING_LODS;
    case ZYDIS_MNEMONIC_SCASB:
    case ZYDIS_MNEMONIC_SCASW:
    case ZYDIS_MNEMONIC_SCASD:
    case ZYDIS_MNEMONIC_SCASQ:
        return STRING_SCAS;
    case ZYDIS_MNEMONIC_CMPSB:
    case ZYDIS_MNEMONIC_CMPSW:
    case ZYDIS_MNEMONIC_CMPSD:
    case ZYDIS_MNEMONIC_CMPSQ:
        return STRING_CMPS;
    default:
        return STRING_NONE;
    }
}

static bool is_rep(const struct ins_work *work)
{
    return work->info.flags & INS_IS_REP;
}

static bool ends_by_flag(const struct ins_work *work)
{
    return work->info.flags & INS_IS_REP_TEST;
}

static unsigned element_bytes(const struct ins_work *work)
{
    return work->info.mems[0].size_bytes;
}

static void add_accumulator(struct ins_regset *set, unsigned bytes, bool write)
{
    ins_regset_add_gpr(set, INS_RAX, 0, write && bytes == 4 ? 8 : bytes);
}

/* What decides how many elements are handled. */
static void add_count_uses(struct ins_work *work, struct ins_flow *flow)
{
    if (is_rep(work))
        ins_regset_add_gpr(&flow->cond_uses, INS_RCX, 0, 8);
}

/* What the comparison reads, when it decides when to stop. */
static void add_compared(struct ins_work *work, struct ins_flow *flow, enum string_op op)
{
    flow->mem_uses |= op == STRING_CMPS ? 3 : 1;
    if (op == STRING_SCAS)
        add_accumulator(&flow->value_uses, element_bytes(work), false);
}

static void data_flow(struct ins_work *work, enum string_op op)
{
    struct ins_flow *flow = ins_flow_new(work);
    bool rep = is_rep(work);
    uint8_t *stored = rep ? &flow->mem_may_defs : &flow->mem_defs;
    struct ins_regset *loaded = rep ? &flow->may_defs : &flow->defs;
    add_count_uses(work, flow);
    switch (op) {
    case STRING_MOVS:
        *stored = 1;
        flow->mem_uses = 2;
        flow->kinds = INS_FLOW_COPY;
        break;
    case STRING_STOS:
        *stored = 1;
        add_accumulator(&flow->value_uses, element_bytes(work), false);
        flow->kinds = INS_FLOW_COPY;
        break;
    case STRING_LODS:
        add_accumulator(loaded, element_bytes(work), true);
        flow->mem_uses = 1;
        flow->kinds = rep ? 0 : INS_FLOW_COPY;
        break;
    default:
        ins_add_flags(loaded, work->zi->cpu_flags->modified);
        add_compared(work, flow, op);
        break;
    }
}

static void pointer_flow(struct ins_work *work, enum string_op op, enum ins_gpr gpr)
{
    struct ins_flow *flow = ins_flow_new(work);
    ins_regset_add_gpr(&flow->defs, gpr, 0, 8);
    ins_regset_add_gpr(&flow->value_uses, gpr, 0, 8);
    ins_regset_add(&flow->cond_uses, INS_LOC_DF);
    add_count_uses(work, flow);
    if (ends_by_flag(work))
        add_compared(work, flow, op);
}

static void count_flow(struct ins_work *work, enum string_op op)
{
    struct ins_flow *flow = ins_flow_new(work);
    ins_regset_add_gpr(&flow->defs, INS_RCX, 0, 8);
    if (ends_by_flag(work)) {
        ins_regset_add_gpr(&flow->value_uses, INS_RCX, 0, 8);
        ins_regset_add(&flow->cond_uses, INS_LOC_DF);
        add_compared(work, flow, op);
    } else if (work->zi->address_width == 32) {
        /* Processors differ in whether a zero ecx clears the upper half. */
        ins_regset_add_gpr(&flow->value_uses, INS_RCX, 0, 8);
    }
}

bool ins_rules_string(struct ins_work *work)
{
    enum string_op op = string_op_of(work);
    if (op == STRING_NONE)
        return false;
    data_flow(work, op);
    if (op != STRING_LODS)
        pointer_flow(work, op, INS_RDI);
    if (op == STRING_LODS || op == STRING_MOVS || op == STRING_CMPS)
        pointer_flow(work, op, INS_RSI);
    if (is_rep(work))
        count_flow(work, op);
    return true;
}
