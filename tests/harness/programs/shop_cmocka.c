/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmocka.h comes last. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "shop.h"

static void test_leap(void **state)
{
    (void)state;
    assert_true(shop_is_leap(2024));
    assert_false(shop_is_leap(1900));
}

static void test_price(void **state)
{
    (void)state;
    for (int count = 1; count < 10; count++)
        assert_int_equal(shop_price(5, count), 5 * count);
    assert_int_equal(shop_price(10, 10), 90);
}

static void test_pay(void **state)
{
    const long prices[] = {3, 4, 5};

    (void)state;
    assert_int_equal(shop_pay(prices, 3, 8), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leap),
        cmocka_unit_test(test_price),
        cmocka_unit_test(test_pay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
