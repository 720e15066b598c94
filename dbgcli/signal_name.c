/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/signal_name.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *cli_signal_name(int number)
{
    static char text[32];
    const char *abbreviation = sigabbrev_np(number);
    if (abbreviation)
        snprintf(text, sizeof(text), "SIG%s", abbreviation);
    else
        snprintf(text, sizeof(text), "SIG%d", number);
    return text;
}

const char *cli_signal_reason(int number, int64_t code)
{
    static const struct {
        int number;
        int64_t code;
        const char *reason;
    } rows[] = {
        {SIGSEGV, SEGV_MAPERR, "address not mapped"},
        {SIGSEGV, SEGV_ACCERR, "access not permitted"},
        {SIGSEGV, SI_KERNEL, "no usable address"},
        {SIGBUS, BUS_ADRALN, "misaligned address"},
        {SIGBUS, BUS_ADRERR, "beyond the end of the mapped file"},
        {SIGFPE, FPE_INTDIV, "integer division by zero, or its result does not fit"},
        {SIGFPE, FPE_INTOVF, "integer overflow"},
        {SIGFPE, FPE_FLTDIV, "floating-point division by zero"},
        {SIGFPE, FPE_FLTINV, "invalid floating-point operation"},
        {SIGILL, ILL_ILLOPN, "illegal operand"},
        {SIGILL, ILL_ILLOPC, "illegal instruction"},
        {SIGTRAP, SI_KERNEL, "breakpoint instruction"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (rows[i].number == number && rows[i].code == code)
            return rows[i].reason;
    return NULL;
}
