/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/insn/insn_eval.h"

#include <string.h>

#include "recorder/insn/insn_priv.h"

enum {
    OP_NONE,
    OP_ADD,
    OP_ADC,
    OP_SUB,
    OP_SBB,
    OP_CMP,
    OP_AND,
    OP_TEST,
    OP_OR,
    OP_XOR,
    OP_NOT,
    OP_NEG,
    OP_INC,
    OP_DEC,
    OP_SHL,
    OP_SHR,
    OP_SAR,
    OP_ROL,
    OP_ROR,
    OP_IMUL,
    OP_MUL_WIDE,
    OP_IMUL_WIDE,
    OP_DIV,
    OP_IDIV,
    OP_LEA,
    OP_SIGN,
    OP_BT,
    OP_BSF,
    OP_BSR,
    OP_TZCNT,
    OP_LZCNT,
    OP_POPCNT,
    OP_SETCC,
    OP_ANDN,
    OP_XADD,
    OP_CMPXCHG,
    OP_SHLD,
    OP_SHRD,
};

/* ---- which instruction ---- */

static unsigned op_of(ZydisMnemonic mnemonic)
{
    static const struct {
        ZydisMnemonic mnemonic;
        unsigned op;
    } ops[] = {
        {ZYDIS_MNEMONIC_ADD, OP_ADD},         {ZYDIS_MNEMONIC_ADC, OP_ADC},
        {ZYDIS_MNEMONIC_SUB, OP_SUB},         {ZYDIS_MNEMONIC_SBB, OP_SBB},
        {ZYDIS_MNEMONIC_CMP, OP_CMP},         {ZYDIS_MNEMONIC_AND, OP_AND},
        {ZYDIS_MNEMONIC_TEST, OP_TEST},       {ZYDIS_MNEMONIC_OR, OP_OR},
        {ZYDIS_MNEMONIC_XOR, OP_XOR},         {ZYDIS_MNEMONIC_NOT, OP_NOT},
        {ZYDIS_MNEMONIC_NEG, OP_NEG},         {ZYDIS_MNEMONIC_INC, OP_INC},
        {ZYDIS_MNEMONIC_DEC, OP_DEC},         {ZYDIS_MNEMONIC_SHL, OP_SHL},
        {ZYDIS_MNEMONIC_SHR, OP_SHR},         {ZYDIS_MNEMONIC_SAR, OP_SAR},
        {ZYDIS_MNEMONIC_SHLX, OP_SHL},        {ZYDIS_MNEMONIC_SHRX, OP_SHR},
        {ZYDIS_MNEMONIC_SARX, OP_SAR},        {ZYDIS_MNEMONIC_ROL, OP_ROL},
        {ZYDIS_MNEMONIC_ROR, OP_ROR},         {ZYDIS_MNEMONIC_RORX, OP_ROR},
        {ZYDIS_MNEMONIC_IMUL, OP_IMUL},       {ZYDIS_MNEMONIC_MUL, OP_MUL_WIDE},
        {ZYDIS_MNEMONIC_DIV, OP_DIV},         {ZYDIS_MNEMONIC_IDIV, OP_IDIV},
        {ZYDIS_MNEMONIC_LEA, OP_LEA},         {ZYDIS_MNEMONIC_CWD, OP_SIGN},
        {ZYDIS_MNEMONIC_CDQ, OP_SIGN},        {ZYDIS_MNEMONIC_CQO, OP_SIGN},
        {ZYDIS_MNEMONIC_BT, OP_BT},           {ZYDIS_MNEMONIC_BSF, OP_BSF},
        {ZYDIS_MNEMONIC_BSR, OP_BSR},         {ZYDIS_MNEMONIC_TZCNT, OP_TZCNT},
        {ZYDIS_MNEMONIC_LZCNT, OP_LZCNT},     {ZYDIS_MNEMONIC_POPCNT, OP_POPCNT},
        {ZYDIS_MNEMONIC_ANDN, OP_ANDN},       {ZYDIS_MNEMONIC_XADD, OP_XADD},
        {ZYDIS_MNEMONIC_SHLD, OP_SHLD},       {ZYDIS_MNEMONIC_SHRD, OP_SHRD},
        {ZYDIS_MNEMONIC_CMPXCHG, OP_CMPXCHG},
    };

    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (ops[i].mnemonic == mnemonic)
            return ops[i].op;
    return OP_NONE;
}

