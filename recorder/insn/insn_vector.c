/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vector instructions with masks, lists of addresses, or parts that depend on different things. */
#include <string.h>

#include "recorder/insn/insn_priv.h"

/* Masks in vector registers decide per lane: they are conditions. */
static void mask_condition(struct ins_work *work, struct ins_flow *flow, unsigned i)
{
    struct ins_flow mask = {0};
    ins_use_operand(work, &mask, i);
    ins_regset_join(&flow->cond_uses, &mask.value_uses);
    flow->mem_uses |= mask.mem_uses;
}

/* Adds a place as a use, of which the instruction may take any byte. */
static void use_place(struct ins_flow *flow, struct ins_regset *set, unsigned place, unsigned bytes)
{
    if (place < INS_PLACE_MEMORY)
        ins_regset_add_vector(set, place, 0, bytes);
    else if (place < INS_PLACE_ZERO)
        flow->mem_uses |= (uint8_t)(1u << (place - INS_PLACE_MEMORY));
}

/* Blends, masked moves and permutations: all that they may take. */
static void choice_flow(struct ins_work *work)
{
    const struct ins_choice *choice = &work->info.choice;
    struct ins_flow *flow = ins_flow_new(work);

    if (choice->to == INS_PLACE_MEMORY)
        flow->mem_may_defs = 1;
    else
        ins_def_operand(work, flow, 0);
    use_place(flow, &flow->value_uses, choice->from[0], choice->bytes);
    use_place(flow, &flow->value_uses, choice->from[1], choice->bytes);
    use_place(flow, &flow->value_uses, choice->other, choice->bytes);
    use_place(flow, &flow->cond_uses, choice->selector, choice->bytes);
    if (choice->mask != INS_PLACE_NONE)
        ins_regset_add(&flow->cond_uses, INS_LOC_K + choice->mask);
}

/* Whether what computes under a mask uses its destination, as a sum that it adds to. Zydis calls
 * that read by all that keep a part of it. */
static bool computes_from_destination(const struct ins_work *work)
{
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_VPTERNLOGD:
    case ZYDIS_MNEMONIC_VPTERNLOGQ:
    case ZYDIS_MNEMONIC_VPDPBUSD:
    case ZYDIS_MNEMONIC_VPDPBUSDS:
    case ZYDIS_MNEMONIC_VPDPWSSD:
    case ZYDIS_MNEMONIC_VPDPWSSDS:
    case ZYDIS_MNEMONIC_VDPBF16PS:
    case ZYDIS_MNEMONIC_VPMADD52LUQ:
    case ZYDIS_MNEMONIC_VPMADD52HUQ:
    case ZYDIS_MNEMONIC_VFIXUPIMMPS:
    case ZYDIS_MNEMONIC_VFIXUPIMMPD:
    case ZYDIS_MNEMONIC_VPSHLDVW:
    case ZYDIS_MNEMONIC_VPSHLDVD:
    case ZYDIS_MNEMONIC_VPSHLDVQ:
    case ZYDIS_MNEMONIC_VPSHRDVW:
    case ZYDIS_MNEMONIC_VPSHRDVD:
    case ZYDIS_MNEMONIC_VPSHRDVQ:
        return true;
    default:
        break;
    }
    for (unsigned i = 1; i < work->zi->operand_count_visible; i++) {
        const ZydisDecodedOperand *op = &work->ops[i];
        if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && ins_is_vector(op->reg.value) &&
            ZydisRegisterGetId(op->reg.value) == ZydisRegisterGetId(work->ops[0].reg.value))
            return true;
    }
    return work->zi->meta.category == ZYDIS_CATEGORY_VFMA;
}

/* What computes under a mask. The flags of MXCSR, which the instruction raises, have a flow of
 * their own. */
