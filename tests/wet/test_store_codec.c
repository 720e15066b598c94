/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forms in which sections are stored: what goes in comes out, numbers that are alike shrink, damage
 * is noticed and never written beyond the end. */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "tests/wet/wet_unit.h"
#include <wetdbg/errors.h>

static ZSTD_CCtx *zstd;

static int setup(void **state)
{
    (void)state;
    zstd = ZSTD_createCCtx();
    return zstd ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    ZSTD_freeCCtx(zstd);
    return 0;
}

enum words { RANDOM, ALIKE, LONG_NUMBERS, STRINGS };

static uint64_t word_of(enum words words, size_t i, uint64_t *seed)
{
    static const char text[] = "what a table of a database holds, again and again; ";
    uint64_t word = unit_random(seed);
    switch (words) {
    case ALIKE:
        return word & 0x00000fff00000fffull;
    case LONG_NUMBERS:
        return 0x7fff00000000ull + i * 64 + (word & 63);
    case STRINGS:
        memcpy(&word, text + unit_random(seed) % (sizeof(text) - 8), 8);
        return word;
    default:
        return word;
    }
}

/* A LINES section of so many lines, all of whose words changed. */
static struct wd_buf lines_make(size_t count, enum words words)
{
    struct wd_buf bytes = {0};
    uint64_t seed = count * 8 + words + 1;
    assert_int_equal(wd_buf_append_u64(&bytes, count), 0);
    assert_int_equal(wd_buf_append_u64(&bytes, count), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(wd_buf_append_varint(&bytes, 1), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(wd_buf_append_u32(&bytes, UINT32_MAX), 0);
    for (size_t i = 0; i < count * 32; i++)
        assert_int_equal(wd_buf_append_u64(&bytes, word_of(words, i, &seed)), 0);
    return bytes;
}

/* There and back; the size in between. */
static size_t round_trip(uint32_t kind, const struct wd_buf *bytes, int level, enum wet_form *form)
{
    struct wd_buf stored = {0}, again = {0};
    assert_int_equal(wet_encode(zstd, kind, bytes->data, bytes->size_bytes, level, &stored, form),
                     0);
    enum wet_form other;
    assert_int_equal(wet_encode(zstd, kind, bytes->data, bytes->size_bytes, level, &again, &other),
                     0);
    assert_int_equal(again.size_bytes, stored.size_bytes);
    assert_memory_equal(again.data, stored.data, stored.size_bytes);
    uint8_t *to = malloc(bytes->size_bytes + 1); /* exactly so much, for the sanitizer */
    assert_int_equal(wet_decode(*form, stored.data, stored.size_bytes, to, bytes->size_bytes), 0);
    if (bytes->size_bytes)
        assert_memory_equal(to, bytes->data, bytes->size_bytes);
    size_t size = stored.size_bytes;
    free(to);
    wd_buf_fini(&stored);
    wd_buf_fini(&again);
    return size;
}

static void codec_sections_of_any_shape_come_back(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 17, 64, 700, 1025};
    enum wet_form form;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        for (enum words words = RANDOM; words <= STRINGS; words++) {
            struct wd_buf bytes = lines_make(counts[i], words);
            for (int level = 1; level < 14; level += 4)
                round_trip(WET_SEC_LINES, &bytes, level, &form);
            round_trip(WET_SEC_ENTRIES, &bytes, 3, &form);
            assert_int_equal(form, WET_FORM_WHOLE);
            wd_buf_fini(&bytes);
        }
    }
}

