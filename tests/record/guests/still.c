/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For a static link. */
#include <stdio.h>

int main(void)
{
    puts("still");
    return 7;
}