static bool is_high_byte(ZydisRegister reg)
{
    return reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH;
}

static bool is_size(unsigned bytes)
{
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* Explicit operand number n, and in `bytes` how much of it. False for what has no such place. */
static bool place_of(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops, unsigned n,
                     unsigned bytes, struct ins_eval_place *place)
{
    const ZydisDecodedOperand *op = &ops[n];

    *place = (struct ins_eval_place){.bytes = (uint8_t)bytes};
    if (n >= zi->operand_count_visible || !is_size(bytes))
        return false;
    if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        int gpr = ins_gpr_number(op->reg.value);
        place->kind = INS_EVAL_GPR;
        place->gpr = (uint8_t)gpr;
        place->first = is_high_byte(op->reg.value);
        return gpr >= 0;
    }
    if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        place->kind = INS_EVAL_IMMEDIATE;
        place->immediate = op->imm.value.u & ins_low_bytes(bytes);
        return true;
    }
    place->kind = INS_EVAL_MEMORY;
    for (unsigned i = 0; i < n; i++)
        place->operand += ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY;
    return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.type == ZYDIS_MEMOP_TYPE_MEM;
}

static struct ins_eval_place gpr_place(enum ins_gpr gpr, unsigned bytes)
{
    return (struct ins_eval_place){
        .kind = INS_EVAL_GPR, .gpr = (uint8_t)gpr, .bytes = (uint8_t)bytes};
}

/* ---- forms of operands ---- */

/* op a, b: a is read and, unless it is only looked at, written. */
static bool make_two(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                     struct ins_eval *eval, bool has_result)
{
    eval->input_count = 2;
    if (!place_of(zi, ops, 0, eval->bytes, &eval->inputs[0]) ||
        !place_of(zi, ops, 1, eval->bytes, &eval->inputs[1]))
        return false;
    if (has_result)
        eval->results[0] = eval->inputs[0];
    return true;
}

static bool make_one(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                     struct ins_eval *eval)
{
    eval->input_count = 1;
    if (!place_of(zi, ops, 0, eval->bytes, &eval->inputs[0]))
        return false;
    eval->results[0] = eval->inputs[0];
    return true;
}

/* The count is a byte: an immediate, cl, or in the forms of three operands a register. */
static bool make_shift(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                       struct ins_eval *eval)
{
    unsigned value = zi->operand_count_visible >= 3 ? 1 : 0;

    eval->input_count = 2;
    eval->keeps_flags = value == 1;
    if (!place_of(zi, ops, 0, eval->bytes, &eval->results[0]) ||
        !place_of(zi, ops, value, eval->bytes, &eval->inputs[0]))
        return false;
    return place_of(zi, ops, value + 1, 1, &eval->inputs[1]) &&
           eval->inputs[1].kind != INS_EVAL_MEMORY;
}

/* Where the upper half of what is twice as wide is: in rdx, or of bytes in ah. */
static struct ins_eval_place upper_place(unsigned bytes)
{
    struct ins_eval_place place = gpr_place(bytes == 1 ? INS_RAX : INS_RDX, bytes);

    place.first = bytes == 1;
    return place;
}

/* rdx:rax (ax) from rax and one operand; or the product in its first operand. */
static bool make_product(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                         struct ins_eval *eval)
{
    eval->input_count = 2;
    if (zi->operand_count_visible == 1) {
        if (eval->op == OP_IMUL)
            eval->op = OP_IMUL_WIDE;
        eval->inputs[0] = eval->results[0] = gpr_place(INS_RAX, eval->bytes);
        eval->results[1] = upper_place(eval->bytes);
        return place_of(zi, ops, 0, eval->bytes, &eval->inputs[1]);
    }
    unsigned first = zi->operand_count_visible == 3 ? 1 : 0;
    return place_of(zi, ops, 0, eval->bytes, &eval->results[0]) &&
           place_of(zi, ops, first, eval->bytes, &eval->inputs[0]) &&
           place_of(zi, ops, first + 1, eval->bytes, &eval->inputs[1]);
}

static bool make_division(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                          struct ins_eval *eval)
{
    eval->input_count = 3;
    eval->inputs[0] = eval->results[0] = gpr_place(INS_RAX, eval->bytes);
    eval->inputs[1] = eval->results[1] = upper_place(eval->bytes);
    return place_of(zi, ops, 0, eval->bytes, &eval->inputs[2]);
}