static void codec_what_only_claims_to_be_lines_comes_back(void **state)
{
    (void)state;
    enum wet_form form;
    uint64_t seed = unit_seed("claims");
    for (unsigned i = 0; i < 300; i++) {
        struct wd_buf bytes = lines_make(unit_random(&seed) % 40, ALIKE);
        size_t cut = unit_random(&seed) % (bytes.size_bytes + 1);
        uint64_t number = i % 3 ? unit_random(&seed) >> unit_random(&seed) % 64 : UINT64_MAX;
        if (i % 2)
            memcpy(bytes.data + 8 * (unit_random(&seed) % 2), &number, 8);
        else
            bytes.size_bytes = cut;
        round_trip(WET_SEC_LINES, &bytes, 3, &form);
        wd_buf_fini(&bytes);
    }
    struct wd_buf empty = {0};
    round_trip(WET_SEC_LINES, &empty, 3, &form);
}

static void codec_numbers_that_are_alike_take_less(void **state)
{
    (void)state;
    const struct {
        enum words words;
        double most; /* of the raw size */
    } rows[] = {{ALIKE, 0.45}, {LONG_NUMBERS, 0.30}, {STRINGS, 0.35}, {RANDOM, 1.01}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct wd_buf bytes = lines_make(3000, rows[i].words);
        enum wet_form form;
        size_t size = round_trip(WET_SEC_LINES, &bytes, 3, &form);
        if ((double)size > rows[i].most * (double)bytes.size_bytes)
            fail_msg("words of shape %d: %zu of %zu bytes", (int)rows[i].words, size,
                     bytes.size_bytes);
        assert_int_equal(form, WET_FORM_PARTS);
        wd_buf_fini(&bytes);
    }
}

static void codec_damage_is_noticed_or_harmless(void **state)
{
    (void)state;
    uint64_t seed = unit_seed("damage");
    struct wd_buf bytes = lines_make(70, ALIKE), stored = {0};
    enum wet_form form;
    assert_int_equal(
        wet_encode(zstd, WET_SEC_LINES, bytes.data, bytes.size_bytes, 3, &stored, &form), 0);
    uint8_t *to = malloc(bytes.size_bytes + 1);
    for (size_t cut = 0; cut < stored.size_bytes; cut++)
        assert_int_equal(wet_decode(form, stored.data, cut, to, bytes.size_bytes),
                         -WETDBG_ERR_CORRUPT);
    for (unsigned i = 0; i < 4000; i++) {
        uint8_t *copy = malloc(stored.size_bytes);
        memcpy(copy, stored.data, stored.size_bytes);
        for (unsigned flips = 0; flips <= i % 3; flips++)
            copy[unit_random(&seed) % (i % 2 ? 24 : stored.size_bytes)] ^=
                (uint8_t)(1u << unit_random(&seed) % 8);
        int err = wet_decode(form, copy, stored.size_bytes, to, bytes.size_bytes);
        assert_true(err == 0 || err == -WETDBG_ERR_CORRUPT);
        free(copy);
    }
    const size_t other_sizes[] = {0, 1, bytes.size_bytes - 1, bytes.size_bytes - 8};
    for (size_t i = 0; i < sizeof(other_sizes) / sizeof(other_sizes[0]); i++)
        assert_int_equal(wet_decode(form, stored.data, stored.size_bytes, to, other_sizes[i]),
                         -WETDBG_ERR_CORRUPT);
    assert_int_equal(wet_decode(2, stored.data, stored.size_bytes, to, bytes.size_bytes),
                     -WETDBG_ERR_CORRUPT);
    assert_int_equal(wd_buf_append(&stored, "", 1), 0);
    assert_int_equal(wet_decode(form, stored.data, stored.size_bytes, to, bytes.size_bytes),
                     -WETDBG_ERR_CORRUPT);
    free(to);
    wd_buf_fini(&bytes);
    wd_buf_fini(&stored);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codec_sections_of_any_shape_come_back),
        cmocka_unit_test(codec_what_only_claims_to_be_lines_comes_back),
        cmocka_unit_test(codec_numbers_that_are_alike_take_less),
        cmocka_unit_test(codec_damage_is_noticed_or_harmless),
    };
    return cmocka_run_group_tests_name("store_codec", tests, setup, teardown);
}