static void computed_flows(struct ins_work *work)
{
    struct ins_choice *choice = &work->info.choice;
    struct ins_flow *flow = ins_flow_generic(work), *status;
    bool is_store = choice->to == INS_PLACE_MEMORY;
    struct ins_regset old = {0};

    if (!is_store)
        ins_regset_add_vector(&old, choice->to, 0, 64);
    if (!is_store && !computes_from_destination(work))
        ins_regset_remove(&flow->value_uses, &old);
    ins_refine_generic(work, flow);
    choice->uses_old = ins_regset_intersects(&old, &flow->value_uses);
    if (ins_regset_has(&flow->may_defs, INS_LOC_MXCSR_STATUS)) {
        status = ins_flow_new(work);
        *status = *flow;
        status->defs = status->may_defs = (struct ins_regset){0};
        status->mem_defs = status->mem_may_defs = 0;
        ins_regset_add(&status->may_defs, INS_LOC_MXCSR_STATUS);
    }
    flow->may_defs = (struct ins_regset){0};
    if (is_store) {
        flow->mem_defs = 0;
        flow->mem_may_defs = 1;
        return;
    }
    ins_def_operand(work, flow, 0);
    if (choice->other == choice->to)
        ins_regset_add_vector(&flow->value_uses, choice->to, 0, choice->bytes);
}

static unsigned find_operand(const struct ins_work *work, bool memory)
{
    for (unsigned i = 0; i < work->zi->operand_count_visible; i++) {
        if ((work->ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY) == memory)
            return i;
    }
    return 0;
}

/* The mask of a gather or scatter: a vector (VEX) or a mask register (EVEX); it ends as zero. */
static unsigned gather_mask(const struct ins_work *work)
{
    for (unsigned i = 0; i < work->zi->operand_count_visible; i++) {
        const ZydisDecodedOperand *op = &work->ops[i];
        if (op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
            ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_MASK)
            return i;
    }
    return 2;
}

static void gather_flows(struct ins_work *work, bool scatter)
{
    struct ins_flow *flow = ins_flow_new(work);
    unsigned mask = gather_mask(work);
    unsigned memory = find_operand(work, true);
    if (scatter) {
        ins_may_def_operand(work, flow, memory);
        ins_use_operand(work, flow, 2);
    } else {
        ins_may_def_operand(work, flow, 0);
        ins_use_operand(work, flow, memory);
    }
    mask_condition(work, flow, mask);
    ins_def_operand(work, ins_flow_new(work), mask);
}

static void zero_vectors_flow(struct ins_work *work, unsigned first)
{
    struct ins_flow *flow = ins_flow_new(work);
    for (unsigned vector = 0; vector < 16; vector++)
        ins_regset_add_vector(&flow->defs, vector, first, 64 - first);
    work->info.flags |= INS_IS_ZEROING;
}

/* ---- scalars in VEX and EVEX: the low element is computed, the rest comes from one source ---- */

static bool has_prefix(const char *name, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    }
    return false;
}

/* Whether an instruction's low element comes from the second source alone. */
static bool is_unary_scalar(const char *name)
{
    static const char *const prefixes[] = {"vmov",   "vsqrt",   "vcvt",     "vround",    "vrcp",
                                           "vrsqrt", "vgetexp", "vgetmant", "vrndscale", "vreduce"};
    return has_prefix(name, prefixes, sizeof(prefixes) / sizeof(prefixes[0]));
}

/* 4 or 8 by the name's end, else 0. */
static unsigned scalar_bytes(const char *name)
{
    size_t length = strlen(name);
    if (length < 2 || name[length - 2] != 's')
        return 0;
    return name[length - 1] == 's' ? 4 : name[length - 1] == 'd' ? 8 : 0;
}

/* The operand numbers of both sources behind a destination and maybe a (disabled) mask. */
static unsigned first_source(const struct ins_work *work)
{
    return work->ops[1].encoding == ZYDIS_OPERAND_ENCODING_MASK ? 2 : 1;
}

static bool is_xmm(const ZydisDecodedOperand *op)
{
    return op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_XMM;
}

