/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which instructions take what a condition, a mask or a vector of indices says, and from where. */
#include <string.h>

#include "recorder/insn/insn_priv.h"

#define INS_BYTES_MAX 64

static bool is_register(const ZydisDecodedOperand *op, ZydisRegisterClass klass)
{
    return op->type == ZYDIS_OPERAND_TYPE_REGISTER && ZydisRegisterGetClass(op->reg.value) == klass;
}

/* Where an operand is. Instructions that choose bytes have one at most in memory. */
static uint8_t place_of(const ZydisDecodedOperand *op)
{
    if (op->type == ZYDIS_OPERAND_TYPE_MEMORY)
        return INS_PLACE_MEMORY;
    if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && ins_is_vector(op->reg.value))
        return (uint8_t)ZydisRegisterGetId(op->reg.value);
    return INS_PLACE_NONE;
}

/* Where an instruction's operands stand. */
struct form {
    const ZydisDecodedInstruction *zi;
    const ZydisDecodedOperand *ops;
    unsigned source; /* the first behind the destination and its mask */
    unsigned visible;
};

static uint8_t source(const struct form *form, unsigned i)
{
    unsigned at = form->source + i;

    return at < form->visible ? place_of(&form->ops[at]) : INS_PLACE_NONE;
}

static uint8_t destination(const struct form *form)
{
    return place_of(&form->ops[0]);
}

/* Elements that an EVEX mask leaves out. */
static void mask_choose(const struct form *form, struct ins_choice *choice)
{
    ZydisMaskMode mode = form->zi->avx.mask.mode;

    if (form->zi->encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX || mode <= ZYDIS_MASK_MODE_DISABLED)
        return;
    choice->mask = (uint8_t)ZydisRegisterGetId(form->zi->avx.mask.reg);
    if (mode == ZYDIS_MASK_MODE_ZEROING || mode == ZYDIS_MASK_MODE_CONTROL_ZEROING)
        choice->other = INS_PLACE_ZERO;
    else if (choice->to == INS_PLACE_MEMORY)
        choice->other = INS_PLACE_KEPT;
    else if (mode == ZYDIS_MASK_MODE_MERGING)
        choice->other = choice->to;
}

/* ---- shapes: true if they fit the instruction ---- */

/* A masked move of AVX-512; unmasked it is a plain copy. */
static bool move_choose(const struct form *form, struct ins_choice *choice, unsigned element)
{
    choice->element_bytes = (uint8_t)element;
    choice->from[0] = source(form, 0);
    return form->zi->avx.mask.mode == ZYDIS_MASK_MODE_MERGING ||
           form->zi->avx.mask.mode == ZYDIS_MASK_MODE_ZEROING;
}

/* A masked vmovss or vmovsd: a load, a store, or between registers, where what is above the lowest
 * element has a source of its own. */
static bool low_choose(const struct form *form, struct ins_choice *choice, unsigned element)
{
    bool has_upper = source(form, 1) != INS_PLACE_NONE;

    choice->from[0] = source(form, has_upper);
    choice->from[1] = has_upper ? source(form, 0) : INS_PLACE_NONE;
    choice->shape = choice->to == INS_PLACE_MEMORY ? INS_PICK_SAME : INS_PICK_LOW;
    choice->element_bytes = (uint8_t)element;
    return form->zi->avx.mask.mode == ZYDIS_MASK_MODE_MERGING ||
           form->zi->avx.mask.mode == ZYDIS_MASK_MODE_ZEROING;
}

/* Compress and expand. */
static bool ranks_choose(const struct form *form, struct ins_choice *choice, unsigned element,
                         enum ins_pick_shape shape)
{
    choice->shape = (uint8_t)shape;
    return move_choose(form, choice, element);
}

static bool mask_blend_choose(const struct form *form, struct ins_choice *choice, unsigned element)
{
    choice->element_bytes = (uint8_t)element;
    choice->other = source(form, 0);
    choice->from[0] = source(form, 1);
    return form->zi->avx.mask.mode > ZYDIS_MASK_MODE_DISABLED;
}

