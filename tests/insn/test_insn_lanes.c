/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the bytes of vector results come from, against the processor: each instruction is executed
 * with random operands. Of what is moved each byte is compared; of what is one to one an operand is
 * changed from some byte of an element on, and its lower bytes with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/insn/insn_lanes.h"
#include "tests/skipped.h"

/* cmocka.h needs the headers above. */
#include <cmocka.h>

#define TRIALS 200

extern const uint8_t *const lanes_forms[]; /* up to a NULL */

struct operands {
    uint8_t vectors[3][32];
    uint8_t memory[32];
} __attribute__((aligned(32)));

static void execute(const uint8_t *code, const struct operands *in, uint8_t result[32])
{
    __asm__ volatile("vmovdqu (%1), %%ymm0\n"
                     "vmovdqu 32(%1), %%ymm1\n"
                     "vmovdqu 64(%1), %%ymm2\n"
                     "lea -128(%%rsp), %%rsp\n" /* the red zone */
                     "call *%0\n"
                     "lea 128(%%rsp), %%rsp\n"
                     "vmovdqu %%ymm0, (%2)\n"
                     "vzeroupper\n"
                     :
                     : "r"(code), "r"(in), "r"(result), "D"(in->memory)
                     : "xmm0", "xmm1", "xmm2", "memory", "cc");
}

static void fill(struct operands *operands)
{
    for (size_t i = 0; i < sizeof(*operands); i++)
        ((uint8_t *)operands)[i] = (uint8_t)(rand() >> 7);
}

static uint8_t *place_of(struct operands *operands, unsigned place)
{
    if (place == INS_PLACE_MEMORY)
        return operands->memory;
    assert_true(place < 3);
    return operands->vectors[place];
}

static void check_moved(const struct ins_lanes *lanes, struct operands *in, const uint8_t result[])
{
    for (unsigned b = 0; b < 32; b++) {
        if (lanes->place[b] == INS_PLACE_ZERO)
            assert_int_equal(result[b], 0);
        else
            assert_int_equal(result[b], place_of(in, lanes->place[b])[lanes->from[b]]);
    }
}

/* Another value of an element's byte, and perhaps of those above it, shows in the same byte. */
static void check_one_to_one(const uint8_t *code, const struct ins_lanes *lanes,
                             struct operands *in, const uint8_t result[])
{
    uint8_t other[32];
    unsigned at = (unsigned)rand() % lanes->bytes, element = at / lanes->element_bytes;

    for (unsigned i = 0; i < 2; i++) {
        struct operands changed = *in;
        uint8_t *bytes = place_of(&changed, lanes->operands[i]);
        bytes[at] ^= (uint8_t)(1 + rand() % 255);
        for (unsigned b = at + 1; b < (element + 1) * lanes->element_bytes; b++)
            bytes[b] = (uint8_t)rand();
        execute(code, &changed, other);
        assert_int_not_equal(other[at], result[at]);
        for (unsigned b = 0; b < lanes->bytes; b++)
            if (b < at || b >= (element + 1) * lanes->element_bytes)
                assert_int_equal(other[b], result[b]);
    }
}

static void lanes_are_the_processors(void **state)
{
    struct operands operands;
    uint8_t result[32];
    unsigned moved = 0, one_to_one = 0;

    (void)state;
    if (!__builtin_cpu_supports("avx2")) {
        skipped_say("test_insn_lanes", "the processor has no AVX2");
        return;
    }
    for (const uint8_t *const *code = lanes_forms; *code; code++) {
        struct ins_lanes lanes;
        assert_true(ins_lanes_make(*code, 16, &lanes));
        moved += lanes.kind == INS_LANES_MOVED;
        one_to_one += lanes.kind == INS_LANES_ONE_TO_ONE;
        for (unsigned i = 0; i < TRIALS; i++) {
            fill(&operands);
            execute(*code, &operands, result);
            if (lanes.kind == INS_LANES_MOVED)
                check_moved(&lanes, &operands, result);
            else
                check_one_to_one(*code, &lanes, &operands, result);
        }
    }
    assert_int_equal(moved, 20);
    assert_int_equal(one_to_one, 13);
}

static void other_instructions_have_no_lanes(void **state)
{
    static const uint8_t same[] = {0x66, 0x0f, 0xfe, 0xc0};    /* paddd xmm0, xmm0 */
    static const uint8_t equals[] = {0x66, 0x0f, 0x74, 0xc1};  /* pcmpeqb xmm0, xmm1 */
    static const uint8_t average[] = {0x66, 0x0f, 0xe0, 0xc1}; /* pavgb xmm0, xmm1 */
    static const uint8_t cut[] = {0x66, 0x0f, 0xfe};
    struct ins_lanes lanes;

    (void)state;
    assert_false(ins_lanes_make(same, sizeof(same), &lanes));
    assert_false(ins_lanes_make(equals, sizeof(equals), &lanes));
    assert_false(ins_lanes_make(average, sizeof(average), &lanes));
    assert_false(ins_lanes_make(cut, sizeof(cut), &lanes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_are_the_processors),
        cmocka_unit_test(other_instructions_have_no_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
