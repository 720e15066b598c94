/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What xsave and its kin leave in memory follows from the registers, whatever the processor calls
 * in use. */
#include <stdio.h>
#include <string.h>

#include "recorder/agent/xsave.h"
#include "recorder/insn/insn_image.h"
#include "tests/skipped.h"
#include "tests/wet/wet_fixture.h"

#define AREA_BYTES 2752

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

/* Of the standard form as AMD has it, or of the compacted one, which is the same without MPX. */
static struct agt_xs_layout layout_of_amd(void)
{
    const uint16_t off[] = {832, 896, 1408};
    struct agt_xs_layout layout;
    agt_xs_layout_standard(&layout, off);
    return layout;
}

/* As an instruction of `kind` would store registers that are as they begin, `in_use` being called
 * so. */
static struct image stored(enum agt_xsave_kind kind, uint64_t in_use)
{
    const uint8_t control[] = {0x7f, 0x03}, mxcsr[] = {0x80, 0x1f, 0, 0, 0xff, 0xff, 0x02, 0};
    const struct agt_xs_layout layout = layout_of_amd();
    struct image image = pattern();
    for (size_t i = 0; i < AGT_XS_PARTS; i++) {
        const struct agt_xs_part *part = &layout.parts[i];
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

/* Settles `image`, of which `bytes` could be read before, and holds it against `wanted`. */
static void settled_is(struct image image, const struct image *wanted, uint64_t bytes,
                       uint64_t components, enum agt_xsave_kind kind)
{
    const struct agt_xs_layout layout = layout_of_amd();
    const struct image before = pattern();
    agt_xsave_settle(image.bytes, &layout, before.bytes, bytes, components, kind);
    assert_memory_equal(image.bytes, wanted->bytes, AREA_BYTES);
}

static void xsave_settle_makes_all_forms_the_same(void **state)
{
    (void)state;
    for (enum agt_xsave_kind kind = AGT_XSAVE_WHOLE; kind <= AGT_XSAVE_COMPACT; kind++) {
        const struct image wanted = stored(kind, 0);
        for (uint64_t in_use = 0; in_use <= AGT_XS_SETTLED; in_use++)
            if (!(in_use & ~(uint64_t)AGT_XS_SETTLED))
                settled_is(stored(kind, in_use), &wanted, AGT_XS_SETTLED_BYTES, AGT_XS_SETTLED,
                           kind);
    }
}

static void xsave_settle_keeps_what_is_in_use(void **state)
{
    (void)state;
    const struct {
        size_t at; /* a byte of some register */
        uint64_t component;
    } places[] = {{0, AGT_XS_X87},         {40, AGT_XS_X87},      {170, AGT_XS_SSE},
                  {415, AGT_XS_SSE},       {576, AGT_XS_AVX},     {831, AGT_XS_AVX},
                  {832, AGT_XS_MASKS},     {895, AGT_XS_MASKS},   {896, AGT_XS_ZMM_HIGH},
                  {1407, AGT_XS_ZMM_HIGH}, {1408, AGT_XS_ZMM_16}, {2431, AGT_XS_ZMM_16}};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct image image = stored(AGT_XSAVE_COMPACT, AGT_XS_SETTLED),
                     wanted = stored(AGT_XSAVE_COMPACT, places[i].component);
        image.bytes[places[i].at] ^= 1;
        wanted.bytes[places[i].at] ^= 1;
        settled_is(image, &wanted, AGT_XS_SETTLED_BYTES, AGT_XS_SETTLED, AGT_XSAVE_COMPACT);
    }
    /* xsavec calls SSE in use by MXCSR, too; the others do not */
    struct image image = stored(AGT_XSAVE_COMPACT, 2);
    image.bytes[AGT_XS_MXCSR_OFF] = 0xa0;
    settled_is(image, &image, AGT_XS_SETTLED_BYTES, 7, AGT_XSAVE_COMPACT);
}

/* Of components that were not asked for, the header's bits are older, and nothing is known; nor of
 * those that lie where nothing could be read. */
static void xsave_settle_leaves_what_was_not_asked_for(void **state)
{
    (void)state;
    struct image wanted = stored(AGT_XSAVE_WHOLE, 0xe5);
    settled_is(stored(AGT_XSAVE_WHOLE, 0xe7), &wanted, AGT_XS_SETTLED_BYTES, 2, AGT_XSAVE_WHOLE);
    wanted = stored(AGT_XSAVE_OPT, 0xe4);
    settled_is(stored(AGT_XSAVE_OPT, 0xe7), &wanted, AGT_XS_AVX_OFF, 0xe7, AGT_XSAVE_OPT);
    wanted = stored(AGT_XSAVE_OPT, 0x80);
    settled_is(stored(AGT_XSAVE_OPT, 0xe7), &wanted, 1408, 0xe7, AGT_XSAVE_OPT);
}

static void part_is(const struct agt_xs_part *part, uint64_t component, unsigned off,
                    unsigned bytes)
{
    assert_int_equal(part->component, component);
    assert_int_equal(part->bytes, bytes);
    assert_int_equal(part->off, off);
}

/* The compacted form has no room for what was not asked for. */
static void xsave_layouts_are_as_the_manual_has_them(void **state)
{
    const uint16_t nowhere[3] = {0};
    struct agt_xs_layout layout;
    (void)state;
    agt_xs_layout_compact(&layout, 0xff); /* with MPX */
    part_is(&layout.parts[3], AGT_XS_AVX, 576, 256);
    part_is(&layout.parts[4], AGT_XS_MASKS, 960, 64);
    part_is(&layout.parts[5], AGT_XS_ZMM_HIGH, 1024, 512);
    part_is(&layout.parts[6], AGT_XS_ZMM_16, 1536, 1024);
    agt_xs_layout_compact(&layout, 0x83);
    assert_int_equal(layout.parts[3].bytes, 0);
    assert_int_equal(layout.parts[5].bytes, 0);
    part_is(&layout.parts[6], AGT_XS_ZMM_16, 576, 1024);
    assert_int_equal(agt_xs_within(&layout, AGT_XS_SETTLED, 1600), 0x83);
    assert_int_equal(agt_xs_within(&layout, AGT_XS_SETTLED, 1599), 3);
    agt_xs_layout_standard(&layout, nowhere);
    assert_int_equal(agt_xs_within(&layout, AGT_XS_SETTLED, AGT_XS_SETTLED_BYTES), 7);
}

/* ---- a program's ---- */

static int run_xsaves(void **state)
{
    return fixture_open(state, 500, (const char *const[]){GUEST, NULL});
}

/* What the program says of its areas: the processor may lack xsaveopt and xsavec, or rr hide
 * them. */
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
        assert_int_equal(pair[0].bytes[AGT_XS_HEADER_OFF] & (AGT_XS_SETTLED & ~AGT_XS_X87),
                         is_compact_by_mxcsr ? 2 : 0);
        if (i >= told->opt || i >= told->compact) /* not stored at all */
            assert_int_equal(pair[0].bytes[AGT_XS_AVX_OFF], 0xaa);
    }
    wetdbg_state_close(end);
}