static bool sign_blend_choose(const struct form *form, struct ins_choice *choice, unsigned element)
{
    bool is_legacy = form->zi->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;

    choice->element_bytes = (uint8_t)element;
    choice->has_signs = true;
    choice->other = is_legacy ? choice->to : source(form, 0);
    choice->from[0] = source(form, is_legacy ? 0 : 1);
    choice->selector = is_legacy ? 0 : source(form, 2); /* xmm0 */
    return true;
}

/* vmaskmov and vpmaskmov: a load or a store; the mask comes first. */
static bool masked_move_choose(const struct form *form, struct ins_choice *choice, unsigned element)
{
    choice->element_bytes = (uint8_t)element;
    choice->has_signs = true;
    choice->selector = source(form, 0);
    choice->from[0] = source(form, 1);
    choice->other = choice->to == INS_PLACE_MEMORY ? INS_PLACE_KEPT : INS_PLACE_ZERO;
    return true;
}

/* maskmovdqu: its destination is hidden. */
static bool masked_store_choose(const struct form *form, struct ins_choice *choice)
{
    choice->element_bytes = 1;
    choice->has_signs = true;
    choice->bytes = 16;
    choice->from[0] = choice->to;
    choice->selector = source(form, 0);
    choice->to = INS_PLACE_MEMORY;
    choice->other = INS_PLACE_KEPT;
    return true;
}

/* pshufb and vpermil with indices behind the data. */
static bool lane_choose(const struct form *form, struct ins_choice *choice, unsigned element,
                        enum ins_pick_shape shape)
{
    bool is_legacy = form->zi->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;

    choice->shape = (uint8_t)shape;
    choice->element_bytes = (uint8_t)element;
    choice->from[0] = is_legacy ? choice->to : source(form, 0);
    choice->selector = source(form, is_legacy ? 0 : 1);
    return true;
}

/* vperm with indices before the data. */
static bool one_choose(const struct form *form, struct ins_choice *choice, unsigned element)
{
    choice->shape = INS_PICK_ONE;
    choice->element_bytes = (uint8_t)element;
    choice->selector = source(form, 0);
    choice->from[0] = source(form, 1);
    return true;
}

/* vpermi2 has its indices in the destination, vpermt2 its first table. */
static bool two_choose(const struct form *form, struct ins_choice *choice, unsigned element,
                       bool is_index)
{
    choice->shape = INS_PICK_TWO;
    choice->element_bytes = (uint8_t)element;
    choice->selector = is_index ? choice->to : source(form, 0);
    choice->from[0] = is_index ? source(form, 0) : choice->to;
    choice->from[1] = source(form, 1);
    return true;
}

static bool moves_choose(const struct form *form, struct ins_choice *choice)
{
    switch (form->zi->mnemonic) {
    case ZYDIS_MNEMONIC_VMOVDQU8:
        return move_choose(form, choice, 1);
    case ZYDIS_MNEMONIC_VMOVDQU16:
        return move_choose(form, choice, 2);
    case ZYDIS_MNEMONIC_VMOVDQU32:
    case ZYDIS_MNEMONIC_VMOVDQA32:
    case ZYDIS_MNEMONIC_VMOVUPS:
    case ZYDIS_MNEMONIC_VMOVAPS:
        return move_choose(form, choice, 4);
    case ZYDIS_MNEMONIC_VMOVDQU64:
    case ZYDIS_MNEMONIC_VMOVDQA64:
    case ZYDIS_MNEMONIC_VMOVUPD:
    case ZYDIS_MNEMONIC_VMOVAPD:
        return move_choose(form, choice, 8);
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
        return masked_move_choose(form, choice, 4);
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
        return masked_move_choose(form, choice, 8);
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
        return masked_store_choose(form, choice);
    case ZYDIS_MNEMONIC_VMOVSS:
        return low_choose(form, choice, 4);
    case ZYDIS_MNEMONIC_VMOVSD:
        return low_choose(form, choice, 8);
    default:
        return false;
    }
}

