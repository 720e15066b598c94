/* SPDX-License-Identifier: GPL-3.0-or-later */
#undef NDEBUG
#include <assert.h>

#include "shop.h"

int main(void)
{
    assert(shop_is_leap(2024));
    assert(shop_price(10, 10) == 90);
    return 0;
}
