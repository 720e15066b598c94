/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints as Unity does, which projects carry with them in their sources. */
#include <stdio.h>

#include "shop.h"

static int failures;

static void run(const char *name, int line, int is_right)
{
    if (is_right)
        printf("%s:%d:%s:PASS\n", __FILE__, line, name);
    else
        printf("%s:%d:%s:FAIL: Expected TRUE Was FALSE\n", __FILE__, line, name);
    failures += !is_right;
}

int main(void)
{
    run("test_leap", __LINE__, shop_is_leap(2024));
    run("test_price", __LINE__, shop_price(10, 10) == 90);
    printf("\n-----------------------\n2 Tests %d Failures 0 Ignored \n%s\n", failures,
           failures ? "FAIL" : "OK");
    return failures;
}
