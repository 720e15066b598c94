/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <CUnit/Basic.h>
#include <stdlib.h>

#include "shop.h"

static void test_leap(void)
{
    CU_ASSERT(shop_is_leap(2024));
    CU_ASSERT(!shop_is_leap(1900));
}

static void test_price(void)
{
    for (int count = 1; count < 10; count++)
        CU_ASSERT_EQUAL(shop_price(5, count), 5 * count);
    CU_ASSERT_EQUAL(shop_price(10, 10), 90);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 99;
    CU_pSuite suite = CU_add_suite("shop", NULL, NULL);
    CU_add_test(suite, "leap years", test_leap);
    CU_add_test(suite, "prices", test_price);
    CU_basic_set_mode(argc > 1 ? CU_BRM_NORMAL : CU_BRM_VERBOSE);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failed ? 1 : 0;
}
