/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions that we write by ourselves, read by the decoder: they are what their names say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h needs the standard headers above it. */
#include <Zydis/Zydis.h>
#include <cmocka.h>

#include "recorder/dbi/emit_vector.h"

struct decoded {
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
};

static struct emit emitter(uint8_t *bytes, size_t size)
{
    return (struct emit){.at = bytes, .limit = bytes + size};
}

static void decode(const struct emit *e, const uint8_t *bytes, struct decoded *out)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    assert_false(e->overflow);
    size_t size = (size_t)(e->at - bytes);
    assert_true(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, size, &out->zi, out->ops)));
    assert_int_equal(out->zi.length, size);
}

static void assert_memory(const struct decoded *is, ZydisRegister base, int64_t disp)
{
    assert_int_equal(is->ops[0].type, ZYDIS_OPERAND_TYPE_MEMORY);
    assert_int_equal(is->ops[0].mem.segment, ZYDIS_REGISTER_GS);
    assert_int_equal(is->ops[0].mem.base, base);
    assert_int_equal(is->ops[0].mem.index, ZYDIS_REGISTER_NONE);
    assert_int_equal(is->ops[0].mem.disp.value, disp);
}

static const int32_t disps[] = {-8, -1000, 0x40, 0x7fff00};

static const struct store {
    void (*emit)(struct emit *e, int base, int32_t disp, unsigned vector);
    unsigned vectors;
    ZydisMnemonic mnemonic;
    ZydisRegister first, mask;
} stores[] = {
    {emit_store_ymm_gs, 16, ZYDIS_MNEMONIC_VMOVDQU, ZYDIS_REGISTER_YMM0, ZYDIS_REGISTER_NONE},
    {emit_store_zmm_gs, 32, ZYDIS_MNEMONIC_VMOVDQU64, ZYDIS_REGISTER_ZMM0, ZYDIS_REGISTER_K0},
};

/* Asserts a store with base r15 or none, and displacements of one byte and of four. */
static void assert_store(const struct store *store, unsigned vector)
{
    for (unsigned i = 0; i < 8; i++) {
        uint8_t bytes[32];
        struct emit e = emitter(bytes, sizeof(bytes));
        struct decoded is;
        int32_t disp = disps[i & 3];
        store->emit(&e, i < 4 ? 15 : -1, disp, vector);
        decode(&e, bytes, &is);
        assert_int_equal(is.zi.mnemonic, store->mnemonic);
        assert_memory(&is, i < 4 ? ZYDIS_REGISTER_R15D : ZYDIS_REGISTER_NONE, disp);
        assert_int_equal(is.zi.avx.mask.reg, store->mask);
        assert_int_equal(is.ops[is.zi.operand_count_visible - 1].reg.value, store->first + vector);
    }
}

static void vector_stores_are_what_they_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++)
        for (unsigned vector = 0; vector < stores[i].vectors; vector++)
            assert_store(&stores[i], vector);
}

static void mask_moves_are_what_they_say(void **state)
{
    (void)state;
    for (unsigned reg = 0; reg < 16; reg++)
        for (unsigned mask = 0; mask < 8; mask++) {
            uint8_t bytes[32];
            struct emit e = emitter(bytes, sizeof(bytes));
            struct decoded is;
            emit_mov_mask(&e, reg, mask);
            decode(&e, bytes, &is);
            assert_int_equal(is.zi.mnemonic, ZYDIS_MNEMONIC_KMOVW);
            assert_int_equal(is.ops[0].reg.value, ZYDIS_REGISTER_EAX + reg);
            assert_int_equal(is.ops[1].reg.value, ZYDIS_REGISTER_K0 + mask);
        }
}

/* ---- names and what Zydis reads ---- */

#define INSTRUCTIONS_MAX 4

/* Instructions as text, with "; " between them. */
static void assert_text(const struct emit *e, const uint8_t *bytes, const char *expected)
{
    ZydisDecoder decoder;
    ZydisFormatter formatter;
    char text[256] = "";
    size_t size = (size_t)(e->at - bytes), at = 0;
    assert_false(e->overflow);
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    for (unsigned n = 0; at < size; n++) {
        ZydisDecodedInstruction zi;
        ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
        size_t used = strlen(text);
        assert_true(n < INSTRUCTIONS_MAX);
        assert_true(
            ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes + at, size - at, &zi, ops)));
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", at ? "; " : "");
        assert_true(ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
            &formatter, &zi, ops, zi.operand_count_visible, text + used, sizeof(text) - used,
            ZYDIS_RUNTIME_ADDRESS_NONE, NULL)));
        at += zi.length;
    }
    assert_string_equal(text, expected);
}

#define IS(expected, call)                                                                         \
    do {                                                                                           \
        uint8_t bytes[64];                                                                         \
        struct emit is = emitter(bytes, sizeof(bytes)), *e = &is;                                  \
        call;                                                                                      \
        assert_text(e, bytes, expected);                                                           \
    } while (0)

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

