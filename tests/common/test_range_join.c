/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "common/range_join.h"

struct range {
    uint64_t start, end;
};

static void ranges_that_touch_become_one(void **unused)
{
    struct range list[] = {{7, 9}, {1, 3}, {20, 30}, {3, 4}, {22, 25}, {29, UINT64_MAX}, {5, 6}};
    const struct range expected[] = {{1, 4}, {5, 6}, {7, 9}, {20, UINT64_MAX}};

    (void)unused;
    assert_int_equal(wd_ranges_join(list, sizeof(list) / sizeof(*list)), 4);
    assert_memory_equal(list, expected, sizeof(expected));
}

static void none_and_one_stay(void **unused)
{
    struct range one = {5, 6}, *none = NULL;

    (void)unused;
    assert_int_equal(wd_ranges_join(none, 0), 0);
    assert_int_equal(wd_ranges_join(&one, 1), 1);
    assert_true(one.start == 5 && one.end == 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_that_touch_become_one),
        cmocka_unit_test(none_and_one_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
