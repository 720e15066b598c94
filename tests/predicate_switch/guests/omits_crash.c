/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * As omits_registers.c, but what uses the register does not complete: nothing was found, and the
 * program follows a null pointer. FORCE makes a program in which it is found, natively.
 */
#include <stdlib.h>
#include <unistd.h>

#ifndef FORCE
#define FORCE 0
#endif

static char digits[2] = "3";

/* The compiler does not know the value. */
static inline unsigned some(unsigned value)
{
    __asm__ volatile("" : "+r"(value));
    return value;
}

__attribute__((noinline)) static const char *find(unsigned mode)
{
    const char *found = (const char *)(unsigned long)some(0);

    __asm__ volatile("");
    if (FORCE == 1 || some(mode) > 5) { /* FOUND */
        __asm__ volatile("");
        found = digits;
    }
    if (some(mode) > 7) /* OTHER */
        digits[1] = '4';
    return found;
}

int main(int argc, char **argv)
{
    const char *at = find(argc > 1 ? (unsigned)atoi(argv[1]) : 0);
    char byte = *at; /* CRASH */

    return write(1, &byte, 1) != 1;
}