static bool is_wide_scalar(const struct ins_work *work)
{
    unsigned source = first_source(work);
    if (work->zi->encoding != ZYDIS_INSTRUCTION_ENCODING_VEX &&
        work->zi->encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX)
        return false;
    if (work->zi->avx.mask.mode > ZYDIS_MASK_MODE_DISABLED ||
        work->zi->avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID || /* vpdpbusd: packed */
        work->zi->meta.category == ZYDIS_CATEGORY_FMA4)
        return false;
    return work->zi->operand_count_visible >= source + 2 && is_xmm(&work->ops[0]) &&
           is_xmm(&work->ops[source]) && work->ops[source + 1].size <= 64 &&
           work->ops[source + 1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE &&
           scalar_bytes(ZydisMnemonicGetString(work->zi->mnemonic)) != 0;
}

static void wide_scalar_flows(struct ins_work *work)
{
    const char *name = ZydisMnemonicGetString(work->zi->mnemonic);
    unsigned bytes = scalar_bytes(name), source = first_source(work);
    ZydisRegister to = work->ops[0].reg.value, from = work->ops[source].reg.value;

    struct ins_flow *low = ins_flow_new(work);
    ins_add_read(&low->defs, to, 0, bytes);
    ins_use_operand(work, low, source + 1);
    if (!is_unary_scalar(name))
        ins_add_read(&low->value_uses, from, 0, bytes);
    if (work->ops[0].actions & ZYDIS_OPERAND_ACTION_READ)
        ins_add_read(&low->value_uses, to, 0, bytes);
    if (work->zi->mnemonic == ZYDIS_MNEMONIC_VMOVSS || work->zi->mnemonic == ZYDIS_MNEMONIC_VMOVSD)
        low->kinds = INS_FLOW_COPY;
    ins_refine_float(work, low);

    struct ins_flow *rest = ins_flow_new(work);
    bool in_place = work->zi->meta.category == ZYDIS_CATEGORY_VFMA;
    ins_add_read(&rest->defs, to, bytes, 64 - bytes);
    ins_add_read(&rest->value_uses, in_place ? to : from, bytes, 16 - bytes);
    rest->kinds = INS_FLOW_COPY;
}

/* ---- one lane, chosen by an immediate ---- */

static bool is_lane_extract(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_PEXTRB:
    case ZYDIS_MNEMONIC_PEXTRW:
    case ZYDIS_MNEMONIC_PEXTRD:
    case ZYDIS_MNEMONIC_PEXTRQ:
    case ZYDIS_MNEMONIC_EXTRACTPS:
    case ZYDIS_MNEMONIC_VPEXTRB:
    case ZYDIS_MNEMONIC_VPEXTRW:
    case ZYDIS_MNEMONIC_VPEXTRD:
    case ZYDIS_MNEMONIC_VPEXTRQ:
    case ZYDIS_MNEMONIC_VEXTRACTPS:
    case ZYDIS_MNEMONIC_VEXTRACTF128:
    case ZYDIS_MNEMONIC_VEXTRACTI128:
        return true;
    default:
        return false;
    }
}

static unsigned lane_bytes(ZydisMnemonic mnemonic)
{
    switch (mnemonic) {
    case ZYDIS_MNEMONIC_PEXTRB:
    case ZYDIS_MNEMONIC_VPEXTRB:
        return 1;
    case ZYDIS_MNEMONIC_PEXTRW:
    case ZYDIS_MNEMONIC_VPEXTRW:
        return 2;
    case ZYDIS_MNEMONIC_PEXTRQ:
    case ZYDIS_MNEMONIC_VPEXTRQ:
        return 8;
    case ZYDIS_MNEMONIC_VEXTRACTF128:
    case ZYDIS_MNEMONIC_VEXTRACTI128:
        return 16;
    default:
        return 4;
    }
}

/* The first byte of the lane that the last operand chooses; the immediate's high bits are
 * ignored. */
static unsigned lane_first_byte(const struct ins_work *work, unsigned register_bytes)
{
    uint64_t lane = work->ops[work->zi->operand_count_visible - 1u].imm.value.u;
    unsigned bytes = lane_bytes(work->zi->mnemonic);
    return (unsigned)(lane % (register_bytes / bytes)) * bytes;
}

