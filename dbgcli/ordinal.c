/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/ordinal.h"

#include <stdbool.h>

const char *cli_ordinal_end(uint64_t number)
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    bool is_teen = number / 10 % 10 == 1;

    return number % 10 > 3 || is_teen ? ends[0] : ends[number % 10];
}
