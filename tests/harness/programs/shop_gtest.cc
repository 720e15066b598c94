/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <gtest/gtest.h>

#include "shop.h"

TEST(Shop, LeapYears)
{
    EXPECT_EQ(1, shop_is_leap(2024));
    EXPECT_EQ(0, shop_is_leap(1900));
}

TEST(Shop, Prices)
{
    for (int count = 1; count < 10; count++)
        EXPECT_EQ(5 * count, shop_price(5, count));
    EXPECT_EQ(90, shop_price(10, 10));
}