/* base + index * scale + displacement. */
static bool make_address(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                         struct ins_eval *eval)
{
    const ZydisDecodedOperandMem *mem = &ops[1].mem;
    unsigned bytes = zi->address_width / 8;
    int base = ins_gpr_number(mem->base), index = ins_gpr_number(mem->index);

    eval->input_count = 3;
    eval->scale = mem->scale;
    if (base < 0 && mem->base != ZYDIS_REGISTER_NONE) /* of rip: a constant */
        return false;
    if (base >= 0)
        eval->inputs[0] = gpr_place((enum ins_gpr)base, bytes);
    if (index >= 0)
        eval->inputs[1] = gpr_place((enum ins_gpr)index, bytes);
    eval->inputs[2] =
        (struct ins_eval_place){.kind = INS_EVAL_IMMEDIATE,
                                .bytes = (uint8_t)bytes,
                                .immediate = (uint64_t)mem->disp.value & ins_low_bytes(bytes)};
    return place_of(zi, ops, 0, eval->bytes, &eval->results[0]) && (base >= 0 || index >= 0);
}

static bool make_sign(struct ins_eval *eval)
{
    eval->input_count = 1;
    eval->inputs[0] = gpr_place(INS_RAX, eval->bytes);
    eval->results[0] = gpr_place(INS_RDX, eval->bytes);
    return true;
}

/* op to, from */
static bool make_scan(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                      struct ins_eval *eval)
{
    eval->input_count = 1;
    return place_of(zi, ops, 0, eval->bytes, &eval->results[0]) &&
           place_of(zi, ops, 1, eval->bytes, &eval->inputs[0]);
}

/* A bit offset in a register reaches beyond a memory operand. */
static bool make_bit_test(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                          struct ins_eval *eval)
{
    return make_two(zi, ops, eval, false) &&
           (eval->inputs[0].kind != INS_EVAL_MEMORY || eval->inputs[1].kind == INS_EVAL_IMMEDIATE);
}

static bool make_andn(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                      struct ins_eval *eval)
{
    eval->input_count = 2;
    return place_of(zi, ops, 0, eval->bytes, &eval->results[0]) &&
           place_of(zi, ops, 1, eval->bytes, &eval->inputs[0]) &&
           place_of(zi, ops, 2, eval->bytes, &eval->inputs[1]);
}

/* The sum in the first operand, what that was in the second one. */
static bool make_xadd(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                      struct ins_eval *eval)
{
    bool is_known = make_two(zi, ops, eval, true);

    eval->results[1] = eval->inputs[1];
    return is_known &&
           (eval->inputs[0].kind != INS_EVAL_GPR || eval->inputs[0].gpr != eval->inputs[1].gpr);
}

/* Of registers of 4 bytes it is not told here when it clears those above them. */
static bool make_cmpxchg(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                         struct ins_eval *eval)
{
    bool is_known = make_two(zi, ops, eval, true);

    eval->input_count = 3;
    eval->inputs[2] = eval->results[1] = gpr_place(INS_RAX, eval->bytes);
    if (!is_known || eval->inputs[0].kind == INS_EVAL_MEMORY)
        return is_known;
    return eval->bytes != 4 && eval->inputs[0].gpr != INS_RAX;
}

static bool make_double_shift(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                              struct ins_eval *eval)
{
    bool is_known = make_two(zi, ops, eval, true);

    eval->input_count = 3;
    return is_known && place_of(zi, ops, 2, 1, &eval->inputs[2]);
}

