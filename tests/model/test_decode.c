/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The short cut for common instructions says what Zydis does: every opcode, with each REX and
 * ModRM. */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "wet/model/insn_flow.h"

#define PC   0x7f0012345678
#define ROOM 15

static unsigned long compared;

static void compare(const uint8_t *bytes, size_t available)
{
    struct mdl_insn quick = {0}, whole = {0};
    int quick_result = mdl_decode(PC, bytes, available, &quick);
    int whole_result = mdl_decode_any(PC, bytes, available, &whole);
    bool is_same = quick_result == whole_result && quick.length == whole.length &&
                   quick.kind == whole.kind && quick.is_direct == whole.is_direct &&
                   quick.target == whole.target && quick.slot == whole.slot && quick.pc == whole.pc;

    compared++;
    if (!is_same)
        fail_msg(
            "%02x %02x %02x %02x %02x of %zu bytes: %d, length %u and kind %d; Zydis: %d, %u, %d",
            bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], available, quick_result, quick.length,
            (int)quick.kind, whole_result, whole.length, (int)whole.kind);
}

/* Compares all of ModRM behind `count` bytes; where there is a SIB byte, one with each base, and
 * immediates that are negative or not. */
static void compare_opcode(uint8_t *bytes, unsigned count)
{
    for (unsigned modrm = 0; modrm < 256; modrm++) {
        bool has_sib = modrm >> 6 != 3 && (modrm & 7) == 4;
        bytes[count] = (uint8_t)modrm;
        for (unsigned base = 0; base < (has_sib ? 8 : 1); base++) {
            bytes[count + 1] = (uint8_t)(0x10 + modrm * 8 + base);
            memset(bytes + count + 2, modrm & 1 ? 0x81 : 0x12, ROOM - count - 2);
            compare(bytes, ROOM);
        }
    }
}

static void all_opcodes_are_as_zydis_says(void **state)
{
    uint8_t bytes[ROOM + 1];

    (void)state;
    for (unsigned rex = 0x3f; rex < 0x50; rex++)
        for (unsigned opcode = 0; opcode < 512; opcode++) {
            unsigned count = 0;
            if (rex >= 0x40)
                bytes[count++] = (uint8_t)rex;
            if (opcode >= 256)
                bytes[count++] = 0x0f;
            bytes[count++] = (uint8_t)opcode;
            compare_opcode(bytes, count);
        }
    assert_true(compared > 17 * 512 * 256);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed;
}

/* Behind one more prefix, and where code ends. */
static void what_is_not_common_is_left_to_zydis(void **state)
{
    static const uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0xf0, 0x2e, 0x64, 0x67, 0x48};
    uint64_t seed = 1;
    uint8_t bytes[ROOM + 1];

    (void)state;
    for (unsigned i = 0; i < 400000; i++) {
        for (unsigned at = 0; at < ROOM; at++)
            bytes[at] = (uint8_t)(next_random(&seed) >> 40);
        if (i % 2)
            bytes[0] = prefixes[i / 2 % sizeof(prefixes)];
        compare(bytes, i % 3 ? ROOM : 1 + i / 3 % ROOM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_opcodes_are_as_zydis_says),
        cmocka_unit_test(what_is_not_common_is_left_to_zydis),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
