/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vector instructions that the translator writes by itself, read by the decoder: few machines can run them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* cmocka.h needs the standard headers above it. */
#include <Zydis/Zydis.h>
#include <cmocka.h>

#include "recorder/dbi/emit.h"

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

/* With base r15 or none, and displacements of one byte and of four. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vector_stores_are_what_they_say),
        cmocka_unit_test(mask_moves_are_what_they_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
