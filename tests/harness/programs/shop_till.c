/* SPDX-License-Identifier: GPL-3.0-or-later */
/* shop_till PIECE COUNT CENTS: prints the price, and fails if it is not CENTS ("any" always is). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shop.h"

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    long cents = shop_price(atol(argv[1]), atol(argv[2]));
    printf("price %ld\n", cents);
    fflush(stdout);
    return strcmp(argv[3], "any") != 0 && cents != atol(argv[3]);
}
