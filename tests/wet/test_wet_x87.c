/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The x87 unit's last instruction is the program's, whatever stores it, and in every interval. */
#include <stdio.h>
#include <string.h>

#include "recorder/agent/x87.h"
#include "recorder/dbi/x87_kinds.h"
#include "tests/wet/wet_fixture.h"

#define SEEN_BYTES 32

/* ---- images made up ---- */

#define CACHE 0x7f0012345678ull /* an address of translated code */

static const struct agt_x87 program = {.ip = 0x401234ull | 0x505ull << 48, .dp = 0x404040};

struct image {
    uint8_t bytes[576];
};

static struct image stored(uint16_t status, uint64_t ip, uint64_t dp)
{
    struct image image = {{0x7f, 0x03}};
    memcpy(image.bytes + 2, &status, 2);
    memcpy(image.bytes + 8, &ip, 8);
    memcpy(image.bytes + 16, &dp, 8);
    return image;
}

static uint64_t word(const uint8_t *at, unsigned off, unsigned bytes)
{
    uint64_t value = 0;
    memcpy(&value, at + off, bytes);
    return value;
}

static void cache_addresses_never_stay_in_images(void **state)
{
    (void)state;
    const uint16_t statuses[] = {0, 0x80};
    for (unsigned i = 0; i < 4; i++) {
        bool is_lost = i & 1, is_pending = i & 2;
        struct image image = stored(statuses[is_pending], CACHE, 0x404040);
        agt_x87_give(image.bytes, AGT_X87_IMAGE64, &program, is_lost);
        assert_int_equal(word(image.bytes, 8, 8), is_lost && !is_pending ? 0 : 0x401234);
        assert_int_equal(word(image.bytes, 16, 8), is_lost && !is_pending ? 0 : 0x404040);
        image = stored(statuses[is_pending], (uint32_t)CACHE | 0x33ull << 32, 0x404040);
        agt_x87_give(image.bytes, AGT_X87_IMAGE32, &program, is_lost);
        assert_int_equal(word(image.bytes, 8, 4), is_lost && !is_pending ? 0 : 0x401234);
    }
}

static void environment_has_what_the_processor_lost(void **state)
{
    (void)state;
    uint8_t lost[28] = {0}, kept[28] = {0};
    uint32_t ip = (uint32_t)CACHE, dp = 0x505050;
    memcpy(kept + 12, &ip, 4);
    memcpy(kept + 20, &dp, 4);
    agt_x87_give(lost, AGT_X87_ENV32, &program, true);
    assert_int_equal(word(lost, 12, 4), 0x401234);
    assert_int_equal(word(lost, 16, 4), 0x5050033);
    assert_int_equal(word(lost, 20, 4), 0x404040);
    agt_x87_give(kept, AGT_X87_ENV32, &program, false);
    assert_int_equal(word(kept, 12, 4), 0x401234);
    assert_int_equal(word(kept, 16, 4), 0);        /* stored without opcode and selector */
    assert_int_equal(word(kept, 20, 4), 0x505050); /* its own */
}

static void image_of_ours_brings_all_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct agt_x87 flat = {.ip = program.ip | (i & 2 ? AGT_X87_FLAT : 0), .dp = program.dp},
                       back;
        struct image image = stored(0, i & 1 ? 0 : CACHE, i & 1 ? 0 : program.dp);
        bool is_lost = i & 1;
        image.bytes[6] = is_lost ? 0 : 1; /* the processor has some opcode */
        agt_x87_keep(image.bytes, &flat, is_lost);
        assert_int_equal(image.bytes[512], 1);
        agt_x87_find(image.bytes, &back);
        assert_int_equal(back.dp, program.dp);
        assert_int_equal(back.ip, is_lost ? flat.ip : program.ip);
    }
}

static void last_instruction_is_found_in_code(void **state)
{
    /* fld1; nop; fldl [rax]; fnstcw [rax]; fninit; fnop; fnstenv [rax]; nop */
    static const uint8_t code[] = {0xd9, 0xe8, 0x90, 0xdd, 0x00, 0xd9, 0x38,
                                   0xdb, 0xe3, 0xd9, 0xd0, 0xd9, 0x30, 0x90};
    static const struct {
        unsigned count;
        bool is_found;
        uint64_t ip;
    } rows[] = {{0, false, 0},
                {1, true, 0x1000 | 0x1e8ull << 48},
                {2, true, 0x1000 | 0x1e8ull << 48},
                {3, true, 0x1003 | 0x500ull << 48},
                {4, true, 0x1003 | 0x500ull << 48},
                {5, true, 0},
                {6, true, 0x1009 | 0x1d0ull << 48},
                {7, false, 0},
                {8, false, 0}};
    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        uint64_t ip = 0;
        bool is_found = dbi_x87_last(0x1000, code, sizeof(code), rows[i].count, &ip);
        assert_int_equal(is_found, rows[i].is_found);
        if (is_found)
            assert_int_equal(ip, rows[i].ip);
    }
}

/* ---- a program's ---- */

static int run_x87(void **state)
{
    return fixture_open(state, 400, (const char *const[]){GUEST, NULL});
}

static void output_is_compared(const struct fixture *fixture, struct wetdbg *wet)
{
    struct wetdbg_state *state;
    size_t count;
    static uint8_t bytes[64 * SEEN_BYTES];
    const struct wetdbg_output *output = wetdbg_outputs(wet, &count);
    assert_int_equal(count, 1);
    assert_int_equal(output->size, sizeof(bytes));
    assert_int_equal(fixture->run.out_bytes, sizeof(bytes));
    ok(wetdbg_state_open(wet, output->time, &state));
    ok(wetdbg_state_read(state, output->address, bytes, sizeof(bytes)));
    for (unsigned i = 0; i < sizeof(bytes); i++)
        if (bytes[i] != (uint8_t)fixture->run.out[i])
            fail_msg("case %u, byte %u: %#x, recorded %#x", i / SEEN_BYTES, i % SEEN_BYTES,
                     bytes[i], (uint8_t)fixture->run.out[i]);
    wetdbg_state_close(state);
}

static void pointers_are_the_recorded_ones(void **state)
{
    const struct fixture *fixture = *state;
    output_is_compared(fixture, fixture->whole);
    output_is_compared(fixture, fixture->cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cache_addresses_never_stay_in_images),
        cmocka_unit_test(environment_has_what_the_processor_lost),
        cmocka_unit_test(image_of_ours_brings_all_back),
        cmocka_unit_test(last_instruction_is_found_in_code),
        cmocka_unit_test_setup_teardown(pointers_are_the_recorded_ones, run_x87, fixture_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
