/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <check.h>
#include <stdlib.h>

#include "shop.h"

START_TEST(test_leap)
{
    ck_assert_int_eq(shop_is_leap(2024), 1);
    ck_assert_int_eq(shop_is_leap(1900), 0);
}
END_TEST

START_TEST(test_price)
{
    for (int count = 1; count < 10; count++)
        ck_assert_int_eq(shop_price(5, count), 5 * count);
    ck_assert_int_eq(shop_price(10, 10), 90);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shop");
    TCase *years = tcase_create("years"), *prices = tcase_create("prices");

    tcase_add_test(years, test_leap);
    tcase_add_test(prices, test_price);
    suite_add_tcase(suite, years);
    suite_add_tcase(suite, prices);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