static bool make_form(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                      struct ins_eval *eval)
{
    switch (eval->op) {
    case OP_ADC:
    case OP_SBB:
        eval->flags_used = INS_RFLAG_CF;
        return make_two(zi, ops, eval, true);
    case OP_ADD:
    case OP_SUB:
    case OP_AND:
    case OP_OR:
    case OP_XOR:
        return make_two(zi, ops, eval, true);
    case OP_CMP:
    case OP_TEST:
        return make_two(zi, ops, eval, false);
    case OP_NOT:
    case OP_NEG:
    case OP_INC:
    case OP_DEC:
        return make_one(zi, ops, eval);
    case OP_SHL:
    case OP_SHR:
    case OP_SAR:
    case OP_ROL:
    case OP_ROR:
        return make_shift(zi, ops, eval);
    case OP_IMUL:
    case OP_MUL_WIDE:
        return make_product(zi, ops, eval);
    case OP_DIV:
    case OP_IDIV:
        return make_division(zi, ops, eval);
    case OP_LEA:
        return make_address(zi, ops, eval);
    case OP_SIGN:
        return make_sign(eval);
    case OP_BT:
        return make_bit_test(zi, ops, eval);
    case OP_ANDN:
        return make_andn(zi, ops, eval);
    case OP_XADD:
        return make_xadd(zi, ops, eval);
    case OP_CMPXCHG:
        return make_cmpxchg(zi, ops, eval);
    case OP_SHLD:
    case OP_SHRD:
        return make_double_shift(zi, ops, eval);
    default:
        return make_scan(zi, ops, eval);
    }
}

/* The low four bits of setcc's opcode are its condition. */
static bool make_setcc(const ZydisDecodedInstruction *zi, const ZydisDecodedOperand *ops,
                       struct ins_eval *eval)
{
    eval->op = OP_SETCC;
    eval->bytes = 1;
    eval->condition = zi->opcode & 15;
    eval->flags_used = (uint16_t)ins_condition_flags(eval->condition);
    return place_of(zi, ops, 0, 1, &eval->results[0]);
}

bool ins_eval_make(const uint8_t *code, size_t len, struct ins_eval *out)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];

    *out = (struct ins_eval){.condition = INS_COND_NONE};
    if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
        ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, len, &zi, ops)))
        return false;
    if (zi.meta.category == ZYDIS_CATEGORY_SETCC)
        return make_setcc(&zi, ops, out);
    out->op = (uint16_t)op_of(zi.mnemonic);
    if (out->op == OP_NONE)
        return false;
    out->bytes = (uint8_t)(out->op == OP_SIGN ? zi.operand_width / 8 : ops[0].size / 8);
    return make_form(&zi, ops, out);
}

/* ---- what it computes ---- */

uint64_t ins_condition_flags(unsigned condition)
{
    static const uint16_t flags[] = {
        INS_RFLAG_OF,
        INS_RFLAG_CF,
        INS_RFLAG_ZF,
        INS_RFLAG_CF | INS_RFLAG_ZF,
        INS_RFLAG_SF,
        INS_RFLAG_PF,
        INS_RFLAG_SF | INS_RFLAG_OF,
        INS_RFLAG_ZF | INS_RFLAG_SF | INS_RFLAG_OF,
    };
    return condition < 16 ? flags[condition / 2] : 0;
}

struct width {
    unsigned bits;
    uint64_t mask, sign;
};

static struct width width_of(unsigned bytes)
{
    return (struct width){8 * bytes, ins_low_bytes(bytes), UINT64_C(1) << (8 * bytes - 1)};
}

static int64_t to_signed(uint64_t value, const struct width *w)
{
    return (int64_t)((value ^ w->sign) - w->sign);
}

#define RESULT_FLAGS ((uint64_t)(INS_RFLAG_ZF | INS_RFLAG_SF | INS_RFLAG_PF))

/* The flags that follow from the result alone. */
static uint64_t result_flags(uint64_t value, const struct width *w)
{
    return (value == 0 ? INS_RFLAG_ZF : 0u) | (value & w->sign ? INS_RFLAG_SF : 0u) |
           (__builtin_parity((unsigned)(value & 0xff)) ? 0u : INS_RFLAG_PF);
}

static void finish(struct ins_eval_result *result, uint64_t value, uint64_t flags, uint64_t known,
                   const struct width *w)
{
    result->values[0] = value;
    result->flags = flags | result_flags(value, w);
    result->known = known | RESULT_FLAGS;
}

#define ARITHMETIC_FLAGS ((uint64_t)(INS_RFLAG_CF | INS_RFLAG_AF | INS_RFLAG_OF))

static void add(uint64_t a, uint64_t b, unsigned carry, const struct width *w,
                struct ins_eval_result *result)
{
    unsigned __int128 sum = (unsigned __int128)a + b + carry;
    uint64_t value = (uint64_t)sum & w->mask;

