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

#include "common/array.h"

static void appending_keeps_what_was_there(void **unused)
{
    uint32_t *items = NULL;
    size_t count = 0, capacity = 0, moves = 0;
    (void)unused;
    for (uint32_t i = 0; i < 100000; i++) {
        size_t before = capacity;
        assert_int_equal(wd_grow(items, capacity, count + 1), 0);
        moves += capacity != before;
        assert_true(capacity > count);
        items[count++] = i;
    }
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(items[i], i);
    assert_true(moves < 20);
    free(items);
}

static void exactly_is_exact(void **unused)
{
    uint64_t *items = NULL;
    uint32_t capacity = 0;
    (void)unused;
    assert_int_equal(wd_grow_exactly(items, capacity, 3), 0);
    assert_int_equal(capacity, 3);
    assert_int_equal(wd_grow_exactly(items, capacity, 2), 0);
    assert_int_equal(capacity, 3);
    free(items);
}

static void zeroed_is_zero_behind_what_was_there(void **unused)
{
    uint16_t *items = NULL;
    size_t capacity = 0;
    (void)unused;
    for (size_t needed = 1; needed < 5000; needed += 7) {
        size_t before = capacity;
        assert_int_equal(wd_grow_zeroed(items, capacity, needed), 0);
        for (size_t i = before; i < capacity; i++) {
            assert_int_equal(items[i], 0);
            items[i] = 0xffff;
        }
    }
    free(items);
}

static void too_much_is_refused_and_nothing_changes(void **unused)
{
    uint64_t *items = NULL;
    size_t capacity = 0;
    (void)unused;
    assert_int_equal(wd_grow(items, capacity, 5), 0);
    uint64_t *before = items;
    size_t room = capacity;
    items[4] = 7;
    assert_int_equal(wd_grow(items, capacity, SIZE_MAX / 8 + 1), -ENOMEM);
    assert_int_equal(wd_grow_exactly(items, capacity, SIZE_MAX), -ENOMEM);
    assert_ptr_equal(items, before);
    assert_int_equal(capacity, room);
    assert_int_equal(items[4], 7);
    free(items);
}

static void a_capacity_is_not_cut_off(void **unused)
{
    char *items = NULL;
    uint16_t capacity = 0;
    (void)unused;
    assert_int_equal(wd_grow(items, capacity, 40000), 0);
    assert_int_equal(capacity, 40000);
    assert_int_equal(wd_grow(items, capacity, 40001), 0);
    assert_int_equal(capacity, UINT16_MAX);
    assert_int_equal(wd_grow(items, capacity, 65536), -ENOMEM);
    assert_int_equal(capacity, UINT16_MAX);
    free(items);
}

static void one_by_one_needs_no_capacity(void **unused)
{
    uint32_t *items = NULL, count = 0;
    (void)unused;
    for (; count < 1000; count++) {
        assert_int_equal(wd_grow_one(items, count), 0);
        items[count] = count;
    }
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(items[i], i);
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appending_keeps_what_was_there),
        cmocka_unit_test(exactly_is_exact),
        cmocka_unit_test(zeroed_is_zero_behind_what_was_there),
        cmocka_unit_test(too_much_is_refused_and_nothing_changes),
        cmocka_unit_test(a_capacity_is_not_cut_off),
        cmocka_unit_test(one_by_one_needs_no_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
