/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "shop.h"

static int number, failed;

static void ok(int is_right, const char *what, int line)
{
    printf("%sok %d - %s\n", is_right ? "" : "not ", ++number, what);
    if (!is_right)
        printf("#   Failed test (%s:main() at line %d)\n", __FILE__, line);
    failed += !is_right;
}

int main(void)
{
    puts("1..3");
    ok(shop_is_leap(2024), "2024 is a leap year", __LINE__);
    ok(shop_price(5, 9) == 45, "nine pieces", __LINE__);
    ok(shop_price(10, 10) == 90, "ten pieces", __LINE__);
    return failed;
}