static void operands_are_what_they_say(void **state)
{
    (void)state;
    IS("mov rcx, r11", emit_op(e, true, EMIT_MOV_TO, R11, RCX));
    IS("mov ecx, r11d", emit_op(e, false, EMIT_MOV_TO, R11, RCX));
    IS("movzx ecx, r11w", emit_op(e, false, EMIT_MOVZX16, RCX, R11));
    IS("imul rcx, r11", emit_op(e, true, EMIT_IMUL, RCX, R11));
    IS("cmp rbx, r11", emit_op(e, true, EMIT_CMP_TO, R11, RBX));
    IS("add rax, r10", emit_op(e, true, EMIT_ADD_TO, R10, RAX));
    IS("test rsi, rsi", emit_op(e, true, EMIT_TEST, RSI, RSI));
    IS("xor r9d, r9d", emit_op(e, false, EMIT_XOR_TO, R9, R9));
    IS("mov edx, [rsi+rax*4+0x08]", emit_op_memory(e, false, EMIT_MOV_FROM, RDX, RSI, RAX, 4, 8));
    IS("cmp r11, gs:[rdx+0x12345]",
       emit_op_gs_memory(e, true, EMIT_CMP_FROM, R11, RDX, -1, 1, 0x12345));
    IS("mov gs:[rdx*8+0x12345], rcx",
       emit_op_gs_memory(e, true, EMIT_MOV_TO, RCX, -1, RDX, 8, 0x12345));
    IS("and ecx, gs:[0x0000000000012345]", emit_op_gs(e, false, EMIT_AND_FROM, RCX, 0x12345));
    IS("movsxd r9, dword ptr gs:[0x0000000000000040]", emit_op_gs(e, true, EMIT_MOVSXD, R9, 64));
    IS("mov r11, [rsp]", emit_op_at(e, true, EMIT_MOV_FROM, R11, RSP));
    IS("mov r11, [r11]", emit_op_at(e, true, EMIT_MOV_FROM, R11, R11));
    IS("lea rcx, [rcx+r11*1]", emit_op_sum(e, true, EMIT_LEA, RCX, RCX, R11, 1));
    IS("lea ecx, [rcx+r11*8]", emit_op_sum(e, false, EMIT_LEA, RCX, RCX, R11, 8));
    IS("add r15, [rip]", emit_op_rip(e, true, EMIT_ADD_FROM, R15));
}

static void moves_are_what_they_say(void **state)
{
    (void)state;
    IS("mov gs:[r15d-0x08], rbx", emit_store_gs_narrow(e, R15, -8, RBX));
    IS("mov rbx, gs:[r15d-0x08]", emit_load_gs_narrow(e, RBX, R15, -8));
    IS("mov qword ptr gs:[r15d-0x08], 0x05", emit_store_imm_gs_narrow(e, R15, -8, 5));
    IS("mov byte ptr gs:[r12+0x12345678], 0x01", emit_mark_gs(e, R12, 0x12345678));
    IS("movzx ecx, word ptr [rbx]", emit_load_sized(e, RCX, RBX, 0, 2));
    IS("mov ecx, [r12]", emit_load_sized(e, RCX, R12, 0, 4));
    IS("mov r11, 0x01", emit_mov_imm64(e, R11, 1));
    IS("mov r11d, 0x01", emit_mov_imm(e, R11, 1));
    IS("mov ecx, ecx", emit_cut32(e, RCX));
    IS("mov r9, rax", emit_extend_sign(e, R9, RAX, 8));
    IS("movsxd r9, eax", emit_extend_sign(e, R9, RAX, 4));
    IS("movsx r9, ax", emit_extend_sign(e, R9, RAX, 2));
    IS("bswap rcx; movzx ecx, cl", emit_rcx_top_byte(e));
}