static void xsave_stores_what_registers_hold(void **state)
{
    struct fixture *fixture = *state;
    struct told told[2]; /* up to AVX, and with AVX-512 */
    if (!__builtin_cpu_supports("avx")) {
        skipped_say("test_wet_xsave", "what xsave stores: the processor has no AVX");
        skip();
    }
    size_t sets = __builtin_cpu_supports("avx512f") ? 2 : 1;
    assert_int_equal(fixture->run.out_bytes, sets * sizeof(told[0]));
    memcpy(told, fixture->run.out, sets * sizeof(told[0]));
    for (size_t i = 0; i < sets; i++) {
        areas_check(fixture->whole, &told[i]);
        areas_check(fixture->cut, &told[i]);
    }
    if (sets == 1)
        skipped_say("test_wet_xsave", "what xsave stores: the processor has no AVX-512");
}

/* ---- what slots say was stored ---- */

static bool is_in_header(size_t at)
{
    return at >= INS_IMAGE_STATES_OFF && at < INS_IMAGE_STATES_OFF + 16;
}

/* Compares the bytes that one instruction changed with its ranges. Areas are filled with a byte
 * that no component has at its beginning, except the header, which had zeros. */
static void ranges_check(struct wetdbg_state *state, wetdbg_time time, const struct ins_info *info,
                         const uint64_t *slots)
{
    struct image before, after;
    struct ins_range ranges[INS_RANGES_MAX];
    bool is_stored[AREA_BYTES] = {false};
    unsigned count = ins_operand_ranges(info, 0, slots, ranges);

    ok(wetdbg_state_advance(state, time));
    ok(wetdbg_state_read(state, slots[0], &before, sizeof(before)));
    ok(wetdbg_state_advance(state, time + 1));
    ok(wetdbg_state_read(state, slots[0], &after, sizeof(after)));
    for (unsigned r = 0; r < count; r++) {
        assert_in_range(ranges[r].address + ranges[r].size_bytes - slots[0], 1, AREA_BYTES);
        assert_true(r == 0 || ranges[r].address > ranges[r - 1].address);
        memset(is_stored + (ranges[r].address - slots[0]), true, ranges[r].size_bytes);
    }
    assert_true(is_stored[INS_IMAGE_STATES_OFF]);
    for (size_t at = 0; at < AREA_BYTES; at++)
        if (!is_in_header(at) && is_stored[at] != (before.bytes[at] != after.bytes[at]))
            fail_msg("%s at time %llu: byte %zu %s, the ranges say otherwise",
                     ins_mnemonic_name(info->mnemonic), (unsigned long long)time, at,
                     is_stored[at] ? "stays as it was" : "is stored");
}