static bool ranks_are_chosen(const struct form *form, struct ins_choice *choice)
{
    switch (form->zi->mnemonic) {
    case ZYDIS_MNEMONIC_VPCOMPRESSB:
        return ranks_choose(form, choice, 1, INS_PICK_GATHER);
    case ZYDIS_MNEMONIC_VPCOMPRESSW:
        return ranks_choose(form, choice, 2, INS_PICK_GATHER);
    case ZYDIS_MNEMONIC_VPCOMPRESSD:
    case ZYDIS_MNEMONIC_VCOMPRESSPS:
        return ranks_choose(form, choice, 4, INS_PICK_GATHER);
    case ZYDIS_MNEMONIC_VPCOMPRESSQ:
    case ZYDIS_MNEMONIC_VCOMPRESSPD:
        return ranks_choose(form, choice, 8, INS_PICK_GATHER);
    case ZYDIS_MNEMONIC_VPEXPANDB:
        return ranks_choose(form, choice, 1, INS_PICK_SPREAD);
    case ZYDIS_MNEMONIC_VPEXPANDW:
        return ranks_choose(form, choice, 2, INS_PICK_SPREAD);
    case ZYDIS_MNEMONIC_VPEXPANDD:
    case ZYDIS_MNEMONIC_VEXPANDPS:
        return ranks_choose(form, choice, 4, INS_PICK_SPREAD);
    case ZYDIS_MNEMONIC_VPEXPANDQ:
    case ZYDIS_MNEMONIC_VEXPANDPD:
        return ranks_choose(form, choice, 8, INS_PICK_SPREAD);
    default:
        return false;
    }
}

static bool blends_choose(const struct form *form, struct ins_choice *choice)
{
    switch (form->zi->mnemonic) {
    case ZYDIS_MNEMONIC_VPBLENDMB:
        return mask_blend_choose(form, choice, 1);
    case ZYDIS_MNEMONIC_VPBLENDMW:
        return mask_blend_choose(form, choice, 2);
    case ZYDIS_MNEMONIC_VPBLENDMD:
    case ZYDIS_MNEMONIC_VBLENDMPS:
        return mask_blend_choose(form, choice, 4);
    case ZYDIS_MNEMONIC_VPBLENDMQ:
    case ZYDIS_MNEMONIC_VBLENDMPD:
        return mask_blend_choose(form, choice, 8);
    case ZYDIS_MNEMONIC_PBLENDVB:
    case ZYDIS_MNEMONIC_VPBLENDVB:
        return sign_blend_choose(form, choice, 1);
    case ZYDIS_MNEMONIC_BLENDVPS:
    case ZYDIS_MNEMONIC_VBLENDVPS:
        return sign_blend_choose(form, choice, 4);
    case ZYDIS_MNEMONIC_BLENDVPD:
    case ZYDIS_MNEMONIC_VBLENDVPD:
        return sign_blend_choose(form, choice, 8);
    default:
        return false;
    }
}