static void arithmetic_is_what_it_says(void **state)
{
    static const uint8_t four[] = {0x78, 0x56, 0x34, 0x12};
    (void)state;
    IS("add r15, 0x05", emit_arith_imm8(e, true, EMIT_ADD, R15, 5));
    IS("and edx, 0xFFFFFFFC", emit_arith_imm8(e, false, EMIT_AND, RDX, (uint8_t)-4));
    IS("sub rsp, 0x08", emit_arith_imm8(e, true, EMIT_SUB, RSP, 8));
    IS("adc ecx, 0x12345678", emit_arith_imm32(e, false, EMIT_ADC, RCX, 0x12345678));
    IS("and eax, 0x12345678", emit_arith_eax(e, EMIT_AND, 0x12345678));
    IS("add qword ptr gs:[0x0000000000000040], 0x01", emit_arith_gs_imm8(e, EMIT_ADD, 64, 1));
    IS("cmp qword ptr gs:[rdx+0x12345], 0x00", emit_cmp_gs_imm8(e, RDX, 0x12345, 0));
    IS("cmp dword ptr [rsi+rdx*1], 0xFFFFFFFF", emit_cmp_sum_imm8(e, RSI, RDX, 0xff));
    IS("cmp dword ptr [rcx+0x04], 0x12345678", emit_cmp_bytes(e, RCX, 4, four, 4));
    IS("cmp byte ptr [rcx+0x04], 0x78", emit_cmp_bytes(e, RCX, 4, four, 1));
    IS("test al, 0x07", emit_test_al(e, 7));
    IS("test dl, 0x03", emit_test_imm8(e, RDX, 3));
    IS("shr rcx, 0x20", emit_shift(e, true, EMIT_SHR, RCX, 32));
    IS("shl edx, 0x05", emit_shift(e, false, EMIT_SHL, RDX, 5));
    IS("sar r9, 0x06", emit_shift(e, true, EMIT_SAR, R9, 6));
    IS("inc ecx", emit_inc32(e, RCX));
    IS("rorx rcx, r11, 0x08", emit_rorx(e, true, RCX, R11, 8));
    IS("rorx r9d, ecx, 0x03", emit_rorx(e, false, R9, RCX, 3));
    IS("lahf; seto al", emit_flags_to_ax(e));
    IS("add al, 0x7F; sahf", emit_flags_from_ax(e));
}

static void branches_are_what_they_say(void **state)
{
    (void)state;
    IS("jmp +0x05", emit_branch(e, EMIT_JMP, (uint64_t)(uintptr_t)bytes + 5));
    IS("call +0x05", emit_branch(e, EMIT_CALL, (uint64_t)(uintptr_t)bytes + 5));
    IS("jnz +0x06", emit_branch(e, EMIT_IF_NOT_ZERO, (uint64_t)(uintptr_t)bytes + 6));
    IS("js +0x07", emit_branch(e, EMIT_IF_SIGN, (uint64_t)(uintptr_t)bytes + 7));
    IS("jrcxz +0x07", emit_short(e, EMIT_SHORT_JRCXZ, 5));
    IS("jmp +0x04", emit_short(e, EMIT_SHORT_JMP, 2));
    IS("jmp gs:[0x0000000000000040]", emit_jmp_gs(e, 64));
    IS("jmp gs:[rcx*8+0x12345]", emit_jmp_gs_table(e, RCX, 0x12345));
    IS("jmp rax", emit_jmp_reg(e, RAX));
    IS("call [r14+0x08]", emit_call_memory(e, R14, 8));
    IS("push [rip]", emit_push_rip(e));
    IS("push 0x12345678", emit_push_imm(e, 0x12345678));
    IS("push r12; push rbx", (emit_push(e, R12), emit_push(e, RBX)));
    IS("pop rbx; pop r12", (emit_pop(e, RBX), emit_pop(e, R12)));
    IS("ret", emit_ret(e));
    IS("wrgsbase r9", emit_segment_base(e, EMIT_WRGSBASE, true, R9));
    IS("rdfsbase ecx", emit_segment_base(e, EMIT_RDFSBASE, false, RCX));
    IS("nop; nop [rax], eax", (emit_nop(e, 1), emit_nop(e, 3)));
    IS("int3; ud2; hlt", (emit_int3(e), emit_ud2(e), emit_hlt(e)));
}

static void vectors_are_what_they_say(void **state)
{
    (void)state;
    IS("pcmpeqd xmm2, xmm1", emit_xmm_op(e, EMIT_PCMPEQD, 2, 1));
    IS("paddd xmm7, xmm6", emit_xmm_op(e, EMIT_PADDD, 7, 6));
    IS("movdqu xmm0, [r15+0x10]", emit_load_xmm(e, 0, R15, 16));
    IS("movdqu xmm2, [rsi+rax*1+0x10]", emit_load_xmm_index(e, 2, RSI, RAX, 16));
    IS("movdqu xmm0, [rsi+rax*1]", emit_load_xmm_sum(e, 0, RSI, RAX));
    IS("movdqu [rbp+0x10], xmm0", emit_store_xmm(e, RBP, 16, 0));
    IS("movdqu [rsi+rax*1+0x10], xmm7", emit_store_xmm_index(e, RSI, RAX, 16, 7));
    IS("movq xmm6, r13", emit_xmm_from_reg(e, 6, R13));
    IS("movd edx, xmm0", emit_reg32_from_xmm(e, RDX, 0));
    IS("pshufd xmm1, xmm0, 0x00", emit_xmm_spread32(e, 1, 0));
    IS("pmovmskb edi, xmm0", emit_xmm_mask(e, RDI, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_stores_are_what_they_say),
        cmocka_unit_test(mask_moves_are_what_they_say),
        cmocka_unit_test(operands_are_what_they_say),
        cmocka_unit_test(moves_are_what_they_say),
        cmocka_unit_test(arithmetic_is_what_it_says),
        cmocka_unit_test(branches_are_what_they_say),
        cmocka_unit_test(vectors_are_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
