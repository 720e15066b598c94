/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vector state between two made-up processors, and what this one may lack. */
#include <string.h>

#include "recorder/feed/feed_cpu.h"
#include "recorder/feed/feed_xsave.h"
#include "tests/feed/feed_unit.h"
#include <wetdbg/errors.h>

enum { AVX = 2, OPMASK = 5, PKRU = 9, MXCSR = 24, XMM0 = 160, XSTATE_BV = 512 };

static const struct feed_xsave_layout recorder_cpu = {
    .xcr0 = 0x227,
    .size_bytes = 2432,
    .mxcsr_mask = UINT32_MAX,
    .component = {[AVX] = {576, 256}, [OPMASK] = {832, 64}, [PKRU] = {2432 - 8, 8}},
};

static const struct feed_xsave_layout this_cpu = {
    .xcr0 = 0x7,
    .size_bytes = 1088,
    .mxcsr_mask = 0xffff,
    .component = {[AVX] = {832, 256}},
};

struct image {
    uint8_t bytes[2432];
};

static struct image image_of(uint64_t used)
{
    struct image image;
    memset(image.bytes, 0xee, sizeof(image.bytes));
    memcpy(image.bytes + XSTATE_BV, &used, sizeof(used));
    memset(image.bytes + 576, 0xaa, 256);
    memset(image.bytes + 832, 0, 64);
    uint32_t mxcsr = 0xabc1f80;
    memcpy(image.bytes + MXCSR, &mxcsr, sizeof(mxcsr));
    return image;
}

static uint64_t u64_at(const struct wd_buf *buf, size_t offset)
{
    uint64_t value;
    memcpy(&value, buf->data + offset, sizeof(value));
    return value;
}

static void components_move_to_their_place_here(void **state)
{
    (void)state;
    struct wd_buf out = {0};
    struct image image = image_of(7);
    assert_int_equal(feed_xsave_convert(&recorder_cpu, &this_cpu, image.bytes, 2432, &out), 0);
    assert_int_equal(out.size_bytes, 1088);
    assert_int_equal(u64_at(&out, XSTATE_BV), 7);
    assert_int_equal(u64_at(&out, XSTATE_BV + 8), 0); /* XCOMP_BV and what is reserved */
    assert_int_equal(u64_at(&out, 464), 0);
    assert_memory_equal(out.data + XMM0, image.bytes + XMM0, 256);
    assert_memory_equal(out.data + 832, image.bytes + 576, 256);
    assert_int_equal(u64_at(&out, 576), 0);
    assert_int_equal((uint32_t)u64_at(&out, MXCSR), 0x1f80); /* without bits unknown here */
    wd_buf_fini(&out);
}

static void initial_components_ignore_their_bytes(void **state)
{
    (void)state;
    struct wd_buf out = {0};
    struct image image = image_of(0);
    assert_int_equal(feed_xsave_convert(&recorder_cpu, &this_cpu, image.bytes, 2432, &out), 0);
    assert_int_equal(u64_at(&out, XSTATE_BV), 0);
    assert_int_equal(u64_at(&out, 0), 0x37f);
    assert_int_equal(u64_at(&out, XMM0), 0);
    assert_int_equal(u64_at(&out, 832), 0);
    assert_int_equal((uint32_t)u64_at(&out, MXCSR), 0x1f80); /* valid all the same */
    wd_buf_fini(&out);
}

static void missing_component_counts_only_if_used(void **state)
{
    (void)state;
    struct wd_buf out = {0};
    struct image image = image_of(7 | 1u << OPMASK);
    assert_int_equal(feed_xsave_convert(&recorder_cpu, &this_cpu, image.bytes, 2432, &out), 0);
    assert_int_equal(u64_at(&out, XSTATE_BV), 7);
    image.bytes[840] = 1;
    assert_int_equal(feed_xsave_convert(&recorder_cpu, &this_cpu, image.bytes, 2432, &out),
                     -WETDBG_ERR_UNSUPPORTED);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_UNSUPPORTED), "AVX-512 masks"));
    wd_buf_fini(&out);
}

static void old_images_are_legacy_only(void **state)
{
    (void)state;
    struct wd_buf out = {0};
    struct image image = image_of(0);
    assert_int_equal(feed_xsave_convert(&recorder_cpu, &this_cpu, image.bytes, 512, &out), 0);
    assert_int_equal(u64_at(&out, XSTATE_BV), 3);
    assert_memory_equal(out.data + XMM0, image.bytes + XMM0, 256);
    wd_buf_fini(&out);
}

static void images_too_short_are_damage(void **state)
{
    (void)state;
    struct wd_buf out = {0};
    struct image image = image_of(7);
    assert_int_equal(feed_xsave_convert(&recorder_cpu, &this_cpu, image.bytes, 511, &out),
                     -WETDBG_ERR_CORRUPT);
    assert_int_equal(feed_xsave_convert(&recorder_cpu, &this_cpu, image.bytes, 831, &out),
                     -WETDBG_ERR_CORRUPT);
    image = image_of(1ull << 40); /* a component that the recorder did not know itself */
    assert_int_equal(feed_xsave_convert(&recorder_cpu, &this_cpu, image.bytes, 2432, &out),
                     -WETDBG_ERR_CORRUPT);
    wd_buf_fini(&out);
}

static void layout_here_holds_together(void **state)
{
    (void)state;
    struct feed_xsave_layout here;
    assert_int_equal(feed_xsave_layout_here(&here), 0);
    assert_true(here.xcr0 & 1 && here.size_bytes >= FEED_XSAVE_MIN_BYTES);
    for (unsigned i = 2; i < 63; i++)
        if (here.component[i].size_bytes)
            assert_true(here.component[i].offset + here.component[i].size_bytes <= here.size_bytes);
}

static void missing_features_are_named(void **state)
{
    (void)state;
    /* FMA4 and XOP were AMD's, AMX is Intel's: nobody has both. */
    const struct rrt_cpuid records[] = {
        {7, 0, 0, 0, 0, 1u << 24},
        {0x80000001, RRT_CPUID_NO_SUBLEAF, 0, 0, 1u << 16 | 1u << 11, 0},
    };
    struct rrt_header header = {.cpuid = records, .cpuid_count = 2, .xcr0 = 3};
    char names[512];
    feed_cpu_lacking(&header, names, sizeof(names));
    assert_true(strstr(names, "AMX-TILE") || strstr(names, "FMA4"));
    assert_null(strstr(names, "registers"));
    assert_int_equal(feed_cpu_check(&header), 0); /* what it lacks may not be used */
    header.cpuid_count = 0;
    feed_cpu_lacking(&header, names, sizeof(names));
    assert_string_equal(names, "");
    header.xcr0 = 3u << 17 | 3;
    feed_cpu_lacking(&header, names, sizeof(names));
    struct feed_xsave_layout here;
    assert_int_equal(feed_xsave_layout_here(&here), 0);
    assert_string_equal(names, here.xcr0 >> 17 & 3 ? "" : "AMX tiles");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(components_move_to_their_place_here),
        cmocka_unit_test(initial_components_ignore_their_bytes),
        cmocka_unit_test(missing_component_counts_only_if_used),
        cmocka_unit_test(old_images_are_legacy_only),
        cmocka_unit_test(images_too_short_are_damage),
        cmocka_unit_test(layout_here_holds_together),
        cmocka_unit_test(missing_features_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