static bool permutations_choose(const struct form *form, struct ins_choice *choice)
{
    switch (form->zi->mnemonic) {
    case ZYDIS_MNEMONIC_PSHUFB:
    case ZYDIS_MNEMONIC_VPSHUFB:
        return lane_choose(form, choice, 1, INS_PICK_LANE16);
    case ZYDIS_MNEMONIC_VPERMILPS:
        return lane_choose(form, choice, 4, INS_PICK_LANE4);
    case ZYDIS_MNEMONIC_VPERMILPD:
        return lane_choose(form, choice, 8, INS_PICK_LANE2);
    case ZYDIS_MNEMONIC_VPERMB:
        return one_choose(form, choice, 1);
    case ZYDIS_MNEMONIC_VPERMW:
        return one_choose(form, choice, 2);
    case ZYDIS_MNEMONIC_VPERMD:
    case ZYDIS_MNEMONIC_VPERMPS:
        return one_choose(form, choice, 4);
    case ZYDIS_MNEMONIC_VPERMQ:
    case ZYDIS_MNEMONIC_VPERMPD:
        return one_choose(form, choice, 8);
    case ZYDIS_MNEMONIC_VPERMI2B:
    case ZYDIS_MNEMONIC_VPERMT2B:
        return two_choose(form, choice, 1, form->zi->mnemonic == ZYDIS_MNEMONIC_VPERMI2B);
    case ZYDIS_MNEMONIC_VPERMI2W:
    case ZYDIS_MNEMONIC_VPERMT2W:
        return two_choose(form, choice, 2, form->zi->mnemonic == ZYDIS_MNEMONIC_VPERMI2W);
    case ZYDIS_MNEMONIC_VPERMI2D:
    case ZYDIS_MNEMONIC_VPERMT2D:
        return two_choose(form, choice, 4, form->zi->mnemonic == ZYDIS_MNEMONIC_VPERMI2D);
    case ZYDIS_MNEMONIC_VPERMI2PS:
    case ZYDIS_MNEMONIC_VPERMT2PS:
        return two_choose(form, choice, 4, form->zi->mnemonic == ZYDIS_MNEMONIC_VPERMI2PS);
    case ZYDIS_MNEMONIC_VPERMI2Q:
    case ZYDIS_MNEMONIC_VPERMT2Q:
        return two_choose(form, choice, 8, form->zi->mnemonic == ZYDIS_MNEMONIC_VPERMI2Q);
    case ZYDIS_MNEMONIC_VPERMI2PD:
    case ZYDIS_MNEMONIC_VPERMT2PD:
        return two_choose(form, choice, 8, form->zi->mnemonic == ZYDIS_MNEMONIC_VPERMI2PD);
    default:
        return false;
    }
}

/* Whether an instruction's elements are not what a mask is about, or may not be: no processor was
 * there to say. */
static bool has_odd_elements(const struct form *form)
{
    switch (form->zi->meta.isa_set) {
    case ZYDIS_ISA_SET_AVX512_FP16_128:
    case ZYDIS_ISA_SET_AVX512_FP16_128N:
    case ZYDIS_ISA_SET_AVX512_FP16_256:
    case ZYDIS_ISA_SET_AVX512_FP16_512:
    case ZYDIS_ISA_SET_AVX512_FP16_SCALAR:
    case ZYDIS_ISA_SET_AVX512_4FMAPS_512:
    case ZYDIS_ISA_SET_AVX512_4FMAPS_SCALAR:
    case ZYDIS_ISA_SET_AVX512F_SCALAR:
    case ZYDIS_ISA_SET_AVX512DQ_SCALAR:
    case ZYDIS_ISA_SET_AVX512ER_SCALAR:
    case ZYDIS_ISA_SET_AVX512_4VNNIW_512:
        return true;
    default:
        break;
    }
    for (unsigned i = 0; i < form->visible; i++)
        if (form->ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
            form->ops[i].mem.type != ZYDIS_MEMOP_TYPE_MEM)
            return true; /* a list of addresses */
    return false;
}

/* How many elements the mask is about: where they become narrower as many as the source has, and
 * what is above them becomes zero. */
static unsigned computed_count(const struct form *form)
{
    const ZydisDecodedOperand *to = &form->ops[0], *from = &form->ops[form->source];
    const char *name = ZydisMnemonicGetString(form->zi->mnemonic);
    bool is_move = strncmp(name, "vcvt", 4) == 0 || strncmp(name, "vpmov", 5) == 0;
    bool has_two = source(form, 1) != INS_PLACE_NONE;

    if (!is_move || has_two || from->element_size <= to->element_size)
        return to->element_count;
    return form->zi->avx.vector_length / from->element_size;
}

