/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Digits of hexadecimal numbers. */
#ifndef DBGCLI_HEXADECIMAL_H
#define DBGCLI_HEXADECIMAL_H

#include <ctype.h>
#include <string.h>

/* What a hexadecimal digit stands for; -1: it is none. */
static inline int cli_hex_digit(char c)
{
    const char *digits = "0123456789abcdef";
    const char *at = c ? strchr(digits, tolower((unsigned char)c)) : NULL;
    return at ? (int)(at - digits) : -1;
}

#endif
