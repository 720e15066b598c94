/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"

#define KEYS 3000

static void a_table_finds_all_it_was_given(void **unused)
{
    static uint64_t table[8192];
    (void)unused;
    memset(table, 0, sizeof(table));
    for (uint64_t key = 1; key <= KEYS; key++) {
        size_t at =
            wd_hash_find(wd_hash_u64(key) >> 32, 8192, i, !table[i] || table[i] == key * 4096);
        assert_int_equal(table[at], 0);
        table[at] = key * 4096;
    }
    for (uint64_t key = 1; key <= KEYS; key++)
        assert_int_equal(table[wd_hash_find(wd_hash_u64(key) >> 32, 8192, i,
                                            !table[i] || table[i] == key * 4096)],
                         key * 4096);
}

static void a_search_goes_on_at_the_start(void **unused)
{
    static const char taken[4] = {1, 0, 1, 1};
    (void)unused;
    assert_int_equal(wd_hash_find(2, 4, i, !taken[i]), 1);
    assert_int_equal(wd_hash_find(0xfffffffffffffff3, 4, i, !taken[i]), 1);
}

/* Keys of which many have the same hash. */
static uint32_t *place_of(const struct wd_index *index, const uint64_t *keys, uint64_t key)
{
    return wd_index_find(index, key / 8, n, keys[n] == key);
}

static void an_index_follows_its_array(void **unused)
{
    struct wd_index index = {0};
    uint64_t keys[KEYS];
    (void)unused;
    for (uint32_t n = 0; n < KEYS; n++) {
        assert_int_equal(wd_index_room(&index, n, 4, old, place_of(&index, keys, keys[old])), 0);
        assert_true(2 * (n + 1) <= index.capacity);
        uint32_t *place = place_of(&index, keys, n * 3);
        assert_int_equal(*place, 0);
        keys[n] = n * 3;
        *place = n + 1;
    }
    for (uint32_t n = 0; n < KEYS; n++) {
        assert_int_equal(*place_of(&index, keys, n * 3), n + 1);
        assert_int_equal(*place_of(&index, keys, n * 3 + 1), 0);
    }
    wd_index_clear(&index);
    assert_int_equal(*place_of(&index, keys, 0), 0);
    wd_index_fini(&index);
    wd_index_clear(&index);
}

static void without_memory_the_old_table_stays(void **unused)
{
    struct wd_index index = {0};
    uint64_t key = 5;
    (void)unused;
    assert_int_equal(wd_index_renew(&index, 4), 0);
    *place_of(&index, &key, key) = 1;
    assert_int_not_equal(wd_index_renew(&index, (size_t)1 << 62), 0);
    size_t capacity = index.capacity;
    index.capacity = (size_t)1 << 61; /* of which twice as many are not to be had */
    int err = wd_index_room(&index, (size_t)1 << 61, 4, n, &index.places[n]);
    index.capacity = capacity;
    assert_int_equal(err, -ENOMEM);
    assert_int_equal(*place_of(&index, &key, key), 1);
    wd_index_fini(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_finds_all_it_was_given),
        cmocka_unit_test(a_search_goes_on_at_the_start),
        cmocka_unit_test(an_index_follows_its_array),
        cmocka_unit_test(without_memory_the_old_table_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