    finish(result, value,
           (sum >> w->bits ? INS_RFLAG_CF : 0u) | ((a ^ b ^ value) & INS_RFLAG_AF) |
               (~(a ^ b) & (a ^ value) & w->sign ? INS_RFLAG_OF : 0u),
           ARITHMETIC_FLAGS, w);
}

static void subtract(uint64_t a, uint64_t b, unsigned borrow, const struct width *w,
                     struct ins_eval_result *result)
{
    uint64_t value = (a - b - borrow) & w->mask;
    bool is_less = (unsigned __int128)a < (unsigned __int128)b + borrow;

    finish(result, value,
           (is_less ? INS_RFLAG_CF : 0u) | ((a ^ b ^ value) & INS_RFLAG_AF) |
               ((a ^ b) & (a ^ value) & w->sign ? INS_RFLAG_OF : 0u),
           ARITHMETIC_FLAGS, w);
}

static void logic(uint64_t value, const struct width *w, struct ins_eval_result *result)
{
    finish(result, value & w->mask, 0, INS_RFLAG_CF | INS_RFLAG_OF, w);
}

/* A count of 0 leaves the flags as they were; larger ones leave OF undefined, and CF beyond the
 * width. */
static void shift(const struct ins_eval *eval, uint64_t a, uint64_t count, const struct width *w,
                  struct ins_eval_result *result)
{
    uint64_t value, out;

    count &= w->bits == 64 ? 63 : 31;
    if (count == 0) {
        *result = (struct ins_eval_result){.values = {a}};
        return;
    }
    if (eval->op == OP_SHL) {
        value = count < w->bits ? a << count & w->mask : 0;
        out = count <= w->bits ? a >> (w->bits - count) & 1 : 0;
    } else if (eval->op == OP_SHR) {
        value = count < w->bits ? a >> count : 0;
        out = count <= w->bits ? a >> (count - 1) & 1 : 0;
    } else {
        int64_t from = to_signed(a, w);
        value = (uint64_t)(from >> count) & w->mask;
        out = (uint64_t)(from >> (count - 1)) & 1;
    }
    finish(result, value, out ? INS_RFLAG_CF : 0u,
           count < w->bits || eval->op == OP_SAR ? INS_RFLAG_CF : 0u, w);
    if (eval->keeps_flags)
        result->known = 0;
}

/* Bits come in from another operand. Of 16 bits with larger counts nothing is defined. */
static bool double_shift(const struct ins_eval *eval, const uint64_t inputs[],
                         const struct width *w, struct ins_eval_result *result)
{
    uint64_t a = inputs[0], b = inputs[1], count = inputs[2] & (w->bits == 64 ? 63 : 31);
    bool is_left = eval->op == OP_SHLD;

    *result = (struct ins_eval_result){.values = {a}};
    if (count == 0)
        return true;
    if (count > w->bits)
        return false;
    uint64_t own = count == w->bits ? 0 : is_left ? a << count : a >> count;
    uint64_t other = is_left ? b >> (w->bits - count) : b << (w->bits - count);
    uint64_t out = is_left ? a >> (w->bits - count) : a >> (count - 1);
    finish(result, (own | other) & w->mask, out & 1 ? INS_RFLAG_CF : 0u, INS_RFLAG_CF, w);
    return true;
}

/* False where rax keeps what it has, of which 4 bytes are no place. */
static bool exchange(const struct ins_eval *eval, const uint64_t inputs[], const struct width *w,
                     struct ins_eval_result *result)
{
    bool is_equal = inputs[2] == inputs[0];

    subtract(inputs[2], inputs[0], 0, w, result);
    result->values[0] = is_equal ? inputs[1] : inputs[0];
    result->values[1] = inputs[0];
    return !is_equal || eval->bytes != 4;
}

static void rotate(const struct ins_eval *eval, uint64_t a, uint64_t count, const struct width *w,
                   struct ins_eval_result *result)
{
    count = (count & (w->bits == 64 ? 63 : 31)) % w->bits;
    if (eval->op == OP_ROR)
        count = (w->bits - count) % w->bits;
    *result = (struct ins_eval_result){
        .values = {count ? (a << count | a >> (w->bits - count)) & w->mask : a}};
}

