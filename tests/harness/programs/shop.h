/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the test programs test. */
#ifndef SHOP_H
#define SHOP_H

#ifdef __cplusplus
extern "C" {
#endif

/* The price of `count` pieces in cents, 10 % off from ten pieces on. */
long shop_price(long piece, long count);

/* Whether a year has 366 days. */
int shop_is_leap(int year);

/* How many of the prices can be paid, in turn, from `cents`. */
int shop_pay(const long *prices, int count, long cents);

#ifdef __cplusplus
}
#endif

#endif
