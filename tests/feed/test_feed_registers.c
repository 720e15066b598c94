/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vector and mask registers of made-up XSAVE images, in the layouts of three processors. */
#include <string.h>

#include "recorder/feed/feed_registers.h"
#include "tests/feed/feed_unit.h"
#include <wetdbg/errors.h>

enum { YMM_HIGH = 2, MASKS = 5, ZMM_HIGH = 6, ZMM_16_TO_31 = 7, ALL = 0xe7 };

static const struct feed_xsave_layout sse_cpu = {.xcr0 = 3, .size_bytes = 576};
static const struct feed_xsave_layout avx_cpu = {
    .xcr0 = 7, .size_bytes = 832, .component = {[YMM_HIGH] = {576, 256}}};
/* Sapphire Rapids: a hole where MPX was. */
static const struct feed_xsave_layout avx512_cpu = {
    .xcr0 = 0xe7,
    .size_bytes = 2688,
    .component = {[YMM_HIGH] = {576, 256},
                  [MASKS] = {1088, 64},
                  [ZMM_HIGH] = {1152, 512},
                  [ZMM_16_TO_31] = {1664, 1024}},
};

struct image {
    uint8_t bytes[2688]; /* of the largest */
};

/* Byte i of register n and of mask n: 37 n + i, in 7 bits. */
static uint8_t byte_of(unsigned number, unsigned i)
{
    return (uint8_t)((37 * number + i) & 0x7f);
}

static struct image image_of(uint64_t in_use)
{
    struct image image;
    memset(image.bytes, 0xee, sizeof(image.bytes));
    memcpy(image.bytes + 512, &in_use, sizeof(in_use));
    for (unsigned n = 0; n < 16; n++)
        for (unsigned i = 0; i < 64; i++) {
            unsigned at = i < 16   ? 160 + 16 * n + i
                          : i < 32 ? 576 + 16 * n + i - 16
                                   : 1152 + 32 * n + i - 32;
            image.bytes[at] = byte_of(n, i);
            image.bytes[1664 + 64 * n + i] = byte_of(16 + n, i);
        }
    for (unsigned i = 0; i < 64; i++)
        image.bytes[1088 + i] = byte_of(i / 8, i % 8);
    return image;
}

static void check_vector(const struct feed_xsave_layout *cpu, const struct image *image,
                         unsigned number, unsigned from, unsigned to)
{
    uint8_t bytes[64];
    memset(bytes, 0xaa, sizeof(bytes));
    assert_int_equal(feed_vector_read(cpu, image->bytes, cpu->size_bytes, number, bytes), 0);
    for (unsigned i = 0; i < 64; i++)
        if (bytes[i] != (i >= from && i < to ? byte_of(number, i) : 0))
            fail_msg("byte %u of register %u is %02x", i, number, bytes[i]);
}

static void each_part_comes_from_its_component(void **state)
{
    (void)state;
    const struct image image = image_of(ALL);
    for (unsigned n = 0; n < 32; n++)
        check_vector(&avx512_cpu, &image, n, 0, 64);
    for (unsigned n = 0; n < 16; n++) {
        check_vector(&avx_cpu, &image, n, 0, 32);
        check_vector(&sse_cpu, &image, n, 0, 16);
    }
    assert_int_equal(feed_vector_bytes(&avx512_cpu), 64);
    assert_int_equal(feed_vector_bytes(&avx_cpu), 32);
    assert_int_equal(feed_vector_bytes(&sse_cpu), 16);
}

static void components_not_in_use_are_zero(void **state)
{
    (void)state;
    uint64_t mask = 1;
    struct image image = image_of(ALL & ~2u);
    check_vector(&avx512_cpu, &image, 9, 16, 64);
    image = image_of(ALL & ~4u & ~64u);
    check_vector(&avx512_cpu, &image, 9, 0, 16);
    image = image_of(ALL & ~128u);
    check_vector(&avx512_cpu, &image, 16, 0, 0);
    check_vector(&avx512_cpu, &image, 15, 0, 64);
    image = image_of(ALL & ~32u);
    assert_int_equal(feed_mask_read(&avx512_cpu, image.bytes, sizeof(image.bytes), 3, &mask), 0);
    assert_int_equal(mask, 0);
}

static void masks_are_8_bytes_each(void **state)
{
    (void)state;
    const struct image image = image_of(ALL);
    for (unsigned n = 0; n < 8; n++) {
        uint64_t mask;
        assert_int_equal(feed_mask_read(&avx512_cpu, image.bytes, sizeof(image.bytes), n, &mask),
                         0);
        for (unsigned i = 0; i < 8; i++)
            assert_int_equal(mask >> 8 * i & 0xff, byte_of(n, i));
    }
}

static void what_a_processor_lacks_is_said(void **state)
{
    (void)state;
    const struct image image = image_of(ALL);
    uint8_t bytes[64];
    uint64_t mask;
    assert_int_equal(feed_vector_read(&avx_cpu, image.bytes, sizeof(image.bytes), 16, bytes),
                     -WETDBG_ERR_UNSUPPORTED);
    assert_string_equal(wetdbg_error(-WETDBG_ERR_UNSUPPORTED),
                        "this processor has no AVX-512, and so no vector register 16");
    assert_int_equal(feed_mask_read(&avx_cpu, image.bytes, sizeof(image.bytes), 3, &mask),
                     -WETDBG_ERR_UNSUPPORTED);
    assert_string_equal(wetdbg_error(-WETDBG_ERR_UNSUPPORTED),
                        "this processor has no AVX-512, and so no mask register 3");
    assert_int_equal(feed_vector_read(&avx512_cpu, image.bytes, sizeof(image.bytes), 32, bytes),
                     -WETDBG_ERR_UNSUPPORTED);
    assert_int_equal(feed_mask_read(&avx512_cpu, image.bytes, sizeof(image.bytes), 8, &mask),
                     -WETDBG_ERR_UNSUPPORTED);
}

static void short_images_hold_nothing(void **state)
{
    (void)state;
    const struct image image = image_of(ALL);
    uint8_t bytes[64];
    uint64_t mask;
    assert_int_equal(feed_vector_read(&avx512_cpu, image.bytes, 575, 0, bytes),
                     -WETDBG_ERR_NOT_FOUND);
    assert_int_equal(feed_vector_read(&avx512_cpu, image.bytes, 1183, 0, bytes),
                     -WETDBG_ERR_NOT_FOUND);
    assert_int_equal(feed_vector_read(&avx512_cpu, image.bytes, 1184, 0, bytes), 0);
    assert_int_equal(feed_vector_read(&avx512_cpu, image.bytes, 2687, 31, bytes),
                     -WETDBG_ERR_NOT_FOUND);
    assert_int_equal(feed_mask_read(&avx512_cpu, image.bytes, 1095, 0, &mask),
                     -WETDBG_ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_part_comes_from_its_component),
        cmocka_unit_test(components_not_in_use_are_zero),
        cmocka_unit_test(masks_are_8_bytes_each),
        cmocka_unit_test(what_a_processor_lacks_is_said),
        cmocka_unit_test(short_images_hold_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