static void multiply(const struct ins_eval *eval, uint64_t a, uint64_t b, const struct width *w,
                     struct ins_eval_result *result)
{
    unsigned __int128 product =
        eval->op == OP_MUL_WIDE ? (unsigned __int128)a * b
                                : (unsigned __int128)((__int128)to_signed(a, w) * to_signed(b, w));
    uint64_t low = (uint64_t)product & w->mask, high = (uint64_t)(product >> w->bits) & w->mask;
    uint64_t fitting = eval->op == OP_MUL_WIDE || !(low & w->sign) ? 0 : w->mask;

    *result = (struct ins_eval_result){
        .values = {low, high},
        .flags = high != fitting ? INS_RFLAG_CF | INS_RFLAG_OF : 0u,
        .known = INS_RFLAG_CF | INS_RFLAG_OF,
    };
}

static bool divide(const struct ins_eval *eval, const uint64_t inputs[], const struct width *w,
                   struct ins_eval_result *result)
{
    unsigned __int128 from = (unsigned __int128)inputs[1] << w->bits | inputs[0];

    *result = (struct ins_eval_result){0};
    if (inputs[2] == 0)
        return false;
    if (eval->op == OP_DIV) {
        unsigned __int128 quotient = from / inputs[2];
        result->values[0] = (uint64_t)quotient;
        result->values[1] = (uint64_t)(from % inputs[2]);
        return quotient <= w->mask;
    }
    __int128 number =
        w->bits == 64
            ? (__int128)from
            : (__int128)((int64_t)((uint64_t)from << (64 - 2 * w->bits)) >> (64 - 2 * w->bits));
    int64_t by = to_signed(inputs[2], w);
    if (by == -1 && number == (__int128)((unsigned __int128)1 << 127)) /* it overflows even here */
        return false;
    __int128 quotient = number / by;
    result->values[0] = (uint64_t)quotient & w->mask;
    result->values[1] = (uint64_t)(number % by) & w->mask;
    return quotient == to_signed(result->values[0], w);
}

/* Counts of zeros; of no bits at all bsf and bsr leave their result as it was. */
static bool scan(const struct ins_eval *eval, uint64_t a, const struct width *w,
                 struct ins_eval_result *result)
{
    unsigned top = a ? 63 - (unsigned)__builtin_clzll(a) : 0;
    unsigned bottom = a ? (unsigned)__builtin_ctzll(a) : 0;

    *result = (struct ins_eval_result){.known = INS_RFLAG_ZF};
    switch (eval->op) {
    case OP_BSF:
    case OP_BSR:
        result->values[0] = eval->op == OP_BSF ? bottom : top;
        return a != 0;
    case OP_POPCNT:
        result->values[0] = (unsigned)__builtin_popcountll(a);
        result->flags = a == 0 ? INS_RFLAG_ZF : 0u;
        result->known |= INS_RFLAG_CF | INS_RFLAG_OF | INS_RFLAG_SF | INS_RFLAG_AF | INS_RFLAG_PF;
        return true;
    default:
        result->values[0] = !a ? w->bits : eval->op == OP_TZCNT ? bottom : w->bits - 1 - top;
        result->flags = (a == 0 ? INS_RFLAG_CF : 0u) | (result->values[0] == 0 ? INS_RFLAG_ZF : 0u);
        result->known |= INS_RFLAG_CF;
        return true;
    }
}

static void step_by_one(const struct ins_eval *eval, uint64_t a, const struct width *w,
                        struct ins_eval_result *result)
{
    if (eval->op == OP_INC)
        add(a, 1, 0, w, result);
    else
        subtract(a, 1, 0, w, result);
    result->known &= ~(uint64_t)INS_RFLAG_CF;
    result->flags &= ~(uint64_t)INS_RFLAG_CF;
}

static void address(const struct ins_eval *eval, const uint64_t inputs[],
                    struct ins_eval_result *result)
{
    uint64_t value = inputs[0] + inputs[1] * eval->scale + inputs[2];

    *result = (struct ins_eval_result){
        .values = {value & ins_low_bytes(eval->inputs[2].bytes) & ins_low_bytes(eval->bytes)}};
}