static bool is_told(const struct told told[2], size_t sets, uint64_t address)
{
    for (size_t i = 0; i < sets; i++)
        if (address - told[i].address < told[i].count * AREA_BYTES)
            return true;
    return false;
}

static size_t interval_ranges_check(struct wetdbg *wet, const struct wet_interval *interval,
                                    const struct told told[2], size_t sets)
{
    struct wetdbg_state *state;
    size_t checked = 0;

    ok(wetdbg_state_open(wet, interval->first_time, &state));
    for (size_t i = 0; i < interval->exec_count; i++) {
        const struct wet_exec *exec = &interval->execs[i];
        const struct wet_node *node = wet_get_node(wet, exec->node);
        for (uint32_t s = 0; s < node->statement_count; s++) {
            const struct ins_info *info = node->statements[s].info;
            const uint64_t *slots = interval->slots + exec->slot_off + node->statements[s].slot;
            if (info->choice.kind != INS_CHOICE_IMAGE || !is_told(told, sets, slots[0]))
                continue;
            ranges_check(state, interval->first_time + exec->time_off + s, info, slots);
            checked++;
        }
    }
    wetdbg_state_close(state);
    return checked;
}

static void slots_say_what_was_stored(void **state)
{
    struct fixture *fixture = *state;
    struct told told[2];
    size_t sets = __builtin_cpu_supports("avx512f") ? 2 : 1, checked = 0, areas = 0;

    if (!__builtin_cpu_supports("avx")) {
        skipped_say("test_wet_xsave", "what slots say: the processor has no AVX");
        skip();
    }
    memcpy(told, fixture->run.out, sets * sizeof(told[0]));
    for (uint64_t k = 0; k < wetdbg_get_info(fixture->cut)->intervals; k++) {
        const struct wet_interval *interval;
        ok(wet_interval_get(fixture->cut, k, &interval));
        checked += interval_ranges_check(fixture->cut, interval, told, sets);
        wet_interval_put(fixture->cut, interval);
    }
    for (size_t i = 0; i < sets; i++)
        areas += told[i].count;
    assert_int_equal(checked, areas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xsave_settle_makes_all_forms_the_same),
        cmocka_unit_test_setup_teardown(slots_say_what_was_stored, run_xsaves, fixture_close),
        cmocka_unit_test(xsave_settle_keeps_what_is_in_use),
        cmocka_unit_test(xsave_settle_leaves_what_was_not_asked_for),
        cmocka_unit_test(xsave_layouts_are_as_the_manual_has_them),
        cmocka_unit_test_setup_teardown(xsave_stores_what_registers_hold, run_xsaves,
                                        fixture_close),
    };
    return cmocka_run_group_tests_name("wet_xsave", tests, NULL, NULL);
}
