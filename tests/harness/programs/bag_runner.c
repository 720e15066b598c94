/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "bag.h"

int main(void)
{
    test_adding();
    test_removing();
    return 0;
}