bool ins_eval_run(const struct ins_eval *eval, const uint64_t inputs[INS_EVAL_INPUTS],
                  uint64_t flags, struct ins_eval_result *result)
{
    const struct width w = width_of(eval->bytes);
    uint64_t a = inputs[0], b = inputs[1];
    unsigned carry = flags & INS_RFLAG_CF ? 1 : 0;

    switch (eval->op) {
    case OP_ADD:
        add(a, b, 0, &w, result);
        return true;
    case OP_ADC:
        add(a, b, carry, &w, result);
        return true;
    case OP_SUB:
    case OP_CMP:
        subtract(a, b, 0, &w, result);
        return true;
    case OP_SBB:
        subtract(a, b, carry, &w, result);
        return true;
    case OP_NEG:
        subtract(0, a, 0, &w, result);
        return true;
    case OP_AND:
    case OP_TEST:
        logic(a & b, &w, result);
        return true;
    case OP_ANDN:
        logic(~a & b, &w, result);
        return true;
    case OP_OR:
        logic(a | b, &w, result);
        return true;
    case OP_XOR:
        logic(a ^ b, &w, result);
        return true;
    case OP_NOT:
        *result = (struct ins_eval_result){.values = {~a & w.mask}};
        return true;
    case OP_INC:
    case OP_DEC:
        step_by_one(eval, a, &w, result);
        return true;
    case OP_SHL:
    case OP_SHR:
    case OP_SAR:
        shift(eval, a, b, &w, result);
        return true;
    case OP_ROL:
    case OP_ROR:
        rotate(eval, a, b, &w, result);
        return true;
    case OP_IMUL:
    case OP_IMUL_WIDE:
    case OP_MUL_WIDE:
        multiply(eval, a, b, &w, result);
        return true;
    case OP_DIV:
    case OP_IDIV:
        return divide(eval, inputs, &w, result);
    case OP_XADD:
        add(a, b, 0, &w, result);
        result->values[1] = a;
        return true;
    case OP_CMPXCHG:
        return exchange(eval, inputs, &w, result);
    case OP_SHLD:
    case OP_SHRD:
        return double_shift(eval, inputs, &w, result);
    case OP_LEA:
        address(eval, inputs, result);
        return true;
    case OP_SIGN:
        *result = (struct ins_eval_result){.values = {a & w.sign ? w.mask : 0}};
        return true;
    case OP_BT:
        *result = (struct ins_eval_result){.flags = a >> (b & (w.bits - 1)) & 1 ? INS_RFLAG_CF : 0u,
                                           .known = INS_RFLAG_CF};
        return true;
    case OP_SETCC:
        *result =
            (struct ins_eval_result){.values = {ins_condition_holds(eval->condition, flags, 0)}};
        return true;
    default:
        return scan(eval, a, &w, result);
    }
}

bool ins_eval_value(const struct ins_eval *eval, const uint64_t inputs[INS_EVAL_INPUTS],
                    uint64_t *value)
{
    uint64_t a = inputs[0], b = inputs[1], mask = ins_low_bytes(eval->bytes);

    switch (eval->op) {
    case OP_ADD:
        *value = (a + b) & mask;
        return true;
    case OP_SUB:
        *value = (a - b) & mask;
        return true;
    case OP_AND:
        *value = a & b;
        return true;
    case OP_OR:
        *value = a | b;
        return true;
    case OP_XOR:
        *value = a ^ b;
        return true;
    case OP_INC:
        *value = (a + 1) & mask;
        return true;
    case OP_DEC:
        *value = (a - 1) & mask;
        return true;
    case OP_LEA:
        *value = (a + b * eval->scale + inputs[2]) & ins_low_bytes(eval->inputs[2].bytes) & mask;
        return true;
    default:
        return false;
    }
}

/* ---- one to one ---- */

unsigned ins_eval_determined(const struct ins_eval *eval, unsigned i,
                             const uint64_t inputs[INS_EVAL_INPUTS], unsigned bytes)
{
    switch (eval->op) {
    case OP_ADD:
    case OP_ADC:
    case OP_XADD:
    case OP_SUB:
    case OP_SBB:
    case OP_XOR:
    case OP_NOT:
    case OP_NEG:
    case OP_INC:
    case OP_DEC:
        return bytes;
    case OP_IMUL: /* odd numbers have an inverse */
    case OP_IMUL_WIDE:
    case OP_MUL_WIDE:
        return inputs[1 - i] & 1 ? bytes : 0;
    case OP_LEA:
        return i == 0 || (i == 1 && eval->scale == 1) ? bytes : 0;
    case OP_ROL:
    case OP_ROR:
        return i == 0 && bytes == eval->bytes ? bytes : 0;
    default:
        return 0;
    }
}