/* What computes under a mask, each element of its destination for itself or not at all. Scalars
 * compute one of several, and are left out. */
static bool computed_choose(const struct form *form, struct ins_choice *choice)
{
    const ZydisDecodedOperand *to = &form->ops[0];
    ZydisMaskMode mode = form->zi->avx.mask.mode;

    if (form->zi->encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX ||
        (mode != ZYDIS_MASK_MODE_MERGING && mode != ZYDIS_MASK_MODE_ZEROING) ||
        has_odd_elements(form) || to->element_size < 8 ||
        to->element_size * to->element_count != to->size)
        return false;
    unsigned count = computed_count(form), bytes = count * to->element_size / 8;
    if (count < 2 || bytes > to->size / 8u || bytes > INS_BYTES_MAX)
        return false;
    *choice = (struct ins_choice){.kind = INS_CHOICE_BYTES,
                                  .selector = INS_PLACE_NONE,
                                  .mask = INS_PLACE_NONE,
                                  .shape = INS_PICK_SAME,
                                  .element_bytes = (uint8_t)(to->element_size / 8),
                                  .bytes = (uint8_t)bytes,
                                  .to = choice->to,
                                  .from = {INS_PLACE_COMPUTED, INS_PLACE_NONE},
                                  .other = INS_PLACE_ZERO};
    return true;
}

/* ---- all of it ---- */

static bool bytes_choose(const struct form *form, struct ins_choice *choice)
{
    const ZydisDecodedOperand *last = &form->ops[form->visible - 1];
    bool is_vector = is_register(&form->ops[0], ZYDIS_REGCLASS_XMM) ||
                     is_register(&form->ops[0], ZYDIS_REGCLASS_YMM) ||
                     is_register(&form->ops[0], ZYDIS_REGCLASS_ZMM);

    if (!is_vector && form->ops[0].type != ZYDIS_OPERAND_TYPE_MEMORY)
        return false;
    if (last->type != ZYDIS_OPERAND_TYPE_IMMEDIATE &&
        (moves_choose(form, choice) || ranks_are_chosen(form, choice) ||
         blends_choose(form, choice) || permutations_choose(form, choice)))
        return true;
    return computed_choose(form, choice);
}

/* Words of the selector and of the mask. */
static unsigned slots_of(const struct ins_choice *choice)
{
    return (ins_selector_bytes(choice) + 7) / 8 + (choice->mask != INS_PLACE_NONE);
}

void ins_choice_make(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                     struct ins_choice *out)
{
    const struct form form = {.zi = zi,
                              .ops = ops,
                              .source = ops[1].encoding == ZYDIS_OPERAND_ENCODING_MASK ? 2 : 1,
                              .visible = zi->operand_count_visible};
    struct ins_choice choice = {.kind = INS_CHOICE_BYTES,
                                .selector = INS_PLACE_NONE,
                                .mask = INS_PLACE_NONE,
                                .from = {INS_PLACE_NONE, INS_PLACE_NONE},
                                .other = INS_PLACE_ZERO,
                                .is_legacy = zi->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY,
                                .is_spread =
                                    zi->avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID};

    *out = (struct ins_choice){.kind = INS_CHOICE_NONE};
    if (zi->meta.category == ZYDIS_CATEGORY_CMOV) {
        *out = (struct ins_choice){.kind = INS_CHOICE_CONDITION, .slots = 1};
        return;
    }
    ins_top_choose(zi, ops, out);
    if (out->kind != INS_CHOICE_NONE || form.visible < 2)
        return;
    choice.to = destination(&form);
    choice.bytes = (uint8_t)(ops[0].size / 8);
    if (!bytes_choose(&form, &choice))
        return;
    mask_choose(&form, &choice);
    choice.slots = (uint8_t)slots_of(&choice);
    choice.loses_top = out->loses_top;
    if (choice.slots)
        *out = choice;
}
