/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a test leaves out on this machine is said aloud: ./check ends with the list. */
#ifndef TESTS_SKIPPED_H
#define TESTS_SKIPPED_H

#include <stdarg.h>
#include <stdio.h>

/* Prints `SKIPPED: <test>: <why>` in a line of its own; `why` as for printf, without a line
 * break. */
__attribute__((format(printf, 2, 3))) static inline void skipped_say(const char *test,
                                                                     const char *why, ...)
{
    va_list arguments;

    va_start(arguments, why);
    printf("SKIPPED: %s: ", test);
    vprintf(why, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
}

#endif