/* A lane that is exactly one or several pieces moves as a copy does. */
static bool is_whole_pieces(unsigned first, unsigned bytes)
{
    switch (bytes) {
    case 4:
        return first < 8;
    case 8:
    case 16:
        return true;
    default:
        return false;
    }
}

static void lane_extract_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    unsigned bytes = lane_bytes(work->zi->mnemonic);
    unsigned first = lane_first_byte(work, bytes == 16 ? 32 : 16);
    ins_def_operand(work, flow, 0);
    ins_add_read(&flow->value_uses, work->ops[1].reg.value, first, bytes);
    if (is_whole_pieces(first, bytes))
        flow->kinds = INS_FLOW_COPY;
}

static bool lane_rules(struct ins_work *work)
{
    unsigned count = work->zi->operand_count_visible;
    if (count != 3 || work->ops[2].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
        return false;
    if (is_lane_extract(work->zi->mnemonic) && work->ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        ins_is_vector(work->ops[1].reg.value)) {
        lane_extract_flow(work);
        return true;
    }
    return false;
}

/* movdir64b: the destination's address is a register operand of its own. */
static void direct_store_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_new(work);
    flow->mem_uses = 1;
    flow->mem_defs = 2;
    flow->kinds = INS_FLOW_COPY;
}

/* extrq, insertq: the upper half of the result is undefined, not kept. */
static void bit_field_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_generic(work);
    ins_add_read(&flow->defs, work->ops[0].reg.value, 0, 16);
    ins_add_read(&flow->value_uses, work->ops[0].reg.value, 0, 16);
}

/* vp2intersectd, vp2intersectq: the mask that is named is one of a pair, 2n and 2n + 1, and both
 * are written. */
static void intersect_flow(struct ins_work *work)
{
    struct ins_flow *flow = ins_flow_generic(work);
    unsigned even = ZydisRegisterGetId(work->ops[0].reg.value) & 6u;
    ins_regset_add(&flow->defs, INS_LOC_K + even);
    ins_regset_add(&flow->defs, INS_LOC_K + even + 1);
}

bool ins_rules_vector(struct ins_work *work)
{
    if (work->info.choice.kind == INS_CHOICE_BYTES) {
        if (work->info.choice.from[0] == INS_PLACE_COMPUTED)
            computed_flows(work);
        else
            choice_flow(work);
        return true;
    }
    switch (work->zi->meta.category) {
    case ZYDIS_CATEGORY_AVX2GATHER:
    case ZYDIS_CATEGORY_GATHER:
    case ZYDIS_CATEGORY_SCATTER:
        if (work->info.mem_count != 1 || work->zi->operand_count_visible != 3)
            return false; /* the gather prefetches */
        gather_flows(work, work->zi->meta.category == ZYDIS_CATEGORY_SCATTER);
        return true;
    default:
        break;
    }
    if (is_wide_scalar(work)) {
        wide_scalar_flows(work);
        return true;
    }
    if (lane_rules(work))
        return true;
    if (ins_rules_shuffle(work))
        return true;
    switch (work->zi->mnemonic) {
    case ZYDIS_MNEMONIC_EXTRQ:
    case ZYDIS_MNEMONIC_INSERTQ:
        bit_field_flow(work);
        return true;
    case ZYDIS_MNEMONIC_MOVDIR64B:
        direct_store_flow(work);
        return true;
    case ZYDIS_MNEMONIC_VP2INTERSECTD:
    case ZYDIS_MNEMONIC_VP2INTERSECTQ:
        intersect_flow(work);
        return true;
    case ZYDIS_MNEMONIC_VZEROALL:
        zero_vectors_flow(work, 0);
        return true;
    case ZYDIS_MNEMONIC_VZEROUPPER:
        zero_vectors_flow(work, 16);
        return true;
    default:
        return false;
    }
}
