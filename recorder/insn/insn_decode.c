/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decoding and text: Zydis's view of the bytes, then ours by the first rule that fits. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "recorder/insn/insn_priv.h"
#include <wetdbg/errors.h>

static void decoder_init(ZydisDecoder *decoder)
{
    ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
}

static bool is_inert(const struct ins_work *work)
{
    switch (work->zi->meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB:
    case ZYDIS_CATEGORY_CLDEMOTE:
        return true;
    default:
        return work->zi->mnemonic == ZYDIS_MNEMONIC_CLFLUSH ||
               work->zi->mnemonic == ZYDIS_MNEMONIC_PAUSE;
    }
}

static void set_flags(struct ins_work *work)
{
    ZydisInstructionAttributes attributes = work->zi->attributes;
    if (attributes & ZYDIS_ATTRIB_HAS_LOCK)
        work->info.flags |= INS_IS_LOCKED;
    for (unsigned i = 0; i < work->info.mem_count; i++) {
        if (work->info.mems[i].flags & INS_MEM_REP)
            work->info.flags |= INS_IS_REP;
    }
    if ((work->info.flags & INS_IS_REP) && (work->zi->cpu_flags->tested & ZYDIS_CPUFLAG_ZF))
        work->info.flags |= INS_IS_REP_TEST;
}

/* Fences and the like: a flow that defines nothing says nothing. */
static void drop_empty_flow(struct ins_info *info)
{
    const struct ins_flow *flow = &info->flows[0];
    if (ins_regset_is_empty(&flow->defs) && ins_regset_is_empty(&flow->may_defs) &&
        (flow->mem_defs | flow->mem_may_defs) == 0) {
        info->flows[0] = (struct ins_flow){0};
        info->flow_count = 0;
    }
}

/* What pieces do not tell: how many bytes a copy moves, and of which registers half is used. */
static void measure_flows(struct ins_work *work)
{
    struct ins_info *info = &work->info;
    for (unsigned f = 0; f < info->flow_count; f++) {
        struct ins_flow *flow = &info->flows[f];
        if (flow->kinds & INS_FLOW_COPIES)
            flow->copy_bytes = (uint8_t)ins_copy_bytes(work, flow);
        flow->halves = ins_used_halves(work, flow);
    }
}

static void describe(struct ins_work *work)
{
    struct ins_info *info = &work->info;
    info->length = work->zi->length;
    info->mnemonic = (uint16_t)work->zi->mnemonic;
    info->condition = INS_COND_NONE;
    if (is_inert(work))
        return;
    bool (*const rules[])(struct ins_work *) = {
        ins_rules_control, ins_rules_stack,  ins_rules_string,
        ins_rules_integer, ins_rules_vector, ins_rules_fpu,
    };
    ins_mems_collect(work);
    ins_choice_make(work->zi, work->ops, &info->choice);
    set_flags(work);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (rules[i](work)) {
            measure_flows(work);
            return;
        }
    }
    ins_refine_generic(work, ins_flow_generic(work));
    drop_empty_flow(info);
    measure_flows(work);
}

void ins_describe(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops, uint64_t pc,
                  struct ins_info *out)
{
    struct ins_work work = {.zi = zi, .ops = ops, .pc = pc};
    describe(&work);
    *out = work.info;
}

int ins_decode(const uint8_t *code, size_t len, uint64_t pc, struct ins_info *out)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
    decoder_init(&decoder);
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, len, &zi, ops)))
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "no instruction at 0x%" PRIx64, pc);
    ins_describe(&zi, ops, pc, out);
    return 0;
}

/* lea and the like: an address that nothing is read from or written to. */
static bool has_bare_address(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops)
{
    for (unsigned i = 0; i < zi->operand_count_visible; i++) {
        if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY && ops[i].mem.type == ZYDIS_MEMOP_TYPE_AGEN)
            return true;
    }
    return false;
}

int ins_text(const uint8_t *code, size_t len, uint64_t pc, char *buf, size_t size)
{
    ZydisDecoder decoder;
    ZydisFormatter formatter;
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
    decoder_init(&decoder);
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, len, &zi, ops))) {
        snprintf(buf, size, "(bad)");
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "no instruction at 0x%" PRIx64, pc);
    }
    char text[160];
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    /* since 4.1 Zydis would give a size to addresses alone, too */
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_FORCE_SIZE,
                              has_bare_address(&zi, ops) ? ZYAN_FALSE : ZYAN_TRUE);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
                              ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING,
                              ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED);
    if (ZYAN_FAILED(ZydisFormatterFormatInstruction(&formatter, &zi, ops, zi.operand_count_visible,
                                                    text, sizeof(text), pc, NULL)))
        snprintf(text, sizeof(text), "%s", ZydisMnemonicGetString(zi.mnemonic));
    snprintf(buf, size, "%s", text);
    return 0;
}

const char *ins_mnemonic_name(unsigned mnemonic)
{
    if (mnemonic == ZYDIS_MNEMONIC_INVALID || mnemonic > ZYDIS_MNEMONIC_MAX_VALUE)
        return "?";
    return ZydisMnemonicGetString((ZydisMnemonic)mnemonic);
}

static void add_address_register(struct ins_regset *set, int gpr, unsigned bytes)
{
    if (gpr >= 0 && gpr != INS_RSP)
        ins_regset_add_gpr(set, (unsigned)gpr, 0, bytes);
}

struct ins_regset ins_addr_uses(const struct ins_info *info, unsigned i)
{
    struct ins_regset set = {0};
    if (i >= info->mem_count)
        return set;
    const struct ins_mem *mem = &info->mems[i];
    add_address_register(&set, mem->base, 8);
    if (mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64)) {
        if (mem->index >= 0)
            ins_regset_add_vector(&set, (unsigned)mem->index, 0, 64);
    } else {
        add_address_register(&set, mem->index, mem->flags & INS_MEM_INDEX_BYTE ? 1 : 8);
    }
    add_address_register(&set, mem->bit_reg, mem->size_bytes);
    if (mem->flags & INS_MEM_FS)
        ins_regset_add(&set, INS_LOC_FS_BASE);
    if (mem->flags & INS_MEM_GS)
        ins_regset_add(&set, INS_LOC_GS_BASE);
    if (mem->flags & INS_MEM_REP)
        ins_regset_add(&set, INS_LOC_DF);
    return set;
}

struct ins_regset ins_all_defs(const struct ins_info *info)
{
    struct ins_regset set = {0};
    for (unsigned i = 0; i < info->flow_count; i++) {
        ins_regset_join(&set, &info->flows[i].defs);
        ins_regset_join(&set, &info->flows[i].may_defs);
    }
    return set;
}

struct ins_regset ins_computed_uses(const struct ins_info *info)
{
    struct ins_regset uses = info->flows[0].value_uses, old = {0};

    if (info->choice.to < INS_PLACE_MEMORY && !info->choice.uses_old) {
        ins_regset_add_vector(&old, info->choice.to, 0, 64);
        ins_regset_remove(&uses, &old);
    }
    return uses;
}

struct ins_regset ins_all_uses(const struct ins_info *info)
{
    struct ins_regset set = {0};
    for (unsigned i = 0; i < info->flow_count; i++) {
        ins_regset_join(&set, &info->flows[i].value_uses);
        ins_regset_join(&set, &info->flows[i].cond_uses);
    }
    return set;
}
