/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What xsave and its kin leave in memory follows from the registers, whatever the processor calls in use. */
#include <stdio.h>
#include <string.h>

#include "recorder/agent/xsave.h"
#include "tests/skipped.h"
#include "tests/wet/wet_fixture.h"

#define AREA_BYTES 1024

/* ---- images made up ---- */

struct image {
    uint8_t bytes[AREA_BYTES];
};

static struct image pattern(void)
{
    struct image image;
    memset(image.bytes, 0xaa, sizeof(image.bytes));
    memset(image.bytes + AGT_XS_HEADER_OFF, 0, 64);
    return image;
}

/* As an instruction of `kind` would store registers that are as they begin, `in_use` being called so. */
static struct image stored(enum agt_xsave_kind kind, uint64_t in_use)
{
    const uint8_t control[] = {0x7f, 0x03}, mxcsr[] = {0x80, 0x1f, 0, 0, 0xff, 0xff, 0x02, 0};
    struct image image = pattern();
    for (size_t i = 0; i < AGT_XS_PARTS; i++) {
        const struct agt_xs_part *part = &agt_xs_parts[i];
        if (kind != AGT_XSAVE_WHOLE && !(in_use & part->component))
            continue;
        memset(image.bytes + part->off, 0, part->bytes);
        if (part->off == 0)
            memcpy(image.bytes, control, sizeof(control));
    }
    if (kind != AGT_XSAVE_COMPACT || in_use & AGT_XS_SSE)
        memcpy(image.bytes + AGT_XS_MXCSR_OFF, mxcsr, sizeof(mxcsr));
    image.bytes[AGT_XS_HEADER_OFF] = (uint8_t)in_use;
    return image;
}

static void xsave_settle_makes_all_forms_the_same(void **state)
{
    (void)state;
    const struct image before = pattern();
    for (enum agt_xsave_kind kind = AGT_XSAVE_WHOLE; kind <= AGT_XSAVE_COMPACT; kind++) {
        const struct image wanted = stored(kind, 0);
        for (uint64_t in_use = 0; in_use < 8; in_use++) {
            struct image image = stored(kind, in_use);
            agt_xsave_settle(image.bytes, before.bytes, AREA_BYTES, 7, kind);
            assert_memory_equal(image.bytes, wanted.bytes, AREA_BYTES);
        }
    }
}

static void xsave_settle_keeps_what_is_in_use(void **state)
{
    (void)state;
    const struct image before = pattern();
    const size_t places[] = {0, 40, 170, 415, 576, 831}; /* a byte of some register */
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        uint64_t component = places[i] < 160   ? AGT_XS_X87
                             : places[i] < 512 ? AGT_XS_SSE
                                               : AGT_XS_AVX;
        struct image image = stored(AGT_XSAVE_COMPACT, 7),
                     wanted = stored(AGT_XSAVE_COMPACT, component);
        image.bytes[places[i]] ^= 1;
        wanted.bytes[places[i]] ^= 1;
        agt_xsave_settle(image.bytes, before.bytes, AREA_BYTES, 7, AGT_XSAVE_COMPACT);
        assert_memory_equal(image.bytes, wanted.bytes, AREA_BYTES);
    }
    /* xsavec calls SSE in use by MXCSR, too; the others do not */
    struct image image = stored(AGT_XSAVE_COMPACT, 2), wanted;
    image.bytes[AGT_XS_MXCSR_OFF] = 0xa0;
    wanted = image;
    agt_xsave_settle(image.bytes, before.bytes, AREA_BYTES, 7, AGT_XSAVE_COMPACT);
    assert_memory_equal(image.bytes, wanted.bytes, AREA_BYTES);
}

/* Of components that were not asked for, the header's bits are older, and nothing is known. */
static void xsave_settle_leaves_what_was_not_asked_for(void **state)
{
    (void)state;
    const struct image before = pattern();
    struct image image = stored(AGT_XSAVE_WHOLE, 7), wanted = stored(AGT_XSAVE_WHOLE, 5);
    agt_xsave_settle(image.bytes, before.bytes, AREA_BYTES, 2, AGT_XSAVE_WHOLE);
    assert_memory_equal(image.bytes, wanted.bytes, AREA_BYTES);
    image = stored(AGT_XSAVE_OPT, 7);
    wanted = stored(AGT_XSAVE_OPT, 4);
    agt_xsave_settle(image.bytes, before.bytes, AGT_XS_AVX_OFF, 7, AGT_XSAVE_OPT);
    assert_memory_equal(image.bytes, wanted.bytes, AREA_BYTES);
}

/* ---- a program's ---- */

static int run_xsaves(void **state)
{
    return fixture_open(state, 500, (const char *const[]){GUEST, NULL});
}

/* What the program says of its areas: the processor may lack xsaveopt and xsavec, or rr hide them. */
struct told {
    uint64_t address, count, opt, compact;
};

static void areas_check(struct wetdbg *wet, const struct told *told)
{
    struct wetdbg_state *end;
    struct image pair[2];
    assert_in_range(told->count, 4, 12);
    ok(wetdbg_state_open(wet, wetdbg_get_info(wet)->last_time, &end));
    for (uint64_t i = 0; i < told->count; i += 2) {
        ok(wetdbg_state_read(end, told->address + i * AREA_BYTES, pair, sizeof(pair)));
        for (size_t at = 0; at < AREA_BYTES; at++)
            if (pair[0].bytes[at] != pair[1].bytes[at])
                fail_msg("pair %llu: byte %zu is %#x, and %#x where zeros were loaded",
                         (unsigned long long)i / 2, at, pair[0].bytes[at], pair[1].bytes[at]);
        bool is_compact_by_mxcsr = told->count > told->compact && i == told->compact + 2;
        assert_int_equal(pair[0].bytes[AGT_XS_HEADER_OFF] & 6, is_compact_by_mxcsr ? 2 : 0);
        if (i >= told->opt || i >= told->compact) /* not stored at all */
            assert_int_equal(pair[0].bytes[AGT_XS_AVX_OFF], 0xaa);
    }
    wetdbg_state_close(end);
}

static void xsave_stores_what_registers_hold(void **state)
{
    struct fixture *fixture = *state;
    struct told told;
    if (!__builtin_cpu_supports("avx")) {
        skipped_say("test_wet_xsave", "what xsave stores: the processor has no AVX");
        skip();
    }
    assert_int_equal(fixture->run.out_bytes, sizeof(told));
    memcpy(&told, fixture->run.out, sizeof(told));
    areas_check(fixture->whole, &told);
    areas_check(fixture->cut, &told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xsave_settle_makes_all_forms_the_same),
        cmocka_unit_test(xsave_settle_keeps_what_is_in_use),
        cmocka_unit_test(xsave_settle_leaves_what_was_not_asked_for),
        cmocka_unit_test_setup_teardown(xsave_stores_what_registers_hold, run_xsaves,
                                        fixture_close),
    };
    return cmocka_run_group_tests_name("wet_xsave", tests, NULL, NULL);
}
