/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "shop.h"

long shop_price(long piece, long count)
{
    long cents = piece * count;
#ifdef FIXED
    if (count >= 10)
#else
    if (count > 10) /* FAULT */
#endif
        cents -= cents / 10;
    return cents;
}

int shop_is_leap(int year)
{
    if (year % 400 == 0)
        return 1;
    if (year % 100 == 0)
        return 0;
    return year % 4 == 0;
}

int shop_pay(const long *prices, int count, long cents)
{
    int paid = 0;

    for (int i = 0; i < count && prices[i] <= cents; i++) {
        cents -= prices[i];
        paid++;
    }
    return paid;
}
