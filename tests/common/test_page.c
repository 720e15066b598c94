/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "common/page.h"

static void addresses_are_rounded(void **unused)
{
    (void)unused;
    assert_int_equal(wd_page_down(0), 0);
    assert_int_equal(wd_page_down(4095), 0);
    assert_int_equal(wd_page_down(0x7ffffffff123), 0x7ffffffff000);
    assert_int_equal(wd_page_up(0), 0);
    assert_int_equal(wd_page_up(1), 4096);
    assert_int_equal(wd_page_up(4096), 4096);
    assert_int_equal(wd_page_up(UINT64_MAX), 0);
    assert_int_equal(wd_page_down(UINT64_MAX), UINT64_MAX - 4095);
}

static void what_is_left_reaches_the_end(void **unused)
{
    (void)unused;
    assert_int_equal(wd_page_left(0), 4096);
    assert_int_equal(wd_page_left(4095), 1);
    assert_int_equal(wd_page_left(0x1001), 4095);
    assert_true(wd_page_is_start(0x2000));
    assert_false(wd_page_is_start(0x2008));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_rounded),
        cmocka_unit_test(what_is_left_reaches_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
