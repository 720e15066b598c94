/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "common/bisect.h"

/* What bisection must find, by looking at all. */
static size_t slow(const unsigned *items, size_t first, size_t end, unsigned wanted)
{
    while (first < end && items[first] < wanted)
        first++;
    return first;
}

static void it_finds_what_looking_at_all_finds(void **unused)
{
    unsigned items[40];
    (void)unused;
    for (unsigned step = 1; step < 4; step++) {
        for (unsigned i = 0; i < 40; i++)
            items[i] = 3 + i / step * 2; /* with equal ones */
        for (size_t first = 0; first <= 40; first++)
            for (size_t end = first; end <= 40; end++)
                for (unsigned wanted = 0; wanted < 90; wanted += 1 + step)
                    assert_int_equal(wd_bisect(first, end, i, items[i] < wanted),
                                     slow(items, first, end, wanted));
    }
}

static void an_empty_range_is_its_end(void **unused)
{
    (void)unused;
    assert_int_equal(wd_bisect(0, 0, i, i < 5), 0);
    assert_int_equal(wd_bisect(1, 0, i, i < 5) - 1, 0);
    assert_int_equal(wd_bisect(7, 7, i, i < 5), 7);
}

static void the_last_before_is_one_less(void **unused)
{
    static const unsigned starts[] = {0, 10, 20};
    (void)unused;
    assert_int_equal(wd_bisect(1, 3, i, starts[i] <= 0) - 1, 0);
    assert_int_equal(wd_bisect(1, 3, i, starts[i] <= 19) - 1, 1);
    assert_int_equal(wd_bisect(1, 3, i, starts[i] <= 99) - 1, 2);
}

static void large_ranges_do_not_overflow(void **unused)
{
    (void)unused;
    assert_int_equal(wd_bisect(SIZE_MAX - 9, SIZE_MAX, i, i < SIZE_MAX - 3), SIZE_MAX - 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_finds_what_looking_at_all_finds),
        cmocka_unit_test(an_empty_range_is_its_end),
        cmocka_unit_test(the_last_before_is_one_less),
        cmocka_unit_test(large_ranges_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
